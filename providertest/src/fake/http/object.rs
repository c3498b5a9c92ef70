//! A JSON body, read strictly.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde_json::{Map, Value};

use super::Request;
use crate::fake::store::Refusal;

/// The JSON object in a request's body, read field by field. What is missing or of another type is refused as
/// [`Refusal::Invalid`], so that a fake takes no nonsense.
///
/// ```
/// use providertest::fake::{http::Request, store::Refusal};
/// use serde_json::json;
///
/// let body = json!({"name": "a", "labels": {"mark": "ours"}, "cpus": 2, "userData": "aGk="});
/// let object = Request::new("PUT", "/machines").with_json(&body).object()?;
/// assert_eq!((object.text("name")?.as_str(), object.number("cpus")?), ("a", 2));
/// assert_eq!((object.texts("labels")?["mark"].as_str(), object.base64("userData")?), ("ours", b"hi".to_vec()));
/// assert_eq!(object.text("image"), Err(Refusal::Invalid));
/// # Ok::<(), Refusal>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(Map<String, Value>);

type Read<T> = Result<T, Refusal>;

impl Request {
    /// The body as a JSON object.
    ///
    /// # Errors
    /// Invalid where it is none.
    pub fn object(&self) -> Read<Object> {
        match self.json() {
            Some(Value::Object(map)) => Ok(Object(map)),
            _ => Err(Refusal::Invalid),
        }
    }
}

impl Object {
    /// A text that is not empty.
    ///
    /// # Errors
    /// Invalid.
    pub fn text(&self, field: &str) -> Read<String> {
        self.value(field)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned).ok_or(Refusal::Invalid)
    }

    /// A whole number, not negative.
    ///
    /// # Errors
    /// Invalid.
    pub fn number(&self, field: &str) -> Read<u64> {
        self.value(field)?.as_u64().ok_or(Refusal::Invalid)
    }

    /// A mapping of texts: labels, tags, metadata.
    ///
    /// # Errors
    /// Invalid.
    pub fn texts(&self, field: &str) -> Read<BTreeMap<String, String>> {
        let map = self.value(field)?.as_object().ok_or(Refusal::Invalid)?;
        map.iter().map(|(key, value)| Ok((key.clone(), text(value)?))).collect()
    }

    /// A list of texts.
    ///
    /// # Errors
    /// Invalid.
    pub fn list(&self, field: &str) -> Read<Vec<String>> {
        self.value(field)?.as_array().ok_or(Refusal::Invalid)?.iter().map(text).collect()
    }

    /// Bytes in base64.
    ///
    /// # Errors
    /// Invalid.
    pub fn base64(&self, field: &str) -> Read<Vec<u8>> {
        BASE64.decode(text(self.value(field)?)?.as_bytes()).map_err(|_| Refusal::Invalid)
    }

    /// Whether there is such a field, and not null.
    pub fn has(&self, field: &str) -> bool {
        self.value(field).is_ok()
    }

    fn value(&self, field: &str) -> Read<&Value> {
        self.0.get(field).filter(|value| !value.is_null()).ok_or(Refusal::Invalid)
    }
}

fn text(value: &Value) -> Read<String> {
    value.as_str().map(str::to_owned).ok_or(Refusal::Invalid)
}
