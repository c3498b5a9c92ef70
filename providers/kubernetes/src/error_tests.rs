//! The error table: the whole catalogue, and the pairs that are easily mistaken for one another.

use serde_json::json;

use super::*;
use crate::catalogue::CATALOGUE;

fn refused(status: u16, body: &serde_json::Value) -> CallError<ApiError> {
    let refusal = Refusal::read(status, body.to_string().as_bytes(), None);
    CallError::Backend(ApiError::Refused(Box::new(refusal)))
}

fn status(code: u16, reason: &str, message: &str) -> serde_json::Value {
    let resource = if message.starts_with("namespaces ") { "namespaces" } else { "pods" };
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
        "reason": reason, "message": message, "details": {"kind": resource}
    })
}

fn text(code: u16, message: &str, hint: Option<u64>) -> CallError<ApiError> {
    let refusal = Refusal::read(code, message.as_bytes(), hint.map(Duration::from_secs));
    CallError::Backend(ApiError::Refused(Box::new(refusal)))
}

#[test]
fn the_whole_catalogue_is_classified_as_it_says() {
    for native in CATALOGUE.iter() {
        let code = u16::try_from(native.status.unwrap()).unwrap();
        let message = native.text.replace("{name}", "proxy-1").replace("{namespace}", "team-a");
        let error = match native.code {
            "" => text(code, &message, native.field("retry-after").and_then(|text| text.parse().ok())),
            reason => refused(code, &status(code, reason, &message)),
        };
        let verdict = classify(&error);
        assert_eq!(verdict.class, native.class, "{}: {verdict:?}", native.id);
        assert_eq!(verdict.refused, code < 500, "{}", native.id);
        let hinted = native.code.is_empty() && native.field("retry-after").is_some();
        assert!(!hinted || verdict.retry_after.is_some(), "{}", native.id);
    }
}

#[test]
fn bug_k01_a_used_up_quota_is_no_missing_right() {
    let message = "pods \"q\" is forbidden: exceeded quota: rq, requested: limits.memory=1Gi,pods=1, used: \
                   limits.memory=64Mi,pods=2, limited: limits.memory=256Mi,pods=2";
    let verdict = classify(&refused(403, &status(403, "Forbidden", message)));
    assert_eq!(verdict.class, Class::QuotaExceeded);
    assert_eq!(
        verdict.says,
        "quota rq of the namespace is used up: asked for limits.memory=1Gi,pods=1, used limits.memory=64Mi,pods=2, \
         limit limits.memory=256Mi,pods=2"
    );
}

#[test]
fn bug_k02_a_missing_right_is_permanent_and_named() {
    let message = "pods is forbidden: User \"system:serviceaccount:op:op\" cannot create resource \"pods\" in API \
                   group \"\" in the namespace \"team-a\"";
    let verdict = classify(&refused(403, &status(403, "Forbidden", message)));
    assert_eq!((verdict.class, verdict.code.as_str()), (Class::Permanent, "Forbidden"));
    assert_eq!(verdict.says, "our identity lacks the right to create pods in namespace team-a");
}

