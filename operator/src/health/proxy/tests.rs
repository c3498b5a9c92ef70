//! The promises about probing: when a verdict changes and when it does not, how soon, and how probes are spread.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::channel::mpsc::unbounded;
use rand::{Rng, SeedableRng, rngs::StdRng};

use super::*;
use crate::{
    doubles::{Hand, key},
    resource::Key,
    step::Health,
};

const MILLISECOND: Duration = Duration::from_millis(1);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A world in which proxies are up or not by the clock alone.
struct World {
    schedule: Schedule,
    tick: Duration,
    /// How long an answer takes.
    takes: Duration,
    /// The probes under way, by when they end.
    under_way: Vec<(Duration, Probe)>,
    probes: Vec<Duration>,
    verdicts: Vec<(Duration, Verdict)>,
}

impl World {
    fn new(settings: Settings) -> Self {
        Self {
            schedule: Schedule::new(settings),
            tick: Duration::ZERO,
            takes: MILLISECOND,
            under_way: Vec::new(),
            probes: Vec::new(),
            verdicts: Vec::new(),
        }
    }

    fn up(&mut self, name: &str, endpoint: &str) {
        let verdict = self.schedule.up(key(name), endpoint, self.tick);
        self.verdicts.extend(verdict.map(|verdict| (self.tick, verdict)));
    }

    fn down(&mut self, name: &str) {
        let verdict = self.schedule.down(&key(name));
        self.verdicts.extend(verdict.map(|verdict| (self.tick, verdict)));
    }

    /// Goes on to a point in time; what a probe that ends at some point comes to, `ends` says.
    fn run(&mut self, until: Duration, mut ends: impl FnMut(Duration, &Probe) -> Ended) {
        loop {
            while let Some(probe) = self.schedule.due(self.tick) {
                self.probes.push(self.tick);
                self.under_way.push((self.tick + self.takes, probe));
            }
            let ends_at = self.under_way.iter().map(|(at, _)| *at).min();
            let next = self.schedule.next().into_iter().chain(ends_at).min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.tick = until;
                return;
            };
            self.tick = self.tick.max(next);
            let tick = self.tick;
            for (_, probe) in self.under_way.extract_if(.., |(at, _)| *at <= tick).collect::<Vec<_>>() {
                let verdict = self.schedule.ended(&probe, ends(tick, &probe), tick);
                self.verdicts.extend(verdict.map(|verdict| (tick, verdict)));
            }
        }
    }

    fn said(&self) -> Vec<Health> {
        self.verdicts.iter().map(|(_, (_, health))| health.clone()).collect()
    }
}

fn passes(_: Duration, _: &Probe) -> Ended {
    Ended::Passed
}

fn fails(_: Duration, _: &Probe) -> Ended {
    Ended::Failed("connection refused".to_owned())
}

#[test]
fn a_new_proxy_is_probed_at_once_and_healthy_by_its_first_probe() {
    let mut world = World::new(Settings::default());
    world.run(millis(12_345), passes);
    world.up("p", "10.0.0.1:3128");
    world.run(millis(12_345 + 250), passes);
    assert_eq!(world.said(), [Health::Healthy]);
    world.run(millis(60_000), passes);
    assert_eq!(world.said(), [Health::Healthy], "said once");
}

#[test]
fn a_verdict_changes_only_after_so_many_probes_that_agree_a_timeout_apart() {
    let mut world = World::new(Settings::default());
    world.up("p", "10.0.0.1:3128");
    world.run(millis(7_000), passes);
    world.probes.clear();
    world.run(millis(30_000), fails);
    let gaps: Vec<_> = world.probes.windows(2).map(|two| two[1] - two[0]).take(3).collect();
    assert_eq!(gaps[..2], [millis(2_000), millis(2_000)]);
    assert!(gaps[2] <= millis(5_000), "then one each interval again: {gaps:?}");
    let (at, (_, verdict)) = &world.verdicts[1];
    let why = "connection refused".to_owned();
    assert_eq!(*verdict, Health::Unhealthy { since: world.probes[0], why });
    assert_eq!(*at, world.probes[2] + MILLISECOND);
    assert_eq!(world.verdicts.len(), 2, "said once");
    // And back, by as many.
    world.probes.clear();
    world.run(millis(60_000), passes);
    assert_eq!(world.verdicts[2].0, world.probes[2] + MILLISECOND);
    assert_eq!(world.verdicts[2].1.1, Health::Healthy);
}

