//! The rules of the collector, each as a test: first of the plan, then of the round around it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use provider_api::{
    Deleted, Error, Leftover, LeftoverId, LeftoverListing, Listed, Listing, Name, ProviderName, Reason,
    Unreachable,
};

use super::*;
use crate::{
    doubles::{
        Canned, FakeCluster, Hand, NOON, audit_lines, intent, listed, provider, providers, proxy, proxy_with,
        reload, uid,
    },
    resource::Proxy,
};

const HOUR: Option<Duration> = Some(Duration::from_secs(3600));

fn saw(at: &str, items: Vec<Listed>) -> (ProviderName, Seen) {
    let instances = Some(Listing { items, unreachable: Vec::new() });
    (provider(at), Seen { instances, leftovers: None })
}

fn left(owner: &str, id: &str, age: Option<Duration>) -> Leftover {
    let created_at = listed(owner, id, age).created_at;
    Leftover { id: LeftoverId::new(id), owner: Name::from_uid(&uid(owner)), created_at }
}

fn saw_leftovers(at: &str, items: Vec<Listed>, leftovers: Vec<Leftover>) -> (ProviderName, Seen) {
    let (name, seen) = saw(at, items);
    let leftovers = Some(LeftoverListing { items: leftovers, unreachable: Vec::new() });
    (name, Seen { leftovers, ..seen })
}

fn planned<const N: usize>(
    seen: [(ProviderName, Seen); N],
    proxies: &[Proxy],
) -> Vec<(String, &'static str)> {
    let plan = plan(&BTreeMap::from(seen), proxies, *NOON, &Limits::default());
    plan.removals.iter().map(|it| (format!("{}:{}", it.provider, it.what.id()), it.rule.as_str())).collect()
}

fn one(what: &str, rule: &'static str) -> Vec<(String, &'static str)> {
    vec![(what.to_owned(), rule)]
}

#[test]
fn an_instance_whose_uid_no_proxy_has_is_deleted() {
    let seen = saw("a", vec![listed("gone", "i/1", HOUR), listed("here", "i/2", HOUR)]);
    assert_eq!(planned([seen], &[proxy_with("here", "a", "i/2")]), one("a:i/1", "no-owner"));
}

#[test]
fn what_is_young_is_spared_and_what_has_no_age_is_old() {
    let minutes = |minutes: u64| Some(Duration::from_secs(minutes * 60));
    let items =
        vec![listed("x", "i/9", minutes(9)), listed("y", "i/10", minutes(10)), listed("z", "i/no", None)];
    let planned = planned([saw("a", items)], &[]);
    assert_eq!(planned, [("a:i/10".to_owned(), "no-owner"), ("a:i/no".to_owned(), "no-owner")]);
}

#[test]
fn an_instance_whose_owner_has_another_that_stands_is_deleted() {
    let owner = proxy_with("p", "b", "i/2");
    let seen = || [saw("a", vec![listed("p", "i/1", HOUR)]), saw("b", vec![listed("p", "i/2", HOUR)])];
    assert_eq!(planned(seen(), &[owner]), one("a:i/1", "owner-has-another"));
    let twice = saw("a", vec![listed("p", "h1/p", HOUR), listed("p", "h2/p", HOUR)]);
    assert_eq!(planned([twice], &[proxy_with("p", "a", "h1/p")]), one("a:h2/p", "owner-has-another"));
}

#[test]
fn o05_what_an_owner_with_an_open_intent_has_is_spared() {
    let mut owner = proxy_with("p", "b", "i/2");
    owner.status.intent = Some(intent("a"));
    let seen = [saw("a", vec![listed("p", "i/1", HOUR)]), saw("b", vec![listed("p", "i/2", HOUR)])];
    assert_eq!(planned(seen, &[owner]), []);
    let mut owner = proxy("p");
    owner.status.intent = Some(intent("a"));
    assert_eq!(planned([saw("a", vec![listed("p", "i/1", HOUR)])], &[owner]), []);
}

#[test]
fn an_owner_without_a_record_keeps_what_carries_its_uid() {
    assert_eq!(planned([saw("a", vec![listed("p", "i/1", HOUR)])], &[proxy("p")]), []);
}

