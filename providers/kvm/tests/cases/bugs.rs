//! What public bug reports of libvirt's users tell: each is survived.

use std::time::Duration;

use fixture_libvirt::{Addresses, AgentInterface, Kvm};
use libvirt_rpc::Procedure;
use provider_api::{Deleted, FailureClass, GetError, LeftBehind, State, StateKind};

use super::bench::{Bench, POOL, address, fails, request, shown};

const SOON: Duration = Duration::from_secs(5);

/// A domain of somebody else's, with that name.
fn foreign(name: &str) -> String {
    format!(
        "<domain type='qemu'><name>{name}</name><memory unit='MiB'>64</memory>\
         <os><type arch='x86_64' machine='q35'>hvm</type></os></domain>"
    )
}

/// terraform-provider-libvirt#921: a domain that is defined and does not start stays defined, and every repetition fails
/// because of it.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l01_a_domain_that_does_not_start_is_taken_back_or_taken_up() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    bench.host().refuse(Procedure::DomainCreate, Some("disk-forbidden"));
    bench.host().refuse(Procedure::DomainCreateWithFlags, Some("disk-forbidden"));
    let error = fails(SOON, provider.create(&request("uid-1"))).await;
    assert_eq!(
        (error.class(), error.left_behind()),
        (FailureClass::Permanent, LeftBehind::Nothing),
        "{error}"
    );
    assert_eq!((bench.host().domains().len(), bench.parts().len()), (0, 0));

    // What may pass by itself is left to the repetition, which takes it up.
    bench.host().refuse(Procedure::DomainCreate, Some("busy"));
    bench.host().refuse(Procedure::DomainCreateWithFlags, Some("busy"));
    let error = fails(SOON, provider.create(&request("uid-1"))).await;
    assert_eq!(error.class(), FailureClass::Transient, "{error}");
    let before = bench.host().domains().remove(0).uuid;
    bench.host().refuse(Procedure::DomainCreate, None);
    bench.host().refuse(Procedure::DomainCreateWithFlags, None);
    provider.create(&request("uid-1")).await.unwrap();
    assert_eq!(bench.host().domains().remove(0).uuid, before);

    // A name that somebody else has taken stays theirs.
    let other = request("uid-2");
    bench.host().plant(&foreign(other.name.as_str()), true).unwrap();
    let error = fails(SOON, provider.create(&other)).await;
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    assert!(bench.host().domain_named(other.name.as_str()).is_some());
}

/// cluster-api-provider-libvirt#121: a seed that a former machine has left keeps the next one of its name from being made.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l02_volumes_that_were_left_are_in_nobodys_way() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    let parts = bench.parts();
    assert_eq!(parts.len(), 2);
    provider.delete(&id).await.unwrap();
    assert_eq!(bench.parts(), [""; 0]);
    for part in &parts {
        bench.host().put_volume(POOL, part, *b"of a former life").unwrap();
    }
    provider.create(&request("uid-1")).await.unwrap();
    assert_eq!(bench.parts(), parts);
    assert_ne!(bench.volume(|name| name == parts[1]).content, b"of a former life");
    assert_eq!(bench.volume(|name| name == parts[0]).format, "qcow2");
}

/// terraform-provider-libvirt#681: a disk whose file was removed behind the pool's back cannot be found, nor deleted.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l03_a_disk_that_is_gone_already_is_deleted() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    for part in bench.parts() {
        bench.host().remove_file(POOL, &part).unwrap();
    }
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!(provider.get(&id).await, Err(GetError::NotFound));
    provider.create(&request("uid-1")).await.unwrap();
}

/// community.libvirt#40: a domain that boots by UEFI cannot be undefined as long as its variables are there.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l04_the_variables_of_uefi_go_with_the_domain() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (request, id) = bench.running(&*provider, "uid-1").await;
    let domain = bench.host().domain_named(request.name.as_str()).unwrap();
    assert!(domain.nvram);
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!(bench.host().domains().len(), 0);
}

/// vagrant-libvirt#78: snapshots, whoever made them, keep a domain from being undefined; so do a saved state and
/// checkpoints.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l05_snapshots_keep_nothing_alive() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (request, id) = bench.running(&*provider, "uid-1").await;
    let name = request.name.as_str();
    bench.host().set_snapshots(name, 1).unwrap();
    bench.host().set_checkpoints(name, 1).unwrap();
    bench.host().save(name).unwrap();
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!(bench.host().domains().len(), 0);
}

