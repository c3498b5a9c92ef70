//! What the operator costs, with the real way to an API server over `fixtures/kube-api`: `cargo xtask bench operator`, or
//! `cargo xtask bench operator -- SUBJECT…` for some of it.
//!
//! | subject | what is measured |
//! |---|---|
//! | `lives` | requests for 1,000 Proxies through their lives, counted at the server |
//! | `scale` | how long 1,000 and 10,000 Proxies take, against a bare loop of the same writes |
//! | `memory` | of a process that has 1,000 and 10,000 Proxies, also when it starts again, and its connections |
//! | `probes` | the real prober on 10,000 endpoints; with `--million`, a million probes instead of a minute of them |
//!
//! The provider has no state but what an id tells, so that the operator is what is measured. The run fails while a goal is
//! missed. What depends on simulated time is measured in the simulation.
#![allow(clippy::unwrap_used)]

mod figures;
mod lives;
mod memory;
mod operator;
mod place;
mod probes;
mod scale;

use std::{env, process::ExitCode};

use tokio::runtime::Runtime;

const SUBJECTS: [&str; 4] = ["lives", "scale", "memory", "probes"];
/// For as many probes as it says, however long they take.
const MILLION: &str = "--million";

fn main() -> ExitCode {
    if memory::is_asked_for() {
        return runtime().block_on(memory::operate());
    }
    if probes::is_asked_for() {
        return runtime().block_on(probes::probe());
    }
    // cargo adds a flag of its own.
    let flags: Vec<String> = env::args().skip(1).filter(|flag| flag != "--bench").collect();
    if let Some(flag) = flags.iter().find(|flag| !SUBJECTS.contains(&flag.as_str()) && *flag != MILLION) {
        eprintln!("{flag} is neither {MILLION} nor one of {}", SUBJECTS.join(", "));
        return ExitCode::FAILURE;
    }
    let names: Vec<&str> = flags.iter().map(String::as_str).filter(|flag| *flag != MILLION).collect();
    let is_million = flags.iter().any(|flag| flag == MILLION);
    let is_wanted = |subject| names.is_empty() || names.contains(&subject);
    let mut reached = true;
    if is_wanted("lives") {
        reached &= runtime().block_on(lives::measure());
    }
    if is_wanted("scale") {
        reached &= runtime().block_on(scale::measure());
    }
    if is_wanted("memory") {
        reached &= runtime().block_on(memory::measure());
    }
    if is_wanted("probes") {
        reached &= runtime().block_on(probes::measure(is_million));
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One for each subject, so that none leaves another anything to do.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}
