//! The result of a run: one structure, which every writer reads.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::rule::{Caller, Level};

/// The schema of the JSON report; a new number when a reader would have to change.
pub const SCHEMA: u32 = 1;
/// The version of the contract that the rules come from.
pub const CONTRACT: &str = "1.0";

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// [`CONTRACT`].
    pub contract: &'static str,
    /// The kit's version.
    pub kit: &'static str,
    /// The provider's name.
    pub provider: String,
    /// The provider crate's version.
    pub provider_version: String,
    /// `fake` or `real`.
    pub backend: BackendKind,
    /// The backend's version, of the first setup.
    pub backend_version: String,
    /// The seed of the run.
    pub seed: u64,
    /// The verdict over all setups.
    pub verdict: Verdict,
    /// One entry per setup.
    pub setups: Vec<SetupReport>,
}

/// What a run ran against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendKind {
    /// The embedded fake.
    Fake,
    /// A real backend.
    Real,
}

/// The verdict of a run or setup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Verdict {
    /// On a fake: every MUST is pass, unsupported or by-type.
    Conformant,
    /// On a real backend: nothing failed, some rules could not be checked.
    NoViolationFound {
        /// How many were blocked.
        blocked: usize,
    },
    /// A MUST failed, was waived or blocked on a fake, or the suite itself was at fault.
    NotConformant,
    /// Only a part of the rules was asked for, and all of it held.
    PartHolds {
        /// How many rules ran.
        ran: usize,
    },
}

/// One setup's part of a run.
#[derive(Clone, Debug, Serialize)]
pub struct SetupReport {
    /// The setup's name.
    pub name: String,
    /// The profile's axes.
    pub profile: BTreeMap<String, String>,
    /// The verdict.
    pub verdict: Verdict,
    /// How many rules have which status.
    pub counts: BTreeMap<Status, usize>,
    /// Every rule, in the order of the table.
    pub rules: Vec<RuleReport>,
}

/// How one rule went.
#[derive(Clone, Debug, Serialize)]
pub struct RuleReport {
    /// Its id.
    pub id: &'static str,
    /// Its level.
    pub level: Level,
    /// Who depends on it.
    pub caller: Caller,
    /// What it says.
    pub says: &'static str,
    /// How it went.
    pub status: Status,
    /// Why, for everything but a pass.
    pub reason: Option<String>,
    /// How many cases were run.
    pub cases: usize,
    /// How many backend calls they made.
    pub backend_calls: usize,
    /// Wall time of all its cases.
    pub millis: u64,
    /// What a person needs to mend it, for failures and errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// What was seen when a rule failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The calls in order, faults marked.
    pub calls: Vec<String>,
    /// The state of the backend at the end.
    pub backend: Vec<String>,
    /// The line that replays the case.
    pub replay: String,
    /// How a provider that breaks the rule is usually mended.
    pub mend: &'static str,
    /// How many further cases of the rule failed.
    pub more: usize,
}

/// How a rule went. A skip is never a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It holds.
    Pass,
    /// It is broken.
    Fail,
    /// Its subject is declared absent, and that was tested.
    Unsupported,
    /// The provider leaves it out, with a reason.
    Waived,
    /// The harness lacks the power to check it.
    Blocked,
    /// The compiler holds it.
    ByType,
    /// The suite or the environment is at fault.
    Error,
}

impl Status {
    /// Every status, in the order of reports.
    pub const ALL: [Self; 7] =
        [Self::Pass, Self::Fail, Self::Unsupported, Self::Waived, Self::Blocked, Self::ByType, Self::Error];

    /// The status as reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unsupported => "unsupported",
            Self::Waived => "waived",
            Self::Blocked => "blocked",
            Self::ByType => "by-type",
            Self::Error => "error",
        }
    }
}
