//! What a fake answers, and how a refusal quotes what it was sent.

use std::fmt;

use bytes::Bytes;
use futures::stream::BoxStream;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use provider_api::NativeError;
use serde_json::{Value, json};

/// An answer: status, headers, extensions and body are sent as they are. An HTTP/1 reason of the backend's own is set
/// by `hyper::ext::ReasonPhrase` among the extensions.
pub type Answer = Response<Body>;

/// The body of an answer.
pub enum Body {
    /// Known to its end.
    Whole(Bytes),
    /// Going on until it ends or the client leaves: a watch.
    Stream(BoxStream<'static, Bytes>),
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(bytes: B) -> Self {
        Self::Whole(bytes.into())
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// An answer in JSON, with that status.
///
/// # Panics
/// When the number is no HTTP status.
pub fn json(status: u16, value: &Value) -> Answer {
    answer(status, "application/json", value.to_string())
}

/// An answer in plain text, with that status: how things between client and backend often answer.
///
/// # Panics
/// When the number is no HTTP status.
pub fn text(status: u16, text: impl Into<String>) -> Answer {
    answer(status, "text/plain; charset=utf-8", text.into())
}

/// The answer that an error of the catalogue is: the body in JSON, or its text alone where the error has no code, since
/// that is something on the way and not the backend itself. It has the catalogued status, or 500 where none is
/// catalogued, and of the catalogued fields `retry-after` as a header.
///
/// # Panics
/// When the catalogued status is none.
pub fn refusal(error: &NativeError, said: String, body: &Value) -> Answer {
    let status = error.status.map_or(500, |status| u16::try_from(status).unwrap_or(u16::MAX));
    let mut answer = if error.code.is_empty() { text(status, said) } else { json(status, body) };
    if let Some(hint) = error.field("retry-after").and_then(|hint| hint.parse().ok()) {
        answer.headers_mut().insert(RETRY_AFTER, hint);
    }
    answer
}

fn answer(status: u16, media: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or_else(|_| panic!("{status} is no status"));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    answer
}

/// The JSON of an answer; null where it is none.
pub fn json_of(answer: &Answer) -> Value {
    match answer.body() {
        Body::Whole(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        Body::Stream(_) => Value::Null,
    }
}

/// Whether it says no.
pub(super) fn is_refusal(answer: &Answer) -> bool {
    answer.status().is_client_error() || answer.status().is_server_error()
}

/// Quotes in every field of that name of a JSON body, or at the end of another body. JSON without that field would quote
/// nothing, and every rule about secrets would hold.
pub(super) fn quote(refusal: Answer, field: &str, quoted: &str) -> Answer {
    refusal.map(|body| match body {
        Body::Whole(bytes) => {
            let mut value = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            Body::from(if quote_in(&mut value, field, quoted) {
                value.to_string()
            } else if value.is_object() || value.is_array() {
                panic!("a refusal is to quote what was sent in its field `{field}`, and has none: {text}; say in `Fake::message` which it is")
            } else {
                format!("{text}: {quoted}")
            })
        }
        stream @ Body::Stream(_) => stream,
    })
}

/// Whether there was a text to quote in.
fn quote_in(value: &mut Value, field: &str, quoted: &str) -> bool {
    let inside = |(key, value): (Option<&str>, &mut Value)| match value {
        Value::String(text) if key == Some(field) => {
            *value = json!(format!("{text}: {quoted}"));
            true
        }
        value => quote_in(value, field, quoted),
    };
    let quotes: Vec<bool> = match value {
        Value::Object(map) => {
            map.iter_mut().map(|(key, value)| (Some(key.as_str()), value)).map(inside).collect()
        }
        Value::Array(items) => items.iter_mut().map(|item| (None, item)).map(inside).collect(),
        _ => Vec::new(),
    };
    quotes.contains(&true)
}
