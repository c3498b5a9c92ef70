//! One world: operators, API server and backends, from its beginning until it has come to rest.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, channel::oneshot};
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
    ending::Ending,
    mischief::{Mischief, Trace},
    plan::{Fault, Plan},
    pool::Pool,
    prober::SimulatedProber,
    saboteur::Build,
    time::{SkewedClock, Time},
    view::View,
    watchdog::{Invariant, Late, Violation, Watchdog},
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
    /// Who has led, from when on.
    pub leaders: Vec<(Duration, u32)>,
    /// When each Proxy turned Ready first.
    pub ready: BTreeMap<Key, Duration>,
    /// When everything was as the specs ask for, after the last that was done or went wrong.
    pub settled: Option<Duration>,
    /// What there was at the end.
    pub end: Ending,
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
    /// Chooses what goes on next.
    order: StdRng,
    /// What ends it when it is broken.
    enough: &'static [Invariant],
    settled: Option<Duration>,
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
    /// When it is still to be asked to stop, and for how long it is away then.
    stops: Vec<(Duration, Duration)>,
    /// Asks it to stop.
    stop: Option<oneshot::Sender<()>>,
    /// For how long it is away once it has stopped.
    away: Option<Duration>,
    /// It has stopped by itself.
    has_stopped: Arc<AtomicBool>,
}

