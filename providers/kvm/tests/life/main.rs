//! The provider on a real host: whole lives of guests that boot, by BIOS and by UEFI, with requests through the Squid in
//! them; one of them made and removed by processes that die at every step.
//!
//! `cargo xtask e2e kvm` starts a host and runs this. On a host of your own set the variables that docs/kvm.md lists.
#![allow(clippy::unwrap_used)]

mod guest;
mod host;
mod image;
mod killed;
mod observer;
#[path = "../outside/mod.rs"]
mod outside;

use std::time::Duration;

use host::Host;
use killed::Death;
use observer::Observer;
use provider_api::{
    Deadline, Deleted, Error, FailureClass, GetError, Leftover, Provider, ProviderId, Registry, StateKind,
};

/// The provider under test.
const TYPE: &str = "kvm";

fn register(registry: &mut Registry) {
    provider_kvm::register(registry);
}

/// More writes than any operation makes.
const MOST: u32 = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_life_by_bios_after_others_whose_makers_and_removers_died() {
    let (host, observer) = (Host::offered("killed", "bios"), Observer::dial());
    let request = host.request();
    let built = host.provider();
    let provider = &*built.provider;

    // The image comes with the first: each process goes on from what its forerunners left.
    let through = (1..MOST).find(|at| !killed::create(&host, even(*at)));
    assert!(through > Some(3), "{through:?}: image and marker alone take that many writes");
    let mut id = asked_again(|| provider.create(&request)).await;
    // Then each write of a create and of a delete in its turn, upon nothing and upon a whole instance.
    let mut deaths = [0, 0];
    for at in (1..MOST).flat_map(|at| [false, true].map(|under_way| Death { at, under_way })) {
        let deleting = killed::delete(&host, &id, at);
        assert_eq!(asked_again(|| provider.delete(&id)).await, Deleted::Gone, "after {at:?}");
        assert_eq!(observer.left_of(&request.name), Vec::<String>::new(), "after {at:?}");
        let creating = killed::create(&host, at);
        id = asked_again(|| provider.create(&request)).await;
        let found = observer.domains().into_iter().filter(|name| name == request.name.as_str()).count();
        assert_eq!(found, 1, "after {at:?}");
        // While a write is under way death may come too late.
        if !at.under_way {
            deaths[0] += u32::from(creating);
            deaths[1] += u32::from(deleting);
            if !creating && !deleting {
                break;
            }
        }
    }
    println!("{deaths:?} creates and deletes were killed");
    assert!(deaths[0] >= 5 && deaths[1] >= 3, "{deaths:?} creates and deletes were killed");

    let address = guest::until_running(provider, &id).await;
    let known = observer.addresses(request.name.as_str());
    assert!(known.contains(&address), "{address} is none of {known:?}");
    guest::answers(address).await;
    let listing = provider.list_by_tag().await.unwrap();
    assert!(listing.unreachable.is_empty(), "{listing:?}");
    let listed: Vec<_> = listing.items.iter().map(|item| (&item.id, &item.uid)).collect();
    assert_eq!(listed, [(&id, &request.uid)]);
    let instance = provider.get(&id).await.unwrap();
    assert_eq!(listing.items[0].created_at, instance.created_at);
    assert_eq!(provider.create(&request).await.unwrap(), id, "a repeated create is the same instance");
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    is_gone(provider, &id).await;
    assert_eq!(observer.left_of(&request.name), Vec::<String>::new());

    // The lease of the former life is still there, and is not the next one's.
    assert_eq!(provider.create(&request).await.unwrap(), id);
    let state = provider.get(&id).await.unwrap().state;
    assert_eq!(state.kind(), StateKind::Provisioning, "{state:?} so soon after its start");
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!(observer.left_of(&request.name), Vec::<String>::new());
}

