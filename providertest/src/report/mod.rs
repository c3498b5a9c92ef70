//! The result of a run: one structure, which every writer reads. The writers are beside it, one file each; who runs
//! rules and fills it in is in `run/`.

pub mod console;
pub mod file;
pub mod html;
pub mod json;
pub mod junit;
mod summary;
#[cfg(test)]
pub(crate) mod tests;
mod text;

pub(crate) use text::{escape, wrap};

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::rule::{Caller, Level};

/// The schema of the JSON report; a new number when a reader would have to change.
pub const SCHEMA: u32 = 1;
/// The version of the contract that the rules come from.
pub const CONTRACT: &str = "1.0";

/// Why a rule is blocked that a run did not come to, since it ended at the first red one.
pub const NOT_RUN: &str = "it was not run";

/// What stands before what was found where a rule's subject is declared absent.
pub(crate) const ABSENT: &str = "declared absent, and tested: ";

/// A whole run: what `--json` writes, field for field, and every other report is made from.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The number of the schema, [`SCHEMA`].
    pub schema: u32,
    /// The version of the contract, [`CONTRACT`].
    pub contract: &'static str,
    /// The version of this crate.
    pub kit: &'static str,
    /// The provider, as its harness names it.
    pub provider: String,
    /// The version of the provider, as its harness says it.
    pub provider_version: String,
    /// What it ran against: `fake` or `real`.
    pub backend: BackendKind,
    /// The backend's version, of the first setup.
    pub backend_version: String,
    /// The seed of the run.
    pub seed: u64,
    /// Wall time of the whole run, in milliseconds.
    pub millis: u64,
    /// The verdict over all setups.
    pub verdict: Verdict,
    /// One entry for each setup, in the order of the harness.
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
        /// How many of them are unsupported, and found to be, or held by the compiler.
        moot: usize,
    },
}

/// One setup's part of a run.
#[derive(Clone, Debug, Serialize)]
pub struct SetupReport {
    /// The setup, as the harness names it.
    pub name: String,
    /// The version of the backend in this setup.
    pub backend_version: String,
    /// The profile's rows, in the order of the contract.
    #[serde(serialize_with = "as_map")]
    pub profile: Vec<(String, String)>,
    /// The verdict on this setup alone.
    pub verdict: Verdict,
    /// How many rules have which status.
    pub counts: BTreeMap<Status, usize>,
    /// Every rule, in the order of the table.
    pub rules: Vec<RuleReport>,
}

/// How one rule went in one setup.
#[derive(Clone, Debug, Serialize)]
pub struct RuleReport {
    /// The id of the rule: `create.idempotent`.
    pub id: &'static str,
    /// How binding the rule is.
    pub level: Level,
    /// Which caller depends on the rule.
    pub caller: Caller,
    /// The rule in one sentence.
    pub says: &'static str,
    /// What goes wrong when it is broken.
    #[serde(skip)]
    pub why: &'static str,
    /// How it went, of all its cases together: the worst of them.
    pub status: Status,
    /// Why, for everything but a pass.
    pub reason: Option<String>,
    /// How many cases were run for it.
    pub cases: usize,
    /// How many backend calls its cases made on the wire.
    pub backend_calls: usize,
    /// Wall time of all its cases together, in milliseconds.
    pub millis: u64,
    /// What a person needs to mend it, for failures and errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// What was seen when a rule failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// What was done and which calls that made, in order.
    pub steps: Vec<Step>,
    /// The backend before: when the operation began that the first fault hit, or else the last one. There where the
    /// case could be played a second time for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// The backend after: at the end of the case.
    pub backend: Vec<String>,
    /// The line that replays the case; until the suite's binary has put its own name before them, the flags alone.
    pub replay: String,
    /// How a provider that breaks the rule is usually mended.
    pub mend: &'static str,
    /// How many further cases of the rule failed.
    pub more: usize,
}

/// What stood on the backend when an operation began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Before {
    /// The operation, by the number that the steps give it.
    pub operation: u64,
    /// What stood on the backend, a line for each thing.
    pub backend: Vec<String>,
}

/// One step of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Whether it was a call on the wire, or a line of the case's story.
    pub kind: StepKind,
    /// What happened, in one line.
    pub text: String,
    /// The fault that hit the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Whether a step is a call or a line of the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A call on the wire.
    Call,
    /// A line of the case's story: an operation and its answer.
    Story,
}

/// How a rule went. A skip is never a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It holds.
    Pass,
    /// It is broken.
    Fail,
    /// It is broken or could not be judged, and does not count yet: the rule is provisional.
    Provisional,
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
    pub const ALL: [Self; 8] = [
        Self::Pass,
        Self::Fail,
        Self::Provisional,
        Self::Unsupported,
        Self::Waived,
        Self::Blocked,
        Self::ByType,
        Self::Error,
    ];

    /// Whether somebody has to mend something for the verdict.
    pub fn is_red(self) -> bool {
        matches!(self, Self::Fail | Self::Error)
    }

    /// Whether something was found that reports tell whole, steps and all.
    pub fn is_told(self) -> bool {
        self.is_red() || self == Self::Provisional
    }

    /// The status as reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Provisional => "provisional",
            Self::Unsupported => "unsupported",
            Self::Waived => "waived",
            Self::Blocked => "blocked",
            Self::ByType => "by-type",
            Self::Error => "error",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Verdict {
    /// Whether nothing speaks against the provider.
    pub fn is_good(&self) -> bool {
        !matches!(self, Self::NotConformant)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Conformant => f.write_str("conformant"),
            Self::NoViolationFound { blocked } => write!(f, "no violation found, {blocked} blocked"),
            Self::NotConformant => f.write_str("not conformant"),
            Self::PartHolds { ran, moot } => {
                write!(f, "{ran} {} checked, and ", plural(*ran, "rule"))?;
                match (*ran, *moot) {
                    (1, 0) => f.write_str("it holds"),
                    (_, 0) => f.write_str("all hold"),
                    (1, _) => f.write_str("it says nothing of this provider: unsupported or by-type"),
                    (ran, moot) if ran == moot => {
                        f.write_str("none says anything of this provider: all unsupported or by-type")
                    }
                    (_, moot) => write!(f, "all hold, {moot} of them as unsupported or by-type"),
                }
            }
        }
    }
}

impl RuleReport {
    /// The part of the id before the dot.
    pub fn group(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// Where the page on the rule is, from the root of the tree.
    pub fn docs(&self) -> String {
        format!("docs/rules.md#{}", self.id)
    }
}

impl Report {
    /// Puts the command that runs the suite before every line that replays a case.
    pub fn replay_with(&mut self, command: &str) {
        let rules = self.setups.iter_mut().flat_map(|setup| &mut setup.rules);
        for evidence in rules.filter_map(|rule| rule.evidence.as_mut()) {
            evidence.replay = format!("{command} {}", evidence.replay);
        }
    }

    /// Every rule of every setup, with the setup's name.
    pub fn rules(&self) -> impl Iterator<Item = (&str, &RuleReport)> {
        self.setups.iter().flat_map(|setup| setup.rules.iter().map(|rule| (setup.name.as_str(), rule)))
    }
}

/// A number and a word.
pub(crate) fn counted(count: usize, word: &str) -> String {
    format!("{count} {}", plural(count, word))
}

/// A word as it stands after a number.
pub(crate) fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

fn as_map<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(pairs.len()))?;
    for (key, value) in pairs {
        map.serialize_entry(key, value)?;
    }
    map.end()
}
