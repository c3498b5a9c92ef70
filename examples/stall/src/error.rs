//! What the API's refusals mean. [`classify`] is the one place that decides.
//!
//! The test walks the catalogue, and so do the rules `errors.table` and `create.classifies-faults`.

use std::{error::Error as StdError, fmt, time::Duration};

use provider_api::{BackendError, CallError, CallKind, Error, FailureClass, Scrubber, reasons};
use serde::{Deserialize, de::DeserializeOwned};

/// What operations branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// What the call was about is not there.
    Absent,
    /// The name is taken.
    Exists,
    /// Another task works on the machine.
    Busy,
    /// the cursor is no longer good.
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
    match refusal.code.as_str() {
        "E_NO_SUCH" => (Meaning::Absent, Transient),
        "E_NAME_TAKEN" => (Meaning::Exists, Transient),
        "E_BUSY" => (Meaning::Busy, Transient),
        "E_CURSOR" => (Meaning::BadPage, Transient),
        "E_KEY" => (Meaning::Unauthorized, Permanent),
        "E_RIGHT" => (Meaning::Forbidden, Permanent),
        "E_SLOW_DOWN" | "E_LIMIT" | "E_FULL" => (Meaning::Other, QuotaExceeded),
        "E_BAD" => (Meaning::Other, Permanent),
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
    pub(crate) fn of(kind: CallKind, zone: &str, error: &CallError<ApiError>, scrubber: &Scrubber) -> Self {
        let cause = error.scrubbed(kind, scrubber);
        let text = format!("{} in zone {zone} failed: {cause}", kind.name);
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
                (meaning, error.retry_after(refusal.retry_after))
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

/// A refusal as it came over the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// Empty where the answer was not the API's own.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
}

/// What the API answers, always with the status 200.
#[derive(Deserialize)]
pub(crate) struct Answer {
    ok: bool,
    #[serde(default)]
    result: serde_json::Value,
    #[serde(default)]
    error: Option<Failure>,
}

/// An error as the API writes it, in an answer or in a task.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    pub(crate) code: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    right: Option<String>,
    #[serde(default)]
    field: Option<String>,
    #[serde(default)]
    backoff_ms: Option<u64>,
}

impl Answer {
    /// Reads an answer to its result. Another status, or another shape, says nothing about machines.
    pub(crate) fn read<T: DeserializeOwned>(
        status: u16,
        body: &[u8],
        scrubber: &Scrubber,
    ) -> Result<T, ApiError> {
        if status != 200 {
            let message = scrubber.scrub(&String::from_utf8_lossy(body)).chars().take(200).collect();
            return Err(ApiError::Refused(Refusal { status, message, ..Refusal::default() }));
        }
        // Where it broke is said, what stood there is not.
        let unreadable = |error: serde_json::Error| {
            ApiError::Unreadable(format!(
                "unexpected JSON at line {} column {}",
                error.line(),
                error.column()
            ))
        };
        match serde_json::from_slice(body).map_err(unreadable)? {
            Self { ok: true, result, .. } => serde_json::from_value(result).map_err(unreadable),
            Self { error: Some(failure), .. } => Err(ApiError::Refused(failure.refusal(scrubber))),
            Self { error: None, .. } => {
                Err(ApiError::Unreadable("it is neither a result nor an error".to_owned()))
            }
        }
    }
}

impl Failure {
    /// The refusal that it is, with the right or the field that it names.
    pub(crate) fn refusal(self, scrubber: &Scrubber) -> Refusal {
        let named =
            |what: &str, name: Option<String>| name.map_or_else(String::new, |n| format!(" ({what} {n})"));
        let message = format!("{}{}{}", self.text, named("right", self.right), named("field", self.field));
        Refusal {
            status: 200,
            code: self.code,
            message: scrubber.scrub(&message),
            retry_after: self.backoff_ms.map(Duration::from_millis),
        }
    }
}

impl Refusal {
    /// The code, or the status of what is not the API's own, for conditions. A code is a word; anything else may be a
    /// quotation.
    pub(crate) fn code(&self) -> String {
        let word =
            |code: &str| code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        match self.code.as_str() {
            code if !code.is_empty() && word(code) => code.to_owned(),
            _ => self.status.to_string(),
        }
    }
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
        let unknown = Refusal { status: 200, code: "E_NEVER_HEARD_OF".to_owned(), ..Refusal::default() };
        assert_eq!(classify(&unknown), (Meaning::Other, FailureClass::Transient));
    }

    #[test]
    fn a_code_that_is_no_word_is_not_shown() {
        let body = br##"{"ok": false, "error": {"code": "bad #cloud-config"}}"##;
        let error = Answer::read::<()>(200, body, &Scrubber::default()).unwrap_err();
        assert_eq!(error.code(), "200");
    }
}
