//! The tree that a YAML file is read into: keys in order, duplicates kept, every value with its line.

use std::fmt;

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{DuplicateKeyPolicy, Spanned, alias_limits, budget, options};

use sha2::{Digest as _, Sha256};

use super::{ConfigReport, Problem};

/// A mapping's entries in their order.
pub type Mapping = Vec<(String, Node)>;

/// A YAML value and the line that it stands on. [`Fields`](super::Fields) reads it.
#[derive(Clone, Debug)]
pub struct Node {
    /// The line, counted from 1; 0 where it is not known.
    pub line: u64,
    pub(super) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Mapping),
}

/// Two nodes are equal when their values are; where they stand does not count.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Node {
    /// A config is written by hand; a larger file is some other file.
    pub const MAX_BYTES: usize = 256 << 10;

    /// Reads a text into a tree. Anchors and aliases, depth and size are bounded.
    ///
    /// # Errors
    /// A report with one problem when the text is no YAML, or is larger than a config has reason to be.
    pub fn parse(yaml: &str) -> Result<Self, ConfigReport> {
        if yaml.len() > Self::MAX_BYTES {
            let message = format!("has {} bytes, at most {} are expected", yaml.len(), Self::MAX_BYTES);
            return Err(ConfigReport(vec![Problem { path: String::new(), line: None, message }]));
        }
        // Aliases could make a small text a huge tree, and deep nesting could exhaust the stack. Each replayed scalar
        // can be as long as the file.
        let options = options! {
            duplicate_keys: DuplicateKeyPolicy::PassThrough,
            budget: budget! { max_depth: 64, max_aliases: 200, max_nodes: 50_000 },
            alias_limits: alias_limits! { max_total_replayed_events: 1_000 },
        };
        match serde_saphyr::from_str_with_options::<Spanned<Value>>(yaml, options) {
            Ok(spanned) => Ok(spanned.into()),
            Err(error) => Err(ConfigReport(vec![Problem {
                path: String::new(),
                line: error.location().map(|at| at.line()),
                message: format!("not valid YAML: {}", error.without_snippet()),
            }])),
        }
    }

    /// An empty mapping, for a section that was left out.
    pub fn empty() -> Self {
        Self { line: 0, value: Value::Map(Vec::new()) }
    }

    /// Feeds what it holds to a hash: equal nodes feed the same, and no two others do.
    pub(crate) fn feed(&self, hash: &mut Sha256) {
        let mut bytes = |kind: u8, bytes: &[u8]| {
            hash.update([kind]);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        match &self.value {
            Value::Null => bytes(0, &[]),
            Value::Bool(value) => bytes(1, &[u8::from(*value)]),
            Value::Integer(value) => bytes(2, &value.to_be_bytes()),
            Value::Float(value) => bytes(3, &value.to_bits().to_be_bytes()),
            Value::Text(text) => bytes(4, text.as_bytes()),
            Value::List(items) => {
                bytes(5, &(items.len() as u64).to_be_bytes());
                items.iter().for_each(|item| item.feed(hash));
            }
            Value::Map(map) => {
                bytes(6, &(map.len() as u64).to_be_bytes());
                for (key, item) in map {
                    hash.update((key.len() as u64).to_be_bytes());
                    hash.update(key.as_bytes());
                    item.feed(hash);
                }
            }
        }
    }

    /// What kind of value it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        Self { line: spanned.referenced.line(), value: spanned.value }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a YAML value")
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_none<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
                Value::deserialize(deserializer)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Integer(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Integer(value.into()))
            }
            fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
                Ok(Value::Integer(value))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Text(value.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = seq.next_element::<Spanned<Value>>()? {
                    list.push(item.into());
                }
                Ok(Value::List(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut entries = Mapping::new();
                while let Some((key, value)) = map.next_entry::<String, Spanned<Value>>()? {
                    entries.push((key, value.into()));
                }
                Ok(Value::Map(entries))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
