//! The error taxonomy: four classes, and an error that says what happened, to what, why, and what is left.

use std::{error::Error as StdError, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{ProviderName, Scrubbed};

/// What a caller branches on. Exhaustive, so that no caller passes over a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Class {
    /// Proven absent. Of the four operations only `get` answers it.
    NotFound,
    /// Quota, capacity, stock-out, address space, a backend's rate limit.
    QuotaExceeded,
    /// Network, 5xx, time-outs, locks, anything unknown.
    Transient,
    /// Bad config or argument, authentication, permission, malformed id, foreign instance.
    Permanent,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 4] = [Self::NotFound, Self::QuotaExceeded, Self::Transient, Self::Permanent];

    /// The class as a label value.
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

/// The class of an [`Error`]: every one but NotFound, which is an answer of `get` alone.
///
/// `create` can therefore never answer NotFound (`create.never-not-found`):
///
/// ```
/// use provider_api::{Error, FailureClass};
/// let error = Error::new(FailureClass::Transient, "the zone did not answer");
/// ```
/// ```compile_fail
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
    /// Both halves of [`Leftovers`](crate::Leftovers).
    Leftovers,
    /// [`Checker::check`](crate::Checker::check).
    Check,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 6] =
        [Self::Create, Self::Get, Self::Delete, Self::List, Self::Leftovers, Self::Check];

    /// The operation as a label value.
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

/// What a failed operation may have left on the backend (`errors.left-behind-is-true`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftBehind {
    /// Nothing.
    Nothing,
    /// Something that `delete` by the instance's id removes.
    DeletableById,
    /// It is not known.
    Unknown,
}

/// The id of a failure that a backend reported late (contract 2.1).
///
/// The caller passes it back as [`acknowledged_failure`](crate::CreateRequest::acknowledged_failure).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FailureId(String);

impl FailureId {
    /// Takes the text as it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FailureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why an operation failed. It has exactly one class, for it cannot be built without one (`errors.one-class`).
///
/// ```
/// let error = provider_api::Error::new(provider_api::FailureClass::Transient, "the zone did not answer");
/// ```
/// ```compile_fail
/// let error = provider_api::Error::new("the zone did not answer");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    class: FailureClass,
    operation: Option<Operation>,
    provider: Option<ProviderName>,
    subject: Option<String>,
    retry_after: Option<Duration>,
    failure: Option<FailureId>,
    left_behind: LeftBehind,
    code: Option<String>,
    message: String,
    source: Option<Scrubbed>,
}

impl Error {
    /// An error of that class. `message` is a scrubbed sentence without a full stop; what may be left behind is
    /// unknown until [`Error::leaving`] says more.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            class,
            operation: None,
            provider: None,
            subject: None,
            retry_after: None,
            failure: None,
            left_behind: LeftBehind::Unknown,
            code: None,
            message: message.into(),
            source: None,
        }))
    }

    /// A [`FailureClass::QuotaExceeded`] error.
    pub fn quota(message: impl Into<String>) -> Self {
        Self::new(FailureClass::QuotaExceeded, message)
    }

    /// A [`FailureClass::Transient`] error.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(FailureClass::Transient, message)
    }

    /// A [`FailureClass::Permanent`] error.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::new(FailureClass::Permanent, message)
    }

    /// Says which provider did what to which id or name; what is already said stays.
    pub fn at(mut self, provider: &ProviderName, operation: Operation, subject: impl fmt::Display) -> Self {
        self.0.provider.get_or_insert_with(|| provider.clone());
        self.0.operation.get_or_insert(operation);
        self.0.subject.get_or_insert_with(|| subject.to_string());
        self
    }

    /// The time after which a repetition may help, as the backend gave it.
    pub fn retry_after(mut self, how_long: Option<Duration>) -> Self {
        self.0.retry_after = how_long;
        self
    }

    /// The late failure that this reports.
    pub fn for_failure(mut self, id: FailureId) -> Self {
        self.0.failure = Some(id);
        self
    }

    /// What may be left on the backend.
    pub fn leaving(mut self, left_behind: LeftBehind) -> Self {
        self.0.left_behind = left_behind;
        self
    }

    /// The backend's own code or reason (`InsufficientCapacity`), for conditions.
    pub fn coded(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// The cause, scrubbed.
    pub fn caused_by(mut self, source: Scrubbed) -> Self {
        self.0.source = Some(source);
        self
    }

    /// The class.
    pub fn class(&self) -> FailureClass {
        self.0.class
    }

    /// The operation that failed.
    pub fn operation(&self) -> Option<Operation> {
        self.0.operation
    }

    /// The configured name of the provider.
    pub fn provider(&self) -> Option<&ProviderName> {
        self.0.provider.as_ref()
    }

    /// The id or name it was about.
    pub fn subject(&self) -> Option<&str> {
        self.0.subject.as_deref()
    }

    /// See [`Error::retry_after`].
    pub fn retry_hint(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// See [`Error::for_failure`].
    pub fn failure(&self) -> Option<&FailureId> {
        self.0.failure.as_ref()
    }

    /// See [`Error::leaving`].
    pub fn left_behind(&self) -> LeftBehind {
        self.0.left_behind
    }

    /// See [`Error::coded`].
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The sentence without operation, subject and provider.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { provider, operation, subject, message, code, .. } = &*self.0;
        if let Some(provider) = provider {
            write!(f, "{provider}: ")?;
        }
        if let Some(operation) = operation {
            write!(f, "{operation} ")?;
        }
        if let Some(subject) = subject {
            write!(f, "{subject}: ")?;
        }
        f.write_str(message)?;
        if let Some(code) = code {
            write!(f, " ({code})")?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

/// Why `get` did not answer with an instance; the one place where NotFound exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GetError {
    /// The instance is proven gone.
    #[error("not found")]
    NotFound,
    /// Anything else.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl GetError {
    /// The class.
    pub fn class(&self) -> Class {
        match self {
            Self::NotFound => Class::NotFound,
            Self::Failed(error) => error.class().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scrubber;

    #[test]
    fn an_error_says_who_did_what_to_what_and_why() {
        let gcp = ProviderName::parse("gcp-eu").unwrap();
        let cause = std::io::Error::other("reset");
        let error = Error::quota("zone z1 is out of stock")
            .coded("ZONE_RESOURCE_POOL_EXHAUSTED")
            .caused_by(Scrubbed::chain(&cause, &Scrubber::default()))
            .at(&gcp, Operation::Create, "proxy-1")
            .at(&gcp, Operation::Get, "other");
        let text = "gcp-eu: create proxy-1: zone z1 is out of stock (ZONE_RESOURCE_POOL_EXHAUSTED)";
        assert_eq!(error.to_string(), text);
        assert_eq!(error.source().unwrap().to_string(), "reset");
        assert_eq!(Class::from(error.class()), Class::QuotaExceeded);
    }
}
