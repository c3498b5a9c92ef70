//! Provider health: every checker, all targets within one deadline, into `ProviderHealth`, events and the shell's ears.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures::{
    channel::mpsc::UnboundedSender,
    future::{Either, join_all, select},
};
use provider_api::{
    Checker, Clock, Deadline, Entry, Live, ProviderName, Reason, TargetStatus, Wait, reasons,
};

use crate::{
    cluster::{Cluster, ProviderHealth},
    election::Term,
    shell::Told,
    step::Note,
};

/// How providers are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What lies between the starts of two rounds: 60 s.
    pub every: Duration,
    /// How long a check of all targets of a provider may take: 10 s.
    pub deadline: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { every: Duration::from_secs(60), deadline: Duration::from_secs(10) }
    }
}

/// How long after its deadline a check is given up. A checker answers at its deadline, a little more is for the answer's way.
const GRACE: Duration = Duration::from_secs(1);

/// What provider health is made from.
pub struct Parts {
    /// The cluster.
    pub cluster: Arc<dyn Cluster>,
    /// The configured providers.
    pub providers: Arc<Live>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// For as long as this operator leads.
    pub term: Term,
    /// The shell's ears.
    pub told: UnboundedSender<Told>,
    /// How they are checked.
    pub settings: Settings,
}

/// The health of all configured providers, for one term of leadership.
///
/// # Guarantees
/// A `ProviderHealth` is written when something has changed since it was written last; how long answers took, and the
/// details, are no change and are written along with one. A provider that does not answer delays no other's health.
pub struct ProvidersHealth {
    parts: Parts,
    known: BTreeMap<ProviderName, Known>,
    kept: Option<Vec<ProviderName>>,
}

/// What is known of one provider.
#[derive(Debug, Default)]
struct Known {
    /// What was seen last.
    seen: Option<ProviderHealth>,
    /// What stands in the cluster.
    written: Option<ProviderHealth>,
}

impl ProvidersHealth {
    /// Nothing is known yet.
    pub fn new(parts: Parts) -> Self {
        Self { parts, known: BTreeMap::new(), kept: None }
    }

    /// Checks at once, and then every [`Settings::every`], for as long as it is polled.
    pub async fn run(mut self) {
        loop {
            let began = self.parts.clock.monotonic();
            self.round().await;
            let next = began + self.parts.settings.every;
            let wait = next.saturating_sub(self.parts.clock.monotonic());
            self.parts.clock.sleep(wait, Wait::Idle).await;
        }
    }

    /// One round.
    pub async fn round(&mut self) {
        let providers = self.parts.providers.current();
        let configured: Vec<_> = providers.iter().map(|(name, _)| name.clone()).collect();
        self.known.retain(|name, _| providers.get(name).is_some());
        for name in &configured {
            self.known.entry(name.clone()).or_default();
        }
        let parts = &self.parts;
        let checks = self.known.iter_mut().filter_map(|(name, known)| {
            let entry = Arc::clone(providers.get(name)?);
            Some(one(parts, name, entry, known))
        });
        join_all(checks).await;
        if self.kept.as_ref() != Some(&configured) && self.parts.term.holds(&*self.parts.clock) {
            match self.parts.cluster.keep_health(&configured).await {
                Ok(()) => self.kept = Some(configured),
                Err(error) => tracing::debug!(%error, "health of former providers could not be removed"),
            }
        }
    }
}

/// Checks one provider, and tells what has changed.
async fn one(parts: &Parts, name: &ProviderName, entry: Arc<Entry>, known: &mut Known) {
    let seen = look(parts, name, &entry, known.seen.as_ref()).await;
    for note in notes(known.seen.as_ref(), &seen) {
        parts.cluster.tell_of_provider(name, &note);
    }
    let was_ready = known.seen.as_ref().and_then(|before| before.ready);
    if was_ready == Some(false) && seen.ready == Some(true) {
        // Whoever would hear it may be gone, and with it everything that waits for it.
        let _ = parts.told.unbounded_send(Told::Ready(name.clone()));
    }
    let is_written = known.written.as_ref().is_some_and(|written| is_the_same(written, &seen));
    known.seen = Some(seen.clone());
    if is_written || !parts.term.holds(&*parts.clock) {
        return;
    }
    match parts.cluster.write_health(name.as_str(), &seen).await {
        Ok(()) => known.written = Some(seen),
        // It may stand or not: the next round writes it again.
        Err(error) => {
            known.written = None;
            tracing::debug!(provider = %name, %error, "the provider's health could not be written");
        }
    }
}

