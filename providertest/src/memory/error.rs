//! What the cloud's errors mean.

use provider_api::{CallError, CallKind, Error, FailureClass, Scrubber};

use super::cloud::CloudError;

/// A call that gave no result: what it means for the operation, and the error if the operation ends here.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) meaning: Meaning,
    pub(super) error: Error,
}

/// What the operations branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// What the call was about is not there.
    Absent,
    /// It is there already.
    Exists,
    /// Another one stands in its place.
    Changed,
    /// Something else works on it.
    Locked,
    /// Something needs it.
    InUse,
    /// The page token is no longer good.
    BadPage,
    /// What is written about it cannot be read.
    Unreadable,
    /// No answer in time.
    Overlong,
    /// The connection broke.
    Reset,
    /// The token is not accepted.
    Unauthorized,
    /// A right is missing.
    Forbidden,
    /// Anything else.
    Other,
}

/// The one place where answers of the cloud become classes. Unknown is Transient (`errors.unknown-is-transient`).
pub(super) fn classify(error: &CloudError) -> (Meaning, FailureClass) {
    use FailureClass::{Permanent, QuotaExceeded, Transient};
    match (error.status, &*error.code) {
        (Some(404), "notFound") | (None, "E_NO_SUCH_INSTANCE") => (Meaning::Absent, Transient),
        (Some(404), "partNotFound") | (None, "E_NO_SUCH_PART") => (Meaning::Absent, Transient),
        (Some(409), "alreadyExists") | (None, "E_EXISTS") => (Meaning::Exists, Transient),
        (Some(409), "inUse") | (None, "E_IN_USE") => (Meaning::InUse, Transient),
        (Some(412), _) | (None, "E_INCARNATION") => (Meaning::Changed, Transient),
        (Some(423), _) | (None, "E_LOCKED") => (Meaning::Locked, Transient),
        (Some(410), _) | (None, "E_PAGE") => (Meaning::BadPage, Transient),
        (Some(500), "unreadable") | (None, "E_UNREADABLE") => (Meaning::Unreadable, Transient),
        (Some(401), _) | (None, "E_TOKEN") => (Meaning::Unauthorized, Permanent),
        (Some(403), "forbidden") | (None, "E_FORBIDDEN") => (Meaning::Forbidden, Permanent),
        (Some(429), _) | (None, "E_RATE") => (Meaning::Other, QuotaExceeded),
        (Some(403), "quotaExceeded") | (None, "E_QUOTA") => (Meaning::Other, QuotaExceeded),
        (Some(503), "stockOut" | "lateStockOut") | (None, "E_STOCK" | "E_LATE_STOCK") => {
            (Meaning::Other, QuotaExceeded)
        }
        (Some(400), _) | (None, "E_INVALID" | "E_LATE_IMAGE") => (Meaning::Other, Permanent),
        (None, CloudError::RESET) => (Meaning::Reset, Transient),
        _ => (Meaning::Other, Transient),
    }
}

impl Refused {
    /// Turns the seam's error into what an operation can use; secrets end here (`errors.hides-secrets`).
    pub(super) fn from_call(
        kind: CallKind,
        target: &str,
        error: &CallError<CloudError>,
        scrubber: &Scrubber,
    ) -> Self {
        let cause = error.scrubbed(kind, scrubber);
        let message = format!("{} in {target} failed: {cause}", kind.name);
        let (meaning, error) = match error {
            CallError::Overlong(_) => (Meaning::Overlong, Error::transient(message)),
            CallError::Backend(answer) => {
                let (meaning, class) = classify(answer);
                let error = Error::new(class, message).coded(answer.code.clone());
                (meaning, error.retry_after(answer.retry_after))
            }
        };
        Self { meaning, error: error.caused_by(cause) }
    }

    /// A credential that cannot be read: the call was never made.
    pub(super) fn before_the_call(error: Error) -> Self {
        Self { meaning: Meaning::Other, error }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

/// Takes one meaning as an answer: `None` in place of the error.
pub(super) fn tolerate<T>(result: Result<T, Refused>, tolerated: &[Meaning]) -> Result<Option<T>, Refused> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(refused) if tolerated.contains(&refused.meaning) => Ok(None),
        Err(refused) => Err(refused),
    }
}

#[cfg(test)]
mod tests {
    use provider_api::{Class, profile::NotFound};

    use super::*;
    use crate::memory::{self, cloud};

    #[test]
    fn every_native_error_has_its_class_in_both_styles() {
        for style in [NotFound::Status404, NotFound::ErrorCode] {
            for (_, mut profile) in memory::pairwise() {
                profile.not_found = style;
                for native in cloud::catalogue(&profile).iter() {
                    let (meaning, class) = classify(&cloud::native(native.id, &profile, "x"));
                    if native.class == Class::NotFound {
                        assert_eq!(meaning, Meaning::Absent, "{}", native.id);
                    } else {
                        assert_eq!(Class::from(class), native.class, "{}", native.id);
                    }
                }
            }
        }
    }

    #[test]
    fn unknown_is_transient() {
        assert_eq!(classify(&CloudError::unheard_of("?")), (Meaning::Other, FailureClass::Transient));
    }
}
