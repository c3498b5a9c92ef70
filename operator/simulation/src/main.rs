//! `simulate`: plays worlds by their seeds, or sweeps, or the saboteurs, and says which invariants did not hold.

mod tell;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::Parser;
use operator_simulation::{
    Build, Invariant, Violation,
    goals::{self, Goal},
    paths,
    plan::{Plan, Setup},
    play, play_until,
    saboteur::{SABOTEURS, Saboteur, SeenIn},
    sweep::{self, Sweep},
};
use tell::{Bar, Row, table};

/// Plays simulated worlds and looks for broken invariants.
///
/// The same seed makes the same world, and so does the same plan. Exit codes: 0 every invariant held, and every saboteur was
/// seen; 1 one did not; 2 it could not run.
#[derive(Parser)]
#[command(name = "simulate", bin_name = "cargo xtask simulate")]
struct Flags {
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// How many worlds
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// How many Proxies each has
    #[arg(long, default_value_t = 3)]
    proxies: u32,
    /// How long each goes on before it must come to rest, in minutes of its own time
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Plays the plan of this file instead
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Tells everything that happens
    #[arg(long)]
    trace: bool,
    /// Writes the first plan that breaks an invariant into this file
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Sweeps instead: every crash point, lost answer, stale restart and unseen change of small worlds, and every pair of ways
    /// to one spec
    #[arg(long)]
    sweep: bool,
    /// Plays one of so many plans of the sweeps, and of the pairs
    #[arg(long, value_name = "N", default_value_t = 1, requires = "sweep", value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Measures what the operator has to reach instead, nearly all of it in simulated time
    #[arg(long, conflicts_with_all = ["sweep", "saboteurs"])]
    goals: bool,
    /// Plays operators with a protection taken out instead, each of which must be seen
    #[arg(long, conflicts_with = "sweep")]
    saboteurs: bool,
    /// Plays the operator of this saboteur
    #[arg(long, value_name = "NAME")]
    saboteur: Option<String>,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    // What a world panics with is told with its plan.
    let tells = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !operator_simulation::is_in_a_world() {
            tells(panic);
        }
    }));
    let began = Instant::now();
    let build = match &flags.saboteur {
        None => Ok(Build::default()),
        Some(name) => saboteur(name).map(|saboteur| saboteur.build),
    };
    let result = build.and_then(|build| match &flags {
        Flags { sweep: true, .. } => sweeps(&flags, build),
        Flags { saboteurs: true, .. } => Ok(saboteurs()),
        Flags { goals: true, .. } => Ok(reaches()),
        _ => worlds(&flags, build),
    });
    println!("{:.1} s", began.elapsed().as_secs_f64());
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::from(2)
        }
    }
}

fn worlds(flags: &Flags, build: Build) -> Result<bool, String> {
    let plans = match &flags.plan {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            let plan = serde_json::from_str(&text);
            vec![plan.map_err(|error| format!("{} is no plan: {error}", path.display()))?]
        }
        None => random(flags, flags.seeds),
    };
    let (failed, simulated) = (AtomicUsize::new(0), Mutex::new(Duration::ZERO));
    let telling = Telling::new(flags);
    let began = Instant::now();
    let bar = Bar::new(plans.len(), "worlds");
    each(&plans, |plan| {
        let outcome = play(plan, build, flags.trace);
        *lock(&simulated) += outcome.took;
        if flags.trace {
            println!("seed {}: {:.0} s, {:?}", plan.seed, outcome.took.as_secs_f64(), outcome.counts);
        }
        if !outcome.violations.is_empty() {
            failed.fetch_add(1, Ordering::Relaxed);
            bar.quietly(|| telling.broken(plan, &outcome.violations));
        }
        bar.one_more();
    });
    bar.end();
    let (failed, simulated) = (failed.into_inner(), lock(&simulated).as_secs_f64());
    println!(
        "{} worlds, {failed} with a broken invariant; {simulated:.0} simulated seconds, {:.0} in each second",
        plans.len(),
        simulated / began.elapsed().as_secs_f64()
    );
    Ok(failed == 0)
}

fn random(flags: &Flags, seeds: u64) -> Vec<Plan> {
    let length = Duration::from_secs(flags.minutes * 60);
    let seeds = flags.from..flags.from.saturating_add(seeds);
    seeds.map(|seed| Plan::random(seed, flags.proxies, length)).collect()
}

/// Tells of what was broken, and how to see it again.
struct Telling<'f> {
    keep: Option<&'f PathBuf>,
    has_kept: AtomicBool,
    saboteur: String,
    told: AtomicUsize,
}

/// Of so many broken plans the whole is printed.
const MOST: usize = 20;

