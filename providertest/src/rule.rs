//! Rules as data: what each says, who depends on it, when it applies, and the code that checks it.

use std::fmt;

use futures::future::BoxFuture;
use provider_api::Profile;
use serde::Serialize;

use crate::{faults::FaultPlan, harness::Unable, world::World};

/// How binding a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Breaking it breaks a caller.
    Must,
    /// Every shipped provider keeps it; one that does not carries a waiver.
    Should,
    /// A MUST from the next minor version of the contract on. Until then it is run and reported, and no verdict and no exit
    /// code depends on it.
    Provisional,
}

impl Level {
    /// The level as reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Provisional => "PROVISIONAL",
        }
    }
}

/// Who depends on a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caller {
    /// It creates, gets and deletes.
    Reconciler,
    /// It lists and deletes what has no owner.
    Collector,
    /// It runs checks.
    HealthMonitor,
    /// People who configure, read logs and mend.
    Operator,
    /// All of them.
    Everybody,
}

impl Caller {
    /// The caller as reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reconciler => "reconciler",
            Self::Collector => "collector",
            Self::HealthMonitor => "health-monitor",
            Self::Operator => "operator",
            Self::Everybody => "everybody",
        }
    }
}

/// How much a rule costs to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// One case or a few.
    Fast,
    /// A case for each plan derived from a dry run.
    Sweep,
    /// Many random cases.
    Model,
}

impl Cost {
    /// The cost as reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Sweep => "sweep",
            Self::Model => "model",
        }
    }
}

/// Whether a rule's subject exists for a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applies {
    /// It does.
    Yes,
    /// It is declared absent: the negative half runs, and shows that it is.
    Absent,
}

/// Why a check stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The provider broke the rule.
    Broken(String),
    /// The harness lacks a power that the check needs.
    Blocked(String),
    /// The suite, the fake or the environment is at fault.
    Error(String),
}

/// How a check went: what it found, or why it stopped.
pub type Checked<T = ()> = Result<T, Stop>;

impl From<Unable> for Stop {
    fn from(unable: Unable) -> Self {
        Self::Blocked(unable.to_string())
    }
}

impl From<crate::harness::HarnessError> for Stop {
    fn from(error: crate::harness::HarnessError) -> Self {
        Self::Error(error.to_string())
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(text) | Self::Blocked(text) | Self::Error(text) => f.write_str(text),
        }
    }
}

/// Stops a check as broken unless a condition holds; the rest is a format string that says what was seen.
#[macro_export]
macro_rules! hold {
    ($condition:expr, $($seen:tt)+) => {
        if !$condition {
            return Err($crate::rule::Stop::Broken(format!($($seen)+)));
        }
    };
}

/// Stops a check as broken.
#[macro_export]
macro_rules! broken {
    ($($seen:tt)+) => {
        return Err($crate::rule::Stop::Broken(format!($($seen)+)))
    };
}

/// The code of a check.
pub type RunFn = for<'w> fn(&'w mut World) -> BoxFuture<'w, Checked>;
/// The code of one case of a sweep.
pub type PlanRunFn = for<'w> fn(&'w mut World, &'w FaultPlan) -> BoxFuture<'w, Checked>;
/// Derives the plans of a sweep from a dry run.
pub type PlansFn = for<'w> fn(&'w mut World) -> BoxFuture<'w, Checked<Vec<FaultPlan>>>;

/// How a rule is checked.
#[derive(Clone, Copy)]
pub enum Check {
    /// By a case.
    Case(RunFn),
    /// By a case on the decorated provider, as the registry hands it out.
    Decorated(RunFn),
    /// By a case for each plan.
    Sweep {
        /// Derives the plans.
        plans: PlansFn,
        /// Runs one.
        run: PlanRunFn,
    },
    /// By random sequences, whose seeds are derived from the run's; a plan's variant holds one.
    Model(PlanRunFn),
    /// By the compiler: the wrong program does not build. The text names the doctest.
    ByType(&'static str),
}

/// How it is shown that the subject of a rule is absent where a profile declares that.
#[derive(Clone, Copy)]
pub struct Absence {
    /// The code that shows it.
    pub check: RunFn,
    /// What it has found when it passes, for reports: a clause in the past tense.
    pub shows: &'static str,
}

/// One rule of the contract.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its id: `create.idempotent`. Never re-used.
    pub id: &'static str,
    /// How binding the rule is.
    pub level: Level,
    /// What it says, in one sentence.
    pub says: &'static str,
    /// Which caller depends on the rule, and is hurt when it is broken.
    pub caller: Caller,
    /// Whether its subject exists for a profile.
    pub applies: fn(&Profile) -> Applies,
    /// How the rule is checked where its subject exists.
    pub check: Check,
    /// How it is shown that what is declared absent is absent.
    pub absent: Option<Absence>,
    /// What goes wrong, and for whom, when a provider breaks it.
    pub why: &'static str,
    /// How the check goes about it: what is prepared, what is disturbed, what counts as broken.
    pub tested: &'static str,
    /// How a provider that breaks it is usually mended.
    pub mend: &'static str,
}

impl Rule {
    /// The part of the id before the dot.
    pub fn group(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// How much it costs to check, by the kind of its check.
    pub fn cost(&self) -> Cost {
        match self.check {
            Check::Case(_) | Check::Decorated(_) | Check::ByType(_) => Cost::Fast,
            Check::Sweep { .. } => Cost::Sweep,
            Check::Model(_) => Cost::Model,
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).field("level", &self.level).finish_non_exhaustive()
    }
}

/// A rule whose subject every profile has.
pub fn always(_: &Profile) -> Applies {
    Applies::Yes
}

/// Turns a condition on the profile into an [`Applies`].
pub fn when(condition: bool) -> Applies {
    if condition { Applies::Yes } else { Applies::Absent }
}
