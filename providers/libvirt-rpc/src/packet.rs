//! Packets: a length, a header and a payload. What a payload means is said by the procedure, in the other modules.

use crate::xdr::{DecodeError, Decoder, EncodeError, Encoder, Xdr};

/// The longest packet, with its length word: 32 MiB of message beside that word.
pub const MAX_PACKET: usize = 33_554_436;
/// The shortest: the length word and the header.
pub const MIN_PACKET: usize = 28;
/// The bytes of a stream that libvirt's own peers put into one packet. A receiver takes any size that makes a packet.
pub const STREAM_PIECE: usize = 262_120;

const HEADER: usize = MIN_PACKET - 4;

/// The programs that speak on a connection.
pub mod program {
    /// The calls of the connection itself, of domains, networks, pools and volumes.
    pub const REMOTE: u32 = 0x2000_8086;
    /// What only the QEMU driver has.
    pub const QEMU: u32 = 0x2000_8087;
    /// Signs of life.
    pub const KEEPALIVE: u32 = 0x6b65_6570;
    /// The version of each of them.
    pub const VERSION: u32 = 1;
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A call.
    Call,
    /// The answer to one.
    Reply,
    /// Something unasked: an event, a sign of life.
    Message,
    /// A piece of a stream, or its end.
    Stream,
    /// A call that file descriptors follow.
    CallWithFds,
    /// An answer that file descriptors follow.
    ReplyWithFds,
    /// A hole in a sparse stream.
    StreamHole,
}

/// How it stands with what a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Done; on a stream its end.
    Ok,
    /// It failed, and the payload is a [`RemoteError`](crate::RemoteError); a client's own end of a stream has none.
    Error,
    /// More is to come; only on a stream.
    Continue,
}

const KINDS: [Kind; 7] = [
    Kind::Call,
    Kind::Reply,
    Kind::Message,
    Kind::Stream,
    Kind::CallWithFds,
    Kind::ReplyWithFds,
    Kind::StreamHole,
];
const STATUSES: [Status; 3] = [Status::Ok, Status::Error, Status::Continue];

/// What stands before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Who speaks: one of [`program`].
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The number of the procedure within the program.
    pub procedure: i32,
    /// What the packet is.
    pub kind: Kind,
    /// What the client calls its call; everything that belongs to the call has it. Any number will do.
    pub serial: u32,
    /// How it stands with it.
    pub status: Status,
}

impl Header {
    /// The header of a call.
    pub fn call(program: u32, procedure: i32, serial: u32) -> Self {
        let (kind, status) = (Kind::Call, Status::Ok);
        Self { program, version: program::VERSION, procedure, kind, serial, status }
    }

    /// The header of another packet of the same call.
    #[must_use]
    pub fn with(self, kind: Kind, status: Status) -> Self {
        Self { kind, status, ..self }
    }

    /// The length word and the header of a packet whose payload has that many bytes; the payload follows as it is.
    ///
    /// # Errors
    /// [`EncodeError`] for a payload that no packet takes.
    pub fn before(&self, payload: usize) -> Result<[u8; MIN_PACKET], EncodeError> {
        const MOST: usize = MAX_PACKET - MIN_PACKET;
        let fits = u32::try_from(payload + MIN_PACKET).ok().filter(|_| payload <= MOST);
        let length = fits.ok_or(EncodeError { what: "a packet", len: payload, most: MOST })?;
        let words = [
            length,
            self.program,
            self.version,
            self.procedure.cast_unsigned(),
            number(&KINDS, self.kind),
            self.serial,
            number(&STATUSES, self.status),
        ];
        let mut bytes = [0; MIN_PACKET];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        Ok(bytes)
    }