impl<'f> Telling<'f> {
    fn new(flags: &'f Flags) -> Self {
        let saboteur = flags.saboteur.as_ref().map(|name| format!(" --saboteur {name}")).unwrap_or_default();
        Self {
            keep: flags.keep.as_ref(),
            has_kept: AtomicBool::new(false),
            saboteur,
            told: AtomicUsize::new(0),
        }
    }

    fn broken(&self, plan: &Plan, violations: &[Violation]) {
        println!("seed {}, {:?}: broken", plan.seed, plan.setup);
        for violation in violations {
            println!("  {violation}");
        }
        if self.told.fetch_add(1, Ordering::Relaxed) >= MOST {
            return;
        }
        let text = serde_json::to_string(plan).unwrap_or_default();
        if let Some(path) = self.keep
            && !self.has_kept.swap(true, Ordering::Relaxed)
        {
            match std::fs::write(path, &text) {
                Ok(()) => {
                    let path = path.display();
                    println!("  again: cargo xtask simulate --plan {path} --trace{}", self.saboteur);
                    return;
                }
                Err(error) => println!("  it could not be written into {}: {error}", path.display()),
            }
        }
        let text = text.replace('\'', "'\\''");
        println!(
            "  again: echo '{text}' > plan.json; cargo xtask simulate --plan plan.json --trace{}",
            self.saboteur
        );
    }
}

/// Every plan of every sweep, each with the sweep that it is of.
fn plans_of(sweeps: &[Sweep]) -> Vec<(&Sweep, &Plan)> {
    sweeps.iter().flat_map(|sweep| sweep.plans.iter().map(move |plan| (sweep, plan))).collect()
}

fn all_sweeps(build: Build) -> Vec<Sweep> {
    let sweeps = Mutex::new(Vec::new());
    each(&sweep::beginnings(), |plan| {
        let swept = sweep::sweep(plan, build);
        lock(&sweeps).push((format!("{:?} {}", plan.setup, plan.seed), swept));
    });
    let mut sweeps = sweeps.into_inner().unwrap_or_else(PoisonError::into_inner);
    sweeps.sort_by(|(one, _), (other, _)| one.cmp(other));
    sweeps.into_iter().map(|(_, sweep)| sweep).collect()
}

fn sweeps(flags: &Flags, build: Build) -> Result<bool, String> {
    let sweeps = all_sweeps(build);
    let telling = Telling::new(flags);
    let broken = AtomicUsize::new(0);
    for (plan, sweep) in sweep::beginnings().iter().zip(&sweeps) {
        if !sweep.reference.violations.is_empty() {
            broken.fetch_add(1, Ordering::Relaxed);
            telling.broken(plan, &sweep.reference.violations);
        }
    }
    let every = usize::try_from(flags.every).unwrap_or(usize::MAX);
    let of_all = plans_of(&sweeps).len();
    let plans: Vec<_> = plans_of(&sweeps).into_iter().step_by(every).collect();
    let began = Instant::now();
    let bar = Bar::new(plans.len(), "plans");
    each(&plans, |(sweep, plan)| {
        let violations = sweep.play(plan, build);
        if !violations.is_empty() {
            broken.fetch_add(1, Ordering::Relaxed);
            bar.quietly(|| telling.broken(plan, &violations));
        }
        bar.one_more();
    });
    bar.end();
    let mean = began.elapsed().as_secs_f64() * 1000.0 / plans.len().max(1) as f64;
    let all_pairs = paths::pairs(paths::SPECS);
    let pairs: Vec<_> = all_pairs.iter().step_by(every).collect();
    let bar = Bar::new(pairs.len(), "pairs");
    each(&pairs, |pair| {
        let violations = pair.play(build);
        if !violations.is_empty() {
            broken.fetch_add(1, Ordering::Relaxed);
            bar.quietly(|| telling.broken(&pair.long, &violations));
        }
        bar.one_more();
    });
    bar.end();
    println!("{} of {} pairs of plans that must end alike", pairs.len(), all_pairs.len());
    let broken = broken.into_inner();
    println!(
        "{} of {of_all} plans of {} sweeps, {broken} broken; {mean:.1} ms each",
        plans.len(),
        sweeps.len()
    );
    Ok(broken == 0)
}

