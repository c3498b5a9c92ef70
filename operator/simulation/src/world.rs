//! One world: operators, API server and backends, from its beginning until it has come to rest.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::pending};
use proxy_operator::{
    cluster::Cluster,
    collector, election,
    health::{provider, proxy},
    resource::{Digest, Key},
    shell::Brakes,
    step, work,
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    api::{Counts, Server},
    cloud::Clouds,
    deeds::Deeds,
    mischief::{Mischief, Trace},
    plan::{Fault, Plan},
    pool::Pool,
    prober::SimulatedProber,
    saboteur::Build,
    time::{SkewedClock, Time},
    view::View,
    watchdog::{Invariant, Violation, Watchdog},
};

/// How long a world may take, after everything that goes wrong is over, to become what the specs ask for: two slow retries
/// and what waits behind them.
const PATIENCE: Duration = Duration::from_secs(2 * 60 * 60 + 30 * 60);
/// For how long it must then stay as it is: three rounds of the slowest thing that is done regularly.
const QUIET: Duration = Duration::from_secs(3 * 10 * 60);
/// What lies between looks at whether it has come to rest.
const LOOKS: Duration = Duration::from_secs(20);

/// What became of a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The invariants that did not hold.
    pub violations: Vec<Violation>,
    /// The digest of everything that happened.
    pub digest: Digest,
    /// How many lives the instances of each Proxy have had, by its UID.
    pub lives: BTreeMap<String, usize>,
    /// What was written and read.
    pub counts: Counts,
    /// The requests and calls that change something, by operator and number.
    pub effective: Vec<Vec<(u32, String)>>,
    /// When Proxies changed while there was something to do.
    pub changes: Vec<Duration>,
    /// How long it took, in its own time.
    pub took: Duration,
}

struct World {
    plan: Plan,
    build: Build,
    time: Time,
    pool: Pool,
    chance: Arc<Mutex<StdRng>>,
    server: Server,
    clouds: Clouds,
    watchdog: Watchdog,
    operators: Vec<Operator>,
    trace: Trace,
}

/// One operator, over all of its lives.
struct Operator {
    mischief: Mischief,
    clock: Arc<SkewedClock>,
    task: Option<u64>,
    lives: u32,
    /// When it starts again.
    back_at: Option<Duration>,
    /// By how much its first look is behind, when it does.
    behind: Duration,
    /// Its crashes by time that are still to come.
    crashes: Vec<(Duration, Duration, Duration)>,
}

/// Plays a plan; with `telling`, what happens is printed as it does.
pub fn play(plan: &Plan, build: Build, telling: bool) -> Outcome {
    World::new(plan.clone(), build, Trace(telling)).run()
}

impl World {
    fn new(plan: Plan, build: Build, trace: Trace) -> Self {
        let time = Time::default();
        let chance = Arc::new(Mutex::new(StdRng::seed_from_u64(plan.seed)));
        let server = Server::default();
        let clouds = Clouds::new(plan.setup, &time, plan.seed);
        let watchdog = Watchdog::new(server.clone(), clouds.clone(), time.clone(), trace);
        let faults: Arc<[Fault]> = plan.faults.clone().into();
        let operator = |number| {
            let skew = faults.iter().find_map(|fault| match fault {
                Fault::Skew { operator, offset, rate } if *operator == number => Some((*offset, *rate)),
                _ => None,
            });
            let (offset, rate) = skew.unwrap_or((0, 1000));
            let millis = Duration::from_millis;
            let crash = |fault: &Fault| match fault {
                Fault::Crash { operator, at, away, behind } if *operator == number => {
                    Some((millis(*at), millis(*away), millis(*behind)))
                }
                _ => None,
            };
            Operator {
                mischief: Mischief::new(
                    number,
                    Arc::clone(&faults),
                    time.clone(),
                    Arc::clone(&chance),
                    trace,
                ),
                clock: Arc::new(SkewedClock::new(time.clone(), offset, rate)),
                task: None,
                lives: 0,
                back_at: Some(Duration::ZERO),
                behind: Duration::ZERO,
                crashes: faults.iter().filter_map(crash).collect(),
            }
        };
        let operators = (0..plan.operators).map(operator).collect();
        Self { plan, build, time, pool: Pool::default(), chance, server, clouds, watchdog, operators, trace }
    }

    fn run(mut self) -> Outcome {
        let deeds = Deeds::new(
            self.server.clone(),
            self.clouds.clone(),
            self.watchdog.clone(),
            self.time.clone(),
            self.trace,
        );
        self.pool.add(deeds.follow(self.plan.script.clone()).boxed());
        // The world must not jump past a crash.
        for (at, _, _) in self.operators.iter().flat_map(|operator| operator.crashes.clone()) {
            let time = self.time.clone();
            self.pool.add(async move { time.sleep_until(at).await }.boxed());
        }
        let length = Duration::from_millis(self.plan.length);
        self.until(length);
        self.comes_to_rest(length);
        let violations = self.watchdog.violations();
        let state = self.server.state();
        Outcome {
            violations,
            digest: state.digest(),
            lives: self.watchdog.lives(),
            counts: state.counts.clone(),
            effective: self.operators.iter().map(|operator| operator.mischief.effective()).collect(),
            changes: state.changes(length),
            took: self.time.now(),
        }
    }