#[test]
fn a_failure_that_is_not_confirmed_is_forgotten() {
    let mut world = World::new(Settings::default());
    world.up("p", "10.0.0.1:3128");
    let mut count = 0;
    world.run(Duration::from_secs(3600), |_, _| {
        count += 1;
        // Two in a row of each three.
        if count % 3 == 1 { Ended::Passed } else { Ended::Failed("reset".to_owned()) }
    });
    assert_eq!(world.said(), [Health::Healthy]);
}

#[test]
fn what_says_nothing_of_the_proxy_counts_neither_for_nor_against_it() {
    let mut world = World::new(Settings::default());
    world.up("p", "10.0.0.1:3128");
    world.run(millis(7_000), passes);
    world.run(millis(100_000), |_, _| Ended::Unknown);
    assert_eq!(world.said(), [Health::Healthy]);
    let mut count = 0;
    world.run(millis(200_000), |_, _| {
        count += 1;
        if count % 2 == 0 { Ended::Unknown } else { Ended::Failed("reset".to_owned()) }
    });
    assert!(matches!(world.said()[..], [Health::Healthy, Health::Unhealthy { .. }]));
}

#[test]
fn o10_what_was_known_of_one_instance_is_not_known_of_the_next() {
    let mut world = World::new(Settings::default());
    world.up("p", "10.0.0.1:3128");
    world.run(millis(7_000), passes);
    world.down("p");
    assert_eq!(world.said(), [Health::Healthy, Health::Unknown]);
    // A probe of the old one that ends now says nothing, and neither does a name that nobody knows.
    world.up("p", "10.0.0.1:3128");
    world.takes = millis(1_900);
    world.run(millis(7_300), passes);
    assert_eq!(world.under_way.len(), 1);
    world.up("p", "10.0.0.2:3128");
    world.takes = millis(2_000);
    world.run(millis(9_250), fails);
    assert_eq!(world.verdicts.len(), 2);
    world.down("q");
    world.run(millis(20_000), passes);
    assert_eq!(world.said()[2..], [Health::Healthy]);
    world.up("p", "10.0.0.2:3128");
    assert_eq!(world.verdicts.len(), 3, "said again it is no news");
}

#[test]
fn h2_no_healthy_proxy_is_called_unhealthy_in_a_million_probes() {
    let million = |threshold| {
        let settings =
            Settings { threshold: std::num::NonZeroU32::new(threshold).unwrap(), ..Settings::default() };
        let mut schedule = Schedule::new(settings);
        for n in 0..1_000 {
            schedule.up(key(&n.to_string()), &format!("10.0.0.1:{n}"), Duration::ZERO);
        }
        let mut random = StdRng::seed_from_u64(7);
        let (mut probes, mut wrong) = (0, 0);
        while probes < 1_000_000 {
            let tick = schedule.next().unwrap();
            let probe = schedule.due(tick).unwrap();
            probes += 1;
            // The worst that was seen of a loop without confirmation.
            let ended =
                if random.random_bool(0.0016) { Ended::Failed("reset".to_owned()) } else { Ended::Passed };
            let verdict = schedule.ended(&probe, ended, tick);
            wrong += usize::from(matches!(verdict, Some((_, Health::Unhealthy { .. }))));
        }
        wrong
    };
    assert_eq!(million(3), 0);
    assert!(million(1) > 1_000, "without confirmation it would be seen");
}

#[test]
fn h3_a_dead_proxy_is_found_within_the_interval_and_a_timeout_for_each_probe() {
    let Settings { interval, timeout, threshold } = Settings::default();
    let bound = (interval + timeout * threshold.get()).mul_f64(1.05);
    let mut worst = Duration::ZERO;
    // It dies at any point of its round; its answers take a while before that, and never come after.
    for dies in (0..=5_200).step_by(50) {
        let dies = millis(20_000 + dies);
        let mut world = World::new(Settings::default());
        world.up("p", "10.0.0.1:3128");
        world.takes = millis(300);
        world.run(dies, passes);
        world.takes = timeout;
        world.run(dies + bound * 2, |at, probe| {
            let answered = probe.began + millis(300) <= dies && at < probe.began + timeout;
            if answered { Ended::Passed } else { Ended::Failed("no answer".to_owned()) }
        });
        let (at, _) = world.verdicts.iter().find(|(_, (_, health))| *health != Health::Healthy).unwrap();
        worst = worst.max(*at - dies);
    }
    assert!(worst <= bound, "{worst:?} of {bound:?}");
    assert!(worst > interval, "the worst case was met: {worst:?}");
}

/// The busiest slot of 100 ms in proportion to the mean, over two intervals.
fn busiest(world: &mut World) -> f64 {
    let from = world.tick;
    world.probes.clear();
    world.run(from + Duration::from_secs(10), passes);
    let mut slots = BTreeMap::<_, u32>::new();
    for probe in &world.probes {
        *slots.entry(probe.as_millis() / 100).or_default() += 1;
    }
    f64::from(slots.values().copied().max().unwrap_or_default()) / (world.probes.len() as f64 / 100.0)
}