/// Asks again while the error is Transient, as every caller does: what a process began before it died may still be under
/// way at the daemon.
pub(crate) async fn asked_again<T, F: Future<Output = Result<T, Error>>>(ask: impl Fn() -> F) -> T {
    for _ in 0..20 {
        match ask().await {
            Err(error) if error.class() == FailureClass::Transient => {
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
            answer => return answer.unwrap(),
        }
    }
    ask().await.unwrap()
}

/// Before the write where its number is odd, while it is under way where it is even.
fn even(at: u32) -> Death {
    Death { at, under_way: at.is_multiple_of(2) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_maker_that_died_leaves_is_an_instance_or_listed_as_leftovers() {
    let (host, observer) = (Host::offered("orphaned", "bios"), Observer::dial());
    let request = host.request();
    let built = host.provider();
    let leftovers = built.leftovers.as_deref().unwrap();
    // The image stays, and all writes but those for it are left.
    let id = built.provider.create(&request).await.unwrap();
    assert_eq!(built.provider.delete(&id).await.unwrap(), Deleted::Gone);
    let mut removed = 0;
    for at in 1..MOST {
        let died = killed::create(&host, Death { at, under_way: false });
        let instances = built.provider.list_by_tag().await.unwrap().items;
        let instance = instances.iter().find(|instance| instance.uid == request.uid);
        let parts = leftovers.list().await.unwrap().items;
        let parts: Vec<_> = parts.iter().filter(|part| part.owner == request.name).collect();
        match instance {
            Some(instance) => {
                assert_eq!(parts, Vec::<&Leftover>::new(), "the parts of an instance are no leftovers");
                assert_eq!(built.provider.delete(&instance.id).await.unwrap(), Deleted::Gone);
            }
            None => {
                for part in parts {
                    leftovers.delete(&part.id).await.unwrap();
                    removed += 1;
                }
            }
        }
        assert_eq!(observer.left_of(&request.name), Vec::<String>::new(), "of one that died at write {at}");
        if !died {
            assert!(removed >= 4, "{removed} leftovers of {at} makers that died");
            return;
        }
    }
    panic!("a create does not come through within {MOST} writes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_life_by_uefi_in_which_somebody_pulls_the_plug() {
    let (host, observer) = (Host::offered("unplugged", "uefi"), Observer::dial());
    let request = host.request();
    let built = host.provider();
    let provider = &*built.provider;
    let id = provider.create(&request).await.unwrap();
    let address = guest::until_running(provider, &id).await;
    let known = observer.addresses(request.name.as_str());
    assert!(known.contains(&address), "{address} is none of {known:?}");
    guest::answers(address).await;

    observer.virsh(&["destroy", request.name.as_str()]);
    let state = provider.get(&id).await.unwrap().state;
    assert_eq!(state.kind(), StateKind::Stopped, "after its plug was pulled");
    assert!(state.reason().is_some_and(|reason| reason.code == "Shutoff"), "{state:?}");
    assert_eq!(provider.create(&request).await.unwrap(), id, "a create turns it on again");
    let state = provider.get(&id).await.unwrap().state;
    assert!(matches!(state.kind(), StateKind::Provisioning | StateKind::Running), "{state:?}");

    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    is_gone(provider, &id).await;
    assert_eq!(observer.left_of(&request.name), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_finds_the_host_usable() {
    let (host, observer) = (Host::offered("checked", "bios"), Observer::dial());
    let checker = host.provider().checker.unwrap();
    let statuses = checker.check(Deadline::at(Duration::MAX)).await;
    let [status] = statuses.as_slice() else { panic!("{statuses:?}") };
    assert!(status.ready, "{status:?}");
    let version = observer.virsh(&["version", "--daemon"]);
    assert!(version.contains(&status.details["libvirtVersion"]), "{status:?} of {version}");
    assert_eq!(status.details["hostname"], observer.virsh(&["hostname"]).trim());
}

/// Proven gone, and deleting it once more is no error.
async fn is_gone(provider: &dyn Provider, id: &ProviderId) {
    let gone = provider.get(id).await;
    assert!(matches!(gone, Err(GetError::NotFound)), "{gone:?}");
    assert_eq!(provider.delete(id).await.unwrap(), Deleted::Gone);
    assert_eq!(provider.list_by_tag().await.unwrap().items, []);
}
