//! What a store does by itself: time, tasks, locks, quota, pages, parts, rights.

use std::{sync::Arc, time::Duration};

use provider_api::Clock as _;

use super::*;
use crate::{clock::CaseClock, harness::ThingKind, ledger::Ledger};

struct Fixture {
    store: Shared<()>,
    ledger: Ledger,
}

impl Fixture {
    fn new(ways: Ways) -> Self {
        let ledger = Ledger::default();
        let clock = Arc::new(CaseClock::new(ledger.clone()));
        assert_eq!(clock.monotonic(), Duration::ZERO);
        let store = Store::new(ways, ["z1", "z2"]).with_token("token").with_shared(["base"]);
        Self { store: Shared::new(store, clock), ledger }
    }

    fn pass(&self, seconds: u64) {
        self.ledger.pass(Duration::from_secs(seconds));
    }

    fn make(&self, name: &str, parts: &[&str]) -> Result<Made, Refusal> {
        self.store.open().make("z1", new(name, parts))
    }

    fn state(&self, name: &str) -> String {
        let store = self.store.open();
        store.find("z1", name).map_or("gone", |record| store.state_of(record)).to_owned()
    }
}

fn new(name: &str, parts: &[&str]) -> New<()> {
    New {
        key: name.to_owned(),
        name: name.to_owned(),
        parts: parts.iter().map(|part| (*part).to_owned()).collect(),
        shared: vec!["base".to_owned()],
        ..New::default()
    }
}

fn working() -> Ways {
    Ways { work: Duration::from_secs(2), tasks: true, ..Ways::default() }
}

#[test]
fn what_was_accepted_goes_on_by_the_clock() {
    let it = Fixture::new(working());
    let task = it.make("a", &[]).unwrap().task.unwrap();
    assert_eq!(it.state("a"), "pending");
    let running = |store: &Store<()>| store.outcome(store.task(task).unwrap()) == Outcome::Running;
    assert!(running(&it.store.open()));
    let addresses = |store: &Store<()>| store.addresses_of(store.named("a").unwrap()).len();
    assert_eq!(addresses(&it.store.open()), 0);
    it.pass(2);
    assert_eq!(it.state("a"), "starting");
    assert!(!running(&it.store.open()));
    it.pass(20);
    assert_eq!((it.state("a").as_str(), addresses(&it.store.open())), ("running", 2));
}

#[test]
fn a_late_failure_takes_the_instance_away_and_stays_to_be_read() {
    let it = Fixture::new(Ways { parts: Parts::Cascade, ..working() });
    it.store.open().next_fails = Some("stock-out".to_owned());
    it.make("a", &["a-disk"]).unwrap();
    assert_eq!(it.store.open().parts.len(), 1);
    it.pass(2);
    assert_eq!((it.state("a").as_str(), it.store.open().parts.len()), ("gone", 0));
    let store = it.store.open();
    let task = store.tasks_of("a").next().unwrap();
    let expected = Failure { id: "stock-out".to_owned(), text: None };
    assert_eq!(store.outcome(task), Outcome::Failed(&expected));
    drop(store);
    it.make("a", &[]).unwrap();
    it.pass(30);
    assert_eq!(it.state("a"), "running", "only one was to fail");
}

#[test]
fn a_lock_keeps_others_off_until_it_is_over() {
    let it = Fixture::new(Ways { locks: true, locking: &["snapshot"], ..working() });
    it.store.open().make("z1", New { bare: true, ..new("a", &[]) }).unwrap();
    assert_eq!(it.store.open().remove("z1", "a", None), Err(Refusal::Locked));
    it.pass(2);
    assert_eq!(it.state("a"), "bare");
    assert_eq!(it.store.open().start("z1", "a"), Err(Refusal::NotFound));
    it.store.open().configure("z1", new("a", &[])).unwrap();
    assert_eq!(it.store.open().configure("z1", new("a", &[])), Err(Refusal::AlreadyExists));
    assert_eq!(it.state("a"), "stopped");
    it.store.open().start("z1", "a").unwrap();
    it.pass(20);
    assert_eq!(it.state("a"), "running");
    it.store.open().change("z1", "a", |record, _| record.pinned = Some("snapshot".into())).unwrap();
    assert_eq!(it.store.open().stop("z1", "a"), Err(Refusal::Locked));
    it.store.open().change("z1", "a", |record, _| record.pinned = None).unwrap();
    it.store.open().stop("z1", "a").unwrap();
    assert_eq!(it.state("a"), "stopped");
}