#[test]
fn an_edited_record_does_not_cost_an_owner_its_only_instance() {
    let only = || saw("a", vec![listed("p", "i/1", HOUR)]);
    assert_eq!(planned([only()], &[proxy_with("p", "a", "i/none")]), []);
    assert_eq!(planned([only()], &[proxy_with("p", "no-such-provider", "i/1")]), []);
    // It names an instance that stands, and is another Proxy's.
    let both = saw("a", vec![listed("p", "i/1", HOUR), listed("q", "i/2", HOUR)]);
    assert_eq!(planned([both], &[proxy_with("p", "a", "i/2"), proxy_with("q", "a", "i/2")]), []);
}

#[test]
fn two_entries_of_one_backend_do_not_delete_each_others_instances() {
    let item = || listed("p", "i/1", HOUR);
    assert_eq!(planned([saw("a", vec![item()]), saw("b", vec![item()])], &[proxy_with("p", "b", "i/1")]), []);
    // The same id on another backend, which tells by when it was made.
    let other = listed("p", "i/1", Some(Duration::from_secs(1800)));
    let seen = [saw("a", vec![item()]), saw("b", vec![other])];
    assert_eq!(planned(seen, &[proxy_with("p", "b", "i/1")]), one("a:i/1", "owner-has-another"));
}

#[test]
fn a_provider_that_lists_a_mark_under_another_name_is_not_believed() {
    let copy = Listed { name: Name::from_uid(&uid("other")), ..listed("gone", "i/1", HOUR) };
    assert_eq!(planned([saw("a", vec![copy])], &[]), []);
}

#[test]
fn leftovers_of_nobody_are_deleted() {
    let young = left("gone", "d/2", Some(Duration::from_secs(60)));
    let seen = saw_leftovers("a", vec![], vec![left("gone", "d/1", HOUR), young]);
    assert_eq!(planned([seen], &[proxy("p")]), one("a:d/1", "no-owner"));
}

#[test]
fn leftovers_are_spared_while_an_instance_of_their_name_stands() {
    let seen = saw_leftovers("a", vec![listed("gone", "i/1", HOUR)], vec![left("gone", "d/1", HOUR)]);
    assert_eq!(planned([seen], &[]), one("a:i/1", "no-owner"));
}

#[test]
fn leftovers_are_spared_while_an_instance_may_stand_where_nobody_could_look() {
    let (name, mut seen) = saw_leftovers("a", vec![], vec![left("gone", "d/1", HOUR)]);
    let reason = Reason::new("Unreachable", "connection refused");
    seen.instances.as_mut().unwrap().unreachable.push(Unreachable { target: "h2".to_owned(), reason });
    assert_eq!(planned([(name, seen)], &[]), []);
    let (name, mut seen) = saw_leftovers("a", vec![], vec![left("gone", "d/1", HOUR)]);
    seen.instances = None;
    assert_eq!(planned([(name, seen)], &[]), []);
}

#[test]
fn leftovers_of_a_living_owner_go_only_where_it_has_moved_away() {
    let seen = || saw_leftovers("a", vec![], vec![left("p", "d/1", HOUR)]);
    let elsewhere = || saw("b", vec![listed("p", "i/2", HOUR)]);
    assert_eq!(planned([seen()], &[proxy("p")]), [], "its create may be about to begin");
    assert_eq!(planned([seen()], &[proxy_with("p", "a", "i/1")]), [], "the reconciler removes its parts");
    let moved = || proxy_with("p", "b", "i/2");
    assert_eq!(planned([seen(), elsewhere()], &[moved()]), one("a:d/1", "owner-has-another"));
    let mut returns = moved();
    returns.status.intent = Some(intent("a"));
    assert_eq!(planned([seen(), elsewhere()], &[returns]), []);
}

#[test]
fn a_part_that_cannot_be_read_is_left_out_and_the_rest_is_collected() {
    let (name, mut seen) = saw("a", vec![listed("gone", "h1/x", HOUR)]);
    let reason = Reason::new("Unreachable", "connection refused");
    seen.instances.as_mut().unwrap().unreachable.push(Unreachable { target: "h2".to_owned(), reason });
    assert_eq!(planned([(name, seen)], &[]), one("a:h1/x", "no-owner"));
}

