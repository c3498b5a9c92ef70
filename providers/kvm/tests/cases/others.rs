//! What others do with what is ours: domains that are renamed, clones of disks, and who is faster.

use std::{sync::Arc, time::Duration};

use fixture_libvirt::Host;
use libvirt_rpc::Procedure;
use provider_api::{CreateRequest, Deleted, FailureClass, GetError, Provider, ProviderId};

use super::bench::{Bench, POOL, fails, until};

const SOON: Duration = Duration::from_secs(5);
const RUNNING: i32 = 1;
const OFF: i32 = 5;

/// A domain of somebody else's, with these files as its disks.
fn foreign(name: &str, files: &[&str]) -> String {
    let disk = |(at, file): (usize, &&str)| {
        let target = char::from(b'a' + u8::try_from(at).unwrap());
        format!(
            "<disk type='file' device='disk'><source file='{file}'/><target dev='vd{target}' bus='virtio'/></disk>"
        )
    };
    let disks: String = files.iter().enumerate().map(disk).collect();
    format!(
        "<domain type='qemu'><name>{name}</name><memory unit='MiB'>64</memory>\
         <os><type arch='x86_64' machine='q35'>hvm</type></os><devices>{disks}</devices></domain>"
    )
}

/// Where the parts of the only instance are.
fn paths(bench: &Bench) -> Vec<String> {
    let parts = bench.parts();
    let path = |part: &String| bench.volume(|name| name == part).path;
    parts.iter().map(path).collect()
}

/// Somebody gives our domain a name of their own. It is proven gone, and the reconciler deletes its parts and makes it
/// anew; neither may cost that domain its disks.
#[tokio::test(flavor = "multi_thread")]
async fn a_domain_that_was_renamed_keeps_its_disks() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (request, id) = bench.running(&*provider, "uid-1").await;
    let parts = bench.parts();
    let contents = |bench: &Bench| {
        parts.iter().map(|part| bench.volume(|name| name == part).content).collect::<Vec<_>>()
    };
    let before = contents(&bench);
    let files = paths(&bench);
    bench.host().remove_domain(request.name.as_str()).unwrap();
    let files: Vec<_> = files.iter().map(String::as_str).collect();
    bench.host().plant(&foreign("kept", &files), false).unwrap();

    assert_eq!(provider.get(&id).await, Err(GetError::NotFound));
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    let error = fails(SOON, provider.create(&request)).await;
    assert_eq!((error.class(), error.code()), (FailureClass::Permanent, Some("PartNeeded")), "{error}");
    assert!(error.message().contains("kept"), "{error}");
    assert_eq!((bench.parts(), contents(&bench)), (parts.clone(), before));
    assert_eq!(bench.host().domains().len(), 1);

    bench.host().remove_domain("kept").unwrap();
    provider.create(&request).await.unwrap();
}

/// A clone, or a snapshot in a file of its own, is often called after what it stands on.
#[tokio::test(flavor = "multi_thread")]
async fn a_clone_that_is_called_after_our_disk_keeps_it() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    let [disk, _seed] = bench.parts().try_into().unwrap();
    let path = bench.volume(|name| name == disk).path;
    let clone = format!("{disk}.snap1");
    bench.host().put_volume(POOL, &clone, overlay(&path)).unwrap();
    assert_eq!(bench.volume(|name| name == clone).backing, Some(path));
    provider.delete(&id).await.unwrap();
    assert_eq!(bench.parts(), [disk, clone], "the seed alone goes");
}

/// An empty overlay, as QEMU lays it out.
fn overlay(path: &str) -> Vec<u8> {
    let mut bytes = super::images::bytes();
    bytes[8..16].copy_from_slice(&128_u64.to_be_bytes());
    bytes[16..20].copy_from_slice(&u32::try_from(path.len()).unwrap().to_be_bytes());
    bytes[128..128 + path.len()].copy_from_slice(path.as_bytes());
    bytes
}

/// A delete in a task of its own, which hangs before the domain is undefined.
async fn hangs_before_undefine(
    bench: &Bench,
    provider: &Arc<dyn Provider>,
    id: &ProviderId,
) -> tokio::task::JoinHandle<Result<Deleted, provider_api::Error>> {
    bench.daemons[0].hang_in_next(&[Procedure::DomainUndefineFlags]);
    let (provider, id) = (Arc::clone(provider), id.clone());
    let delete = tokio::spawn(async move { provider.delete(&id).await });
    until("the hang", || bench.daemons[0].hanging() == 1).await;
    delete
}

/// Somebody starts a domain between its end and its removal; it then goes on for as long as it runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_domain_that_was_started_meanwhile_is_not_said_to_be_gone() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (request, id) = bench.running(&*provider, "uid-1").await;
    let delete = hangs_before_undefine(&bench, &provider, &id).await;
    bench.host().set_state(request.name.as_str(), RUNNING, 1).unwrap();
    bench.daemons[0].let_go();
    let error = delete.await.unwrap().unwrap_err();
    assert_eq!((error.class(), error.code()), (FailureClass::Transient, Some("StillThere")), "{error}");
    assert_eq!(bench.parts().len(), 2);
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!((bench.host().domains().len(), bench.parts().len()), (0, 0));
}

/// Ours again, made anew by another process of the same installation.
fn successor(host: &Host, request: &CreateRequest, xml: &str) {
    let anew =
        xml.find("<uuid>").map_or_else(String::new, |at| xml[at..at + "<uuid></uuid>".len() + 36].to_owned());
    host.remove_domain(request.name.as_str()).unwrap();
    host.plant(&xml.replace(&anew, ""), true).unwrap();
}

/// A delete is bound to the domain that it found.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_delete_takes_no_successor() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (request, id) = bench.running(&*provider, "uid-1").await;
    let name = request.name.as_str();
    bench.host().set_state(name, OFF, 1).unwrap();
    let delete = hangs_before_undefine(&bench, &provider, &id).await;
    let xml = bench.host().domain_named(name).unwrap().xml.to_xml();
    successor(bench.host(), &request, &xml);
    let after = bench.host().domain_named(name).unwrap().uuid;
    bench.daemons[0].let_go();
    delete.await.unwrap().unwrap();
    let domain = bench.host().domain_named(name).expect("the successor stands");
    assert_eq!((domain.uuid, domain.id.is_some()), (after, true));
    assert_eq!(bench.parts().len(), 2, "it needs them");
}
