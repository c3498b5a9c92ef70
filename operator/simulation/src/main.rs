//! `simulate`: plays worlds by their seeds, or sweeps, or the saboteurs, and says which invariants did not hold.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::Parser;
use operator_simulation::{
    Build, Outcome,
    plan::Plan,
    play,
    saboteur::{SABOTEURS, Saboteur},
    sweep,
};

/// Plays simulated worlds and looks for broken invariants.
#[derive(Parser)]
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
    #[arg(long)]
    plan: Option<std::path::PathBuf>,
    /// Tells everything that happens
    #[arg(long)]
    trace: bool,
    /// Sweeps instead: every crash point, lost answer, stale restart and unseen change of small worlds
    #[arg(long)]
    sweep: bool,
    /// Plays operators with a protection taken out instead, each of which must be seen
    #[arg(long)]
    saboteurs: bool,
    /// Plays the operator of this saboteur
    #[arg(long)]
    saboteur: Option<String>,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    let began = Instant::now();
    let result = match &flags {
        Flags { sweep: true, .. } => Ok(sweeps()),
        Flags { saboteurs: true, .. } => Ok(saboteurs(&flags)),
        _ => worlds(&flags),
    };
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

fn worlds(flags: &Flags) -> Result<bool, String> {
    let build = match &flags.saboteur {
        None => Build::default(),
        Some(name) => saboteur(name)?.build,
    };
    let plans = match &flags.plan {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            vec![
                serde_json::from_str(&text)
                    .map_err(|error| format!("{} is no plan: {error}", path.display()))?,
            ]
        }
        None => random(flags, flags.seeds),
    };
    let failed = AtomicUsize::new(0);
    let lines = Mutex::new(());
    each(&plans, |plan| {
        let outcome = play(plan, build, flags.trace);
        if flags.trace || !outcome.violations.is_empty() {
            let _whole = lines.lock().unwrap_or_else(PoisonError::into_inner);
            tell(plan, &outcome);
        }
        if !outcome.violations.is_empty() {
            failed.fetch_add(1, Ordering::Relaxed);
        }
    });
    let failed = failed.into_inner();
    println!("{} worlds, {failed} with a broken invariant", plans.len());
    Ok(failed == 0)
}

fn random(flags: &Flags, seeds: u64) -> Vec<Plan> {
    let length = Duration::from_secs(flags.minutes * 60);
    let seeds = flags.from..flags.from.saturating_add(seeds);
    seeds.map(|seed| Plan::random(seed, flags.proxies, length)).collect()
}

fn tell(plan: &Plan, outcome: &Outcome) {
    println!("seed {}: {:.0} s, {:?}", plan.seed, outcome.took.as_secs_f64(), outcome.counts);
    for violation in &outcome.violations {
        println!("  {:?} at {:.3} s: {}", violation.invariant, violation.at.as_secs_f64(), violation.what);
    }
    println!("  plan {}", serde_json::to_string(plan).unwrap_or_default());
}

fn sweeps() -> bool {
    let plans = sweep::beginnings();
    let results = Mutex::new(Vec::new());
    each(&plans, |plan| {
        let swept = sweep::sweep(plan, Build::default());
        results.lock().unwrap_or_else(PoisonError::into_inner).push((plan.clone(), swept));
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let played: usize = results.iter().map(|(_, swept)| swept.plans).sum();
    let mut broken = 0;
    for (plan, swept) in &results {
        println!(
            "{:?}, script {}: {} plans, {} broken",
            plan.setup,
            plan.seed,
            swept.plans,
            swept.broken.len()
        );
        for one in swept.broken.iter().take(3) {
            println!("  {:?}, lives {:?}", one.violations, one.lives);
            println!("  plan {}", serde_json::to_string(&one.plan).unwrap_or_default());
        }
        broken += swept.broken.len();
    }
    println!("{played} plans, {broken} broken");
    broken == 0
}

fn saboteurs(flags: &Flags) -> bool {
    let mut uncaught = 0;
    for saboteur in SABOTEURS {
        let first = random(flags, saboteur.within).into_iter().enumerate().find_map(|(count, plan)| {
            let outcome = play(&plan, saboteur.build, false);
            let seen =
                outcome.violations.iter().find(|seen| saboteur.breaks.contains(&seen.invariant)).cloned();
            seen.map(|seen| (count + 1, seen))
        });
        match first {
            Some((count, seen)) => {
                println!("{:<36} {:?} after {count}: {}", saboteur.name, seen.invariant, seen.what)
            }
            None => {
                uncaught += 1;
                println!("{:<36} NOT SEEN in {} seeds", saboteur.name, saboteur.within);
            }
        }
    }
    println!("{} saboteurs, {uncaught} not seen", SABOTEURS.len());
    uncaught == 0
}

fn saboteur(name: &str) -> Result<&'static Saboteur, String> {
    let known = SABOTEURS.iter().find(|saboteur| saboteur.name == name);
    known.ok_or_else(|| {
        let names: Vec<_> = SABOTEURS.iter().map(|saboteur| saboteur.name).collect();
        format!("there is no saboteur {name}; there are {}", names.join(", "))
    })
}

/// Does something with each plan, on every core.
fn each(plans: &[Plan], does: impl Fn(&Plan) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                    does(plan);
                }
            });
        }
    });
}
