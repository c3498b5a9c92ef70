//! What is read of a Pod: the few fields that decide, read leniently, so that a Pod of a newer release, or one with
//! a broken time stamp, is still an answer. What is written is built from the full types, in `pod.rs`.

use std::{collections::BTreeMap, net::IpAddr};

use provider_api::Timestamp;
use serde::{Deserialize, Deserializer};

/// `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) labels: BTreeMap<String, String>,
    /// An unreadable one is `None` (`get.unreadable-created-at-is-none`).
    #[serde(default, deserialize_with = "time")]
    pub(crate) creation_timestamp: Option<Timestamp>,
    /// The time by which the Pod should be gone, not when that was asked for. `Some(None)` is one that is set and
    /// cannot be read: the Pod is being deleted all the same.
    #[serde(default, deserialize_with = "set_time")]
    pub(crate) deletion_timestamp: Option<Option<Timestamp>>,
    #[serde(default)]
    pub(crate) deletion_grace_period_seconds: Option<i64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) finalizers: Vec<String>,
}

/// A Pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct PodView {
    pub(crate) metadata: Meta,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) status: Status,
}

/// Only the metadata of an object, as listings are asked for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct MetaView {
    pub(crate) metadata: Meta,
}

/// `status` of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    #[serde(default)]
    pub(crate) phase: String,
    #[serde(default)]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) message: Option<String>,
    #[serde(default, deserialize_with = "time")]
    pub(crate) start_time: Option<Timestamp>,
    #[serde(default, rename = "podIP")]
    pub(crate) pod_ip: Option<String>,
    #[serde(default, rename = "podIPs", deserialize_with = "or_default")]
    pub(crate) pod_ips: Vec<PodIp>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) init_container_statuses: Vec<Container>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) container_statuses: Vec<Container>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct PodIp {
    #[serde(default)]
    pub(crate) ip: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Condition {
    #[serde(default, rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) message: Option<String>,
    #[serde(default, deserialize_with = "time")]
    pub(crate) last_transition_time: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Container {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) state: ContainerState,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) last_state: ContainerState,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct ContainerState {
    #[serde(default)]
    pub(crate) waiting: Option<Stage>,
    #[serde(default)]
    pub(crate) terminated: Option<Stage>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stage {
    #[serde(default)]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) message: Option<String>,
    #[serde(default)]
    pub(crate) exit_code: Option<i64>,
}

impl Meta {
    /// Whether the backend shows that a deletion is under way.
    pub(crate) fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

impl Status {
    /// The condition of that type.
    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Every address, in the backend's order; `podIP` is the first of `podIPs` where both are set.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let all = self.pod_ips.iter().map(|pod_ip| pod_ip.ip.as_str()).chain(self.pod_ip.as_deref());
        all.filter_map(|text| text.parse().ok())
    }

    /// The containers, those that run first first.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &Container> + Clone {
        self.init_container_statuses.iter().chain(&self.container_statuses)
    }
}

fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(value.as_str().and_then(|text| text.parse().ok()))
}

fn set_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Timestamp>>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(if value.is_null() { None } else { Some(value.as_str().and_then(|text| text.parse().ok())) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_broken_time_stamp_does_not_spoil_the_rest() {
        let pod = json!({
            "metadata": {
                "name": "a", "uid": "u", "labels": null,
                "creationTimestamp": "yesterday", "deletionTimestamp": "soon"
            },
            "status": {"phase": "Running", "conditions": null, "podIPs": [{"ip": "10.0.0.1"}, {"ip": "nonsense"}]}
        });
        let pod: PodView = serde_json::from_value(pod).unwrap();
        assert_eq!(pod.metadata.creation_timestamp, None);
        assert!(pod.metadata.is_deleting());
        assert_eq!(pod.status.addresses().count(), 1);
        let bare: PodView = serde_json::from_value(json!({"metadata": {}, "status": {}})).unwrap();
        assert!(!bare.metadata.is_deleting());
    }
}
