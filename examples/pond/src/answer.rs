//! How an answer of the API is read: to a result, or to a refusal. What a refusal means is `error.rs`.

use provider_api::Scrubber;
use reqwest::{StatusCode, header::HeaderMap};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{error::ApiError, hint::Hint};

/// A refusal as it came over the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// Empty where the answer was not the API's own.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<Hint>,
}

/// An error as the API writes it, in an answer or in an operation: a problem of RFC 7807 with a code.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Failure {
    code: String,
    #[serde(default)]
    detail: String,
}

/// Reads an answer. One without a body is `null`.
pub(crate) fn read<T: DeserializeOwned>(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    scrubber: &Scrubber,
) -> Result<T, ApiError> {
    if status.is_success() {
        return result(if body.is_empty() { b"null" } else { body });
    }
    // It may quote the token, and of what is cut off here no more could be told later.
    let text = scrubber.scrub(&String::from_utf8_lossy(body));
    let mut refusal = match serde_json::from_str::<Failure>(&text) {
        Ok(failure) => failure.refusal(status.as_u16()),
        Err(_) => Refusal {
            status: status.as_u16(),
            message: text.chars().take(200).collect(),
            ..Refusal::default()
        },
    };
    refusal.hint = Hint::of(headers);
    Err(ApiError::Refused(refusal))
}

impl Failure {
    /// The refusal that it is.
    pub(crate) fn refusal(self, status: u16) -> Refusal {
        Refusal { status, code: self.code, message: self.detail, hint: None }
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

/// Reads a result. Where it broke is said, what stood there is not.
fn result<T: DeserializeOwned>(json: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(json).map_err(|error| {
        ApiError::Unreadable(format!("unexpected JSON at line {} column {}", error.line(), error.column()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_is_no_word_is_not_shown() {
        let body = br##"{"status": 400, "code": "bad #cloud-config"}"##;
        let error = read::<()>(StatusCode::BAD_REQUEST, &HeaderMap::new(), body, &Scrubber::default());
        let Err(ApiError::Refused(refusal)) = error else { panic!("{error:?}") };
        assert_eq!(refusal.code(), "400");
    }
}
