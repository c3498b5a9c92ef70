//! The way of every request: from the fake's interceptor through the kit's wire, where it is recorded, held, broken or
//! answered with an error of the catalogue.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use fixture_kube_api::{Answer, AnswerBody, Effect, Exchange, Interceptor, Outcome, Server};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use provider_api::{CallId, Class, NativeError};
use providertest::{
    harness::UNKNOWN_ERROR,
    wire::{Incoming, Reply, Wire},
};
use serde_json::{Value, json};

use super::{Cluster, NAMESPACE, Played, TARGET};

pub(crate) struct Bridge {
    wire: Wire,
    server: Server,
    played: Arc<Mutex<Played>>,
}

impl Bridge {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        Self {
            wire: cluster.case.wire.clone(),
            server: cluster.server.clone(),
            played: Arc::clone(&cluster.played),
        }
    }
}

#[async_trait::async_trait]
impl Interceptor for Bridge {
    async fn around(&self, request: Exchange, effect: Effect) -> Outcome {
        let target = &request.target;
        let resource = if target.resource.is_empty() { target.path.as_str() } else { &target.resource };
        let call = request.headers.get(CallId::HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
        let payload = target.verb == "create" && target.resource == "pods";
        let incoming = Incoming {
            call: call.map(CallId),
            kind: Cow::Owned(format!("{} {resource}", target.verb)),
            target: TARGET.to_owned(),
            subject: format!("{}/{}", target.namespace, target.name),
            // A review is sent as a POST and stores nothing.
            mutates: matches!(target.verb, "create" | "delete") && target.resource == "pods",
            blocking: false,
        };
        let quote = payload && self.played.lock().unwrap_or_else(PoisonError::into_inner).quotes;
        let quoted = quote.then(|| String::from_utf8_lossy(&request.body).into_owned());
        let (namespace, name) = (target.namespace.clone(), named(&request));
        let native_quote = quoted.clone();
        let reply = self.wire.serve(
            incoming,
            move || quoting(effect.run(), quoted.as_deref()),
            move |id| quoting(native(id, &namespace, &name), native_quote.as_deref()),
        );
        let outcome = match reply.await {
            Reply::Answer(answer) => Outcome::Answer(answer),
            Reply::Reset => Outcome::Reset,
        };
        if target.verb == "list" && target.resource == "pods" {
            let gone = self.played.lock().unwrap_or_else(PoisonError::into_inner).vanishing.take();
            if let Some(name) = gone {
                // It may be gone already, which is what was asked for.
                let _ = self.server.vanish("pods", NAMESPACE, &name);
            }
        }
        outcome
    }
}

/// The name in the path, or in the body of a create.
fn named(request: &Exchange) -> String {
    if !request.target.name.is_empty() {
        return request.target.name.clone();
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The error that no catalogue lists: neither its status nor its reason is one of the API's.
const UNHEARD_OF: NativeError = NativeError::new(UNKNOWN_ERROR, &[], Class::Transient, "made up")
    .status(418)
    .code("NeverHeardOf")
    .text("nobody has ever heard of this");

/// The answer of a catalogued error, written by hand as the server words it. Whoever asks for another one is at fault,
/// and the kit reports the panic.
fn native(id: &str, namespace: &str, name: &str) -> Answer {
    let error = if id == UNKNOWN_ERROR { Some(&UNHEARD_OF) } else { provider_kubernetes::CATALOGUE.get(id) };
    let error = error.unwrap_or_else(|| panic!("the catalogue has no error {id}"));
    let text = error.text.replace("{name}", name).replace("{namespace}", namespace);
    let status = u16::try_from(error.status.unwrap_or(500)).unwrap_or(500);
    let mut headers = HeaderMap::new();
    if let Some(seconds) = error.field("retry-after") {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static(seconds));
    }
    let (media, body) = match error.code {
        "" => ("text/plain; charset=utf-8", text),
        _ => ("application/json", status_object(error, status, &text).to_string()),
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    Answer {
        status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        headers,
        body: AnswerBody::Full(Bytes::from(body)),
    }
}

fn status_object(error: &NativeError, status: u16, text: &str) -> Value {
    let mut details = json!({"kind": error.field("kind").unwrap_or("pods")});
    if let Some(cause) = error.field("cause") {
        details["causes"] = json!([{"reason": cause, "message": "as the cause says"}]);
    }
    if let Some(seconds) = error.field("retry-after").and_then(|text| text.parse::<u64>().ok()) {
        details["retryAfterSeconds"] = json!(seconds);
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": text, "reason": error.code, "details": details, "code": status
    })
}

/// A refusal that quotes what was sent, as some admission plug-ins do.
fn quoting(answer: Answer, quoted: Option<&str>) -> Answer {
    let (Some(quoted), true) = (quoted, answer.status.is_client_error() || answer.status.is_server_error())
    else {
        return answer;
    };
    let AnswerBody::Full(body) = &answer.body else { return answer };
    let body = match serde_json::from_slice::<Value>(body) {
        Ok(mut status) => {
            let message = status["message"].as_str().unwrap_or_default();
            status["message"] = json!(format!("{message}: {quoted}"));
            status.to_string()
        }
        Err(_) => format!("{}: {quoted}", String::from_utf8_lossy(body)),
    };
    Answer { body: AnswerBody::Full(Bytes::from(body)), ..answer }
}
