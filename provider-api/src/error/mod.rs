//! The error taxonomy: four classes, and an error that says what happened, to what, why, and what is left.
//!
//! The classes and the operations that errors name are in `class.rs`, what a failure leaves behind in `aftermath.rs`.

mod aftermath;
mod class;

use std::{error::Error as StdError, fmt, time::Duration};

pub use aftermath::{FailureId, LeftBehind};
pub use class::{Class, FailureClass, Operation};

use crate::{ProviderName, Scrubbed};

/// Why an operation failed: a class to act on, and for people who, what, why, and what is left.
///
/// A provider's one `classify` function chooses the class, by code and reason; what it does not know is Transient
/// (`errors.unknown-is-transient`). The registry's caller sees configured name, operation and subject, which the provider
/// adds in one place, by [`Error::at`].
///
/// ```
/// use std::time::Duration;
/// use provider_api::{Error, LeftBehind, Operation, ProviderName};
///
/// let error = Error::quota("zone eu-1 has no room for a small machine")
///     .coded("stockOut")
///     .retry_after(Some(Duration::from_secs(60)))
///     .leaving(LeftBehind::Nothing)
///     .at(&ProviderName::parse("acme-eu")?, Operation::Create, "proxy-n23clsx2v655dcxk");
/// let text = "acme-eu: create proxy-n23clsx2v655dcxk: zone eu-1 has no room for a small machine (stockOut)";
/// assert_eq!(error.to_string(), text);
/// assert_eq!(error.retry_hint(), Some(Duration::from_secs(60)));
/// # Ok::<(), provider_api::Malformed>(())
/// ```
///
/// It has exactly one class, for it cannot be built without one (`errors.one-class`):
///
/// ```
/// let error = provider_api::Error::new(provider_api::FailureClass::Transient, "the zone did not answer");
/// ```
/// ```compile_fail,E0061
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
    /// An error of that class. `message` is a sentence without a full stop that holds no secret; what may be left behind is
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

    /// A [`FailureClass::QuotaExceeded`] error: want of quota, capacity or address space, a rate limit.
    pub fn quota(message: impl Into<String>) -> Self {
        Self::new(FailureClass::QuotaExceeded, message)
    }

    /// A [`FailureClass::Transient`] error: whatever may pass, and whatever is unknown.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(FailureClass::Transient, message)
    }

    /// A [`FailureClass::Permanent`] error: what stays so until somebody changes something.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::new(FailureClass::Permanent, message)
    }

    /// Says which provider did what to which id or name; what is already said stays (`errors.configured-name`,
    /// `errors.operation-and-id`). The subject is the id or the name as the operation was given it.
    pub fn at(mut self, provider: &ProviderName, operation: Operation, subject: impl fmt::Display) -> Self {
        self.0.provider.get_or_insert_with(|| provider.clone());
        self.0.operation.get_or_insert(operation);
        self.0.subject.get_or_insert_with(|| subject.to_string());
        self
    }

    /// The time after which a repetition may help, as the backend gave it; `None` where it gave none, and no time of our own
    /// (`errors.retry-after-kept`).
    pub fn retry_after(mut self, how_long: Option<Duration>) -> Self {
        self.0.retry_after = how_long;
        self
    }

    /// The late failure that this reports; its id is made from the backend's own record of it (`errors.failure-id-kept`).
    pub fn for_failure(mut self, id: FailureId) -> Self {
        self.0.failure = Some(id);
        self
    }

    /// What may be left on the backend, where that is certain (`errors.left-behind-is-true`).
    pub fn leaving(mut self, left_behind: LeftBehind) -> Self {
        self.0.left_behind = left_behind;
        self
    }

    /// The backend's own code or reason (`InsufficientCapacity`), for conditions; best one word, which quotes nothing.
    pub fn coded(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// The cause, scrubbed, which becomes the source (`errors.source-chain`);
    /// [`CallError::scrubbed`](crate::CallError::scrubbed) makes it of a backend call's error.
    pub fn caused_by(mut self, source: Scrubbed) -> Self {
        self.0.source = Some(source);
        self
    }

    /// The class that callers branch on.
    pub fn class(&self) -> FailureClass {
        self.0.class
    }

    /// The operation that failed, once [`Error::at`] has said it.
    pub fn operation(&self) -> Option<Operation> {
        self.0.operation
    }

    /// The configured name of the provider, once [`Error::at`] has said it.
    pub fn provider(&self) -> Option<&ProviderName> {
        self.0.provider.as_ref()
    }

    /// The id or name that it was about, once [`Error::at`] has said it.
    pub fn subject(&self) -> Option<&str> {
        self.0.subject.as_deref()
    }

    /// How long the backend says to wait, if it does. Without a hint a caller backs off, or comes back after five minutes
    /// where the class is QuotaExceeded.
    pub fn retry_hint(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The late failure that it reports, if it reports one. A caller that has shown it gives this id back as
    /// [`acknowledged_failure`](crate::CreateRequest::acknowledged_failure); until then every create answers so.
    pub fn failure(&self) -> Option<&FailureId> {
        self.0.failure.as_ref()
    }

    /// What may stand on the backend now.
    pub fn left_behind(&self) -> LeftBehind {
        self.0.left_behind
    }

    /// The backend's own code or reason, or one of [`reasons`](crate::reasons); `None` where there is none.
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
///
/// ```
/// use provider_api::{Class, Error, GetError};
/// let failed = GetError::from(Error::transient("the zone did not answer"));
/// assert_eq!(failed.class(), Class::Transient);
/// assert_eq!(GetError::NotFound.class(), Class::NotFound);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GetError {
    /// The instance is proven gone: callers forget the id, and may make another (`get.not-found-only-with-proof`).
    #[error("not found")]
    NotFound,
    /// Anything else: the instance may stand.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl GetError {
    /// The class that callers branch on.
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
