//! What the API server's refusals mean. [`classify`] is the one place that decides; the tests walk it over the whole
//! catalogue.
//!
//! Quota and missing rights share status and reason (403 `Forbidden`), so they are told apart by the start of the
//! text, after its prefix, against texts that the server has had for years. A user name or a webhook may hold the same
//! words further in, which is why only the start counts.
//!
//! The sentences here quote nothing of the backend's but names that were checked character by character: a create
//! carries a configuration, and an admission error may quote it back (`errors.hides-secrets`).

use std::{error::Error as StdError, fmt, time::Duration};

use provider_api::{
    BackendError, CallError, CallKind, Class, Error, FailureClass, LeftBehind, Scrubber, reasons,
};
use serde::Deserialize;

/// Why a call to the API server gave no result.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// The server said no.
    Refused(Box<Refusal>),
    /// The way there failed; whether the request arrived is not known.
    Unreachable(String),
    /// The server's certificate is no good.
    Certificate(String),
    /// It was a success, but not one that can be read.
    Unreadable(String),
    /// The credentials cannot be read or used.
    Credentials(Error),
}

/// A refusal as it came over the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// `reason` of the Status; empty where the answer was no Status.
    pub(crate) reason: String,
    pub(crate) message: String,
    /// `details.kind`: the resource.
    pub(crate) resource: String,
    /// `reason` and `field` of each of `details.causes`.
    pub(crate) causes: Vec<(String, String)>,
    pub(crate) retry_after: Option<Duration>,
}

/// What an error means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) class: Class,
    /// The code for conditions.
    pub(crate) code: String,
    /// A sentence that is safe to show.
    pub(crate) says: String,
    pub(crate) retry_after: Option<Duration>,
    /// Whether the server certainly did not act.
    pub(crate) refused: bool,
}

/// The class of an error, with all that is worth saying about it.
pub(crate) fn classify(error: &CallError<ApiError>) -> Verdict {
    let plain = |class, code: &str, says: String| Verdict {
        class,
        code: code.to_owned(),
        says,
        retry_after: None,
        refused: false,
    };
    match error {
        CallError::Overlong(budget) => plain(
            Class::Transient,
            reasons::TIMEOUT,
            format!("the API server did not answer within {budget:?}"),
        ),
        CallError::Backend(ApiError::Refused(refusal)) => refusal.verdict(),
        CallError::Backend(ApiError::Unreachable(_)) => {
            plain(Class::Transient, reasons::UNREACHABLE, "the API server cannot be reached".into())
        }
        CallError::Backend(ApiError::Certificate(_)) => plain(
            Class::Permanent,
            reasons::CERTIFICATE_INVALID,
            "the API server's certificate is not one that the configured CA vouches for".into(),
        ),
        CallError::Backend(ApiError::Unreadable(_)) => {
            plain(Class::Transient, "Unreadable", "the API server's answer cannot be read".into())
        }
        CallError::Backend(ApiError::Credentials(error)) => Verdict {
            refused: true,
            ..plain(
                error.class().into(),
                error.code().unwrap_or(reasons::CREDENTIALS_UNAVAILABLE),
                error.message().to_owned(),
            )
        },
    }
}

/// The error of a call, for the caller. `doing` begins the sentence: `cannot read the Pod`.
pub(crate) fn failure(
    kind: CallKind,
    scrubber: &Scrubber,
    doing: &str,
    error: &CallError<ApiError>,
) -> Error {
    let verdict = classify(error);
    let class = match verdict.class {
        Class::QuotaExceeded => FailureClass::QuotaExceeded,
        Class::Permanent => FailureClass::Permanent,
        // Where absence is an answer, the caller has taken it; elsewhere it is nothing that we expected.
        Class::Transient | Class::NotFound => FailureClass::Transient,
    };
    Error::new(class, format!("{doing}: {}", verdict.says))
        .coded(verdict.code)
        .retry_after(verdict.retry_after)
        .caused_by(error.scrubbed(kind, scrubber))
}

/// Whether the error proves that the Pod is not there: a Status that speaks of Pods, not just any 404.
pub(crate) fn is_absent(error: &CallError<ApiError>) -> bool {
    classify(error).class == Class::NotFound
}

/// The refusal, where the error is one.
pub(crate) fn refusal(error: &CallError<ApiError>) -> Option<&Refusal> {
    match error {
        CallError::Backend(ApiError::Refused(refusal)) => Some(refusal),
        _ => None,
    }
}

