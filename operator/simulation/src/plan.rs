//! A plan: everything that happens in a world, as data. The same plan makes the same world, so a failure is replayed from a
//! file.

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
    /// How many zones each backend has; as many as its setup has where this says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<u32>,
    /// Whether watches are prompt: never more than 20 ms late.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calm: bool,
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
    /// Ask for one of a few specs, by its number: each bit of it is a field that has one of two values.
    Ask(u32, u32),
    /// Move it to a zone of its provider.
    Place(u32, u32),
    /// Give it a spec that cannot be used.
    Spoil(u32, Spoil),
    /// Change the Secret that its user data is in.
    Rotate(u32),
    /// Remove that Secret.
    Unmake(u32),
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

/// What makes a spec one that cannot be used, or not be acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spoil {
    /// Its port is no port.
    Port,
    /// It names a provider that nobody has configured.
    Provider,
    /// It names a Secret that is not there.
    Secret,
    /// It has user data twice.
    Both,
    /// There is nothing in it.
    Nothing,
    /// Every field has another type.
    Types,
    /// Every field is as long as an object may be.
    Length,
}

impl Spoil {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Port, Self::Provider, Self::Secret, Self::Both, Self::Nothing, Self::Types, Self::Length];
}

/// What is written into a status by hand: each of its fields, and all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scribble {
    /// Nothing at all is left of it.
    Empty,
    /// The instance's id is rubbish.
    Id,
    /// The instance's id is that of another Proxy's instance.
    AnothersId,
    /// The instance's provider is one that nobody has heard of.
    Provider,
    /// The instance was made from something else.
    SpecHash,
    /// The instance was made in the year 9999.
    CreatedAt,
    /// There is no instance.
    NoInstance,
    /// Something is about to be made elsewhere.
    Intent,
    /// Nothing is about to be made.
    NoIntent,
    /// Conditions and phase say that all is well.
    AllIsWell,
    /// They say that all is lost.
    AllIsLost,
    /// Address and endpoint are somebody else's.
    Address,
    /// It has been ready since the year 9999.
    ReadySince,
    /// The last attempt failed for good, and is to be repeated in the year 9999.
    Failure,
    /// It speaks of a spec that is yet to come.
    Generation,
    /// It rests on something that nobody knows.
    InputDigest,
    /// There are conditions that nobody knows, and some twice.
    Conditions,
    /// Every field has another type.
    Types,
}

impl Scribble {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Empty,
        Self::Id,
        Self::AnothersId,
        Self::Provider,
        Self::SpecHash,
        Self::CreatedAt,
        Self::NoInstance,
        Self::Intent,
        Self::NoIntent,
        Self::AllIsWell,
        Self::AllIsLost,
        Self::Address,
        Self::ReadySince,
        Self::Failure,
        Self::Generation,
        Self::InputDigest,
        Self::Conditions,
        Self::Types,
    ];
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
    /// An operator is asked to stop, and starts again after a while.
    Stop {
        /// The operator, from 0.
        operator: u32,
        /// When, in milliseconds.
        at: u64,
        /// For how long it is away.
        away: u64,
    },
    /// An operator's watches break again and again, and begin anew from lists that may be behind.
    Breaks {
        /// The operator, from 0.
        operator: u32,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
        /// Before how many of a hundred events.
        percent: u32,
        /// By how much a list may be behind, in milliseconds.
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
    /// The API server answers one operator no more.
    Cut {
        /// The operator, from 0.
        operator: u32,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
    },
    /// An operator's probes reach nobody.
    Blind {
        /// The operator, from 0.
        operator: u32,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
    },
    /// A provider, or a zone of it, is cut off.
    Outage {
        /// Which, 0 or 1.
        provider: u32,
        /// The zone; all of it without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
    },
    /// A provider, or a zone of it, reads and never answers.
    Hang {
        /// Which, 0 or 1.
        provider: u32,
        /// The zone; all of it without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
    },
    /// Calls that make an instance take long.
    Slow {
        /// Which provider, 0 or 1.
        provider: u32,
        /// The zone; all of it without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
        /// How long each takes, in milliseconds; for ever without it.
        takes: Option<u64>,
    },
    /// The connections of calls that change something break, and the calls land later.
    Late {
        /// Which provider, 0 or 1.
        provider: u32,
        /// From when, in milliseconds.
        from: u64,
        /// Until when.
        until: u64,
        /// How much later, in milliseconds.
        by: u64,
    },
    /// Somebody sets the wall clock of an operator.
    Jump {
        /// The operator, from 0.
        operator: u32,
        /// When, in milliseconds.
        at: u64,
        /// By how many seconds.
        by: i64,
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
    /// Somebody else writes the same object just before, so that it comes too late.
    Outpaced,
}

impl Mishap {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Fails, Self::FailsAfter, Self::Lost, Self::Crash, Self::Outpaced];
}

impl Plan {
    /// A plan in which nothing goes wrong.
    pub fn calm(seed: u64, setup: Setup, script: Vec<(u64, Deed)>, length: u64) -> Self {
        let (faults, zones) = (Vec::new(), None);
        Self { seed, setup, operators: 1, script, faults, length, zones, calm: false }
    }
}