async fn look(
    parts: &Parts,
    name: &ProviderName,
    entry: &Entry,
    before: Option<&ProviderHealth>,
) -> ProviderHealth {
    let provider_type = entry.provider_type.to_owned();
    match &entry.built.checker {
        None => ProviderHealth { provider_type, ready: None, targets: Vec::new() },
        Some(checker) => {
            let targets = check(parts, &**checker).await;
            let targets = targets.unwrap_or_else(|| unanswered(name, before, parts.settings.deadline));
            let ready = targets.iter().all(|target| target.ready);
            ProviderHealth { provider_type, ready: Some(ready), targets }
        }
    }
}

/// What a check answers; `None` when it does not keep its deadline.
async fn check(parts: &Parts, checker: &dyn Checker) -> Option<Vec<TargetStatus>> {
    let deadline = parts.settings.deadline;
    let guard = parts.clock.sleep(deadline + GRACE, Wait::Guard);
    match select(checker.check(Deadline::within(&*parts.clock, deadline)), guard).await {
        Either::Left((targets, _)) => Some(targets),
        Either::Right(((), _)) => None,
    }
}

/// Every target that is known, as one that did not answer.
fn unanswered(name: &ProviderName, before: Option<&ProviderHealth>, deadline: Duration) -> Vec<TargetStatus> {
    let message = format!("the check did not end within {} s", deadline.as_secs());
    let reason = Reason::new(reasons::TIMEOUT, message);
    let known = before.map(|before| before.targets.as_slice()).unwrap_or_default();
    let mut targets: Vec<_> = known
        .iter()
        .map(|target| TargetStatus::new(&target.name, &target.address, false, reason.clone()))
        .collect();
    if targets.is_empty() {
        targets.push(TargetStatus::new(name.as_str(), "", false, reason));
    }
    targets
}

/// Whether nothing has changed but how long answers took, and the details.
fn is_the_same(before: &ProviderHealth, now: &ProviderHealth) -> bool {
    let plain = |health: &ProviderHealth| {
        let targets = health.targets.iter().cloned().map(|mut target| {
            target.latency = Duration::ZERO;
            target.details.clear();
            target
        });
        ProviderHealth { targets: targets.collect(), ..health.clone() }
    };
    plain(before) == plain(now)
}

/// What people are told: each target that is not ready any more, or is again. A target that is seen for the first time is
/// told of when it is not ready.
fn notes(before: Option<&ProviderHealth>, now: &ProviderHealth) -> Vec<Note> {
    let was = |name: &str| {
        let targets = before.map(|before| before.targets.as_slice()).unwrap_or_default();
        targets.iter().find(|target| target.name == name).is_none_or(|target| target.ready)
    };
    let mut told = BTreeSet::new();
    let mut notes = Vec::new();
    for target in &now.targets {
        if target.ready == was(&target.name) || !told.insert(&target.name) {
            continue;
        }
        let (warning, reason) = if target.ready { (false, "TargetReady") } else { (true, "TargetNotReady") };
        let message = format!("{}: {}", target.name, target.reason);
        notes.push(Note { warning, reason, message });
    }
    notes
}

#[cfg(test)]
mod tests {
    use futures::channel::mpsc::{UnboundedReceiver, unbounded};

    use super::*;
    use crate::{
        cluster::ClusterError,
        doubles::{Canned, FakeCluster, Hand, provider, providers, reload},
    };

    struct World {
        clock: Hand,
        cluster: Arc<FakeCluster>,
        live: Arc<Live>,
        canned: BTreeMap<String, Arc<Canned>>,
        told: UnboundedReceiver<Told>,
        health: ProvidersHealth,
    }

    impl World {
        fn new(entries: &[(&str, &str)]) -> Self {
            let (live, canned) = providers(entries);
            let (clock, cluster) = (Hand::default(), Arc::<FakeCluster>::default());
            let (sender, told) = unbounded();
            let health = ProvidersHealth::new(Parts {
                cluster: Arc::clone(&cluster) as _,
                providers: Arc::clone(&live),
                clock: Arc::new(clock.clone()),
                term: Term::unlimited(),
                told: sender,
                settings: Settings::default(),
            });
            Self { clock, cluster, live, canned, told, health }
        }

        fn answers(&self, checks: impl IntoIterator<Item = Option<Vec<TargetStatus>>>) {
            self.canned["a"].answers().checks = checks.into_iter().collect();
        }

        fn rounds(&mut self, rounds: usize) {
            for _ in 0..rounds {
                self.clock.drive(self.health.round());
            }
        }

        fn ready(&mut self) -> Vec<ProviderName> {
            let mut ready = Vec::new();
            while let Ok(told) = self.told.try_recv() {
                let Told::Ready(name) = told else { panic!("only readiness is told") };
                ready.push(name);
            }
            ready
        }

        fn written(&self) -> Vec<Option<bool>> {
            self.cluster.held().health.iter().map(|(_, health)| health.ready).collect()
        }

