//! What the operator has to reach, measured in simulated time: the same on every machine. How fast worlds are played is the
//! one figure that is measured by the clock of the machine.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use proxy_operator::resource::Key;

use crate::{
    plan::{Deed, Fault, Plan, Setup},
    saboteur::Build,
    world::{Outcome, key, play},
};

/// A goal, and what was measured.
#[derive(Clone, Debug)]
pub struct Goal {
    /// What it is about.
    pub what: String,
    /// What was measured.
    pub seen: f64,
    /// The least or the most that it may be.
    pub limit: f64,
    /// Whether more is better.
    pub is_least: bool,
}

impl Goal {
    fn at_most(what: impl Into<String>, seen: f64, limit: f64) -> Self {
        Self { what: what.into(), seen, limit, is_least: false }
    }

    /// Whether it was reached.
    pub fn is_reached(&self) -> bool {
        if self.is_least { self.seen >= self.limit } else { self.seen <= self.limit }
    }
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;

/// How long it takes from a leader's end until another leads, in shares of the lease: a crash.
pub fn takeover(seeds: std::ops::Range<u64>) -> Goal {
    let lease = (Build::default().terms)().lease;
    let longest = seeds.map(|seed| {
        succession(seed, |operator, at| Fault::Crash { operator, at, away: 10 * MINUTE, behind: 0 })
    });
    let longest = longest.max().unwrap_or_default();
    Goal::at_most(
        "takeover after a crash, in shares of the lease",
        longest.as_secs_f64() / lease.as_secs_f64(),
        1.05,
    )
}

/// The same where the leader is asked to stop, in milliseconds.
pub fn handover(seeds: std::ops::Range<u64>) -> Goal {
    let longest =
        seeds.map(|seed| succession(seed, |operator, at| Fault::Stop { operator, at, away: 10 * MINUTE }));
    let longest = longest.max().unwrap_or_default();
    Goal::at_most("clean handover, in milliseconds", longest.as_secs_f64() * 1000.0, 200.0)
}

fn succession(seed: u64, ends: impl Fn(u32, u64) -> Fault) -> Duration {
    // At any point of the lease's two seconds. Who leads is chance, and that a fault stands in the plan is one too.
    for attempt in 0..100 {
        let at = 2 * MINUTE + (seed * 37 + attempt * 211) % 2_000;
        for operator in 0..2 {
            let mut plan = Plan::calm(seed, Setup::Plain, vec![(SECOND, Deed::Create(1))], 3 * MINUTE);
            (plan.operators, plan.calm) = (2, true);
            plan.faults = vec![ends(operator, at)];
            let leaders = play(&plan, Build::default(), false).leaders;
            let at = Duration::from_millis(at);
            if leaders.iter().rev().find(|(since, _)| *since <= at).is_some_and(|(_, led)| *led == operator) {
                let next = leaders.into_iter().map(|(since, _)| since).find(|since| *since > at);
                return next.map_or(Duration::MAX, |since| since - at);
            }
        }
    }
    Duration::MAX
}

/// So many Proxies at once on ten targets whose creates take a minute each.
fn blocked(proxies: u32, faults: Vec<Fault>) -> Outcome {
    let script = (0..proxies).map(|number| (SECOND, Deed::Create(number))).collect();
    let slow = |provider| Fault::Slow { provider, zone: None, from: 0, until: u64::MAX, takes: Some(MINUTE) };
    let mut plan = Plan::calm(7, Setup::Submit, script, 2 * SECOND);
    // Two providers have ten.
    plan.zones = Some(5);
    plan.faults = vec![slow(0), slow(1)];
    plan.faults.extend(faults);
    play(&plan, Build::default(), false)
}

/// How long blocked creates take, in shares of the time that the limit of four at once on each target allows.
pub fn blocked_creates(proxies: u32) -> Goal {
    let outcome = blocked(proxies, Vec::new());
    let ready = outcome.ready.values().max().copied().unwrap_or(Duration::MAX);
    let is_all = outcome.ready.len() == proxies as usize;
    let rounds = proxies.div_ceil(10).div_ceil(4);
    let allowed = Duration::from_millis(u64::from(rounds) * MINUTE);
    let seen = if is_all { ready.as_secs_f64() / allowed.as_secs_f64() } else { f64::INFINITY };
    let what = format!(
        "{proxies} creates of 60 s on ten targets, in shares of what four at once allow ({rounds} min)"
    );
    // A look waits for room at its target like any call, and one that waited in vain comes back after up to a minute.
    Goal::at_most(what, seen, 1.05 + 60.0 / allowed.as_secs_f64())
}

/// By how much longer the others take when one target hangs.
pub fn hanging_target(proxies: u32) -> Goal {
    let zone = |number: &u32| number / 2 % 5;
    let others: Vec<Key> =
        (0..proxies).filter(|number| number % 2 == 1 || zone(number) != 0).map(key).collect();
    let hangs = Fault::Hang { provider: 0, zone: Some("z1".to_owned()), from: 0, until: 60 * MINUTE };
    let last = |ready: &BTreeMap<Key, Duration>| {
        let times = others.iter().map(|key| ready.get(key).copied().unwrap_or(Duration::MAX));
        times.max().unwrap_or_default().as_secs_f64()
    };
    let (without, with) = (blocked(proxies, Vec::new()), blocked(proxies, vec![hangs]));
    let what = format!("{proxies} creates while one target hangs: the others, in shares of the time without");
    Goal::at_most(what, last(&with.ready) / last(&without.ready), 1.05)
}

/// Writes of Proxies for one life of each, over the five that a life cannot do without: the finalizer on, the intent, the
/// instance, that it runs, the finalizer off.
pub fn writes(proxies: u32) -> Goal {
    let mut script: Vec<_> = (0..proxies).map(|number| (SECOND, Deed::Create(number))).collect();
    script.extend((0..proxies).map(|number| (10 * MINUTE, Deed::Delete(number))));
    let plan = Plan::calm(3, Setup::Submit, script, 20 * MINUTE);
    let outcome = play(&plan, Build::default(), false);
    let floor = 5.0 * f64::from(proxies);
    Goal::at_most(
        format!("writes for {proxies} lives, over the least that there can be"),
        outcome.counts.writes as f64 / floor,
        1.25,
    )
}

/// Simulated seconds in each second, of an hour of a large world: all are made in the first ten minutes, each tenth is edited
/// later and each twentieth goes, and requests and calls fail for a while, an operator dies, a backend is cut off.
pub fn speed(proxies: u32, setup: Setup) -> Goal {
    let at = |number: u32, of: u64| of * u64::from(number) / u64::from(proxies);
    let mut script: Vec<_> =
        (0..proxies).map(|number| (SECOND + at(number, 10 * MINUTE), Deed::Create(number))).collect();
    let tenths = (0..proxies).step_by(10);
    script.extend(tenths.map(|number| (15 * MINUTE + at(number, 20 * MINUTE), Deed::Edit(number))));
    let twentieths = (5..proxies).step_by(20);
    script.extend(twentieths.map(|number| (20 * MINUTE + at(number, 20 * MINUTE), Deed::Delete(number))));
    script.sort_by_key(|(at, _)| *at);
    let mut plan = Plan::calm(2, setup, script, 60 * MINUTE);
    plan.faults = vec![
        Fault::Storm { from: 5 * MINUTE, until: 10 * MINUTE, percent: 5 },
        Fault::Crash { operator: 0, at: 25 * MINUTE, away: 30 * SECOND, behind: 0 },
        Fault::Outage { provider: 0, zone: None, from: 30 * MINUTE, until: 33 * MINUTE },
    ];
    let began = Instant::now();
    let outcome = play(&plan, Build::default(), false);
    let is_whole = outcome.violations.is_empty();
    let seen = if is_whole { outcome.took.as_secs_f64() / began.elapsed().as_secs_f64() } else { 0.0 };
    let what = format!("{proxies} Proxies, {setup:?}: simulated seconds in each second");
    Goal { what, seen, limit: 1_000.0, is_least: true }
}
