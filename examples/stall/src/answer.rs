//! How an answer of the API is read: to a result, or to a refusal. What a refusal means is `error.rs`.

use std::time::Duration;

use provider_api::Scrubber;
use reqwest::{StatusCode, header::HeaderMap};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::error::ApiError;

/// A refusal as it came over the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// Empty where the answer was not the API's own.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
}

/// An error as the API writes it, in an answer or in a task.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    code: String,
    #[serde(default)]
    text: String,
    /// The right that the key lacks.
    #[serde(default)]
    right: Option<String>,
    /// The field that is unusable.
    #[serde(default)]
    field: Option<String>,
    #[serde(default)]
    backoff_ms: Option<u64>,
}

/// Reads an answer, which always has the status 200. What has another one comes from something in between, and says
/// nothing about machines.
pub(crate) fn read<T: DeserializeOwned>(
    status: StatusCode,
    _: &HeaderMap,
    body: &[u8],
    scrubber: &Scrubber,
) -> Result<T, ApiError> {
    #[derive(Deserialize)]
    struct Answer {
        ok: bool,
        #[serde(default)]
        result: Value,
        #[serde(default)]
        error: Option<Failure>,
    }
    if status != StatusCode::OK {
        let text = scrubber.scrub(&String::from_utf8_lossy(body));
        let message = text.chars().take(200).collect();
        return Err(ApiError::Refused(Refusal { status: status.as_u16(), message, ..Refusal::default() }));
    }
    match result(body)? {
        Answer { ok: true, result, .. } => serde_json::from_value(result).map_err(|error| unreadable(&error)),
        Answer { error: Some(failure), .. } => {
            let mut refusal = failure.refusal(status.as_u16());
            refusal.message = scrubber.scrub(&refusal.message);
            Err(ApiError::Refused(refusal))
        }
        Answer { error: None, .. } => {
            Err(ApiError::Unreadable("it is neither a result nor an error".to_owned()))
        }
    }
}

impl Failure {
    /// The refusal that it is, with the right or the field that it names.
    pub(crate) fn refusal(self, status: u16) -> Refusal {
        let named = |what: &str, name: Option<String>| {
            name.map_or_else(String::new, |name| format!(" ({what} {name})"))
        };
        let message = format!("{}{}{}", self.text, named("right", self.right), named("field", self.field));
        let retry_after = self.backoff_ms.map(Duration::from_millis);
        Refusal { status, code: self.code, message, retry_after }
    }
}

impl Refusal {
    /// Status and code, for conditions. A status of success says nothing, and a code is a word: anything else may be a
    /// quotation.
    pub(crate) fn code(&self) -> String {
        let word = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
        match self.code.as_str() {
            code if code.is_empty() || code.len() > 64 || !code.bytes().all(word) => self.status.to_string(),
            code if self.status < 300 => code.to_owned(),
            code => format!("{} {code}", self.status),
        }
    }
}

/// Reads a result.
fn result<T: DeserializeOwned>(json: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(json).map_err(|error| unreadable(&error))
}

/// Where it broke is said, what stood there is not.
fn unreadable(error: &serde_json::Error) -> ApiError {
    ApiError::Unreadable(format!("unexpected JSON at line {} column {}", error.line(), error.column()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_is_no_word_is_not_shown() {
        let body = br##"{"ok": false, "error": {"code": "bad #cloud-config"}}"##;
        let error = read::<()>(StatusCode::OK, &HeaderMap::new(), body, &Scrubber::default());
        let Err(ApiError::Refused(refusal)) = error else { panic!("{error:?}") };
        assert_eq!(refusal.code(), "200");
    }
}
