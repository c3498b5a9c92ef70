//! What the cloud does by itself: tasks, locks, quota, pages, parts, rights.

use std::{sync::Arc, time::Duration};

use futures::executor::block_on;
use provider_api::{Access, Profile, Secret};

use super::*;
use crate::{clock::CaseClock, ledger::Ledger, memory, wire::Wire};

struct Fixture {
    cloud: MemoryCloud,
    ledger: Ledger,
}

impl Fixture {
    fn new(profile: Profile) -> Self {
        let ledger = Ledger::default();
        let clock = Arc::new(CaseClock::new(ledger.clone()));
        let zones = ["z1", "z2"].map(str::to_owned).into();
        let store = empty(&profile, zones, b"token".to_vec());
        let cloud = MemoryCloud::new(store, Arc::new(profile), clock, Wire::new(ledger.clone()));
        Self { cloud, ledger }
    }

    fn pass(&self, seconds: u64) {
        self.ledger.pass(Duration::from_secs(seconds));
    }

    fn insert(&self, name: &str, parts: &[&str]) -> Answer<Accepted> {
        block_on(self.cloud.insert(at(), new(name, parts)))
    }

    fn state(&self, key: &str) -> String {
        block_on(self.cloud.describe(at(), key)).map_or_else(|error| error.code.to_string(), |d| d.state)
    }
}

fn at() -> At {
    At { zone: "z1".to_owned(), token: Secret::new(*b"token") }
}

fn new(name: &str, parts: &[&str]) -> NewInstance {
    NewInstance {
        key: name.to_owned(),
        name: name.to_owned(),
        marks: [("owner".to_owned(), name.to_owned())].into(),
        image: "base-image".to_owned(),
        machine_type: "small".to_owned(),
        cloud_init: Some(Secret::new(*b"cloud-init of mine")),
        port: Some(3128),
        access: Some(Access::default()),
        parts: parts.iter().map(|part| (*part).to_owned()).collect(),
    }
}

fn code<T: std::fmt::Debug>(answer: Answer<T>) -> String {
    answer.expect_err("it was to be refused").code.to_string()
}

#[test]
fn what_was_accepted_goes_on_by_the_clock() {
    let it = Fixture::new(memory::profile());
    let task = it.insert("a", &[]).unwrap().task.unwrap();
    assert_eq!(it.state("a"), "pending");
    assert_eq!(block_on(it.cloud.task(at(), task)).unwrap().outcome, Outcome::Running);
    it.pass(2);
    assert_eq!(it.state("a"), "staging");
    assert_eq!(block_on(it.cloud.task(at(), task)).unwrap().outcome, Outcome::Done);
    it.pass(20);
    assert_eq!(it.state("a"), "running");
}

#[test]
fn a_late_failure_takes_the_instance_away_and_stays_to_be_read() {
    let it = Fixture::new(memory::profile());
    it.cloud.store().next_fails = Some("late-stock-out".to_owned());
    it.insert("a", &["a-disk"]).unwrap();
    it.pass(2);
    assert_eq!(it.state("a"), "notFound");
    assert!(it.cloud.store().parts.is_empty(), "the disk went with it");
    let tasks = block_on(it.cloud.tasks(at(), "a")).unwrap();
    assert!(
        matches!(&tasks[..], [Task { outcome: Outcome::Failed(error), .. }] if error.code == "lateStockOut")
    );
    it.insert("a", &[]).unwrap();
    it.pass(30);
    assert_eq!(it.state("a"), "running");
}

#[test]
fn a_lock_keeps_others_off_until_it_is_over() {
    let it = Fixture::new(memory::blocking());
    block_on(it.cloud.clone_image(at(), "17", "a", "base-image")).unwrap();
    assert_eq!(code(block_on(it.cloud.remove(at(), "17", None))), "E_LOCKED");
    it.pass(2);
    assert_eq!(it.state("17"), "bare");
    let mut configured = new("17", &[]);
    configured.name = "a".to_owned();
    block_on(it.cloud.configure(at(), configured.clone())).unwrap();
    assert_eq!(code(block_on(it.cloud.configure(at(), configured))), "E_EXISTS");
    assert_eq!(it.state("17"), "stopped");
    block_on(it.cloud.start(at(), "17")).unwrap();
    assert_eq!(it.state("17"), "running");
}

