//! Whatever a peer sends: nothing panics, nothing takes more room than what was sent, and what is understood says the same
//! when it is said again.

use libvirt_rpc::{
    Domain, Network, RemoteError,
    connect::*,
    domain::*,
    event::*,
    keepalive::Sign,
    network::*,
    packet::{BadLength, Header, Kind, MAX_PACKET, MIN_PACKET, Packets, Status, packet_len, parts},
    storage::*,
    xdr::{DecodeError, Decoder, List, Uuid, WideChars, Xdr, to_bytes},
};
use proptest::prelude::*;

/// Decodes as every type of the protocol.
macro_rules! as_everything {
    ($check:ident, $bytes:expr; $($type:ty),* $(,)?) => {$( $check::<$type>($bytes)?; )*};
}

/// What decodes takes exactly the bytes that it would be encoded to: no more room than what came.
fn takes_what_it_says<T: Xdr>(bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut decoder = Decoder::new(bytes);
    if let Ok(value) = T::decode(&mut decoder) {
        let again = to_bytes(&value).expect("what was decoded is within all bounds");
        prop_assert_eq!(again.len() + decoder.rest().len(), bytes.len());
    }
    Ok(())
}

fn decoded(bytes: &[u8]) -> Result<(), TestCaseError> {
    as_everything!(takes_what_it_says, bytes;
        Header, RemoteError, Domain, Network, Pool, Volume, Hole, WideChars, Option<String>, List<String, 7>,
        AuthTypes, ConnectOpen, ConnectSupportsFeature, Text, Number, Flag, NodeInfo, MemoryStats, NodeGetMemoryStats,
        SecurityModel, Domains, OneDomain, DomainDefineXml, DomainDefineXmlFlags, DomainCreateXml, DomainCreate,
        DomainUndefineFlags, DomainState, DomainInfo, DomainGetMetadata, DomainSetMetadata, DomainInterfaceAddresses,
        Interfaces, QemuDomainAgentCommand, AgentResult, SecurityLabel, Messages, DomainLookupByUuid,
        OneNetwork, Networks, NetworkGetDhcpLeases, Leases, Pools, OnePool, PoolInfo, StoragePoolDefineXml,
        Volumes, OneVolume, VolumeInfo, StorageVolCreateXml, StorageVolCreateXmlFrom, StorageVolUpload,
        StorageVolResize, ConnectDomainEventCallbackRegisterAny, Callback, Lifecycle, Reboot, AgentLifecycle,
        MetadataChange, ConnectionClosed,
    );
    Ok(())
}

/// Bytes that look a little like the protocol's: small numbers, long counts, text.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        (0_u32..6).prop_map(|word| word.to_be_bytes().to_vec()),
        any::<u32>().prop_map(|word| word.to_be_bytes().to_vec()),
        Just(u32::MAX.to_be_bytes().to_vec()),
        "[ -~]{0,9}".prop_map(|text| to_bytes(&text).expect("it is short")),
        proptest::collection::vec(any::<u8>(), 0..5),
    ];
    proptest::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_bytes_decode_or_do_not(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        decoded(&bytes)?;
    }

    #[test]
    fn nearly_right_bytes_decode_or_do_not(bytes in nearly()) {
        decoded(&bytes)?;
    }

    #[test]
    fn any_stream_is_cut_into_packets_or_is_not(bytes in nearly(), cuts in proptest::collection::vec(1_usize..50, 1..9)) {
        let mut packets = Packets::default();
        let (mut left, mut taken) = (bytes.as_slice(), 0);
        for cut in cuts.iter().cycle() {
            if left.is_empty() {
                break;
            }
            let (now, later) = left.split_at((*cut).min(left.len()));
            packets.push(now);
            left = later;
            loop {
                match packets.pop() {
                    Ok(Some(packet)) => {
                        taken += packet.len();
                        prop_assert!(packet.len() >= MIN_PACKET);
                        let _ = parts(packet);
                    }
                    Ok(None) => break,
                    Err(BadLength(_)) => return Ok(()),
                }
            }
        }
        prop_assert_eq!(taken + packets.waiting(), bytes.len());
    }

    #[test]
    fn packets_come_out_as_they_went_in(
        payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..8),
        cut in 1_usize..90,
    ) {
        let header = Header::call(1, 2, 3).with(Kind::Stream, Status::Continue);
        let stream: Vec<u8> =
            payloads.iter().flat_map(|payload| header.packet_of(payload).expect("it is short")).collect();
        let mut packets = Packets::default();
        let mut out = Vec::new();
        for piece in stream.chunks(cut) {
            packets.push(piece);
            while let Some(packet) = packets.pop().expect("all are packets") {
                let (found, payload) = parts(packet).expect("a packet");
                prop_assert_eq!(found, header);
                out.push(payload.to_vec());
            }
        }
        prop_assert_eq!(out, payloads);
        prop_assert_eq!(packets.waiting(), 0);
    }

    #[test]
    fn what_is_said_is_understood(
        name in ".{0,40}",
        uuid in any::<[u8; 16]>(),
        numbers in any::<(i32, u32, u64, i64)>(),
        text in proptest::option::of(".{0,40}"),
        count in 0_usize..5,
    ) {
        let (int, flags, long, _) = numbers;
        let dom = Domain { name: name.clone(), uuid: Uuid(uuid), id: int };
        same(&dom)?;
        same(&Domains { domains: vec![dom.clone(); count].into(), count: flags })?;
        same(&DomainGetMetadata { dom: dom.clone(), kind: int, uri: text.clone(), flags })?;
        same(&DomainInfo { state: flags, max_memory: long, memory: long, cpus: flags, cpu_time: long })?;
        same(&Lifecycle { callback: int, dom: dom.clone(), event: int, detail: int })?;
        let address = Address { kind: int, address: name.clone(), prefix: flags };
        let interface =
            Interface { name: name.clone(), hwaddr: text.clone(), addresses: vec![address; count].into() };
        same(&Interfaces { interfaces: vec![interface; count].into() })?;
        let vol = Volume { pool: name.clone(), name: name.clone(), key: name.clone() };
        same(&StorageVolUpload { vol, offset: long, length: long, flags })?;
        let error = RemoteError { str2: text, int1: int, ..RemoteError::new(int, int, name) };
        same(&RemoteError { dom: Some(dom), ..error.clone() })?;
        same(&error)?;
        prop_assert_eq!(Uuid(uuid).to_string().parse::<Uuid>(), Ok(Uuid(uuid)));
    }

    #[test]
    fn names_of_processors_are_cut_off(text in ".{0,60}") {
        let wide = WideChars::new(&text);
        same(&wide)?;
        prop_assert!(text.len() > 31 || text.contains('\0') || wide.text() == text);
    }
}

