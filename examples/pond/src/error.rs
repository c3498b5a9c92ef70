//! What the API's refusals mean. [`classify`] is the one place that decides. What they look like is `answer.rs`.
//!
//! The test walks the catalogue, and so do the rules `errors.table` and `create.classifies-faults`.

use std::{error::Error as StdError, fmt};

use provider_api::{BackendError, CallError, CallKind, Error, FailureClass, Scrubber, Timestamp, reasons};

use crate::answer::Refusal;

/// What operations branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// What the call was about is not there.
    Absent,
    /// The name is taken.
    Exists,
    /// The machine is being made or started.
    Busy,
    /// The page token is no longer good.
    BadPage,
    /// No answer in time.
    Overlong,
    /// The API could not be reached, or its connection broke.
    Unreachable,
    /// The API's certificate is no good.
    Certificate,
    /// The token is not accepted.
    Unauthorized,
    /// A right is missing.
    Forbidden,
    /// The token or the CA cannot be read.
    Credentials,
    /// Anything else.
    Other,
}

/// The class of a refusal, and what it means. Unknown is Transient (`errors.unknown-is-transient`).
pub(crate) fn classify(refusal: &Refusal) -> (Meaning, FailureClass) {
    use FailureClass::{Permanent, QuotaExceeded, Transient};
    match (refusal.status, refusal.code.as_str()) {
        (404, "notFound") => (Meaning::Absent, Transient),
        (409, "alreadyExists") => (Meaning::Exists, Transient),
        (409, "busy") => (Meaning::Busy, Transient),
        (400, "badPageToken") => (Meaning::BadPage, Transient),
        (401, _) => (Meaning::Unauthorized, Permanent),
        (_, "quotaExceeded" | "outOfCapacity") | (429, _) => (Meaning::Other, QuotaExceeded),
        (403, _) => (Meaning::Forbidden, Permanent),
        (400 | 422, _) => (Meaning::Other, Permanent),
        _ => (Meaning::Other, Transient),
    }
}

/// A call that gave no result: what it means for the operation, and the error if the operation ends here.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) meaning: Meaning,
    pub(crate) error: Error,
}

impl Refused {
    /// Turns the seam's error into what an operation can use; secrets end here (`errors.hides-secrets`).
    pub(crate) fn of(
        kind: CallKind,
        target: &str,
        error: &CallError<ApiError>,
        scrubber: &Scrubber,
        now: Timestamp,
    ) -> Self {
        let cause = error.scrubbed(kind, scrubber);
        let text = format!("{} at region {target} failed: {cause}", kind.name);
        let (meaning, error) = match error {
            CallError::Overlong(_) => (Meaning::Overlong, Error::transient(text).coded(reasons::TIMEOUT)),
            CallError::Backend(ApiError::Unreachable(_)) => {
                (Meaning::Unreachable, Error::transient(text).coded(reasons::UNREACHABLE))
            }
            CallError::Backend(ApiError::Certificate(_)) => {
                (Meaning::Certificate, Error::permanent(text).coded(reasons::CERTIFICATE_INVALID))
            }
            CallError::Backend(ApiError::Unreadable(_)) => {
                (Meaning::Other, Error::transient(text).coded("Unreadable"))
            }
            CallError::Backend(ApiError::Refused(refusal)) => {
                let (meaning, class) = classify(refusal);
                let error = Error::new(class, text).coded(refusal.code());
                (meaning, error.retry_after(refusal.hint.map(|hint| hint.wait(now))))
            }
        };
        Self { meaning, error: error.caused_by(cause) }
    }

    /// Credentials that cannot be used: the call was never made.
    pub(crate) fn before_the_call(error: Error) -> Self {
        Self { meaning: Meaning::Credentials, error }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

/// Takes meanings as an answer: `None` in place of the error.
pub(crate) fn tolerate<T>(result: Result<T, Refused>, tolerated: &[Meaning]) -> Result<Option<T>, Refused> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(refused) if tolerated.contains(&refused.meaning) => Ok(None),
        Err(refused) => Err(refused),
    }
}

/// Why a call to the API gave no result.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// The API said no.
    Refused(Refusal),
    /// The way there failed; whether the request arrived is not known.
    Unreachable(String),
    /// The certificate is no good.
    Certificate(String),
    /// It was a success, but not one that can be read.
    Unreadable(String),
}

impl ApiError {
    /// A request that got no answer.
    pub(crate) fn undelivered(error: &(dyn StdError + 'static)) -> Self {
        let mut texts: Vec<String> = Vec::new();
        let mut link = Some(error);
        while let Some(cause) = link {
            if let Some(tls @ rustls::Error::InvalidCertificate(_)) = within(cause).downcast_ref() {
                return Self::Certificate(tls.to_string());
            }
            texts.push(cause.to_string());
            link = cause.source();
        }
        Self::Unreachable(texts.join(": "))
    }
}

/// What an I/O error wraps, however often: its `source` passes over that.
fn within<'e>(error: &'e (dyn StdError + 'static)) -> &'e (dyn StdError + 'static) {
    match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        Some(inner) => within(inner),
        None => error,
    }
}

impl BackendError for ApiError {
    fn code(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Unreachable(_) => reasons::UNREACHABLE.to_owned(),
            Self::Certificate(_) => reasons::CERTIFICATE_INVALID.to_owned(),
            Self::Unreadable(_) => "Unreadable".to_owned(),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "{}: {}", refusal.code(), refusal.message),
            Self::Unreachable(text) => write!(f, "the API cannot be reached: {text}"),
            Self::Certificate(text) => write!(f, "the API's certificate is no good: {text}"),
            Self::Unreadable(text) => write!(f, "the API's answer cannot be read: {text}"),
        }
    }
}

impl StdError for ApiError {}

#[cfg(test)]
mod tests {
    use provider_api::Class;

    use super::*;

    #[test]
    fn every_native_error_has_its_class() {
        for native in crate::CATALOGUE.iter() {
            let status = native.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
            let refusal = Refusal { status, code: native.code.to_owned(), ..Refusal::default() };
            let (meaning, class) = classify(&refusal);
            if native.class == Class::NotFound {
                assert_eq!(meaning, Meaning::Absent, "{}", native.id);
            } else {
                assert_eq!(Class::from(class), native.class, "{}", native.id);
            }
        }
    }

    #[test]
    fn unknown_is_transient() {
        let unknown = Refusal { status: 418, code: "neverHeardOf".to_owned(), ..Refusal::default() };
        assert_eq!(classify(&unknown), (Meaning::Other, FailureClass::Transient));
    }
}