        fn noted(&self) -> Vec<&'static str> {
            self.cluster.held().notes.iter().map(|(_, note)| note.reason).collect()
        }
    }

    fn target(name: &str, ready: bool, millis: u64) -> TargetStatus {
        let reason = if ready { reasons::REACHABLE } else { reasons::UNREACHABLE };
        let mut target = TargetStatus::new(name, "10.0.0.1", ready, Reason::new(reason, "it says so"));
        target.latency = Duration::from_millis(millis);
        target.details.insert("memoryAvailableMiB".to_owned(), millis.to_string());
        target
    }

    fn up(millis: u64) -> Option<Vec<TargetStatus>> {
        Some(vec![target("h1", true, millis), target("h2", true, millis)])
    }

    fn half() -> Option<Vec<TargetStatus>> {
        Some(vec![target("h1", true, 1), target("h2", false, 0)])
    }

    #[test]
    fn latency_and_details_alone_are_no_change_and_are_written_along_with_another() {
        let mut world = World::new(&[("a", "toy")]);
        world.answers([up(1), up(2), up(3), half(), half()]);
        world.rounds(5);
        assert_eq!(world.written(), [Some(true), Some(false)]);
        let held = world.cluster.held();
        assert_eq!(held.health[1].1.targets[0].latency, Duration::from_millis(1));
    }

    #[test]
    fn a_provider_without_a_checker_is_neither_ready_nor_not() {
        let mut world = World::new(&[("p", "plain")]);
        world.rounds(3);
        let health = ProviderHealth { provider_type: "plain".to_owned(), ready: None, targets: Vec::new() };
        assert_eq!(world.cluster.held().health, [("p".to_owned(), health)]);
        assert!(world.ready().is_empty());
    }

    #[test]
    fn the_shell_is_told_when_a_provider_turns_ready_again_and_only_then() {
        let mut world = World::new(&[("a", "toy")]);
        world.answers([up(1), half(), half(), up(1), up(2)]);
        world.rounds(3);
        assert!(world.ready().is_empty());
        world.rounds(2);
        assert_eq!(world.ready(), [provider("a")]);
    }

    #[test]
    fn people_are_told_of_each_target_that_changes() {
        let mut world = World::new(&[("a", "toy")]);
        world.answers([half(), half(), up(1), up(1)]);
        world.rounds(4);
        assert_eq!(world.noted(), ["TargetNotReady", "TargetReady"]);
        assert_eq!(world.cluster.held().notes[0].1.message, "h2: Unreachable: it says so");
    }

    #[test]
    fn a_check_that_does_not_end_makes_its_targets_not_ready_and_delays_no_other() {
        let mut world = World::new(&[("a", "toy"), ("b", "toy")]);
        world.canned["b"].answers().checks = [up(1)].into();
        world.answers([up(1), None]);
        world.rounds(2);
        let health = world.cluster.held().health.clone();
        let (name, last) = health.last().unwrap();
        assert_eq!((name.as_str(), last.ready), ("a", Some(false)));
        assert!(last.targets.iter().all(|target| target.reason.code == reasons::TIMEOUT));
        let names: Vec<_> = last.targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["h1", "h2"]);
        assert_eq!(world.clock.monotonic(), Duration::from_secs(11), "one deadline, not one for each");
    }

    #[test]
    fn what_could_not_be_written_is_written_in_the_next_round() {
        let mut world = World::new(&[("a", "toy")]);
        world.answers([up(1)]);
        world.cluster.held().refuses_health = Some(ClusterError::Conflict);
        world.rounds(1);
        assert_eq!(world.written(), []);
        world.rounds(2);
        assert_eq!(world.written(), [Some(true)]);
    }

    #[test]
    fn health_of_a_provider_that_is_configured_no_more_is_removed() {
        let mut world = World::new(&[("a", "toy"), ("b", "toy")]);
        world.rounds(2);
        reload(&world.live, &world.canned, &[("b", "toy")]);
        world.rounds(2);
        let kept = world.cluster.held().kept.clone();
        assert_eq!(kept, [vec![provider("a"), provider("b")], vec![provider("b")]]);
    }

    #[test]
    fn whoever_leads_no_more_writes_no_health() {
        let mut world = World::new(&[("a", "toy")]);
        world.health.parts.term = Term::over();
        world.rounds(2);
        assert_eq!(world.written(), []);
        assert!(world.cluster.held().kept.is_empty());
    }

    #[test]
    fn it_checks_at_the_start_and_every_minute() {
        let World { clock, cluster, canned, health, .. } = World::new(&[("a", "toy")]);
        let rounds = 4;
        canned["a"].answers().checks =
            (0..rounds).map(|round| if round % 2 == 0 { up(1) } else { half() }).collect();
        let mut run: futures::future::BoxFuture<'static, ()> = Box::pin(health.run());
        clock.drive_until(Duration::from_secs(150), run.as_mut());
        assert_eq!(cluster.held().health.len(), 3);
    }
}