#[test]
fn h3_the_busiest_slot_has_at_most_three_tenths_more_probes_than_the_mean() {
    for count in [200, 777, 1_111, 10_000] {
        let mut world = World::new(Settings::default());
        // All at once, as after a restart.
        for n in 0..count {
            world.up(&n.to_string(), &format!("10.0.0.1:{n}"));
        }
        let first = busiest(&mut world);
        assert!(first <= 1.3, "{count} at once: {first}");
        assert_eq!(world.said().len(), count, "each was probed within a round");
        // Those of some slots go, all others stay; then many new ones come within a second.
        let mut random = StdRng::seed_from_u64(count as u64);
        for n in 0..count {
            if n % 50 < 20 && random.random_bool(0.9) {
                world.down(&n.to_string());
            }
        }
        let now = world.tick;
        world.run(now + Duration::from_secs(10), passes);
        let thinned = busiest(&mut world);
        assert!(thinned <= 1.3, "{count} thinned: {thinned}");
        for n in 0..count / 2 {
            let now = world.tick;
            world.up(&format!("new-{n}"), &format!("10.0.0.2:{n}"));
            world.run(now + Duration::from_secs(2) / count as u32, passes);
        }
        let now = world.tick;
        world.run(now + Duration::from_secs(10), passes);
        let grown = busiest(&mut world);
        assert!(grown <= 1.3, "{count} grown: {grown}");
    }
}

#[test]
fn after_a_pause_of_the_whole_process_probes_do_not_come_all_at_once() {
    let mut world = World::new(Settings::default());
    for n in 0..1_000 {
        world.up(&n.to_string(), &format!("10.0.0.1:{n}"));
    }
    world.run(Duration::from_secs(20), passes);
    world.tick += Duration::from_secs(60);
    let busiest = busiest(&mut world);
    assert!(busiest <= 1.3, "{busiest}");
    assert_eq!(world.said().len(), 1_000);
}

/// A prober that answers as it is told, and counts.
#[derive(Default)]
struct Scripted {
    down: Mutex<Vec<String>>,
    probes: AtomicUsize,
}

#[async_trait]
impl Prober for Scripted {
    async fn probe(&self, endpoint: &str) -> Result<(), Fault> {
        self.probes.fetch_add(1, Ordering::SeqCst);
        let hangs = self.down.lock().unwrap().iter().any(|down| down == endpoint);
        if hangs {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

#[test]
fn the_shell_hears_of_changes_and_a_hanging_proxy_delays_no_other() {
    let (clock, prober) = (Hand::default(), Arc::<Scripted>::default());
    let (tells, hears) = unbounded();
    let (says, mut told) = unbounded();
    let (as_prober, as_clock) = (Arc::clone(&prober) as _, Arc::new(clock.clone()));
    let health = ProxiesHealth::new(as_prober, as_clock, Settings::default(), hears, says);
    let mut run: BoxFuture<'static, ()> = Box::pin(health.run());
    let mut heard = || {
        let mut heard = Vec::<(Key, Health)>::new();
        while let Ok(Told::Health(key, health)) = told.try_recv() {
            heard.push((key, health));
        }
        heard
    };
    prober.down.lock().unwrap().push("10.0.0.2:3128".to_owned());
    for (name, endpoint) in [("good", "10.0.0.1:3128"), ("bad", "10.0.0.2:3128")] {
        tells.unbounded_send(Tells::Up(key(name), endpoint.to_owned())).unwrap();
    }
    clock.drive_until(millis(500), run.as_mut());
    assert_eq!(heard(), [(key("good"), Health::Healthy)]);
    clock.drive_until(millis(6_500), run.as_mut());
    let bad = heard();
    assert!(
        matches!(&bad[..], [(name, Health::Unhealthy { why, .. })] if *name == key("bad") && why == "no answer within 2s")
    );
    let before = prober.probes.load(Ordering::SeqCst);
    clock.drive_until(millis(16_500), run.as_mut());
    assert_eq!(prober.probes.load(Ordering::SeqCst) - before, 4, "both, each interval");
    tells.unbounded_send(Tells::Down(key("good"))).unwrap();
    clock.drive_until(millis(16_600), run.as_mut());
    assert_eq!(heard(), [(key("good"), Health::Unknown)]);
    drop(tells);
    assert!(clock.settle(run.as_mut()).is_ready(), "nobody is left to be told");
}