impl Refusal {
    /// Reads a refusal; what is no Status is kept as text.
    pub(crate) fn read(status: u16, body: &[u8], hint: Option<Duration>) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Wire {
            kind: String,
            reason: String,
            message: String,
            details: Option<Details>,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Details {
            kind: String,
            causes: Vec<Cause>,
            retry_after_seconds: u64,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Cause {
            reason: String,
            field: String,
        }
        let read = serde_json::from_slice::<Wire>(body).ok().filter(|wire| wire.kind == "Status");
        let Some(wire) = read else {
            let message = String::from_utf8_lossy(&body[..body.len().min(512)]).trim().to_owned();
            return Self { status, message, retry_after: hint, ..Self::default() };
        };
        let details = wire.details.unwrap_or_default();
        let seconds = Some(details.retry_after_seconds).filter(|seconds| *seconds > 0);
        Self {
            status,
            reason: wire.reason,
            message: wire.message,
            resource: details.kind,
            causes: details.causes.into_iter().map(|cause| (cause.reason, cause.field)).collect(),
            retry_after: seconds.map(Duration::from_secs).or(hint),
        }
    }

    /// Whether something of that name stands there already, dying or not.
    pub(crate) fn is_name_taken(&self) -> bool {
        self.status == 409 && self.reason == "AlreadyExists"
    }

    /// Whether the server has looked at what was sent, and has said no to it: rights, admission, validation, the name.
    pub(crate) fn is_about_the_pod(&self) -> bool {
        !self.reason.is_empty() && matches!(self.status, 403 | 404 | 409 | 422)
    }

    /// Whether a page token, or the whole listing, is too old.
    pub(crate) fn is_expired(&self) -> bool {
        self.status == 410
    }

    /// Whether the object is another one, or another version, than the request was bound to.
    pub(crate) fn is_conflict(&self) -> bool {
        self.status == 409 && self.reason == "Conflict"
    }

    fn verdict(&self) -> Verdict {
        let (class, code, says) = self.meaning();
        Verdict {
            class,
            code: if code.is_empty() { self.code() } else { code.to_owned() },
            says,
            retry_after: self.retry_after,
            refused: (400..500).contains(&self.status) && self.status != 408,
        }
    }

    fn meaning(&self) -> (Class, &'static str, String) {
        use Class::{NotFound, Permanent, Transient};
        if let Some(meaning) = self.admission_webhook() {
            return meaning;
        }
        let refused = format!("the API server refused with {}", self.code());
        match self.status {
            401 => (
                Permanent,
                reasons::UNAUTHORIZED,
                "the API server does not accept the credentials; check the token".into(),
            ),
            403 => self.forbidden(),
            404 if self.reason == "NotFound" && self.resource == "pods" => {
                (NotFound, "NotFound", "there is no such Pod".into())
            }
            404 if self.reason == "NotFound" && self.resource == "namespaces" => {
                (Permanent, "NamespaceNotFound", "the namespace does not exist on the target cluster".into())
            }
            409 if self.is_name_taken() => (Transient, "AlreadyExists", "the name is taken".into()),
            409 => (Transient, "", "another change came in between".into()),
            410 => (Transient, "Expired", "the listing became too old while it was read".into()),
            429 => (Transient, "TooManyRequests", "the API server is busy".into()),
            400 | 405 | 406 | 413 | 415 | 422 => (Permanent, "", format!("{refused}{}", self.fields())),
            500..=599 => (Transient, "", format!("the API server failed with {}", self.code())),
            // Unknown is Transient (`errors.unknown-is-transient`).
            _ => (Transient, "", refused),
        }
    }

    /// A webhook's denial has no resource before it; the code is the webhook's own choice.
    fn admission_webhook(&self) -> Option<(Class, &'static str, String)> {
        let rest = self.message.strip_prefix("admission webhook \"")?;
        if !(400..500).contains(&self.status) || self.status == 429 {
            return None;
        }
        let name = rest.split('"').next().and_then(checked).unwrap_or("of the cluster");
        Some((Class::Permanent, "AdmissionWebhook", format!("the admission webhook {name} denied the Pod")))
    }

    /// The many meanings of 403, in the order in which they can be told apart.
    fn forbidden(&self) -> (Class, &'static str, String) {
        use Class::{Permanent, QuotaExceeded, Transient};
        let ending = "the namespace is being deleted";
        if self.causes.iter().any(|(reason, _)| reason == "NamespaceTerminating") {
            return (Transient, "NamespaceTerminating", ending.into());
        }
        let rest = after_prefix(&self.message);
        if let Some(rest) = rest.strip_prefix("exceeded quota: ") {
            return (QuotaExceeded, "QuotaExceeded", exceeded(rest));
        }
        if rest.starts_with("insufficient quota to consume: ") {
            let says = "no quota of the namespace covers what the Pod asks for, and the cluster demands one";
            return (QuotaExceeded, "QuotaExceeded", says.into());
        }
        if rest.starts_with("status unknown for quota: ") {
            return (Transient, "QuotaUncounted", "the namespace's quota has not been counted yet".into());
        }
        if rest.starts_with("failed quota: ") {
            let says = "the namespace's quota demands requests or limits that the Pod does not have";
            return (Permanent, "QuotaDemandsMore", says.into());
        }
        if let Some(rest) = rest.strip_prefix("violates PodSecurity \"") {
            let level = rest.split('"').next().and_then(checked).unwrap_or("of the namespace");
            return (Permanent, "PodSecurity", format!("the Pod violates the Pod Security level {level}"));
        }
        if rest.starts_with("User \"") && rest.contains("\" cannot ") {
            return (Permanent, reasons::FORBIDDEN, missing_right(rest));
        }
        if rest.starts_with("unable to create new content in namespace ") {
            return (Transient, "NamespaceTerminating", ending.into());
        }
        if rest.starts_with("error looking up service account ") {
            // A new namespace gets its service account a moment later.
            let says = "the namespace has no default service account yet";
            return (Transient, "ServiceAccountMissing", says.into());
        }
        (Permanent, "", "the API server forbids it; check its admission rules and our rights".into())
    }

    /// Which fields an invalid object is invalid in: paths and codes only.
    fn fields(&self) -> String {
        let known: Vec<_> = self
            .causes
            .iter()
            .filter_map(|(reason, field)| Some(format!("{} {}", checked(field)?, checked(reason)?)))
            .take(5)
            .collect();
        if known.is_empty() { String::new() } else { format!(": {}", known.join(", ")) }
    }
}

impl ApiError {
    /// A request that could not even be put together.
    pub(crate) fn unsendable(error: &kube::core::request::Error) -> Self {
        Self::Credentials(
            Error::permanent(format!("the request cannot be built: {error}"))
                .coded("BadRequest")
                .leaving(LeftBehind::Nothing),
        )
    }