/// openshift/installer#656: a destroy of a domain that is off fails, and the deletion never gets further.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l06_a_domain_that_is_off_is_deleted() {
    const OFF: i32 = 5;
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (request, id) = bench.running(&*provider, "uid-1").await;
    bench.host().set_state(request.name.as_str(), OFF, 1).unwrap();
    assert!(matches!(shown(&*provider, &id).await.state, State::Stopped { .. }));
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!(bench.host().domains().len(), 0);
}

/// qubinode-installer#26: a domain that is paused since its pool is full looks alive.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l07_a_domain_that_could_not_write_is_stopped_with_the_reason() {
    const PAUSED: i32 = 3;
    const IO_ERROR: i32 = 5;
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (request, id) = bench.running(&*provider, "uid-1").await;
    bench.host().set_state(request.name.as_str(), PAUSED, IO_ERROR).unwrap();
    let state = shown(&*provider, &id).await.state;
    assert_eq!(state.kind(), StateKind::Stopped);
    assert_eq!(state.reason().unwrap().code, "PausedIoerror");
}

/// vagrant-libvirt#674: the list of leases has those of machines that are gone, and expired ones.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l08_a_lease_of_another_machine_is_not_ours() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let request = request("uid-1");
    let id = provider.create(&request).await.unwrap();
    let mac = bench.host().domain_named(request.name.as_str()).unwrap().nics[0].mac.clone();
    let ip = |text: &str| text.parse::<std::net::IpAddr>().unwrap();
    bench.host().add_lease("default", "52:54:00:00:00:99", ip("192.168.122.99"), 600).unwrap();
    bench.host().add_lease("default", &mac, ip("192.168.122.98"), -600).unwrap();
    bench.host().boot(request.name.as_str()).unwrap();
    let shown = address(&shown(&*provider, &id).await.state).unwrap();
    assert!(![ip("192.168.122.98"), ip("192.168.122.99")].contains(&shown), "{shown}");
}

/// vagrant-libvirt#1343: an agent tells of `lo`, of bridges in the guest and of link-local addresses before it comes to
/// the address of the guest's own interface.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l09_an_agents_address_counts_only_on_the_domains_own_interface() {
    let mut bench = Bench::of(&["rack-1"], |config| config.neighbours = false).await;
    bench.block()["hosts"][0]["network"].take();
    bench.block()["hosts"][0]["bridge"] = "br0".into();
    let provider = bench.provider();
    let (request, id) = bench.running(&*provider, "uid-1").await;
    let interface = |name: &str, mac: Option<&str>, all: &[&str]| AgentInterface {
        name: name.to_owned(),
        mac: mac.map(str::to_owned),
        addresses: all.iter().map(|address| (address.parse().unwrap(), 24)).collect(),
    };
    let agent = vec![
        interface("lo", Some("00:00:00:00:00:00"), &["127.0.0.1", "::1"]),
        interface("docker0", Some("02:42:ac:11:00:01"), &["172.17.0.1"]),
        interface("eth0", None, &["fe80::5054:ff:fe00:1", "2001:db8::9", "169.254.7.7", "10.20.0.9"]),
    ];
    let told = Addresses { leases: vec![], agent, neighbours: vec![] };
    bench.host().set_addresses(request.name.as_str(), told).unwrap();
    let state = shown(&*provider, &id).await.state;
    assert_eq!(address(&state), Some("10.20.0.9".parse().unwrap()));
}

/// terraform-provider-libvirt#126: AppArmor, or a folder's mode, keeps QEMU from the disk: it is tried again for ever.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l10_a_disk_that_may_not_be_read_is_permanent_and_says_what_to_look_at() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    // The first one brings the image.
    bench.running(&*provider, "uid-1").await;
    let image = bench.volume(|name| name.starts_with("proxy-image-") && !name.ends_with(".whole")).name;
    bench.host().forbid(POOL, &image, true).unwrap();
    let before = bench.parts();
    let error = fails(SOON, provider.create(&request("uid-2"))).await;
    assert_eq!(
        (error.class(), error.left_behind()),
        (FailureClass::Permanent, LeftBehind::Nothing),
        "{error}"
    );
    assert!(error.message().contains("Permission denied"), "{error}");
    assert_eq!((bench.host().domains().len(), bench.parts()), (1, before), "it is taken back");
}