#[test]
fn nonsense_is_refused_and_quotas_are_kept() {
    let it = Fixture::new(Ways::default());
    it.store.open().quota = Some(1);
    it.make("a", &[]).unwrap();
    assert_eq!(it.make("a", &[]), Err(Refusal::AlreadyExists));
    assert_eq!(it.make("b", &[]), Err(Refusal::Quota));
    assert_eq!(it.make("", &[]), Err(Refusal::Invalid));
    assert_eq!(it.store.open().make("z9", new("b", &[])), Err(Refusal::Invalid));
}

#[test]
fn empty_pages_come_before_each_that_has_something() {
    let it = Fixture::new(Ways::default());
    let sizes = |names: &[&str]| {
        for name in names {
            it.store.open().make("z1", new(name, &[])).unwrap();
        }
        it.store.open().page_size = BETWEEN_EMPTY_PAGES;
        let (mut from, mut sizes) = (None, Vec::new());
        loop {
            let page = it.store.open().list(Some("z1"), from.as_deref()).unwrap();
            sizes.push(page.items.len());
            from = page.next;
            if from.is_none() {
                return sizes;
            }
        }
    };
    assert_eq!(sizes(&[]), [0, 0]);
    assert_eq!(sizes(&["a", "b", "c", "d", "e"]), [0, 5]);
    assert_eq!(sizes(&["f", "g"]), [0, 5, 0, 2]);
}

#[test]
fn pages_cover_everything_once() {
    let it = Fixture::new(Ways::default());
    for (place, name) in [("z1", "c"), ("z1", "a"), ("z2", "a"), ("z1", "b")] {
        it.store.open().make(place, new(name, &[])).unwrap();
    }
    it.store.open().page_size = 2;
    for (place, expected) in [(Some("z1"), vec!["a", "b", "c"]), (None, vec!["a", "b", "c", "a"])] {
        let (mut from, mut seen) = (None, Vec::new());
        loop {
            let page = it.store.open().list(place, from.as_deref()).unwrap();
            assert!(page.items.len() <= 2);
            seen.extend(page.items.into_iter().map(|record| record.name));
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected);
    }
    assert_eq!(it.store.open().list(None, Some("nonsense")).err(), Some(Refusal::BadPage));
}

#[test]
fn numbered_pages_shift_when_something_comes_or_goes() {
    let it = Fixture::new(Ways { numbered_pages: true, parts: Parts::Cascade, ..Ways::default() });
    for name in ["b", "c", "d", "e"] {
        it.make(name, &[&format!("{name}-disk")]).unwrap();
    }
    it.store.open().page_size = 2;
    let listed = |number: Option<&str>| {
        let page = it.store.open().list(Some("z1"), number).unwrap();
        let names: Vec<_> = page.items.into_iter().map(|record| record.name).collect();
        (names.join(" "), page.next, page.total)
    };
    let second = Some("2".to_owned());
    assert_eq!(listed(None), ("b c".into(), second.clone(), 4));
    assert_eq!(listed(Some("2")), ("d e".into(), None, 4));
    it.store.open().vanishing = Some("b".to_owned());
    assert_eq!(listed(Some("1")), ("b c".into(), second.clone(), 4));
    assert_eq!(listed(Some("2")), ("e".into(), None, 3), "d is on the first page now");
    it.make("a", &[]).unwrap();
    assert_eq!(listed(Some("1")), ("a c".into(), second, 4));
    it.make("aa", &[]).unwrap();
    assert_eq!(listed(Some("2")), ("c d".into(), Some("3".into()), 5), "c was on the first page");
    assert_eq!(listed(Some("9")), (String::new(), None, 5));
    for number in ["0", "-1", "after:c", ""] {
        assert_eq!(it.store.open().list(None, Some(number)).err(), Some(Refusal::BadPage), "{number:?}");
    }
    let parts = it.store.open().list_parts("z1", Some("2")).unwrap();
    assert_eq!(parts.items.iter().map(|part| &*part.name).collect::<Vec<_>>(), ["d-disk", "e-disk"]);
}

#[test]
fn what_is_to_vanish_is_listed_once_more() {
    let it = Fixture::new(Ways::default());
    it.make("a", &[]).unwrap();
    it.store.open().vanishing = Some("a".to_owned());
    assert_eq!(it.store.open().list(Some("z2"), None).unwrap().items.len(), 0);
    assert_eq!(it.store.open().list(Some("z1"), None).unwrap().items.len(), 1);
    assert_eq!(it.state("a"), "gone");
}