    /// A client that cannot be made from the credentials as they are.
    pub(crate) fn unusable(error: &kube::Error) -> Self {
        let what = match error {
            kube::Error::ProxyProtocolDisabled { .. } | kube::Error::ProxyProtocolUnsupported { .. } => {
                "the kubeconfig names an HTTP proxy, which is not supported"
            }
            kube::Error::Auth(_) => "the kubeconfig's user cannot be used",
            _ => "the certificates or keys of the kubeconfig cannot be used",
        };
        Self::Credentials(Error::permanent(what).coded(reasons::CREDENTIALS_UNAVAILABLE))
    }

    /// A request that got no answer.
    pub(crate) fn undelivered(error: &(dyn StdError + 'static)) -> Self {
        let mut texts: Vec<String> = Vec::new();
        let mut link = Some(error);
        while let Some(cause) = link {
            let auth = matches!(cause.downcast_ref(), Some(kube::Error::Auth(_)));
            if auth || cause.is::<kube::client::AuthError>() {
                // What a plug-in printed may be a token.
                let text = "the kubeconfig's user gave no token";
                return Self::Credentials(Error::transient(text).coded(reasons::CREDENTIALS_UNAVAILABLE));
            }
            if let Some(text) = certificate(cause) {
                return Self::Certificate(text);
            }
            let text = cause.to_string();
            if !texts.iter().any(|said| said.contains(&text)) {
                texts.push(text);
            }
            link = cause.source();
        }
        Self::Unreachable(texts.join(": "))
    }

    /// An answer of an unexpected shape. Where it broke is said, what stood there is not.
    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
        let kind = match error.classify() {
            serde_json::error::Category::Data => "an unexpected shape",
            serde_json::error::Category::Eof => "an early end",
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => "no JSON",
        };
        Self::Unreadable(format!("{kind} at line {} column {}", error.line(), error.column()))
    }
}

/// A certificate that did not convince, however deep it lies.
fn certificate(error: &(dyn StdError + 'static)) -> Option<String> {
    if let Some(tls @ rustls::Error::InvalidCertificate(_)) = error.downcast_ref() {
        return Some(tls.to_string());
    }
    // One of these may wrap another, and its source passes over what it wraps.
    certificate(error.downcast_ref::<std::io::Error>()?.get_ref()?)
}

/// What follows `<resource>[ "name"] is forbidden: `.
fn after_prefix(message: &str) -> &str {
    const FORBIDDEN: &str = " is forbidden: ";
    let Some((head, rest)) = message.split_once(FORBIDDEN) else {
        return message.strip_prefix("forbidden: ").unwrap_or(message);
    };
    let (resource, name) = head.split_once(' ').unwrap_or((head, "\"\""));
    let is_resource = !resource.is_empty()
        && resource
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'/'));
    let is_name = name.len() >= 2 && name.starts_with('"') && name.ends_with('"');
    if is_resource && is_name { rest } else { message }
}

