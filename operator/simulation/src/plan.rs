//! A plan: everything that happens in a world, as data. The same plan makes the same world, so a failure is replayed from a
//! file.

use std::time::Duration;

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde::{Deserialize, Serialize};

/// What happens in one world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Decides every chance that the plan does not spell out: latencies, orders, jitter.
    pub seed: u64,
    /// What the backends are like.
    pub setup: Setup,
    /// How many operators there are.
    pub operators: u32,
    /// What people do, by the millisecond at which they do it.
    pub script: Vec<(u64, Deed)>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// How long it goes on, in milliseconds; then faults are over, and the world must come to rest.
    pub length: u64,
}

/// What the backends are like: one of the memory provider's setups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setup {
    /// Clouds that return early.
    Submit,
    /// Hosts where operations wait, with parts.
    Blocking,
    /// The simplest.
    Plain,
}

/// What people do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// Make the Proxy of that number.
    Create(u32),
    /// Delete it.
    Delete(u32),
    /// Change its spec so that it wants another instance.
    Edit(u32),
    /// Change it back to what it was at first.
    Revert(u32),
    /// Move it to the other provider.
    Move(u32),
    /// Give it a spec that cannot be used.
    Spoil(u32),
    /// Change the Secret that its user data is in.
    Rotate(u32),
    /// Edit its status by hand.
    Scribble(u32, Scribble),
    /// Annotate it, or take the annotation off.
    Annotate(u32, String, Option<String>),
    /// Take every finalizer off by hand.
    Unhold(u32),
    /// Its instance stops.
    Stop(u32),
    /// Its instance is removed by hand.
    Remove(u32),
}

/// What is written into a status by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scribble {
    /// Nothing at all is left of it.
    Empty,
    /// The instance's id is rubbish.
    Id,
    /// The instance's provider is one that nobody has heard of.
    Provider,
    /// Conditions and phase say that all is well.
    AllIsWell,
    /// Every field has another type.
    Types,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Fault {
    /// A request or call goes wrong, by its number among those of that operator that change something.
    Request {
        /// The operator, from 0.
        operator: u32,
        /// Which of its requests, from 0.
        number: u32,
        /// How.
        how: Mishap,
    },
    /// Between two points every request of an operator, or call, may go wrong.
    Storm {
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
        /// Of a hundred, how many.
        percent: u32,
    },
    /// An operator is killed, and starts again after a while.
    Crash {
        /// The operator, from 0.
        operator: u32,
        /// When, in milliseconds.
        at: u64,
        /// For how long it is away.
        away: u64,
        /// By how much its first look at the cluster is behind.
        behind: u64,
    },
    /// An operator's watches stand still, and catch up afterwards with what is left.
    Frozen {
        /// The operator, from 0.
        operator: u32,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
    },
    /// The API server answers nobody.
    ApiDown {
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
    },
    /// A provider fails every call.
    Outage {
        /// Which, 0 or 1.
        provider: u32,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
    },
    /// A provider answers nothing at all.
    Hang {
        /// Which, 0 or 1.
        provider: u32,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
    },
    /// An operator's clock is off.
    Skew {
        /// The operator, from 0.
        operator: u32,
        /// Its wall clock, in seconds.
        offset: i64,
        /// Its rate, in thousandths.
        rate: u32,
    },
}

/// How a request goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mishap {
    /// It is not executed, and fails.
    Fails,
    /// It is executed, and fails.
    FailsAfter,
    /// It is executed, and its answer never comes until the caller gives up.
    Lost,
    /// It is executed, and the operator dies before it sees the answer.
    Crash,
}

impl Mishap {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fails, Self::FailsAfter, Self::Lost, Self::Crash];
}

impl Plan {
    /// A plan by chance: so many Proxies through their lives within `length`, and faults for two thirds of it.
    pub fn random(seed: u64, proxies: u32, length: Duration) -> Self {
        let mut chance = StdRng::seed_from_u64(seed);
        let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX / 2);
        let setups = [Setup::Submit, Setup::Blocking, Setup::Plain];
        let mut plan = Self {
            seed,
            setup: *setups.choose(&mut chance).unwrap_or(&Setup::Plain),
            operators: if chance.random_bool(0.4) { 2 } else { 1 },
            script: Vec::new(),
            faults: Vec::new(),
            length,
        };
        let until = length * 2 / 3;
        for proxy in 0..proxies {
            plan.live(proxy, until, &mut chance);
        }
        for _ in 0..chance.random_range(0..4_u32) {
            let fault = plan.fault(until, &mut chance);
            plan.faults.push(fault);
        }
        plan.script.sort_by_key(|(at, _)| *at);
        plan
    }

    fn live(&mut self, proxy: u32, until: u64, chance: &mut StdRng) {
        let mut at = chance.random_range(0..until / 3);
        self.script.push((at, Deed::Create(proxy)));
        for _ in 0..chance.random_range(0..4_u32) {
            at += chance.random_range(1..until / 4);
            let annotate = |key: &str, value: Option<&str>| {
                Deed::Annotate(proxy, format!("crawl.example.com/{key}"), value.map(str::to_owned))
            };
            let deeds = [
                Deed::Edit(proxy),
                Deed::Edit(proxy),
                Deed::Revert(proxy),
                Deed::Move(proxy),
                Deed::Spoil(proxy),
                Deed::Rotate(proxy),
                Deed::Stop(proxy),
                Deed::Remove(proxy),
                Deed::Scribble(proxy, Scribble::AllIsWell),
                annotate("retry", Some("now")),
            ];
            let deed = deeds.choose(chance).cloned().unwrap_or(Deed::Edit(proxy));
            if matches!(deed, Deed::Spoil(_)) {
                self.script.push((at + chance.random_range(1..60_000), Deed::Revert(proxy)));
            }
            self.script.push((at.min(until), deed));
        }
        if chance.random_bool(0.5) {
            at += chance.random_range(1..until / 4);
            self.script.push((at.min(until), Deed::Delete(proxy)));
        }
    }

    fn fault(&self, until: u64, chance: &mut StdRng) -> Fault {
        let operator = chance.random_range(0..self.operators);
        let from = chance.random_range(0..until * 3 / 4);
        let until = from + chance.random_range(1..until / 4);
        let provider = chance.random_range(0..2);
        match chance.random_range(0..8) {
            0 | 1 => Fault::Storm { from, until, percent: chance.random_range(2..40) },
            2 | 3 => Fault::Crash {
                operator,
                at: from,
                away: chance.random_range(100..120_000),
                behind: if chance.random_bool(0.5) { 0 } else { chance.random_range(1..60_000) },
            },
            4 => Fault::Frozen { operator, from, until: until.min(from + 300_000) },
            5 => Fault::ApiDown { from, until: until.min(from + 300_000) },
            6 => Fault::Outage { provider, from, until: until.min(from + 600_000) },
            _ => Fault::Hang { provider, from, until: until.min(from + 300_000) },
        }
    }
}
