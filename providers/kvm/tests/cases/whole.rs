//! Whole lives, and what they leave.

use fixture_libvirt::{Addresses, AgentInterface, Kvm};
use provider_api::{Deleted, FailureClass, GetError, LeftBehind, State, reasons};

use super::bench::{Bench, MEMORY_MIB, POOL, address, request, shown};

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_life() {
    let bench = Bench::new().await;
    let built = bench.built();
    let provider = &*built.provider;
    let request = request("uid-1");
    let id = provider.create(&request).await.unwrap();
    assert_eq!(id.as_str(), format!("hosts/rack-1/domains/{}", request.name));
    bench.host().boot(request.name.as_str()).unwrap();

    let instance = shown(provider, &id).await;
    assert!(matches!(instance.state, State::Running { .. }), "{instance:?}");
    assert_eq!((&instance.uid, &instance.name), (&request.uid, &request.name));
    assert_eq!(provider.create(&request).await.unwrap(), id, "a repetition finds it");
    let listed = provider.list_by_tag().await.unwrap();
    assert_eq!((listed.items.len(), listed.unreachable.len()), (1, 0));
    assert_eq!(listed.items[0].created_at, instance.created_at);

    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!(provider.get(&id).await, Err(GetError::NotFound));
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!(bench.host().domains().len(), 0);
    // The image stays for the next one, with its marker.
    assert_eq!(bench.parts(), [""; 0]);
    assert_eq!(bench.host().volumes().len(), 2);
    let left = built.leftovers.unwrap().list().await.unwrap();
    assert_eq!((left.items.len(), left.unreachable.len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_is_full_takes_nothing_and_gets_nothing() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    bench.host().set_available(POOL, 10 << 30).unwrap();
    let error = provider.create(&request("uid-1")).await.unwrap_err();
    assert_eq!((error.class(), error.left_behind()), (FailureClass::QuotaExceeded, LeftBehind::Nothing));
    assert!(error.message().contains("pool default on host rack-1"), "{error}");
    assert_eq!(bench.host().volumes().len(), 0);
    assert_eq!(bench.images.asked("/squid.qcow2"), 0);

    bench.host().set_available(POOL, 20 << 30).unwrap();
    provider.create(&request("uid-1")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_memory_takes_nothing() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    const FREE: u64 = 60 << 10;
    bench.host().take_memory(FREE - MEMORY_MIB + 1);
    let error = provider.create(&request("uid-1")).await.unwrap_err();
    assert_eq!((error.class(), error.left_behind()), (FailureClass::QuotaExceeded, LeftBehind::Nothing));
    assert!(error.message().contains("MiB of memory free"), "{error}");
    assert_eq!((bench.host().volumes().len(), bench.host().domains().len()), (0, 0));
    bench.host().take_memory(FREE - MEMORY_MIB);
    provider.create(&request("uid-1")).await.unwrap();
}

/// A host whose table of neighbours cannot be read, whose guest is on a bridge, and whose agent alone knows.
#[tokio::test(flavor = "multi_thread")]
async fn each_source_of_addresses_is_asked_and_one_that_fails_knows_none() {
    let ip = "10.20.0.9".parse().unwrap();
    let of_agent = AgentInterface { name: "eth0".to_owned(), mac: None, addresses: vec![(ip, 16)] };
    for (neighbours, told) in [
        (false, Addresses { leases: vec![], agent: vec![of_agent], neighbours: vec![] }),
        (true, Addresses { leases: vec![], agent: vec![], neighbours: vec![ip] }),
    ] {
        let mut bench = Bench::of(&["rack-1"], |config| config.neighbours = neighbours).await;
        bench.block()["hosts"][0]["network"].take();
        bench.block()["hosts"][0]["bridge"] = "br0".into();
        let provider = bench.provider();
        let (request, id) = bench.running(&*provider, "uid-1").await;
        bench.host().set_addresses(request.name.as_str(), told).unwrap();
        let state = shown(&*provider, &id).await.state;
        assert_eq!(address(&state), Some(ip), "{state:?}");
    }
}

/// Firmware follows the image: NVRAM is there for UEFI alone, and goes with the domain.
#[tokio::test(flavor = "multi_thread")]
async fn both_firmwares_live_and_leave_nothing() {
    for (firmware, nvram) in [("uefi", true), ("bios", false)] {
        let mut bench = Bench::new().await;
        bench.block()["images"]["squid"]["firmware"] = firmware.into();
        let provider = bench.provider();
        let (request, id) = bench.running(&*provider, "uid-1").await;
        let domain = bench.host().domain_named(request.name.as_str()).unwrap();
        assert_eq!(domain.nvram, nvram, "{firmware}");
        assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
        assert_eq!(bench.host().domain_named(request.name.as_str()), None);
        assert_eq!(bench.parts(), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_says_what_an_admin_should_know() {
    let bench = Bench::of(&["rack-1", "rack-2"], |config| {
        if config.name == "rack-2" {
            config.kvm = Kvm::Missing;
        }
    })
    .await;
    let checker = bench.built().checker.unwrap();
    let [first, second] = checker.check(bench.in_seconds(10)).await.try_into().unwrap();
    assert!(first.ready, "{first:?}");
    assert_eq!(first.reason.code, reasons::REACHABLE);
    let details: Vec<_> = first.details.iter().map(|(key, value)| format!("{key}={value}")).collect();
    insta::assert_snapshot!(details.join("\n"));
    assert_eq!((second.ready, &*second.reason.code), (false, "NoAcceleration"));
}