fn same<T: Xdr + PartialEq + std::fmt::Debug>(value: &T) -> Result<(), TestCaseError> {
    let bytes = to_bytes(value).expect("it is short");
    prop_assert_eq!(bytes.len() % 4, 0);
    let mut decoder = Decoder::new(&bytes);
    prop_assert_eq!(&T::decode(&mut decoder).expect("what was encoded"), value);
    prop_assert!(decoder.rest().is_empty());
    // Cut off anywhere it is nothing.
    for end in 0..bytes.len() {
        prop_assert!(T::decode(&mut Decoder::new(&bytes[..end])).is_err());
    }
    Ok(())
}

#[test]
fn a_count_alone_makes_no_room() {
    for count in [1_u32, 2_048, 16_384, 16_385, u32::MAX] {
        let bytes = count.to_be_bytes();
        assert!(List::<Domain, 16_384>::decode(&mut Decoder::new(&bytes)).is_err(), "{count}");
        assert!(String::decode(&mut Decoder::new(&bytes)).is_err(), "{count}");
    }
    let bounded =
        List::<i32, 2>::decode(&mut Decoder::new(&[0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(bounded, Err(DecodeError::TooLong { what: "a list", len: 3, most: 2 }));
    let many = List::<i32, 16_384>::decode(&mut Decoder::new(
        &to_bytes(&List::<i32, 16_384>(vec![1; 1_000])).unwrap(),
    ));
    assert!(many.unwrap().0.capacity() <= 2_048);
}

#[test]
fn lengths_at_the_bounds() {
    let len = |len: usize| packet_len(&u32::try_from(len).unwrap().to_be_bytes());
    assert_eq!(packet_len(&[0; 3]), Ok(None));
    assert_eq!(len(MIN_PACKET), Ok(Some(MIN_PACKET)));
    assert_eq!(len(MAX_PACKET), Ok(Some(MAX_PACKET)));
    for bad in [0, 3, 4, MIN_PACKET - 1, MAX_PACKET + 1] {
        assert_eq!(len(bad), Err(BadLength(u32::try_from(bad).unwrap())));
    }
    let header = Header::call(1, 2, 3);
    assert!(header.before(MAX_PACKET - MIN_PACKET).is_ok());
    assert!(header.before(MAX_PACKET - MIN_PACKET + 1).is_err());
    assert!(to_bytes(&"x".repeat(4_194_304)).is_ok());
    assert!(to_bytes(&"x".repeat(4_194_305)).is_err());
}

/// Packets as a real daemon and a real client have sent them.
#[test]
fn as_it_is_on_the_wire() {
    let open = ConnectOpen { name: Some("qemu:///system".into()), flags: 0 };
    let packet = libvirt_rpc::Call::packet(&open, 2).unwrap();
    let expected = [
        &[0, 0, 0, 56, 0x20, 0, 0x80, 0x86, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0][..],
        &[0, 0, 0, 1, 0, 0, 0, 14],
        b"qemu:///system\0\0",
        &[0, 0, 0, 0],
    ];
    assert_eq!(packet, expected.concat());
    let ping =
        [0, 0, 0, 28, 0x6b, 0x65, 0x65, 0x70, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(Sign::Ping.packet(), ping);
    assert_eq!(Sign::of(&parts(&ping).unwrap().0), Some(Sign::Ping));
}