#[test]
fn a_removal_takes_time_and_meets_its_own_life_only() {
    let it = Fixture::new(Ways {
        states: States { going: Some("going"), ..States::default() },
        ..Ways::default()
    });
    let first = it.make("a", &[]).unwrap().incarnation;
    assert_eq!(it.store.open().remove("z1", "a", Some(first + 1)), Err(Refusal::Changed));
    it.store.open().remove("z1", "a", Some(first)).unwrap();
    it.pass(2);
    it.store.open().remove("z1", "a", Some(first)).unwrap();
    assert_eq!(it.state("a"), "going");
    it.pass(1);
    assert_eq!(it.state("a"), "gone", "asking again did not put it off");
    assert_ne!(it.make("a", &[]).unwrap().incarnation, first);
    let at_once = Fixture::new(Ways { removal: Duration::ZERO, ..Ways::default() });
    at_once.make("a", &[]).unwrap();
    let mut store = at_once.store.open();
    store.remove("z1", "a", None).unwrap();
    assert!(store.instances.is_empty());
}

#[test]
fn parts_in_use_are_kept() {
    let it = Fixture::new(Ways { parts: Parts::Explicit, ..Ways::default() });
    let disk = || NewPart { name: "a-disk".to_owned(), ..NewPart::default() };
    assert_eq!(it.make("a", &["a-disk"]), Err(Refusal::PartsMissing));
    let life = it.store.open().put_part("z1", disk()).unwrap();
    it.make("a", &["a-disk"]).unwrap();
    assert_eq!(it.store.open().put_part("z1", disk()), Err(Refusal::InUse));
    assert_eq!(it.store.open().remove_part("z1", "a-disk", None), Err(Refusal::InUse));
    it.store.open().remove("z1", "a", None).unwrap();
    it.pass(3);
    assert_eq!(it.store.open().remove_part("z1", "a-disk", Some(life + 1)), Err(Refusal::Changed));
    it.store.open().remove_part("z1", "a-disk", Some(life)).unwrap();
    assert_eq!(it.store.open().remove_part("z1", "a-disk", None), Err(Refusal::PartNotFound));
}

#[test]
fn a_part_has_one_user_and_is_listed_beside_what_is_shared() {
    let it = Fixture::new(Ways { parts: Parts::Explicit, ..Ways::default() });
    let disk = |name: &str| NewPart { name: name.to_owned(), ..NewPart::default() };
    it.store.open().put_part("z1", disk("a-disk")).unwrap();
    it.store.open().put_part("z1", disk("spare")).unwrap();
    it.store.open().put_part("z2", disk("elsewhere")).unwrap();
    it.make("a", &["a-disk"]).unwrap();
    assert_eq!(it.make("b", &["a-disk"]), Err(Refusal::InUse));
    let mut store = it.store.open();
    store.page_size = 2;
    let first = store.list_parts("z1", None).unwrap();
    let rest = store.list_parts("z1", first.next.as_deref()).unwrap();
    let parts: Vec<_> = first.items.iter().chain(&rest.items).collect();
    let user = |part: &Part<()>| store.user_of(part).map(|record| record.name.clone());
    let shown: Vec<_> = parts.iter().map(|part| (part.name.as_str(), user(part))).collect();
    assert_eq!(shown, [("a-disk", Some("a".to_owned())), ("base", None), ("spare", None)]);
    assert_eq!((parts[1].incarnation, rest.next), (0, None));
}

#[test]
fn where_parts_need_room_a_quota_is_theirs() {
    let it = Fixture::new(Ways { parts: Parts::Explicit, parts_need_room: true, ..Ways::default() });
    let disk = || NewPart { name: "a-disk".to_owned(), ..NewPart::default() };
    it.store.open().put_part("z1", disk()).unwrap();
    it.store.open().quota = Some(0);
    assert_eq!(it.store.open().put_part("z2", disk()), Err(Refusal::Quota));
    it.make("a", &["a-disk"]).unwrap();
}

#[test]
fn a_lagging_listing_shows_what_was_until_it_is_brought_up_to_date() {
    let it = Fixture::new(Ways { lag: Duration::from_secs(5), ..Ways::default() });
    let listed = || it.store.open().list(Some("z1"), None).unwrap().items.len();
    it.make("a", &[]).unwrap();
    assert_eq!((listed(), it.state("a").as_str()), (0, "starting"));
    it.pass(5);
    assert_eq!(listed(), 1);
    it.make("b", &[]).unwrap();
    it.pass(4);
    assert_eq!(listed(), 1);
    it.pass(1);
    assert_eq!(listed(), 2);
}

