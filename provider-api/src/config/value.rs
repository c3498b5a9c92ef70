//! How single config values are read: one implementation of [`FromNode`] for each type that a field can have.

use std::{net::IpAddr, num::NonZeroUsize, path::PathBuf, time::Duration};

use ipnet::IpNet;

use super::{Node, Probe, fields::Collector, node::Value};
use crate::{AddressFamily, InstallationId, ProviderName};

/// No wait of ours is longer; a deadline that far ahead is a slip of the pen, and could overflow a clock.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// A value that can be read from a config file; what is wrong is reported, never guessed or converted.
///
/// | type | in the file |
/// |---|---|
/// | [`String`] | text that is not empty; a number or a boolean must be in quotes |
/// | [`bool`] | `true`, `false` |
/// | [`u16`], [`u32`], [`u64`], [`usize`] | a whole number in range |
/// | [`NonZeroUsize`] | a whole number of at least 1 |
/// | [`Duration`] | a whole number and a unit: `500ms`, `30s`, `10m`, `2h`; not zero, at most seven days |
/// | [`PathBuf`] | a path, as it is written |
/// | [`IpAddr`], [`IpNet`] | `10.0.0.1`, `10.0.0.0/8` |
/// | [`ProviderName`], [`InstallationId`] | what their `parse` takes |
/// | [`AddressFamily`] | `ipv4`, `ipv6` |
/// | [`Probe`] | `on`, `off` |
/// | `Vec<T>` | a list of any of these |
/// | `BTreeMap<String, String>` | free keys and text, sorted by key |
/// | `Vec<(String, T)>` | free keys and any of these, in the order of the file |
///
/// Anything else is read as text and parsed by the provider, which reports by [`Fields::problem`](super::Fields::problem).
/// Lists of mappings and mappings of mappings are read by [`Fields`](super::Fields) itself. The trait is implemented here
/// only.
#[allow(private_interfaces)]
pub trait FromNode: Sized {
    /// What is expected, for messages.
    const EXPECTED: &'static str;

    /// Reads it, or reports at `path` why it cannot.
    #[doc(hidden)]
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self>;
}

fn expected<T>(what: &str, node: &Node, path: &str, collector: &Collector) -> Option<T> {
    let hint = match node.value {
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) if what.starts_with("text") => {
            " (put it in quotes)"
        }
        _ => "",
    };
    collector.push(path, node.line, format!("expected {what}, found {}{hint}", node.kind()));
    None
}

#[allow(private_interfaces)]
impl FromNode for String {
    const EXPECTED: &'static str = "text";
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text.is_empty() => {
                collector.push(path, node.line, "is empty; expected text");
                None
            }
            Value::Text(text) => Some(text.clone()),
            _ => expected(Self::EXPECTED, node, path, collector),
        }
    }
}

#[allow(private_interfaces)]
impl FromNode for bool {
    const EXPECTED: &'static str = "true or false";
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
        match &node.value {
            Value::Bool(value) => Some(*value),
            _ => expected(Self::EXPECTED, node, path, collector),
        }
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        #[allow(private_interfaces)]
        impl FromNode for $type {
            const EXPECTED: &'static str = "a whole number";
            fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
                let Value::Integer(value) = node.value else {
                    return expected(Self::EXPECTED, node, path, collector);
                };
                u64::try_from(value).ok().and_then(|value| <$type>::try_from(value).ok()).or_else(|| {
                    let range = format!("{value} is out of range: {} to {}", <$type>::MIN, <$type>::MAX);
                    collector.push(path, node.line, range);
                    None
                })
            }
        }
    )*};
}
numbers!(u16, u32, u64, usize);

#[allow(private_interfaces)]
impl FromNode for NonZeroUsize {
    const EXPECTED: &'static str = "a whole number of at least 1";
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
        let value = usize::from_node(node, path, collector)?;
        Self::new(value).or_else(|| {
            collector.push(path, node.line, "0 is out of range; expected at least 1");
            None
        })
    }
}

/// `on` and `off` in any spelling of YAML: unquoted they may have been read as booleans.
#[allow(private_interfaces)]
impl FromNode for Probe {
    const EXPECTED: &'static str = "on or off";
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
        match &node.value {
            Value::Bool(true) => Some(Self::On),
            Value::Bool(false) => Some(Self::Off),
            Value::Text(text) if text == "on" => Some(Self::On),
            Value::Text(text) if text == "off" => Some(Self::Off),
            _ => expected(Self::EXPECTED, node, path, collector),
        }
    }
}