/// Whether every goal is reached.
fn reaches() -> bool {
    let goals: [fn() -> Goal; 8] = [
        || goals::takeover(1..21),
        || goals::handover(1..21),
        || goals::blocked_creates(1_000),
        || goals::hanging_target(200),
        || goals::writes(100),
        || goals::speed(1_000, Setup::Submit),
        || goals::speed(1_000, Setup::Blocking),
        || goals::speed(1_000, Setup::Plain),
    ];
    let bar = Bar::new(goals.len(), "goals");
    let mut rows = Vec::new();
    for goal in goals {
        let goal = goal();
        bar.quietly(|| println!("{:>12.3}  {}", goal.seen, goal.what));
        rows.push(Row {
            is_well: goal.is_reached(),
            cells: [
                if goal.is_reached() { "reached" } else { "MISSED" }.to_owned(),
                format!("{:.3}", goal.seen),
                format!("{} {:.3}", if goal.is_least { "at least" } else { "at most" }, goal.limit),
                goal.what,
            ],
        });
        bar.one_more();
    }
    bar.end();
    table(["goal", "seen", "limit", "what"], &rows);
    rows.iter().all(|row| row.is_well)
}

fn saboteurs() -> bool {
    let bar = Bar::new(SABOTEURS.len(), "saboteurs");
    let mut rows = Vec::new();
    for saboteur in SABOTEURS {
        let breaks = |violations: Vec<Violation>| {
            violations.into_iter().find(|seen| saboteur.breaks.contains(&seen.invariant))
        };
        let (seen, among) = match saboteur.seen_in {
            SeenIn::Seeds(within) | SeenIn::LargeSeeds(within) => {
                let proxies = if saboteur.seen_in == SeenIn::Seeds(within) { 3 } else { 10 };
                let hour = Duration::from_secs(60 * 60);
                let plans: Vec<_> = (1..=within).map(|seed| Plan::random(seed, proxies, hour)).collect();
                let seen = first(&plans, |plan| {
                    breaks(play_until(plan, saboteur.build, saboteur.breaks).violations)
                });
                (seen, format!("{within} seeds"))
            }
            SeenIn::Sweeps => {
                let sweeps = all_sweeps(saboteur.build);
                let plans = plans_of(&sweeps);
                let seen = first(&plans, |(sweep, plan)| breaks(sweep.play(plan, saboteur.build)));
                (seen, format!("{} plans", plans.len()))
            }
            SeenIn::Pairs => {
                let pairs = paths::pairs(paths::SPECS);
                let seen = first(&pairs, |pair| breaks(pair.play(saboteur.build)));
                (seen, format!("{} pairs", pairs.len()))
            }
        };
        rows.push(match seen {
            Some((count, seen)) => Row {
                is_well: true,
                cells: [
                    saboteur.name.to_owned(),
                    format!("{:?}", seen.invariant),
                    format!("{} of {among}", count + 1),
                    seen.what,
                ],
            },
            None => Row {
                is_well: false,
                cells: [
                    saboteur.name.to_owned(),
                    "NOT SEEN".to_owned(),
                    among,
                    format!("it was to break {:?}", saboteur.breaks),
                ],
            },
        });
        bar.one_more();
    }
    bar.end();
    let unseen = rows.iter().filter(|row| !row.is_well).count();
    table(["saboteur", "breaks", "seen at", "what was seen"], &rows);
    let covered =
        |invariant: &&Invariant| SABOTEURS.iter().any(|saboteur| saboteur.breaks.contains(invariant));
    let uncovered: Vec<_> = Invariant::ALL.iter().filter(|invariant| !covered(invariant)).collect();
    println!("{} saboteurs, {unseen} not seen; {} invariants", SABOTEURS.len(), Invariant::ALL.len());
    if !uncovered.is_empty() {
        println!("nobody breaks {uncovered:?}");
    }
    unseen == 0 && uncovered.is_empty()
}

fn saboteur(name: &str) -> Result<&'static Saboteur, String> {
    let known = SABOTEURS.iter().find(|saboteur| saboteur.name == name);
    known.ok_or_else(|| {
        let names: Vec<_> = SABOTEURS.iter().map(|saboteur| saboteur.name).collect();
        format!("there is no saboteur {name}; there are {}", names.join(", "))
    })
}

/// The first, by its place, for which there is something to tell. Those after it may be left out.
fn first<T: Sync, R: Send>(all: &[T], finds: impl Fn(&T) -> Option<R> + Sync) -> Option<(usize, R)> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Option<(usize, R)>> = Mutex::new(None);
    on_every_core(|| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let is_late = |found: &Option<(usize, R)>| found.as_ref().is_some_and(|(first, _)| *first < at);
            let Some(one) = all.get(at).filter(|_| !is_late(&lock(&found))) else { return };
            if let Some(result) = finds(one) {
                let mut found = lock(&found);
                if !is_late(&found) {
                    *found = Some((at, result));
                }
            }
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with each, on every core.
fn each<T: Sync>(all: &[T], does: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    on_every_core(|| {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            does(one);
        }
    });
}

fn on_every_core(does: impl Fn() + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&does);
        }
    });
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
