//! What the kit itself costs, on the memory provider: `cargo xtask bench kit`.
//!
//! Each goal is a ratio or a rate of one run; the absolute figures are for the reader. The run fails when a goal is
//! missed by its median.

use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures::{executor::block_on, future::BoxFuture};
use provider_api::{
    Clock, Context, CreateRequest, Deleted, Error, GetError, Identity, InstallationId, Instance, Listing,
    Provider, ProviderId, ProviderName, Registry, Timestamp, TokioSpawner, Uid, Wait,
};
use providertest::{
    harness::{Case, Folder, Harness},
    ledger::Ledger,
    memory::MemoryHarness,
    rule::{Check, Cost, Rule},
    rules,
    run::{self, Options, Silent},
    saboteur::{HONEST, Meddler, Saboteur, meddle},
    wire::Wire,
};

const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let goals = [rule_runs(), against_bare_calls(), sweeps(), memory()];
    let missed = goals.iter().filter(|goal| !**goal).count();
    if missed == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{missed} goals missed");
    ExitCode::FAILURE
}

/// Rule runs a second on one core: fast rules, each with a backend, a provider and a runtime of its own. What the
/// compiler holds has none of these and is not counted.
fn rule_runs() -> bool {
    let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::default());
    let options = fast(HONEST);
    let rates = (0..ROUNDS).map(|_| {
        let started = Instant::now();
        let report = run::run(&harness, &options, &Silent);
        let cases: usize = report.setups.iter().flat_map(|setup| &setup.rules).map(|rule| rule.cases).sum();
        cases as f64 / started.elapsed().as_secs_f64()
    });
    goal("rule runs a second and core", rates, "at least 1000", |rate| rate >= 1_000.0)
}

/// The fast rules' wall time, against the same numbers of bare trait calls on the same fake.
fn against_bare_calls() -> bool {
    let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::default());
    let counting = Saboteur { provider: |built, _| meddle(built, Counting), ..HONEST };
    run::run(&harness, &fast(counting), &Silent);
    let counts = COUNTS.each_ref().map(|count| count.swap(0, Ordering::Relaxed));
    let ratios = (0..ROUNDS).map(|_| {
        let bare = bare_costs();
        let bare: f64 = bare.iter().zip(counts).map(|(cost, count)| cost.as_secs_f64() * count as f64).sum();
        let started = Instant::now();
        run::run(&harness, &fast(HONEST), &Silent);
        started.elapsed().as_secs_f64() / bare
    });
    println!("  (creates, gets, deletes, lists of one run: {counts:?})");
    goal("kit time / bare trait calls", ratios, "at most 20", |ratio| ratio <= 20.0)
}

/// Unpruned sweeps: the mean of a plan on one core, and what a second core brings.
fn sweeps() -> bool {
    let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::default());
    let rules: Vec<_> = rules::table().filter(|rule| rule.cost() == Cost::Sweep).collect();
    let time = |jobs| {
        let options = Options { rules: rules.clone(), complete: false, jobs, ..Options::all() };
        let started = Instant::now();
        let report = run::run(&harness, &options, &Silent);
        let plans: usize = report.setups.iter().flat_map(|setup| &setup.rules).map(|rule| rule.cases).sum();
        (started.elapsed().as_secs_f64(), plans)
    };
    let pairs: Vec<_> = (0..ROUNDS).map(|_| (time(1), time(2))).collect();
    println!("  ({} plans)", pairs[0].0.1);
    let millis = goal(
        "milliseconds a sweep plan",
        pairs.iter().map(|((one, plans), _)| one * 1_000.0 / *plans as f64),
        "at most 10",
        |millis| millis <= 10.0,
    );
    let speedup = goal(
        "two cores / one core",
        pairs.iter().map(|((one, _), (two, _))| one / two),
        "at least 1.8",
        |ratio| ratio >= 1.8,
    );
    millis && speedup
}

/// The peak memory of the process after whole runs of the suite.
fn memory() -> bool {
    let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::default());
    run::run(&harness, &Options::all(), &Silent);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    let Some(kilobytes) = kilobytes else {
        println!("peak memory: this system does not say");
        return true;
    };
    goal("peak memory in MB", [kilobytes / 1_000.0].into_iter(), "under 300", |megabytes| megabytes < 300.0)
}

fn fast(saboteur: Saboteur) -> Options {
    let runs = |rule: &&Rule| rule.cost() == Cost::Fast && !matches!(rule.check, Check::ByType(_));
    let rules = rules::table().filter(runs).collect();
    Options { rules, complete: false, jobs: 1, saboteur, ..Options::all() }
}

