//! Exhaustive sweeps over one small plan: every crash point, every lost answer, every stale restart, every change that is
//! never seen. Which there are comes from a run in which nothing goes wrong, and none is left out.

use std::time::Duration;

use crate::{
    plan::{Deed, Fault, Mishap, Plan, Setup},
    saboteur::Build,
    watchdog::Violation,
    world::{Outcome, play},
};

/// A plan of a sweep that broke something.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The plan.
    pub plan: Plan,
    /// What it broke; empty when only the number of lives differs.
    pub violations: Vec<Violation>,
    /// How many lives instances had, and how many without the fault.
    pub lives: (usize, usize),
}

/// What a sweep has done.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// How many plans it played.
    pub plans: usize,
    /// Those that broke something.
    pub broken: Vec<Broken>,
}

/// The plans that sweeps start from: whole lives of one to three Proxies, with an edit, a move and a revert, on every kind of
/// backend, in an hour's fraction.
pub fn beginnings() -> Vec<Plan> {
    let minute = 60_000;
    let one = vec![
        (1_000, Deed::Create(1)),
        (2 * minute, Deed::Edit(1)),
        (4 * minute, Deed::Move(1)),
        (6 * minute, Deed::Delete(1)),
    ];
    let two = vec![
        (1_000, Deed::Create(0)),
        (1_000, Deed::Create(1)),
        // Changed while it is being made.
        (1_030, Deed::Edit(1)),
        (2 * minute, Deed::Rotate(0)),
        (2 * minute + 20, Deed::Delete(1)),
    ];
    let three = vec![
        (1_000, Deed::Create(0)),
        (1_010, Deed::Create(1)),
        (1_015, Deed::Move(1)),
        (1_500, Deed::Create(2)),
        (2 * minute, Deed::Delete(2)),
        (2 * minute, Deed::Edit(0)),
        (2 * minute + 500, Deed::Revert(0)),
        // The same name once more.
        (4 * minute, Deed::Create(2)),
    ];
    let setups = [Setup::Submit, Setup::Blocking, Setup::Plain];
    let scripts = [one, two, three];
    let of = |setup: Setup| {
        let plan = move |(seed, script): (usize, &Vec<(u64, Deed)>)| Plan {
            seed: seed as u64,
            setup,
            operators: 1,
            script: script.clone(),
            faults: Vec::new(),
            length: 10 * minute,
        };
        scripts.iter().enumerate().map(plan).collect::<Vec<_>>()
    };
    setups.into_iter().flat_map(of).collect()
}

/// Plays every plan that follows from `plan` by one fault.
pub fn sweep(plan: &Plan, build: Build) -> Swept {
    let reference = play(plan, build, false);
    let faults = crashes_and_lost_answers(&reference);
    let faults = faults.chain(stale_restarts(&reference)).chain(unobserved(&reference));
    plays(plan, build, &reference, faults)
}

/// Plays every plan that follows from `plan` by one crash, or one answer that does not come.
pub fn crashes(plan: &Plan, build: Build) -> Swept {
    let reference = play(plan, build, false);
    plays(plan, build, &reference, crashes_and_lost_answers(&reference))
}

fn plays(plan: &Plan, build: Build, reference: &Outcome, faults: impl Iterator<Item = Fault>) -> Swept {
    let mut swept = Swept::default();
    for fault in faults {
        let plan = Plan { faults: vec![fault], ..plan.clone() };
        let outcome = play(&plan, build, false);
        swept.plans += 1;
        let lives = (outcome.lives.values().sum(), reference.lives.values().sum());
        if !outcome.violations.is_empty() || lives.0 > lives.1 {
            swept.broken.push(Broken { plan, violations: outcome.violations, lives });
        }
    }
    swept
}

/// After every write and call that has an effect: the operator dies, the answer is lost, an error follows, or it did not happen.
fn crashes_and_lost_answers(reference: &Outcome) -> impl Iterator<Item = Fault> {
    let of = |(operator, requests): (usize, &Vec<(u32, String)>)| {
        let operator = u32::try_from(operator).unwrap_or(0);
        let of_one = move |(number, _): &(u32, String)| {
            let number = *number;
            Mishap::ALL.map(move |how| Fault::Request { operator, number, how })
        };
        requests.iter().flat_map(of_one).collect::<Vec<_>>()
    };
    reference.effective.iter().enumerate().flat_map(of).collect::<Vec<_>>().into_iter()
}

/// A restart after every change, whose first look is as old as every change before.
fn stale_restarts(reference: &Outcome) -> impl Iterator<Item = Fault> {
    pairs(reference).map(|(seen, now)| Fault::Crash {
        operator: 0,
        at: millis(now) + 5,
        away: 100,
        behind: millis(now - seen) + 105,
    })
}

/// Watches that stand still from before every change until after every later one.
fn unobserved(reference: &Outcome) -> impl Iterator<Item = Fault> {
    pairs(reference).map(|(first, last)| Fault::Frozen {
        operator: 0,
        from: millis(first).saturating_sub(1),
        until: millis(last) + 50,
    })
}

fn pairs(reference: &Outcome) -> impl Iterator<Item = (Duration, Duration)> {
    let changes = &reference.changes;
    let pair = |(at, first): (usize, &Duration)| {
        let first = *first;
        changes[at..].iter().map(move |last| (first, *last)).collect::<Vec<_>>()
    };
    changes.iter().enumerate().flat_map(pair).collect::<Vec<_>>().into_iter()
}

fn millis(at: Duration) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
}