    /// Lets everything go on until a point in time.
    fn until(&mut self, end: Duration) {
        loop {
            self.let_operators_die_and_live();
            let went_on = {
                let mut chance = StdRng::seed_from_u64(self.chance().random());
                let mut any = false;
                while self.pool.turn(&mut chance) {
                    any = true;
                    if self
                        .operators
                        .iter()
                        .any(|operator| operator.mischief.is_doomed() && operator.task.is_some())
                    {
                        break;
                    }
                }
                any
            };
            if !went_on && !self.time.advance(end) {
                return;
            }
        }
    }

    fn chance(&self) -> std::sync::MutexGuard<'_, StdRng> {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn let_operators_die_and_live(&mut self) {
        let now = self.time.now();
        for number in 0..self.operators.len() {
            let away = Duration::from_millis(self.chance().random_range(200..20_000));
            let operator = &mut self.operators[number];
            let crash = operator
                .crashes
                .iter()
                .position(|(at, _, _)| *at <= now)
                .map(|at| operator.crashes.remove(at));
            let dies = crash.or_else(|| operator.mischief.is_doomed().then_some((now, away, Duration::ZERO)));
            if let (Some((_, away, behind)), Some(task)) = (dies, operator.task) {
                self.pool.kill(task);
                operator.task = None;
                operator.mischief.reborn();
                operator.behind = behind;
                let back_at = now + away;
                operator.back_at = Some(back_at);
                operator.mischief.trace(|| format!("dies, and is back in {away:?}"));
                let time = self.time.clone();
                self.pool.add(async move { time.sleep_until(back_at).await }.boxed());
            }
            if self.operators[number].back_at.is_some_and(|at| at <= now) {
                self.start(number);
            }
        }
    }

    fn start(&mut self, number: usize) {
        let seed = self.chance().random();
        let operator = &mut self.operators[number];
        operator.back_at = None;
        operator.lives += 1;
        let me = format!("operator-{number}-{}", operator.lives);
        operator.mischief.trace(|| format!("starts as {me}"));
        let view = View {
            server: self.server.clone(),
            mischief: operator.mischief.clone(),
            behind: std::mem::take(&mut operator.behind),
            watchdog: self.watchdog.clone(),
        };
        let cluster: Arc<dyn Cluster> = Arc::new(view);
        let clock = Arc::clone(&operator.clock);
        let providers = self.clouds.providers(&clock, &self.pool, &operator.mischief, &self.watchdog);
        let watchdog = self.watchdog.clone();
        let who = u32::try_from(number).unwrap_or(0);
        let prober =
            SimulatedProber::new(self.server.clone(), self.clouds.clone(), operator.mischief.clone());
        let whole = work::Operator {
            cluster: Arc::clone(&cluster),
            providers,
            clock: Arc::clone(&clock) as Arc<dyn provider_api::Clock>,
            spawner: Arc::new(self.pool.clone()),
            prober: Arc::new(prober),
            reconcile: step::Settings::default(),
            brakes: Brakes::default(),
            collector: collector::Settings::default(),
            provider_health: provider::Settings::default(),
            probe: proxy::Settings::default(),
            inputs_every: Duration::from_secs(10),
            default_sources: Vec::new(),
            step: self.build.step,
            seed,
        };
        let work = {
            let clock = Arc::clone(&clock);
            move |term: election::Term| {
                watchdog.leads(who, term.clone(), Arc::clone(&clock));
                whole.clone().work(term).boxed()
            }
        };
        let elected = election::elect(cluster, clock, me, (self.build.terms)(), work, pending());
        operator.task = Some(self.pool.add(elected.boxed()));
    }

    /// With all faults over, the world becomes what the specs ask for, and stays so without a write.
    fn comes_to_rest(&mut self, from: Duration) {
        let mut now = from;
        let mut unsettled = self.watchdog.unsettled();
        while !unsettled.is_empty() && now < from + PATIENCE {
            now += LOOKS;
            self.until(now);
            unsettled = self.watchdog.unsettled();
        }
        if !unsettled.is_empty() {
            self.watchdog.violated(Invariant::Converges, unsettled.join("; "));
            return;
        }
        let writes = self.server.state().counts.writes;
        self.until(now + QUIET);
        let written = self.server.state().counts.writes - writes;
        if written > 0 {
            let at = self.server.state().last_write;
            let what = format!("{written} writes at rest, the last at {:.3} s", at.as_secs_f64());
            self.watchdog.violated(Invariant::Quiet, what);
        }
        let unsettled = self.watchdog.unsettled();
        if !unsettled.is_empty() {
            self.watchdog.violated(Invariant::Converges, format!("not for long: {}", unsettled.join("; ")));
        }
        let orphans = self.watchdog.orphans();
        if !orphans.is_empty() {
            self.watchdog.violated(Invariant::NoOrphans, orphans.join(", "));
        }
        self.watchdog.checks_truth();
    }
}

/// The key of the Proxy of that number.
pub(crate) fn key(number: u32) -> Key {
    Key { namespace: "team-a".to_owned(), name: format!("px-{number}") }
}