/// Prints a figure with its spread, and says whether its median reaches the goal.
fn goal(what: &str, figures: impl Iterator<Item = f64>, says: &str, reached: fn(f64) -> bool) -> bool {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let median = figures[figures.len() / 2];
    let (least, most) = (figures[0], figures[figures.len() - 1]);
    let verdict = if reached(median) { "reached" } else { "MISSED" };
    println!("{what}: median {median:.2} ({least:.2} to {most:.2}); goal {says}: {verdict}");
    reached(median)
}

static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

struct Counting;

#[async_trait]
impl Meddler for Counting {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        COUNTS[0].fetch_add(1, Ordering::Relaxed);
        honest.create(request).await
    }
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        COUNTS[1].fetch_add(1, Ordering::Relaxed);
        honest.get(id).await
    }
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        COUNTS[2].fetch_add(1, Ordering::Relaxed);
        honest.delete(id).await
    }
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        COUNTS[3].fetch_add(1, Ordering::Relaxed);
        honest.list_by_tag().await
    }
}

/// What one bare create, get, delete and list cost, with a clock that never keeps anybody waiting, averaged over the
/// setups.
fn bare_costs() -> [Duration; 4] {
    // As few instances as a case has, on as many clouds as a figure needs.
    const CALLS: u32 = 4;
    const CLOUDS: u32 = 100;
    let harness = MemoryHarness::default();
    let setups = harness.setups();
    let mut totals = [Duration::ZERO; 4];
    for setup in setups.iter().flat_map(|setup| std::iter::repeat_n(setup, CLOUDS as usize)) {
        let clock: Arc<dyn Clock> = Arc::new(Hasty(Mutex::new(Duration::ZERO)));
        let case = Case {
            clock: Arc::clone(&clock),
            wire: Wire::new(Ledger::default()),
            seed: 1,
            tag: "bare".into(),
            folder: Arc::new(Folder::default()),
        };
        let backend = block_on(harness.open(setup, &case)).expect("the memory cloud needs nothing");
        let provider_type = backend.provider_type();
        let block = backend.block(&[]).expect("the plain block is always there");
        let name = provider_type.name;
        let yaml =
            serde_json::json!({ "providers": [{ "name": "bare", "type": name, name: block }] }).to_string();
        let mut registry = Registry::default();
        registry.register(provider_type);
        let identity = Identity::new(InstallationId::parse("bare").expect("a label value"));
        let surroundings = |name: &ProviderName| {
            Context::new(name.clone(), identity.clone(), Arc::clone(&clock), Arc::new(TokioSpawner))
        };
        let naked = |built, _: &Context| built;
        let providers = registry
            .load_finished(&Default::default(), &yaml, |_| {}, surroundings, naked)
            .expect("the harness's config loads");
        let provider = Arc::clone(&providers.iter().next().expect("one entry").1.built.provider);
        let requests: BTreeMap<u32, CreateRequest> = (0..CALLS)
            .map(|index| {
                (index, backend.request(&Uid::parse(&format!("bare-{index}")).expect("a label value")))
            })
            .collect();
        let started = Instant::now();
        let ids: Vec<_> = requests
            .values()
            .map(|request| block_on(provider.create(request)).expect("it creates"))
            .collect();
        totals[0] += started.elapsed() / CALLS;
        let started = Instant::now();
        ids.iter().for_each(|id| drop(block_on(provider.get(id))));
        totals[1] += started.elapsed() / CALLS;
        let started = Instant::now();
        (0..CALLS).for_each(|_| drop(block_on(provider.list_by_tag())));
        totals[3] += started.elapsed() / CALLS;
        let started = Instant::now();
        ids.iter().for_each(|id| drop(block_on(provider.delete(id))));
        totals[2] += started.elapsed() / CALLS;
    }
    totals.map(|total| total / (CLOUDS * u32::try_from(setups.len()).unwrap_or(1)))
}

/// A clock whose idle waits are over at once and whose guards never end.
struct Hasty(Mutex<Duration>);

impl Clock for Hasty {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH.after(self.monotonic())
    }
    fn monotonic(&self) -> Duration {
        *self.0.lock().expect("nobody panics with it")
    }
    fn sleep(&self, how_long: Duration, wait: Wait) -> BoxFuture<'static, ()> {
        match wait {
            Wait::Idle => {
                *self.0.lock().expect("nobody panics with it") += how_long;
                Box::pin(std::future::ready(()))
            }
            Wait::Guard => Box::pin(std::future::pending()),
        }
    }
}