#[test]
fn a_round_deletes_at_most_so_much_of_one_provider() {
    let items = |at: &str| (0..5).map(|n| listed(&format!("{at}{n}"), &format!("i/{n}"), HOUR)).collect();
    let seen = BTreeMap::from([saw("a", items("a")), saw("b", items("b"))]);
    let plan = plan(&seen, &[], *NOON, &Limits { most: 3, ..Limits::default() });
    assert_eq!(plan.removals.len(), 6);
    assert_eq!(plan.held_back, BTreeMap::from([(provider("a"), 2), (provider("b"), 2)]));
}

/// A collector of providers `a` and `b`, with what is around it.
struct World {
    clock: Hand,
    cluster: Arc<FakeCluster>,
    canned: BTreeMap<String, Arc<Canned>>,
    collector: Collector,
}

impl World {
    fn new() -> Self {
        let (providers, canned) = providers(&[("a", "toy"), ("b", "plain")]);
        let (clock, cluster) = (Hand::default(), Arc::<FakeCluster>::default());
        let collector = Collector {
            cluster: Arc::clone(&cluster) as _,
            providers,
            clock: Arc::new(clock.clone()),
            term: Term::unlimited(),
            settings: Settings::default(),
        };
        Self { clock, cluster, canned, collector }
    }

    fn round(&self) -> Result<Report, ClusterError> {
        self.clock.drive(self.collector.round())
    }