thread_local! {
    static IN_A_WORLD: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether this thread is in a world: what panics there is one of its violations.
pub fn is_in_a_world() -> bool {
    IN_A_WORLD.get()
}

/// Plays a plan; with `telling`, what happens is printed as it does.
pub fn play(plan: &Plan, build: Build, telling: bool) -> Outcome {
    finish(World::new(plan.clone(), build, Trace(telling)))
}

/// Plays a plan until one of these is broken; what comes after is not asked for.
pub fn play_until(plan: &Plan, build: Build, broken: &'static [Invariant]) -> Outcome {
    let mut world = World::new(plan.clone(), build, Trace(false));
    world.enough = broken;
    finish(world)
}

fn finish(mut world: World) -> Outcome {
    IN_A_WORLD.set(true);
    let ran = catch_unwind(AssertUnwindSafe(|| world.run()));
    IN_A_WORLD.set(false);
    if let Err(panic) = ran {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it says nothing");
        world.watchdog.violated(Invariant::NoPanic, format!("a panic: {text}"));
    }
    world.outcome()
}

impl World {
    fn new(plan: Plan, build: Build, trace: Trace) -> Self {
        let time = Time::default();
        let chance = Arc::new(Mutex::new(StdRng::seed_from_u64(plan.seed)));
        let server = Server::default();
        let faults: Arc<[Fault]> = plan.faults.clone().into();
        let (pool, late) = (Pool::default(), Late::default());
        let clouds = Clouds::new(&plan, &faults, &time, &pool, &late);
        let watchdog =
            Watchdog::new(server.clone(), clouds.clone(), time.clone(), trace, Arc::clone(&faults), &late);
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
            let stop = |fault: &Fault| match fault {
                Fault::Stop { operator, at, away } if *operator == number => {
                    Some((millis(*at), millis(*away)))
                }
                _ => None,
            };
            let jump = |fault: &Fault| match fault {
                Fault::Jump { operator, at, by } if *operator == number => Some((millis(*at), *by)),
                _ => None,
            };
            let jumps: Vec<_> = faults.iter().filter_map(jump).collect();
            Operator {
                mischief: Mischief::new(
                    number,
                    Arc::clone(&faults),
                    time.clone(),
                    Arc::clone(&chance),
                    plan.calm,
                    trace,
                ),
                clock: Arc::new(SkewedClock::new(time.clone(), offset, rate).jumping(jumps.into())),
                task: None,
                lives: 0,
                back_at: Some(Duration::ZERO),
                behind: Duration::ZERO,
                crashes: faults.iter().filter_map(crash).collect(),
                stops: faults.iter().filter_map(stop).collect(),
                stop: None,
                away: None,
                has_stopped: Arc::default(),
            }
        };
        let operators = (0..plan.operators).map(operator).collect();
        let order = StdRng::seed_from_u64(plan.seed.wrapping_add(1));
        let settled = None;
        let enough = &[];
        Self {
            plan,
            build,
            time,
            pool,
            chance,
            server,
            clouds,
            watchdog,
            operators,
            trace,
            order,
            enough,
            settled,
        }
    }

    fn run(&mut self) {
        let deeds = Deeds::new(
            self.server.clone(),
            self.clouds.clone(),
            self.watchdog.clone(),
            self.time.clone(),
            self.trace,
        );
        self.pool.add(deeds.follow(self.plan.script.clone()).boxed());
        // The world must not jump past a crash.
        let crashes = self.operators.iter().flat_map(|operator| operator.crashes.iter().map(|(at, ..)| *at));
        let stops = self.operators.iter().flat_map(|operator| operator.stops.iter().map(|(at, _)| *at));
        for at in crashes.chain(stops).collect::<Vec<_>>() {
            let time = self.time.clone();
            self.pool.add(async move { time.sleep_until(at).await }.boxed());
        }
        let length = Duration::from_millis(self.plan.length);
        self.until(length);
        self.comes_to_rest(length);
    }

    fn outcome(&self) -> Outcome {
        let length = Duration::from_millis(self.plan.length);
        let end = Ending::of(&self.server, &self.clouds);
        let state = self.server.state();
        Outcome {
            violations: self.watchdog.violations(),
            digest: state.digest(),
            lives: self.watchdog.lives(),
            counts: state.counts.clone(),
            effective: self.operators.iter().map(|operator| operator.mischief.effective()).collect(),
            changes: state.changes(length),
            leaders: self.watchdog.leaders(),
            ready: self.watchdog.ready(),
            settled: self.settled,
            end,
            took: self.time.now(),
        }
    }

    /// Lets everything go on until a point in time.
    fn until(&mut self, end: Duration) {
        loop {
            if self.is_enough() {
                return;
            }
            self.let_operators_die_and_live();
            let mut went_on = false;
            while self.pool.turn(&mut self.order) {
                went_on = true;
                let is_over = |operator: &Operator| {
                    operator.task.is_some()
                        && (operator.mischief.is_doomed() || operator.has_stopped.load(Ordering::Relaxed))
                };
                if self.operators.iter().any(is_over) {
                    break;
                }
            }
            if !went_on && !self.time.advance(end) {
                return;
            }
        }
    }

    fn is_enough(&self) -> bool {
        !self.enough.is_empty() && self.watchdog.has_broken(self.enough)
    }

    fn chance(&self) -> std::sync::MutexGuard<'_, StdRng> {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn let_operators_die_and_live(&mut self) {
        let now = self.time.now();
        for number in 0..self.operators.len() {
            if self.operators[number].mischief.is_doomed() && self.operators[number].task.is_some() {
                let away = Duration::from_millis(self.chance().random_range(200..20_000));
                self.operators[number].crashes.insert(0, (now, away, Duration::ZERO));
            }
            let operator = &mut self.operators[number];
            if let Some(at) = operator.stops.iter().position(|(at, _)| *at <= now) {
                let (_, away) = operator.stops.remove(at);
                if let Some(stop) = operator.stop.take() {
                    operator.mischief.trace(|| "is asked to stop".to_owned());
                    operator.away = Some(away);
                    stop.send(()).unwrap_or_default();
                }
            }
            if operator.has_stopped.swap(false, Ordering::Relaxed) && operator.task.is_some() {
                let away = operator.away.take().unwrap_or_default();
                operator.crashes.insert(0, (now, away, Duration::ZERO));
            }
            let dies = operator.crashes.iter().position(|(at, _, _)| *at <= now);
            let dies = dies.map(|at| operator.crashes.remove(at));
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
        let mut whole = work::Operator {
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
        (self.build.changes)(&mut whole);
        let work = {
            let clock = Arc::clone(&clock);
            move |term: election::Term| {
                watchdog.leads(who, term.clone(), Arc::clone(&clock));
                whole.clone().work(term).boxed()
            }
        };
        let (stop, asked) = oneshot::channel::<()>();
        operator.stop = Some(stop);
        let (terms, has_stopped) = ((self.build.terms)(), Arc::clone(&operator.has_stopped));
        let stands = async move {
            election::elect(cluster, clock, me, terms, work, asked.map(drop)).await;
            has_stopped.store(true, Ordering::Relaxed);
        };
        operator.task = Some(self.pool.add(stands.boxed()));
    }

    /// With all faults over, the world becomes what the specs ask for, and stays so without a write.
    fn comes_to_rest(&mut self, from: Duration) {
        let mut now = from;
        let (mut unsettled, mut orphans) = (self.watchdog.unsettled(), self.watchdog.orphans());
        while !(unsettled.is_empty() && orphans.is_empty()) && now < from + PATIENCE && !self.is_enough() {
            now += LOOKS;
            self.until(now);
            unsettled = self.watchdog.unsettled();
            if unsettled.is_empty() {
                orphans = self.watchdog.orphans();
            }
        }
        if !unsettled.is_empty() {
            self.watchdog.violated(Invariant::Converges, unsettled.join("; "));
        }
        if !orphans.is_empty() {
            self.watchdog.violated(Invariant::NoOrphans, orphans.join(", "));
        }
        if !(unsettled.is_empty() && orphans.is_empty()) {
            return;
        }
        self.settled = Some(now);
        // A round of what is done regularly may still be under way.
        self.until(now + LOOKS);
        let before = self.server.state().counts.clone();
        self.until(now + LOOKS + QUIET);
        let (counts, at) = {
            let state = self.server.state();
            (state.counts.clone(), state.last_write)
        };
        let written = counts.writes - before.writes;
        if written > 0 {
            let what = format!("{written} writes at rest, the last at {:.3} s", at.as_secs_f64());
            self.watchdog.violated(Invariant::Quiet, what);
        }
        if counts.secrets > before.secrets {
            let what = format!("{} writes of Secrets at rest", counts.secrets - before.secrets);
            self.watchdog.violated(Invariant::Quiet, what);
        }
        let told = (counts.health - before.health) + (counts.events - before.events);
        if told > 0 {
            let what = format!(
                "{} writes of ProviderHealth at rest, and {} events",
                counts.health - before.health,
                counts.events - before.events
            );
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

impl Drop for World {
    fn drop(&mut self) {
        self.pool.clear();
    }
}

/// The key of the Proxy of that number. Each seventh has a name as long as a name may be.
pub(crate) fn key(number: u32) -> Key {
    let mut name = format!("px-{number}");
    if number % 7 == 6 {
        name.push('-');
        name.extend(std::iter::repeat_n('x', 253 - name.len()));
    }
    Key { namespace: "team-a".to_owned(), name }
}