#[test]
fn a_lagging_backend_lists_parts_late_too() {
    let it = Fixture::new(Ways { lag: Duration::from_secs(5), parts: Parts::Explicit, ..Ways::default() });
    let listed = || {
        let page = it.store.open().list_parts_by("z1", None, |part| part.name != "base").unwrap();
        (page.items.len(), page.total)
    };
    let disk = NewPart { name: "a-disk".to_owned(), ..NewPart::default() };
    it.store.open().put_part("z1", disk).unwrap();
    assert_eq!(listed(), (0, 0));
    it.pass(5);
    assert_eq!(listed(), (1, 1));
}

#[test]
fn a_selector_takes_rows_before_pages_are_cut() {
    let it = Fixture::new(Ways::default());
    for name in ["a", "b", "c", "d"] {
        it.make(name, &[]).unwrap();
    }
    let mut store = it.store.open();
    store.page_size = 1;
    let wanted = |record: &Record<()>| ["b", "d"].contains(&record.name.as_str());
    let first = store.list_by(Some("z1"), None, wanted).unwrap();
    let last = store.list_by(Some("z1"), first.next.as_deref(), wanted).unwrap();
    assert_eq!((first.items[0].name.as_str(), first.total), ("b", 2));
    assert_eq!((last.items[0].name.as_str(), last.next), ("d", None));
}

#[test]
fn what_is_made_off_boots_once_it_is_started() {
    let it = Fixture::new(Ways { made_off: true, ..Ways::default() });
    it.make("a", &[]).unwrap();
    it.pass(60);
    assert_eq!(it.state("a"), "stopped");
    it.store.open().start("z1", "a").unwrap();
    assert_eq!(it.state("a"), "starting");
    it.pass(20);
    assert_eq!(it.state("a"), "running");
}

#[test]
fn keys_that_a_backend_gives_out_look_as_its_own_do() {
    let mut store: Store<()> = Store::new(Ways { key_of: uuid, ..Ways::default() }, ["z1"]);
    let keys: Vec<_> = (0..9).map(|_| store.new_key()).collect();
    assert!(keys.iter().all(|key| key.len() == 36 && key.split('-').count() == 5), "{keys:?}");
    assert!(!keys.is_sorted(), "nobody is to rely on their order");
    let unique: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(unique.len(), keys.len());
}

#[test]
fn a_backend_that_shows_one_address_shows_the_first() {
    let it = Fixture::new(Ways { one_address: true, ..Ways::default() });
    let life = it.make("a", &[]).unwrap().incarnation;
    it.pass(20);
    let store = it.store.open();
    let record = store.of_life("z1", life).unwrap();
    assert_eq!(store.addresses_of(record), record.addresses[..1]);
    assert_eq!(store.of_life("z2", life).err(), Some(Refusal::NotFound));
}

#[test]
fn a_token_and_its_rights_are_looked_at() {
    let it = Fixture::new(Ways { rights: &["read", "write"], ..Ways::default() });
    let mut store = it.store.open();
    assert_eq!(store.allows(Some(b"token"), Some("write")), Ok(()));
    assert_eq!(store.allows(Some(b"another"), None), Err(Refusal::Unauthorized));
    assert_eq!(store.allows(None, None), Err(Refusal::Unauthorized));
    store.revoked = Some("write");
    assert_eq!(store.allows(Some(b"token"), Some("write")), Err(Refusal::Forbidden));
    assert_eq!(store.rights().collect::<Vec<_>>(), ["read"]);
    store.spoiled = true;
    assert_eq!(store.allows(Some(b"token"), None), Err(Refusal::Unauthorized));
}

#[test]
fn an_observer_sees_everything() {
    let it = Fixture::new(Ways { parts: Parts::Cascade, ..Ways::default() });
    it.make("a", &["a-disk"]).unwrap();
    let things = it.store.open().things();
    let kinds: Vec<_> = things.iter().map(|thing| (thing.kind, thing.name.as_str())).collect();
    use ThingKind::{Instance, Secondary, Shared};
    assert_eq!(kinds, [(Instance, "a"), (Secondary, "a-disk"), (Shared, "base")]);
    assert_eq!(things[0].references, [things[1].key.clone(), things[2].key.clone()]);
    assert_eq!(things[1].references, [things[2].key.clone()]);
}

#[test]
fn those_who_watch_are_told() {
    let it = Fixture::new(Ways::default());
    let mut watch = it.store.open().watch();
    it.make("a", &[]).unwrap();
    assert_eq!(watch.try_recv().unwrap().name, "a");
    it.store.open().break_watches();
    it.make("b", &[]).unwrap();
    assert!(watch.try_recv().is_err());
}
