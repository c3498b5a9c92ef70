//! What the API server's refusals mean to the operator.

use std::time::Duration;

use serde::Deserialize;

use crate::cluster::ClusterError;

/// Why a request gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The server said no.
    Refused(Box<Refusal>),
    /// The way there failed; whether the request arrived is not known.
    Unreachable(String),
    /// No answer in time.
    Overlong(Duration),
    /// There is an answer, and it cannot be used.
    Unusable(String),
}

/// A refusal as it came over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// `reason` of the Status; empty where the answer was no Status.
    pub(super) reason: String,
    message: String,
    /// `details.name`: of the object that it is about.
    name: String,
    retry_after: Option<Duration>,
}

/// A Status as the server writes it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wire {
    kind: String,
    code: u16,
    reason: String,
    message: String,
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    name: String,
    retry_after_seconds: u64,
}

impl Failure {
    /// Reads a refusal. Of a request about secrets its texts are left out.
    pub(super) fn refusal(status: u16, body: &[u8], hint: Option<Duration>, is_secret: bool) -> Self {
        let wire = serde_json::from_slice::<Wire>(body).ok().filter(|wire| wire.kind == "Status");
        let text = || String::from_utf8_lossy(body).trim().chars().take(200).collect();
        let mut wire = wire.unwrap_or_else(|| Wire { message: text(), ..Wire::default() });
        if is_secret {
            wire.message.clear();
        }
        Self::of(wire, status, hint)
    }

    /// An error that came as an event of a watch.
    pub(super) fn event(wire: Wire) -> Self {
        let status = wire.code;
        Self::of(wire, status, None)
    }

    fn of(wire: Wire, status: u16, hint: Option<Duration>) -> Self {
        let details = wire.details.unwrap_or_default();
        let said =
            (details.retry_after_seconds > 0).then(|| Duration::from_secs(details.retry_after_seconds));
        Self::Refused(Box::new(Refusal {
            status,
            reason: wire.reason,
            message: wire.message,
            name: details.name,
            retry_after: hint.or(said),
        }))
    }

    /// The server has not looked at it, and may be asked again, after that time if it says one.
    pub(super) fn is_busy(&self) -> Option<Option<Duration>> {
        match self {
            Self::Refused(refusal) if refusal.status == 429 => Some(refusal.retry_after),
            _ => None,
        }
    }

    /// How long the server wants to be left alone.
    pub(super) fn hint(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after,
            _ => None,
        }
    }

    /// What was to be gone on from is forgotten there.
    pub(super) fn is_too_old(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.status == 410)
    }

    /// There is no such object. A 404 that names none speaks of the path, the kind or a proxy in between, and proves nothing.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Refused(refusal)
            if refusal.status == 404 && refusal.reason == "NotFound" && !refusal.name.is_empty())
    }
}

impl From<Failure> for ClusterError {
    fn from(failure: Failure) -> Self {
        if failure.is_absent() {
            return Self::NotFound;
        }
        match failure {
            Failure::Refused(refusal) => match refusal.status {
                409 => Self::Conflict,
                // Credentials are rotated, a token is too old, a kind is being installed: it passes, or may.
                401 | 404 | 408 | 410 | 429 => Self::Doubtful(refusal.to_string()),
                400..=499 => Self::Refused(refusal.to_string()),
                _ => Self::Doubtful(refusal.to_string()),
            },
            Failure::Unreachable(text) | Failure::Unusable(text) => Self::Doubtful(text),
            Failure::Overlong(deadline) => {
                Self::Doubtful(format!("no answer within {} s", deadline.as_secs_f32()))
            }
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, reason, message, .. } = self;
        match (reason.is_empty(), message.is_empty()) {
            (_, false) => write!(f, "{message} ({status})"),
            (false, true) => write!(f, "{reason} ({status})"),
            (true, true) => write!(f, "status {status}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(status: u16, body: &str) -> ClusterError {
        Failure::refusal(status, body.as_bytes(), None, false).into()
    }

    fn said(status: u16, reason: &str, details: serde_json::Value) -> ClusterError {
        let body =
            json!({"kind": "Status", "code": status, "reason": reason, "message": "m", "details": details});
        refused(status, &body.to_string())
    }

    #[test]
    fn a_refusal_is_read_by_its_status_and_not_by_its_words() {
        let named = json!({"name": "a", "kind": "proxies"});
        assert_eq!(said(409, "Conflict", named.clone()), ClusterError::Conflict);
        assert_eq!(said(409, "AlreadyExists", named.clone()), ClusterError::Conflict);
        assert_eq!(said(404, "NotFound", named.clone()), ClusterError::NotFound);
        for stays in [400, 403, 405, 413, 415, 422] {
            let error = said(stays, "Whatever", named.clone());
            assert!(matches!(error, ClusterError::Refused(_)), "{stays}: {error}");
        }
        for passes in [401, 408, 410, 429, 500, 502, 503, 504] {
            let error = said(passes, "Whatever", named.clone());
            assert!(matches!(error, ClusterError::Doubtful(_)), "{passes}: {error}");
        }
    }

    #[test]
    fn a_404_that_names_no_object_proves_nothing() {
        for error in [
            refused(404, "404 page not found\n"),
            refused(404, "<html>no such site</html>"),
            said(404, "NotFound", json!({})),
            said(404, "", json!({"name": "a"})),
        ] {
            assert!(matches!(error, ClusterError::Doubtful(_)), "{error}");
        }
    }

    #[test]
    fn a_hint_is_taken_from_the_header_or_from_the_status() {
        let header = Some(Duration::from_secs(7));
        let busy = Failure::refusal(429, b"Too many requests, please try again later.\n", header, false);
        assert_eq!(busy.is_busy(), Some(header));
        let body = json!({"kind": "Status", "code": 500, "details": {"retryAfterSeconds": 2}}).to_string();
        let failure = Failure::refusal(500, body.as_bytes(), None, false);
        assert_eq!((failure.is_busy(), failure.hint()), (None, Some(Duration::from_secs(2))));
    }

    #[test]
    fn of_a_request_about_secrets_no_text_is_kept() {
        let body =
            json!({"kind": "Status", "code": 422, "reason": "Invalid", "message": "data: \"hunter2\""});
        let failure = Failure::refusal(422, body.to_string().as_bytes(), None, true);
        assert!(!format!("{failure:?}").contains("hunter2"));
        assert_eq!(ClusterError::from(failure), ClusterError::Refused("Invalid (422)".to_owned()));
    }
}