#[allow(private_interfaces)]
impl<T: FromNode> FromNode for Vec<T> {
    const EXPECTED: &'static str = "a list";
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
        let Value::List(items) = &node.value else {
            return expected(&format!("a list, each item {}", T::EXPECTED), node, path, collector);
        };
        // Every item is read, so that every bad one is reported.
        let read = |(index, item)| T::from_node(item, &format!("{path}[{index}]"), collector);
        let values: Vec<_> = items.iter().enumerate().map(read).collect();
        values.into_iter().collect()
    }
}

/// Text with free keys, such as node selectors.
#[allow(private_interfaces)]
impl FromNode for std::collections::BTreeMap<String, String> {
    const EXPECTED: &'static str = "a mapping from text to text";
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
        Some(Vec::<(String, String)>::from_node(node, path, collector)?.into_iter().collect())
    }
}

/// Values with free keys, in the order of the text.
#[allow(private_interfaces)]
impl<T: FromNode> FromNode for Vec<(String, T)> {
    const EXPECTED: &'static str = "a mapping";
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
        let Value::Map(map) = &node.value else {
            return expected(&format!("a mapping, each value {}", T::EXPECTED), node, path, collector);
        };
        let read = |(index, (key, item)): (usize, &(String, Node))| {
            let path = format!("{path}.{key}");
            if map[..index].iter().any(|(other, _)| other == key) {
                collector.push(&path, item.line, "is given more than once");
            }
            Some((key.clone(), T::from_node(item, &path, collector)?))
        };
        let values: Vec<_> = map.iter().enumerate().map(read).collect();
        values.into_iter().collect()
    }
}

#[allow(private_interfaces)]
impl FromNode for Duration {
    const EXPECTED: &'static str = "a duration such as 30s, 10m or 2h";
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
        let Value::Text(text) = &node.value else { return expected(Self::EXPECTED, node, path, collector) };
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let seconds_per = match &text[split..] {
            "ms" => Some(0),
            "s" => Some(1),
            "m" => Some(60),
            "h" => Some(3600),
            _ => None,
        };
        let value = match (text[..split].parse::<u64>().ok(), seconds_per) {
            (Some(number), Some(0)) => Some(Duration::from_millis(number)),
            (Some(number), Some(factor)) => number.checked_mul(factor).map(Duration::from_secs),
            _ => None,
        };
        let wrong = match value {
            Some(value) if value.is_zero() => {
                format!("{text:?} is no time at all; expected {}", Self::EXPECTED)
            }
            Some(value) if value > LONGEST => {
                format!("{text:?} is longer than the seven days that are allowed")
            }
            Some(value) => return Some(value),
            None => format!("{text:?} is not {}", Self::EXPECTED),
        };
        collector.push(path, node.line, wrong);
        None
    }
}

macro_rules! parsed {
    ($($type:ty, $what:literal, $parse:expr;)*) => {$(
        #[allow(private_interfaces)]
        impl FromNode for $type {
            const EXPECTED: &'static str = $what;
            fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
                let text = String::from_node(node, path, collector)?;
                let parse: fn(&str) -> Result<$type, String> = $parse;
                parse(&text).map_err(|why| collector.push(path, node.line, why)).ok()
            }
        }
    )*};
}
/// The file at a path may change without the config: who watches credentials asks for these
/// ([`Entry::files`](crate::Entry::files)).
#[allow(private_interfaces)]
impl FromNode for PathBuf {
    const EXPECTED: &'static str = "a path";
    fn from_node(node: &Node, path: &str, collector: &Collector) -> Option<Self> {
        let found = Self::from(String::from_node(node, path, collector)?);
        collector.found_path(&found);
        Some(found)
    }
}

parsed! {
    IpAddr, "an IP address", |text| text.parse().map_err(|_| format!("{text:?} is not an IP address"));
    IpNet, "a network such as 10.0.0.0/8", |text| {
        text.parse::<IpNet>().map_err(|_| format!("{text:?} is not a network such as 10.0.0.0/8"))
    };
    ProviderName, "a provider name", |text| ProviderName::parse(text).map_err(|error| error.to_string());
    InstallationId, "an installation identity", |text| {
        InstallationId::parse(text).map_err(|error| error.to_string())
    };
    AddressFamily, "ipv4 or ipv6", |text| match text {
        "ipv4" => Ok(AddressFamily::Ipv4),
        "ipv6" => Ok(AddressFamily::Ipv6),
        _ => Err(format!("{text:?} is neither ipv4 nor ipv6")),
    };
}
