//! Faults as data: which call, what becomes of its effect, of its answer and of its caller.

use std::fmt;

use provider_api::{CallId, OperationId};
use serde::{Deserialize, Serialize};

/// One call on the wire, as the fake saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The operation it belongs to, counted from 0 within the case; `None` for calls of nobody's.
    pub operation: Option<OperationId>,
    /// The wire's own name for it.
    pub kind: String,
    /// The part of the backend that it went to: a host, a zone, the API server.
    pub target: String,
    /// What it was about: an instance, a volume.
    pub subject: String,
    /// The how-manieth of its kind in its operation, counted from 0.
    pub nth: u32,
    /// The seam's call that made it, with the seam's name for it.
    pub seam: Option<(CallId, &'static str)>,
    /// Whether it changes something on the backend.
    pub mutates: bool,
    /// The fault that hit it.
    pub fault: Option<Fault>,
}

/// Which call a fault waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Match {
    /// The operation, counted from 0 within the case.
    pub operation: u64,
    /// The wire's name for the call.
    pub kind: String,
    /// The how-manieth of that kind in the operation, counted from 0.
    pub nth: u32,
}

/// When the call takes effect on the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It does not.
    Never,
    /// When it arrives.
    Now,
    /// Late: after the next operation.
    AfterNextOperation,
}

/// What the caller of a call hears.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The backend's answer.
    Normal,
    /// An error of the catalogue, by id.
    Native(String),
    /// The connection breaks.
    Reset,
    /// Nothing, ever.
    Silence,
}

/// What becomes of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallerThen {
    /// It waits for the answer.
    Waits,
    /// Its future is dropped while the call is held.
    Dropped,
    /// The whole provider goes away while the call is held, and is built anew.
    Restarts,
}

/// One fault: what becomes of one call, of its effect, its answer and its caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fault {
    /// Which call it hits, of which operation.
    pub at: Match,
    /// When that call takes effect on the backend, if it does.
    pub effect: Effect,
    /// What its caller hears, if it waits.
    pub answer: Answer,
    /// What becomes of its caller while the call is held.
    pub caller: CallerThen,
    /// Whether later calls of that kind in the same operation are hit too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeats: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.effect {
            Effect::Never => "takes no effect",
            Effect::Now => "takes effect",
            Effect::AfterNextOperation => "takes effect after the next operation",
        })?;
        match self.caller {
            CallerThen::Waits => match &self.answer {
                Answer::Normal => f.write_str(", is answered"),
                Answer::Native(id) => write!(f, ", is answered {id}"),
                Answer::Reset => f.write_str(", the connection breaks"),
                Answer::Silence => f.write_str(", is never answered"),
            },
            CallerThen::Dropped => f.write_str(", the caller goes away"),
            CallerThen::Restarts => f.write_str(", the provider restarts"),
        }?;
        f.write_str(if self.repeats { ", and so for every later one" } else { "" })
    }
}

impl Fault {
    /// Instead of taking effect, that call of that operation is answered so; its caller waits.
    pub fn answering(call: &Call, operation: u64, answer: Answer) -> Self {
        let at = Match { operation, kind: call.kind.clone(), nth: call.nth };
        Self { at, effect: Effect::Never, answer, caller: CallerThen::Waits, repeats: false }
    }
}

/// What is done after the faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// The same operation again, until it succeeds.
    Repeat,
    /// A delete of everything that is listed for the owner, with its leftovers.
    Delete,
}

/// A plan: it is the line that replays a case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FaultPlan {
    /// The faults, each with the call that it waits for.
    pub faults: Vec<Fault>,
    /// What is done afterwards, to see what they have left.
    pub then: Then,
    /// Anything else that tells the plan's case from others: the partial state that a delete starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl FaultPlan {
    /// A plan without a fault, which its variant alone tells from others.
    pub fn faultless(variant: impl fmt::Display) -> Self {
        Self { faults: Vec::new(), then: Then::Repeat, variant: Some(variant.to_string()) }
    }
}