#[test]
fn only_the_start_of_the_text_decides() {
    let forbidden = |message: &str| classify(&refused(403, &status(403, "Forbidden", message))).class;
    // A user who is called like a quota, and a webhook that speaks like one.
    assert_eq!(
        forbidden("pods is forbidden: User \"exceeded quota: \" cannot create resource \"pods\""),
        Class::Permanent
    );
    assert_eq!(
        forbidden("admission webhook \"w\" denied the request: pods \"x\" is forbidden: exceeded quota: rq"),
        Class::Permanent
    );
    assert_eq!(forbidden("something else is forbidden: exceeded quota: rq"), Class::Permanent);
    let mut terminating = status(403, "Forbidden", "pods \"x\" is forbidden: in other words");
    terminating["details"]["causes"] =
        json!([{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]);
    assert_eq!(classify(&refused(403, &terminating)).class, Class::Transient);
}

#[test]
fn bug_k08_a_webhook_that_cannot_be_reached_is_transient() {
    let message = "Internal error occurred: failed calling webhook \"w\": failed to call webhook: Post \"https://w\": EOF";
    let verdict = classify(&refused(500, &status(500, "InternalError", message)));
    assert_eq!(verdict.class, Class::Transient);
    assert!(!verdict.refused, "the Pod may be there all the same");
}

#[test]
fn bug_k10_a_busy_server_is_transient_and_its_hint_is_kept() {
    let mut body = status(429, "TooManyRequests", "storage is (re)initializing");
    body["details"]["retryAfterSeconds"] = json!(3);
    let verdict = classify(&refused(429, &body));
    assert_eq!((verdict.class, verdict.retry_after), (Class::Transient, Some(Duration::from_secs(3))));
    let verdict = classify(&text(429, "Too many requests, please try again later.\n", Some(1)));
    assert_eq!((verdict.class, verdict.retry_after), (Class::Transient, Some(Duration::from_secs(1))));
}

#[test]
fn only_a_status_about_pods_proves_absence() {
    assert!(is_absent(&refused(404, &status(404, "NotFound", "pods \"x\" not found"))));
    assert!(!is_absent(&text(404, "404 page not found", None)));
    assert!(!is_absent(&refused(404, &json!({"error": "pods \"x\" not found"}))));
    assert!(!is_absent(&refused(404, &status(404, "NotFound", "namespaces \"x\" not found"))));
}

#[test]
fn what_is_not_known_is_transient() {
    for code in [300, 302, 402, 408, 418, 451, 499, 520, 599] {
        assert_eq!(classify(&text(code, "?", None)).class, Class::Transient, "{code}");
    }
    let others =
        [ApiError::Unreachable("reset".into()), ApiError::Unreadable("no JSON at line 1 column 1".into())];
    for error in others {
        assert_eq!(classify(&CallError::Backend(error)).class, Class::Transient);
    }
    assert_eq!(classify(&CallError::Overlong(Duration::from_secs(30))).class, Class::Transient);
    assert_eq!(
        classify(&CallError::Backend(ApiError::Certificate("expired".into()))).class,
        Class::Permanent
    );
}

/// As the TLS connector hands it on: an I/O error in an I/O error.
#[test]
fn a_certificate_is_found_however_deep_it_lies() {
    use std::io::{Error, ErrorKind};
    let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::NotValidForName);
    let said = tls.to_string();
    for error in [Error::other(tls.clone()), Error::other(Error::new(ErrorKind::InvalidData, tls))] {
        let error = ApiError::undelivered(&error);
        assert!(matches!(&error, ApiError::Certificate(text) if *text == said), "{error:?}");
    }
    let refused = Error::other(Error::from(ErrorKind::ConnectionRefused));
    assert!(matches!(ApiError::undelivered(&refused), ApiError::Unreachable(_)));
}

#[test]
fn a_sentence_never_quotes_what_was_sent() {
    let secret = "hunter2 hunter2";
    let mut invalid =
        status(422, "Invalid", &format!("Pod \"x\" is invalid: metadata.annotations: {secret}"));
    invalid["details"]["causes"] = json!([
        {"reason": "FieldValueInvalid", "message": secret, "field": format!("metadata.annotations[{secret}]")},
        {"reason": "FieldValueRequired", "field": "spec.containers[0].image"}
    ]);
    let cases = [
        refused(422, &invalid),
        refused(
            403,
            &status(
                403,
                "Forbidden",
                &format!(
                    "pods \"x\" is forbidden: exceeded quota: {secret}, requested: pods=1, used: {secret}, limited: pods=1"
                ),
            ),
        ),
        refused(
            403,
            &status(
                403,
                "Forbidden",
                &format!("pods \"x\" is forbidden: User \"{secret}\" cannot {secret} resource \"{secret}\""),
            ),
        ),
        refused(
            403,
            &status(403, "Forbidden", &format!("admission webhook \"{secret}\" denied the request")),
        ),
        refused(
            403,
            &status(
                403,
                "Forbidden",
                &format!("pods \"x\" is forbidden: violates PodSecurity \"{secret}\": no"),
            ),
        ),
        refused(500, &status(500, secret, secret)),
        text(400, secret, None),
    ];
    for error in &cases {
        let failure = failure(crate::backend::POD_CREATE, &Scrubber::default(), "cannot make the Pod", error);
        let shown = format!("{failure} {failure:?} {}", std::error::Error::source(&failure).unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert_eq!(
        classify(&cases[0]).says,
        "the API server refused with 422 Invalid: spec.containers[0].image FieldValueRequired"
    );
}
