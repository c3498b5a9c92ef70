//! What operations answer: an instance and its state, what a delete achieved, listings of instances and of leftovers.

use std::{borrow::Cow, fmt, net::IpAddr};

use serde::{Deserialize, Serialize};

use crate::{Name, ProviderId, Timestamp, Uid};

/// Why something is as it is: a code to act on and a sentence to read. Neither may hold a secret.
///
/// ```
/// use provider_api::Reason;
/// let reason = Reason::new("DiskFull", "the pool has no space left; free some, then start it");
/// assert_eq!(reason.to_string(), "DiskFull: the pool has no space left; free some, then start it");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// One CamelCase word, the backend's own where it has one (`get.reasons-reach-the-caller`).
    pub code: Cow<'static, str>,
    /// One sentence, never empty; what a backend said is scrubbed before it enters.
    pub message: String,
}

impl Reason {
    /// A reason of a code and a sentence.
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
    /// Made, and on its way: it boots, waits for room, migrates, or runs without an address yet
    /// (`get.no-address-is-provisioning`).
    Provisioning {
        /// What it waits for, when the backend says so.
        reason: Option<Reason>,
    },
    /// Runs and can be reached.
    Running {
        /// The address of its own network interface, as [`AddressPolicy::pick`](crate::AddressPolicy::pick) chose it
        /// (`get.own-address-only`, `get.address-family-and-ranges`).
        address: IpAddr,
    },
    /// Exists, does not run, and will not by itself. A native state that the provider does not know is Stopped, with
    /// that state's name in the reason (`get.unknown-state-is-stopped`).
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
    /// The state without its data, for tables and counts.
    pub fn kind(&self) -> StateKind {
        match self {
            Self::Provisioning { .. } => StateKind::Provisioning,
            Self::Running { .. } => StateKind::Running,
            Self::Stopped { .. } => StateKind::Stopped,
            Self::Terminated { .. } => StateKind::Terminated,
        }
    }

    /// The reason, where there is one; Running never has any.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Running { .. } => None,
            Self::Provisioning { reason } | Self::Stopped { reason } | Self::Terminated { reason } => {
                reason.as_ref()
            }
        }
    }
}

/// The four states by name, for [`Profile::states`](crate::Profile::states) and tables of native states.
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

/// One instance as the backend shows it now. Everything in it is read back from the backend, nothing is remembered
/// (`get.reads-back-uid-and-created-at`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The id that it was asked by, unchanged.
    pub id: ProviderId,
    /// Its name on the backend, which belongs to `uid`.
    pub name: Name,
    /// The owner's UID, from its mark.
    pub uid: Uid,
    /// When it was made, by the backend or by its mark; `None` where that cannot be read
    /// (`get.unreadable-created-at-is-none`). [`Timestamp::age`] says how old that is.
    pub created_at: Option<Timestamp>,
    /// What it is doing.
    pub state: State,
    /// Whether it stands on a target that the config marks as one where nothing new is made
    /// (`delete.decommissioned-target`): it goes on there, and its owner may want it elsewhere.
    pub decommissioned: bool,
}

/// What a delete achieved. Only Gone and Abandoned end it; after Accepted the caller asks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// Nothing is left, neither of the instance nor of its parts; or what stands there is not its own
    /// (`delete.gone-means-gone`).
    Gone,
    /// The backend works on it; `get` shows the instance until it is gone (`delete.accepted-stays-visible`). Only where
    /// the profile says [`DeleteReturn::ReturnsEarly`](crate::profile::DeleteReturn).
    Accepted,
    /// The target is no longer configured. A sentence names instance and target, for whoever looks there
    /// (`delete.abandoned-is-said`).
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
    /// The id that `create` would answer, which `delete` accepts (`list.ids-are-deletable`).
    pub id: ProviderId,
    /// Its name on the backend, which belongs to `uid`.
    pub name: Name,
    /// The owner's UID, from its mark: it tells owned from orphaned.
    pub uid: Uid,
    /// When it was made; `None` where that cannot be read (`list.uid-and-created-at`). The collector spares what is
    /// young, and [`Timestamp::age`] makes the unknown very old.
    pub created_at: Option<Timestamp>,
}

/// A part of the scope that could not be read, or a single instance that could not (`list.one-unreadable-is-reported`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// The zone, host or node as the config names it; for a single instance, what it is called on the backend, best
    /// after its place: `z1/proxy-…`.
    pub target: String,
    /// Why; the code is the error's own, or `Unreachable` or `Unreadable`.
    pub reason: Reason,
}

/// Every instance of this installation in the part of the scope that could be read.
///
/// An empty `unreachable` means that the whole scope was read. Which parts may stand there, and when a listing fails
/// instead, the profile says: [`ListPartial`](crate::profile::ListPartial).
///
/// ```
/// use provider_api::{Listing, Reason, Unreachable};
/// let mut listing = Listing::default();
/// let reason = Reason::new("Unreachable", "connection refused");
/// listing.unreachable.push(Unreachable { target: "h2".into(), reason });
/// assert!(!listing.unreachable.is_empty(), "nobody may conclude that what is not listed is gone");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The instances, each once, in no order that means anything.
    pub items: Vec<Listed>,
    /// What could not be read.
    pub unreachable: Vec<Unreachable>,
}

/// The id of a secondary resource. As with a [`ProviderId`] any string can stand here, and the provider that wrote it
/// parses it strictly; best it holds the incarnation, so that an old one takes nothing that was made anew.
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
///
/// Where resources carry no labels the mark is in their name: the instance's name,
/// [`InstallationId::short`](crate::InstallationId::short), the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// An id that [`Leftovers::delete`](crate::Leftovers::delete) accepts.
    pub id: LeftoverId,
    /// The name of the instance that it belonged to.
    pub owner: Name,
    /// When it was made; `None` where that cannot be read, which counts as very old.
    pub created_at: Option<Timestamp>,
}

/// Every leftover of this installation in the part of the scope that could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftoverListing {
    /// The leftovers, each once.
    pub items: Vec<Leftover>,
    /// What could not be read.
    pub unreachable: Vec<Unreachable>,
}
