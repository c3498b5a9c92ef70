//! What the operator says of a `Proxy`, and what it keeps there for itself: which instance exists, which one it was about
//! to make, and why the last attempt failed.

use provider_api::{Class, ProviderName, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::digest::Digest;

/// The status of a Proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Where the Proxy is in its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// What exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceRecord>,
    /// What was about to be created; stored before the call, cleared with the write that stores its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The config and credentials that the last failure rested on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<Digest>,
    /// The address that requests leave from and go to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Address and port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The Secret that its endpoint is, or is about to be, published in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_secret: Option<String>,
    /// Since when it has been Ready without a break.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_since: Option<Timestamp>,
    /// Why the last attempt failed, until one succeeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Failure>,
    /// The generation of the spec that this speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, Provisioned, Healthy, Progressing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Where a Proxy is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Nothing was made yet.
    Pending,
    /// Its instance is being made, or comes up.
    Provisioning,
    /// Its instance is up.
    Running,
    /// Its instance goes, and another is made.
    Replacing,
    /// It is being deleted.
    Deleting,
    /// Nothing more is tried until something changes; see `lastFailure`.
    Failed,
}

/// An instance that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceRecord {
    /// The provider that it was made by.
    pub provider: ProviderName,
    /// Its id there.
    pub id: String,
    /// The digest of the spec that it was made from.
    pub spec_hash: Digest,
    /// When its id was recorded.
    pub created_at: Timestamp,
}

/// An instance that was about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// The provider that is to make it.
    pub provider: ProviderName,
    /// The digest of the spec that it is to be made from.
    pub spec_hash: Digest,
    /// Since when.
    pub since: Timestamp,
}

impl Intent {
    /// One that fits no spec: whatever stands for it is looked for and removed.
    pub fn unfit(provider: ProviderName, since: Timestamp) -> Self {
        Self { provider, spec_hash: Digest::of(b""), since }
    }

    /// Whether it fits none.
    pub fn is_unfit(&self) -> bool {
        self.spec_hash == Digest::of(b"")
    }
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The id of a failed attempt, to be acknowledged with the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its class.
    pub class: Class,
    /// A code, the backend's own where there is one.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// When it happened first.
    pub time: Timestamp,
    /// When it is tried again, if nothing changes before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// The digest of the spec that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_hash: Option<Digest>,
    /// The value of the annotation `retry` that was seen; another value asks for one more attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried: Option<String>,
}

/// One aspect of a Proxy, after the Kubernetes API conventions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which.
    #[serde(rename = "type")]
    pub kind: ConditionKind,
    /// Whether it holds.
    pub status: Truth,
    /// A code in CamelCase.
    pub reason: String,
    /// A sentence.
    #[serde(default)]
    pub message: String,
    /// Since when `status` is what it is.
    pub last_transition_time: Timestamp,
    /// The generation that this speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The aspects, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ConditionKind {
    /// Requests go through it.
    Ready,
    /// Its instance exists and is up.
    Provisioned,
    /// Its probes pass.
    Healthy,
    /// Something is under way.
    Progressing,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody knows.
    Unknown,
}

/// The conditions that can be read: one of each kind, in order.
fn conditions(value: Option<&Value>) -> Vec<Condition> {
    let all = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut read: Vec<Condition> = all.iter().filter_map(|one| Condition::deserialize(one).ok()).collect();
    read.sort_by_key(|condition| condition.kind);
    read.dedup_by_key(|condition| condition.kind);
    read
}

impl Status {
    /// Reads the `status` of an object, which anybody may have edited: a part that cannot be read is as if it were not
    /// there. No instance is lost by that, since its name comes from the Proxy's UID and `create` finds it again.
    pub fn read(status: Option<&Value>) -> Self {
        let empty = Map::new();
        let map = status.and_then(Value::as_object).unwrap_or(&empty);
        fn part<T: for<'de> Deserialize<'de>>(map: &Map<String, Value>, key: &str) -> Option<T> {
            T::deserialize(map.get(key)?).ok()
        }
        Self {
            phase: part(map, "phase"),
            instance: part(map, "instance"),
            intent: part(map, "intent"),
            input_digest: part(map, "inputDigest"),
            address: part(map, "address"),
            endpoint: part(map, "endpoint"),
            connection_secret: part(map, "connectionSecret"),
            ready_since: part(map, "readySince"),
            last_failure: part(map, "lastFailure"),
            observed_generation: part(map, "observedGeneration"),
            conditions: conditions(map.get("conditions")),
        }
    }

    /// The condition of that kind.
    pub fn condition(&self, kind: ConditionKind) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether a condition of that kind holds.
    pub fn holds(&self, kind: ConditionKind) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == Truth::True)
    }

    /// The time of a condition moves only with its truth, as it was `before` and will be when this is written.
    pub(crate) fn keep_transitions(&mut self, before: &Self) {
        for condition in &mut self.conditions {
            let same = before.condition(condition.kind).filter(|before| before.status == condition.status);
            if let Some(before) = same {
                condition.last_transition_time = before.last_transition_time;
            }
        }
    }

    /// Says something of one aspect, as of now; [`Status::keep_transitions`] gives back the times of what was so before.
    pub(crate) fn say(
        &mut self,
        kind: ConditionKind,
        status: Truth,
        reason: &str,
        message: &str,
        now: Timestamp,
    ) {
        let condition = Condition {
            kind,
            status,
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: now,
            observed_generation: self.observed_generation,
        };
        match self.conditions.binary_search_by_key(&kind, |condition| condition.kind) {
            Ok(at) => self.conditions[at] = condition,
            Err(at) => self.conditions.insert(at, condition),
        }
    }
}
