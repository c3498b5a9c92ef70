//! What `get`, `delete` and `list_by_tag` answer.

use std::{borrow::Cow, fmt, net::IpAddr};

use serde::{Deserialize, Serialize};

use crate::{Name, ProviderId, Timestamp, Uid};

/// Why something is as it is: a code to act on and a sentence to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// A CamelCase word, the backend's own where it has one.
    pub code: Cow<'static, str>,
    /// One sentence, scrubbed.
    pub message: String,
}

impl Reason {
    /// A reason of these two.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// The state of an instance. Exhaustive, so that no caller passes over a new one.
///
/// `Running` cannot be without an address (`get.running-has-address`):
///
/// ```
/// use provider_api::State;
/// let state = State::Running { address: "192.0.2.7".parse()? };
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
/// ```compile_fail,E0063
/// use provider_api::State;
/// let state = State::Running {};
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Made, and on its way.
    Provisioning {
        /// What it waits for, when the backend says so.
        reason: Option<Reason>,
    },
    /// Runs and can be reached.
    Running {
        /// The address of its own network interface.
        address: IpAddr,
    },
    /// Exists, does not run, and will not by itself.
    Stopped {
        /// Why, when the backend says so.
        reason: Option<Reason>,
    },
    /// Over for good, though the backend still shows it.
    Terminated {
        /// Why, when the backend says so.
        reason: Option<Reason>,
    },
}

impl State {
    /// The state without its data.
    pub fn kind(&self) -> StateKind {
        match self {
            Self::Provisioning { .. } => StateKind::Provisioning,
            Self::Running { .. } => StateKind::Running,
            Self::Stopped { .. } => StateKind::Stopped,
            Self::Terminated { .. } => StateKind::Terminated,
        }
    }

    /// The reason, where there is one.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Running { .. } => None,
            Self::Provisioning { reason } | Self::Stopped { reason } | Self::Terminated { reason } => {
                reason.as_ref()
            }
        }
    }
}

/// The four states by name, for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StateKind {
    /// See [`State::Provisioning`].
    Provisioning,
    /// See [`State::Running`].
    Running,
    /// See [`State::Stopped`].
    Stopped,
    /// See [`State::Terminated`].
    Terminated,
}

/// One instance as the backend shows it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The id it was asked by.
    pub id: ProviderId,
    /// Its name.
    pub name: Name,
    /// The owner's UID, read back from its mark.
    pub uid: Uid,
    /// When it was made; unreadable is `None`.
    pub created_at: Option<Timestamp>,
    /// Its state.
    pub state: State,
}

/// What a delete achieved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// Nothing is left.
    Gone,
    /// The backend works on it; `get` shows the instance until it is gone.
    Accepted,
    /// The target is no longer configured; what may stand there still is named.
    Abandoned(String),
}

/// One entry of a listing: what the collector reads, and nothing that it must not trust.
///
/// There is no state in it (`list.no-state-in-a-listing`):
///
/// ```
/// fn collect(listed: provider_api::Listed) -> provider_api::Uid { listed.uid }
/// ```
/// ```compile_fail,E0609
/// fn collect(listed: provider_api::Listed) -> provider_api::State { listed.state }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// An id that `delete` accepts.
    pub id: ProviderId,
    /// Its name.
    pub name: Name,
    /// The owner's UID.
    pub uid: Uid,
    /// When it was made; unreadable is `None`.
    pub created_at: Option<Timestamp>,
}

/// A part of the scope that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// The zone, host, node or single instance.
    pub target: String,
    /// Why.
    pub reason: Reason,
}

/// Every instance of this installation in the part of the scope that could be read.
///
/// An empty `unreachable` means that the whole scope was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The instances.
    pub items: Vec<Listed>,
    /// What could not be read.
    pub unreachable: Vec<Unreachable>,
}

/// The id of a secondary resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeftoverId(String);

impl LeftoverId {
    /// Takes the text as it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LeftoverId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A marked secondary resource whose instance is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// An id that [`Leftovers::delete`](crate::Leftovers::delete) accepts.
    pub id: LeftoverId,
    /// The name of the instance it belonged to.
    pub owner: Name,
    /// When it was made; unreadable is `None`.
    pub created_at: Option<Timestamp>,
}

/// Every leftover of this installation in the part of the scope that could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftoverListing {
    /// The leftovers.
    pub items: Vec<Leftover>,
    /// What could not be read.
    pub unreachable: Vec<Unreachable>,
}