    fn outcomes(&self) -> Vec<Outcome> {
        self.round().unwrap().removals.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn deleted(&self) -> Vec<String> {
        self.canned.values().flat_map(|canned| canned.answers().deleted.clone()).collect()
    }
}

#[test]
fn o04_nothing_is_deleted_while_the_owner_list_is_not_whole() {
    let world = World::new();
    world.canned["a"].lists(vec![listed("gone", "i/1", HOUR)]);
    world.cluster.held().doubts = Some(ClusterError::Doubtful("no answer".to_owned()));
    assert!(world.round().is_err());
    assert_eq!(world.deleted(), [""; 0]);
    world.cluster.held().doubts = None;
    assert_eq!(world.outcomes(), [Outcome::Gone]);
    assert_eq!(world.deleted(), ["i/1"]);
}

#[test]
fn the_proxies_are_listed_once_and_after_everything_on_backends() {
    let world = World::new();
    world.canned["a"].lists(vec![listed("late", "i/1", None)]);
    let cluster = Arc::clone(&world.cluster);
    // Its owner appears while providers still list: an earlier list would not have it.
    world.canned["b"].answers().on_list = Some(Box::new(move || {
        assert_eq!(cluster.held().lists, 0);
        cluster.held().proxies = vec![proxy_with("late", "a", "i/1")];
    }));
    assert_eq!(world.outcomes(), []);
    assert_eq!(world.cluster.held().lists, 1);
}

#[test]
fn a_provider_that_does_not_list_loses_nothing_and_holds_nobody_up() {
    let world = World::new();
    world.canned["a"].answers().hangs = true;
    world.canned["b"].lists(vec![listed("gone", "i/2", HOUR)]);
    let report = world.round().unwrap();
    assert_eq!(report.removals.len(), 1);
    assert_eq!(report.left_out, [(provider("a"), "it did not list within 300 s".to_owned())]);
    world.canned["a"].answers().hangs = false;
    world.canned["a"].answers().listing = Some(Err(Error::transient("the zone did not answer")));
    world.canned["a"].answers().leftovers =
        Some(Ok(LeftoverListing { items: vec![left("gone", "d/1", HOUR)], unreachable: Vec::new() }));
    world.canned["b"].lists(vec![]);
    let report = world.round().unwrap();
    assert_eq!(report.removals, []);
    assert_eq!(report.left_out.len(), 1);
}

#[test]
fn o05_an_owner_is_read_again_before_what_it_does_not_name_is_deleted() {
    let two = |world: &World| {
        world.canned["a"].lists(vec![listed("p", "h1/p", HOUR), listed("p", "h2/p", HOUR)]);
        world.cluster.held().proxies = vec![proxy_with("p", "a", "h1/p")];
    };
    // Between the list and the delete the owner has begun to make it, has taken it, is gone, or cannot be read.
    let changes: [(fn(&FakeCluster), &str); 4] = [
        (|cluster| cluster.held().proxies[0].status.intent = Some(intent("a")), "its owner has changed"),
        (|cluster| cluster.held().proxies = vec![proxy_with("p", "a", "h2/p")], "its owner has changed"),
        (|cluster| cluster.held().proxies.clear(), "its owner has changed"),
        (
            |cluster| cluster.held().doubts = Some(ClusterError::Doubtful("no answer".to_owned())),
            "its owner cannot be read",
        ),
    ];
    for (change, why) in changes {
        let world = World::new();
        two(&world);
        let seen = world
            .clock
            .drive(world.collector.look(&world.collector.providers.current(), &mut Report::default()));
        let plan = plan(&seen, &world.cluster.held().proxies, *NOON, &Limits::default());
        change(&world.cluster);
        let removal = plan.removals[0].clone();
        let current = world.collector.providers.current();
        let (_, outcome) = world.clock.drive(world.collector.remove(&current, removal));
        assert_eq!(outcome, Outcome::Spared(why));
        assert_eq!(world.deleted(), [""; 0]);
    }
    let world = World::new();
    two(&world);
    assert_eq!(world.outcomes(), [Outcome::Gone]);
    assert_eq!(world.deleted(), ["h2/p"]);
}

#[test]
fn whoever_leads_no_more_deletes_nothing() {
    let mut world = World::new();
    world.canned["a"].lists(vec![listed("gone", "i/1", HOUR)]);
    world.collector.term = Term::over();
    assert_eq!(world.outcomes(), [Outcome::Spared("this operator leads no more")]);
    assert_eq!(world.deleted(), [""; 0]);
}

#[test]
fn a_dry_run_says_what_it_would_delete_and_deletes_nothing() {
    let mut world = World::new();
    world.collector.settings.dry_run = true;
    world.canned["a"].lists(vec![listed("gone", "i/1", HOUR)]);
    let (outcomes, lines) = audit_lines(|| world.outcomes());
    assert_eq!(outcomes, [Outcome::Planned]);
    assert_eq!((world.deleted().len(), lines), (0, 0));
}

#[test]
fn each_deletion_is_in_the_audit_log_before_and_after() {
    let world = World::new();
    world.canned["a"].lists(vec![listed("gone", "i/1", HOUR)]);
    world.canned["a"].answers().leftovers =
        Some(Ok(LeftoverListing { items: vec![left("other", "d/1", HOUR)], unreachable: Vec::new() }));
    world.canned["b"].lists(vec![listed("gone", "i/2", HOUR)]);
    world.canned["b"].answers().deletes = Some(Err(Error::permanent("it is protected")));
    let (outcomes, lines) = audit_lines(|| world.outcomes());
    let failed = Outcome::Failed("it is protected".to_owned());
    assert_eq!(outcomes, [Outcome::Gone, Outcome::Gone, failed]);
    assert_eq!(lines, 6);
    assert_eq!(world.deleted(), ["i/1", "d/1", "i/2"]);
}

#[test]
fn a_provider_that_a_reload_took_away_meanwhile_is_still_asked_as_it_was() {
    let world = World::new();
    world.canned["b"].lists(vec![listed("gone", "i/2", HOUR)]);
    let (live, canned) = (Arc::clone(&world.collector.providers), world.canned.clone());
    world.canned["a"].answers().on_list = Some(Box::new(move || reload(&live, &canned, &[("a", "toy")])));
    assert_eq!(world.outcomes(), [Outcome::Gone]);
}

#[test]
fn it_collects_at_the_start_and_every_ten_minutes_and_tells_of_it() {
    let world = World::new();
    world.canned["a"].lists(vec![listed("gone", "i/1", HOUR)]);
    world.canned["a"].answers().deletes = Some(Ok(Deleted::Accepted));
    let World { clock, cluster, canned, mut collector } = world;
    collector.settings.limits.most = 0;
    let mut run: BoxFuture<'static, ()> = Box::pin(collector.run());
    clock.drive_until(Duration::from_secs(1), run.as_mut());
    assert_eq!(cluster.held().lists, 1);
    let note = cluster.held().notes[0].clone();
    assert_eq!((note.0, note.1.warning, note.1.reason), (provider("a"), true, "OrphansHeldBack"));
    clock.drive_until(Duration::from_secs(1801), run.as_mut());
    assert_eq!(cluster.held().lists, 4);
    assert_eq!(canned["a"].answers().deleted, [""; 0]);
}
