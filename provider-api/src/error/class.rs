//! The classes that callers branch on, and the operations that errors, spans and metrics name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a caller branches on, and a [`NativeError`](crate::NativeError) means. Exhaustive, so that no caller passes over a
/// new one. What an operation fails with is a [`FailureClass`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Class {
    /// Proven absent. Of the four operations only `get` answers it. A caller that deletes is done; any other forgets the id.
    NotFound,
    /// Quota, capacity, stock-out, address space, a backend's rate limit, `maxInstances`. A caller comes back after the
    /// hint, or in five minutes.
    QuotaExceeded,
    /// Network, 5xx, time-outs, locks, anything unknown. A caller backs off and tries again, or follows the hint.
    Transient,
    /// Bad config or argument, authentication, permission, malformed id, foreign instance. A caller waits until something
    /// changes; one that deletes goes on trying.
    Permanent,
}

impl Class {
    /// Every class, in the order of the contract.
    pub const ALL: [Self; 4] = [Self::NotFound, Self::QuotaExceeded, Self::Transient, Self::Permanent];

    /// The class as a label value, and as catalogues in files spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            Self::QuotaExceeded => "QuotaExceeded",
            Self::Transient => "Transient",
            Self::Permanent => "Permanent",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The class of an [`Error`](crate::Error): every one but NotFound, which is an answer of `get` alone.
///
/// `create` can therefore never answer NotFound (`create.never-not-found`):
///
/// ```
/// use provider_api::{Error, FailureClass};
/// let error = Error::new(FailureClass::Transient, "the zone did not answer");
/// ```
/// ```compile_fail,E0599
/// use provider_api::{Error, FailureClass};
/// let error = Error::new(FailureClass::NotFound, "no such zone");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FailureClass {
    /// See [`Class::QuotaExceeded`].
    QuotaExceeded,
    /// See [`Class::Transient`].
    Transient,
    /// See [`Class::Permanent`].
    Permanent,
}

impl From<FailureClass> for Class {
    fn from(class: FailureClass) -> Self {
        match class {
            FailureClass::QuotaExceeded => Self::QuotaExceeded,
            FailureClass::Transient => Self::Transient,
            FailureClass::Permanent => Self::Permanent,
        }
    }
}

/// The operations, as errors, spans and metrics name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// [`Provider::create`](crate::Provider::create).
    Create,
    /// [`Provider::get`](crate::Provider::get).
    Get,
    /// [`Provider::delete`](crate::Provider::delete).
    Delete,
    /// [`Provider::list_by_tag`](crate::Provider::list_by_tag).
    List,
    /// Both halves of [`Leftovers`](crate::Leftovers), listing and deleting.
    Leftovers,
    /// [`Checker::check`](crate::Checker::check).
    Check,
}

impl Operation {
    /// Every operation, in the order in which reports have them.
    pub const ALL: [Self; 6] =
        [Self::Create, Self::Get, Self::Delete, Self::List, Self::Leftovers, Self::Check];

    /// The operation as a label value, and as catalogues in files spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::Delete => "delete",
            Self::List => "list",
            Self::Leftovers => "leftovers",
            Self::Check => "check",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
