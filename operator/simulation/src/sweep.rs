//! Exhaustive sweeps over one small plan: every crash point, every lost answer, every stale restart, every change that is
//! never seen. Which there are comes from a run in which nothing goes wrong, and none is left out.

use std::time::Duration;

use crate::{
    plan::{Deed, Fault, Mishap, Plan, Setup},
    saboteur::Build,
    watchdog::{Invariant, Violation},
    world::{Outcome, play},
};

/// A sweep of one plan: the run in which nothing goes wrong, and every plan that follows from it by one fault.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What became of the plan itself.
    pub reference: Outcome,
    /// What there is to play.
    pub plans: Vec<Plan>,
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
        let plan = move |(seed, script): (usize, &Vec<(u64, Deed)>)| {
            Plan::calm(seed as u64, setup, script.clone(), 10 * minute)
        };
        scripts.iter().enumerate().map(plan).collect::<Vec<_>>()
    };
    setups.into_iter().flat_map(of).collect()
}

/// Every plan that follows from `plan` by one fault.
pub fn sweep(plan: &Plan, build: Build) -> Sweep {
    let reference = play(plan, build, false);
    let faults = crashes_and_lost_answers(&reference);
    let faults = faults.chain(stale_restarts(&reference)).chain(unobserved(&reference));
    let plans = faults.map(|fault| Plan { faults: vec![fault], ..plan.clone() }).collect();
    Sweep { reference, plans }
}

/// Every plan that follows from `plan` by one crash, or one answer that does not come.
pub fn crashes(plan: &Plan, build: Build) -> Sweep {
    let reference = play(plan, build, false);
    let faults = crashes_and_lost_answers(&reference);
    let plans = faults.map(|fault| Plan { faults: vec![fault], ..plan.clone() }).collect();
    Sweep { reference, plans }
}

impl Sweep {
    /// Plays one of the plans: what it broke, more lives of instances than without the fault included.
    pub fn play(&self, plan: &Plan, build: Build) -> Vec<Violation> {
        let outcome = play(plan, build, false);
        let lives = |outcome: &Outcome| outcome.lives.values().sum::<usize>();
        let (had, without) = (lives(&outcome), lives(&self.reference));
        let mut violations = outcome.violations;
        if had > without {
            let what = format!("instances had {had} lives, and {without} without the fault");
            violations.push(Violation { invariant: Invariant::AsManyLives, at: outcome.took, what });
        }
        violations
    }
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