    /// A packet with these bytes as they are: a piece of a stream.
    ///
    /// # Errors
    /// [`EncodeError`] for a payload that no packet takes.
    pub fn packet_of(&self, payload: &[u8]) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::with_capacity(MIN_PACKET + payload.len());
        bytes.extend_from_slice(&self.before(payload.len())?);
        bytes.extend_from_slice(payload);
        Ok(bytes)
    }

    /// A packet with that value as its payload.
    ///
    /// # Errors
    /// [`EncodeError`] for a value that the peer would refuse, or that no packet takes.
    pub fn packet<T: Xdr>(&self, value: &T) -> Result<Vec<u8>, EncodeError> {
        let mut encoder = Encoder::onto(vec![0; MIN_PACKET]);
        value.encode(&mut encoder)?;
        let mut bytes = encoder.into_bytes();
        let before = self.before(bytes.len() - MIN_PACKET)?;
        bytes[..MIN_PACKET].copy_from_slice(&before);
        Ok(bytes)
    }
}

impl Xdr for Header {
    fn encode(&self, to: &mut Encoder) -> Result<(), EncodeError> {
        for word in [self.program, self.version] {
            word.encode(to)?;
        }
        self.procedure.encode(to)?;
        number(&KINDS, self.kind).encode(to)?;
        self.serial.encode(to)?;
        number(&STATUSES, self.status).encode(to)
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            program: u32::decode(from)?,
            version: u32::decode(from)?,
            procedure: i32::decode(from)?,
            kind: of_number("kind of packet", &KINDS, u32::decode(from)?)?,
            serial: u32::decode(from)?,
            status: of_number("status", &STATUSES, u32::decode(from)?)?,
        })
    }
}

fn number<T: PartialEq>(all: &[T], one: T) -> u32 {
    // The tables have every variant, and are short.
    all.iter().zip(0..).find(|(other, _)| **other == one).map_or(0, |(_, number)| number)
}

fn of_number<T: Copy>(what: &'static str, all: &[T], number: u32) -> Result<T, DecodeError> {
    let found = usize::try_from(number).ok().and_then(|at| all.get(at)).copied();
    found.ok_or(DecodeError::Unknown { what, value: number.into() })
}

/// The length word is one that no peer sends. The stream cannot be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a packet of {0} bytes is announced, which is none")]
pub struct BadLength(pub u32);

/// How many of these bytes make the first packet, its length word included; `None` while fewer than four are there.
/// Nothing is to be allocated by it: it is only what the peer says.
///
/// # Errors
/// [`BadLength`] for a length that no packet has. A daemon closes the connection then, without a word.
pub fn packet_len(bytes: &[u8]) -> Result<Option<usize>, BadLength> {
    let Some(word) = bytes.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*word);
    match usize::try_from(length) {
        Ok(len) if (MIN_PACKET..=MAX_PACKET).contains(&len) => Ok(Some(len)),
        _ => Err(BadLength(length)),
    }
}

/// Takes a whole packet apart.
///
/// # Errors
/// [`DecodeError`] when it is too short, or its header says what no header says.
pub fn parts(packet: &[u8]) -> Result<(Header, &[u8]), DecodeError> {
    let packet = packet.get(4..).ok_or(DecodeError::Short)?;
    let mut decoder = Decoder::new(packet);
    let header = Header::decode(&mut decoder)?;
    Ok((header, &packet[HEADER..]))
}

/// Cuts packets out of what comes in. It holds what has come, never more.
#[derive(Debug, Default)]
pub struct Packets {
    bytes: Vec<u8>,
    /// What was cut out already.
    done: usize,
}

impl Packets {
    /// Takes in what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.done > 0 {
            self.bytes.drain(..self.done);
            self.done = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole packet, for [`parts`] to take apart; `None` until more has come.
    ///
    /// # Errors
    /// [`BadLength`] when what comes next is no packet.
    pub fn pop(&mut self) -> Result<Option<&[u8]>, BadLength> {
        let left = &self.bytes[self.done..];
        let Some(len) = packet_len(left)?.filter(|len| *len <= left.len()) else { return Ok(None) };
        let from = self.done;
        self.done += len;
        Ok(Some(&self.bytes[from..from + len]))
    }

    /// How many bytes wait for the rest of their packet.
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.done
    }
}