/// virtrigaud#285: names with spaces end a listing early, and what cannot be read is taken for an empty list.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l15_a_listing_is_whole_or_says_what_is_missing() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    bench.host().plant(&foreign("Windows Server 2019"), true).unwrap();
    let (first, _) = bench.running(&*provider, "uid-1").await;
    bench.running(&*provider, "uid-2").await;
    let listed = provider.list_by_tag().await.unwrap();
    assert_eq!((listed.items.len(), listed.unreachable.len()), (2, 0));
    bench
        .host()
        .set_metadata(first.name.as_str(), "p", "urn:proxy-operator:kvm", Some("<instance/>"))
        .unwrap();
    bench.host().set_unreadable(first.name.as_str(), true).unwrap();
    let listed = provider.list_by_tag().await.unwrap();
    assert_eq!((listed.items.len(), listed.unreachable.len()), (1, 1), "{listed:?}");
}

/// libvirt#34: a daemon that is down is taken for an instance that is gone.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l16_a_daemon_that_is_down_proves_nothing() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    bench.daemons[0].stop().unwrap();
    let Err(GetError::Failed(error)) = provider.get(&id).await else {
        panic!("it is neither there nor gone")
    };
    assert_eq!(error.class(), FailureClass::Transient, "{error}");
    let error = fails(SOON, provider.delete(&id)).await;
    assert_eq!(error.class(), FailureClass::Transient, "{error}");
    let listed = provider.list_by_tag().await.unwrap();
    assert_eq!((listed.items.len(), listed.unreachable.len()), (0, 1), "{listed:?}");
    assert_eq!(bench.host().domains().len(), 1);
}

/// virtrigaud's changelog of 2026-06-17: a user that is not root gets a daemon of its own, which has no domains.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l17_the_system_daemon_is_asked_whoever_asks() {
    let bench = Bench::new().await;
    bench.running(&*bench.provider(), "uid-1").await;
    assert!(bench.daemons[0].heard(b"qemu:///system"), "the URI says which daemon");
    assert!(!bench.daemons[0].heard(b"session"));
}

/// cloud-init#3268: a guest that has seen an instance id before ignores the seed.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l18_no_two_seeds_have_the_same_instance_id() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    let first = bench.volume(|name| name.ends_with("-seed")).content;
    provider.delete(&id).await.unwrap();
    bench.running(&*provider, "uid-1").await;
    let second = bench.volume(|name| name.ends_with("-seed")).content;
    let id = |seed: &[u8]| {
        let text = String::from_utf8_lossy(seed).into_owned();
        let (_, rest) = text.split_once("instance-id").expect("a seed has meta-data");
        rest.lines().next().unwrap().to_owned()
    };
    assert_ne!(id(&first), id(&second));
}

/// virtrigaud#282: domains are emulated on hosts that could accelerate them.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l19_a_domain_is_accelerated_or_somebody_has_said_that_it_need_not_be() {
    let kind = |bench: &Bench| {
        let domain = bench.host().domains().remove(0).xml;
        domain.attributes.iter().find(|(key, _)| key == "type").map(|(_, value)| value.clone()).unwrap()
    };
    let bench = Bench::new().await;
    bench.running(&*bench.provider(), "uid-1").await;
    assert_eq!(kind(&bench), "kvm");

    let mut bench = Bench::of(&["rack-1"], |config| config.kvm = Kvm::Missing).await;
    let error = fails(SOON, bench.provider().create(&request("uid-1"))).await;
    assert_eq!(
        (error.class(), error.left_behind()),
        (FailureClass::Permanent, LeftBehind::Nothing),
        "{error}"
    );
    assert!(error.message().contains("allowEmulation"), "{error}");
    assert_eq!((bench.host().domains().len(), bench.host().volumes().len()), (0, 0));
    bench.block()["allowEmulation"] = true.into();
    bench.running(&*bench.provider(), "uid-1").await;
    assert_eq!(kind(&bench), "qemu");
}