/// `Q, requested: pods=1, used: pods=2, limited: pods=2`, said again in checked pieces.
fn exceeded(rest: &str) -> String {
    let generic = "a quota of the namespace is used up";
    let read = || {
        let (name, rest) = rest.split_once(", requested: ")?;
        let (requested, rest) = rest.split_once(", used: ")?;
        let (used, limited) = rest.split_once(", limited: ")?;
        let amounts = |text| checked_amounts(text);
        Some(format!(
            "quota {} of the namespace is used up: asked for {}, used {}, limit {}",
            checked(name)?,
            amounts(requested)?,
            amounts(used)?,
            amounts(limited)?
        ))
    };
    read().unwrap_or_else(|| generic.to_owned())
}

/// The verbs of rights.
const VERBS: [&str; 6] = ["create", "get", "list", "watch", "patch", "delete"];

/// `User "u" cannot create resource "pods" in API group "" in the namespace "ns"`, with the right named.
fn missing_right(rest: &str) -> String {
    let generic = "our identity lacks a right on the target cluster";
    let read = || {
        let (_, right) = rest.rsplit_once("\" cannot ")?;
        let verb = right.split(' ').next().filter(|verb| VERBS.contains(verb))?;
        let resource =
            right.split_once(" resource \"").and_then(|(_, rest)| checked(rest.split('"').next()?));
        let namespace =
            right.split_once(" in the namespace \"").and_then(|(_, rest)| checked(rest.split('"').next()?));
        let place = match namespace {
            Some(namespace) => format!("in namespace {namespace}"),
            None => "in the whole cluster".to_owned(),
        };
        Some(format!("our identity lacks the right to {verb} {} {place}", resource.unwrap_or("that path")))
    };
    read().unwrap_or_else(|| generic.to_owned())
}

/// A name, a field path or a level: short, and of few characters.
fn checked(text: &str) -> Option<&str> {
    let fits =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':' | b'/' | b'[' | b']');
    (!text.is_empty() && text.len() <= 100 && text.bytes().all(fits)).then_some(text)
}

/// `pods=1,requests.cpu=200m`: names of resources and amounts of them, nothing else.
fn checked_amounts(text: &str) -> Option<&str> {
    let amount = |pair: &str| {
        pair.split_once('=').is_some_and(|(name, value)| {
            let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            checked(name).is_some()
                && !digits.is_empty()
                && value.len() <= 24
                && digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'))
        })
    };
    (text.len() <= 400 && text.split(',').all(amount)).then_some(text)
}

impl BackendError for ApiError {
    fn code(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Unreachable(_) => reasons::UNREACHABLE.to_owned(),
            Self::Certificate(_) => reasons::CERTIFICATE_INVALID.to_owned(),
            Self::Unreadable(_) => "Unreadable".to_owned(),
            Self::Credentials(error) => error.code().unwrap_or(reasons::CREDENTIALS_UNAVAILABLE).to_owned(),
        }
    }
}

impl Refusal {
    fn code(&self) -> String {
        match checked(&self.reason) {
            Some(reason) => format!("{} {reason}", self.status),
            None => self.status.to_string(),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "{}: {}", refusal.code(), refusal.message),
            Self::Unreachable(text) => write!(f, "the API server cannot be reached: {text}"),
            Self::Certificate(text) => write!(f, "the API server's certificate is no good: {text}"),
            Self::Unreadable(text) => write!(f, "the API server's answer cannot be read: {text}"),
            Self::Credentials(error) => f.write_str(error.message()),
        }
    }
}

impl StdError for ApiError {}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