#[test]
fn quotas_are_kept_and_told_in_the_profiles_words() {
    for (profile, expected) in [(memory::profile(), "quotaExceeded"), (memory::plain(), "insertFailed")] {
        let it = Fixture::new(profile);
        it.cloud.store().quota = Some(1);
        it.insert("a", &[]).unwrap();
        assert_eq!(code(it.insert("b", &[])), expected);
        assert_eq!(code(it.insert("a", &[])), "alreadyExists");
    }
}

#[test]
fn pages_cover_everything_once() {
    let it = Fixture::new(memory::profile());
    for name in ["c", "a", "b"] {
        it.insert(name, &[]).unwrap();
    }
    it.cloud.store().page_size = 2;
    let first = block_on(it.cloud.list(at(), None)).unwrap();
    let second = block_on(it.cloud.list(at(), first.next.as_deref())).unwrap();
    let keys: Vec<_> = first.items.iter().chain(&second.items).map(|row| row.key.as_str()).collect();
    assert_eq!(keys, ["a", "b", "c"]);
    assert_eq!(second.next, None);
    assert_eq!(code(block_on(it.cloud.list(at(), Some("nonsense")))), "pageExpired");
}

#[test]
fn a_removal_takes_time_and_meets_its_own_incarnation_only() {
    let it = Fixture::new(memory::profile());
    it.insert("a", &["a-disk"]).unwrap();
    let first = block_on(it.cloud.describe(at(), "a")).unwrap().incarnation;
    assert_eq!(code(block_on(it.cloud.remove(at(), "a", Some(first + 1)))), "conditionNotMet");
    block_on(it.cloud.remove(at(), "a", Some(first))).unwrap();
    assert!(block_on(it.cloud.describe(at(), "a")).unwrap().deleting);
    it.pass(3);
    assert_eq!(it.state("a"), "notFound");
    assert!(it.cloud.store().parts.is_empty());
    it.insert("a", &[]).unwrap();
    assert_ne!(block_on(it.cloud.describe(at(), "a")).unwrap().incarnation, first);
}

#[test]
fn parts_in_use_are_kept() {
    let it = Fixture::new(memory::blocking());
    let disk = NewPart { name: "a-disk".to_owned(), image: Some("base-image".to_owned()), payload: None };
    assert_eq!(code(it.insert("1", &["a-disk"])), "E_PARTS_MISSING");
    block_on(it.cloud.put_part(at(), disk.clone())).unwrap();
    it.insert("1", &["a-disk"]).unwrap();
    assert_eq!(code(block_on(it.cloud.put_part(at(), disk))), "E_IN_USE");
    assert_eq!(code(block_on(it.cloud.remove_part(at(), "a-disk", None))), "E_IN_USE");
    it.pass(2);
    block_on(it.cloud.remove(at(), "1", None)).unwrap();
    it.pass(3);
    let part = block_on(it.cloud.list_parts(at(), None)).unwrap().items.remove(0);
    assert!(!part.used);
    assert_eq!(
        code(block_on(it.cloud.remove_part(at(), "a-disk", Some(part.incarnation + 1)))),
        "E_INCARNATION"
    );
    block_on(it.cloud.remove_part(at(), "a-disk", Some(part.incarnation))).unwrap();
}

#[test]
fn every_call_needs_the_token_and_its_right() {
    let it = Fixture::new(memory::profile());
    it.cloud.store().quotes = true;
    let stranger = At { token: Secret::new(*b"no-token-of-mine"), ..at() };
    let error = block_on(it.cloud.describe(stranger, "a")).unwrap_err();
    assert!(error.status == Some(401) && error.text.contains("no-token-of-mine"), "{error}");
    it.cloud.store().revoked = Some("instances.write");
    let error = it.insert("a", &[]).unwrap_err();
    assert!(error.text.contains("instances.write") && error.text.contains("cloud-init of mine"), "{error}");
    assert_eq!(it.state("a"), "notFound");
    assert_eq!(
        block_on(it.cloud.about(at())).unwrap().rights,
        ["instances.read", "parts.read", "parts.write"]
    );
}
