//! `simulate`: plays worlds by their seeds, and says which did not hold.

use std::{process::ExitCode, time::Duration};

use clap::Parser;
use operator_simulation::{Build, plan::Plan, play};

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
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    let plans: Vec<Plan> = match &flags.plan {
        Some(path) => {
            let text = match std::fs::read_to_string(path) {
                Ok(text) => text,
                Err(error) => return usage(&format!("cannot read {}: {error}", path.display())),
            };
            match serde_json::from_str(&text) {
                Ok(plan) => vec![plan],
                Err(error) => return usage(&format!("{} is no plan: {error}", path.display())),
            }
        }
        None => (flags.from..flags.from.saturating_add(flags.seeds))
            .map(|seed| Plan::random(seed, flags.proxies, Duration::from_secs(flags.minutes * 60)))
            .collect(),
    };
    let mut failed = 0;
    for plan in &plans {
        let outcome = play(plan, Build::default(), flags.trace);
        for line in &outcome.trace {
            println!("{line}");
        }
        if flags.trace {
            println!("{:?}", outcome.counts);
        }
        if outcome.violations.is_empty() {
            continue;
        }
        failed += 1;
        println!("seed {}", plan.seed);
        for violation in &outcome.violations {
            println!(
                "  {:?} at {:.3} s: {}",
                violation.invariant,
                violation.at.as_secs_f64(),
                violation.what
            );
        }
        println!("  plan {}", serde_json::to_string(plan).unwrap_or_default());
    }
    println!("{} worlds, {failed} with a broken invariant", plans.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage(what: &str) -> ExitCode {
    eprintln!("error: {what}");
    ExitCode::from(2)
}
