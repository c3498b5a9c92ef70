//! What the shell makes of a watch that speaks while a reconcile is under way, each as a test.

use std::pin::pin;

use super::*;
use crate::{
    doubles::{FakeCluster, Hand, key, providers, proxy, uid},
    resource::ResourceVersion,
    step::{Action, Memory, Situation, Step},
};

/// Nothing is to be done about any Proxy.
fn rests(_: &Situation<'_>, memory: Memory) -> Step {
    Step { action: Action::Wait(None), memory, notes: Vec::new() }
}

fn version(version: &str) -> Arc<Proxy> {
    Arc::new(Proxy { version: ResourceVersion(version.to_owned()), ..proxy("p") })
}

fn another() -> Arc<Proxy> {
    Arc::new(Proxy { uid: uid("another"), ..proxy("p") })
}

/// What is known of the Proxy `p` after a watch has said `before` while its reconcile was under way, and `after` when that
/// had gone on as far as it could, but had not been heard of.
fn known_after(before: Vec<Change>, after: Vec<Change>) -> Option<Arc<Proxy>> {
    let clock = Hand::default();
    let parts = Parts {
        cluster: Arc::new(FakeCluster::default()),
        providers: providers(&[("a", "plain")]).0,
        clock: Arc::new(clock.clone()),
        term: Term::unlimited(),
        settings: Settings::default(),
        step: rests,
        brakes: Brakes::default(),
        default_sources: Vec::new(),
        seed: 1,
    };
    let ((_told_by_others, told), (tells, _heard)) = (unbounded(), unbounded());
    let mut reconciler = Reconciler::new(parts, told, tells);
    reconciler.changed(Change::Changed(version("2")));
    reconciler.start_what_is_due();
    before.into_iter().for_each(|change| reconciler.changed(change));
    let reconciled = clock.drive(pin!(reconciler.active.next())).unwrap();
    after.into_iter().for_each(|change| reconciler.changed(change));
    reconciler.ended(reconciled);
    let slot = reconciler.slots.get(&key("p"))?;
    slot.known.as_ref().map(|known| Arc::clone(&known.proxy))
}

#[test]
fn a_proxy_under_reconcile_that_an_old_list_lacks_is_known_again_once_the_watch_has_caught_up() {
    let told = [Change::All(Vec::new()), Change::Changed(version("1")), Change::Changed(version("3"))];
    for heard in 0..=told.len() {
        let (before, after) = told.split_at(heard);
        let known = known_after(before.to_vec(), after.to_vec());
        assert_eq!(known.expect("it is lost").version.0, "3", "{heard} of them heard by the reconcile");
    }
}

#[test]
fn a_proxy_under_reconcile_that_is_gone_is_forgotten() {
    let gone = [Change::All(Vec::new()), Change::Gone(key("p"), uid("p"))];
    for gone in gone {
        assert_eq!(known_after(vec![gone.clone()], Vec::new()), None);
        assert_eq!(known_after(Vec::new(), vec![gone]), None);
    }
}

#[test]
fn whoever_has_the_name_of_a_proxy_under_reconcile_by_now_is_known_for_as_long_as_it_is_there() {
    let comes = Change::Changed(another());
    let goes = Change::Gone(key("p"), uid("another"));
    for split in 0..=1 {
        let (before, after) = std::slice::from_ref(&comes).split_at(split);
        assert_eq!(known_after(before.to_vec(), after.to_vec()).unwrap().uid, uid("another"));
    }
    let told = [comes, goes];
    for split in 0..=2 {
        let (before, after) = told.split_at(split);
        assert_eq!(known_after(before.to_vec(), after.to_vec()), None);
    }
}
