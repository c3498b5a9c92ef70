//! Objects as they come over the wire, each read by itself: what a hostile one holds harms no other.

use std::{collections::BTreeMap, sync::Arc};

use provider_api::Uid;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

use crate::resource::{Asks, FINALIZER, Key, Proxy, ResourceVersion, Spec, Status, Unusable};

/// What the server itself writes of every object. It has the right types whatever its author did.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) uid: String,
    #[serde(default)]
    pub(super) resource_version: String,
    #[serde(default)]
    generation: Option<i64>,
    #[serde(default)]
    deletion_timestamp: Option<IgnoredAny>,
    #[serde(default)]
    finalizers: Option<Vec<String>>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
    #[serde(default)]
    owner_references: Option<Vec<OwnerReference>>,
}

#[derive(Debug, Deserialize)]
struct OwnerReference {
    uid: String,
}

/// Anything with metadata.
#[derive(Deserialize)]
pub(super) struct Object<'a> {
    pub(super) metadata: Meta,
    #[serde(borrow)]
    pub(super) spec: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) status: Option<&'a RawValue>,
}

impl Meta {
    pub(super) fn key(&self) -> Key {
        Key { namespace: self.namespace.clone(), name: self.name.clone() }
    }

    pub(super) fn version(&self) -> ResourceVersion {
        ResourceVersion(self.resource_version.clone())
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    pub(super) fn finalizers(&self) -> &[String] {
        self.finalizers.as_deref().unwrap_or_default()
    }

    pub(super) fn is_owned_by(&self, uid: &Uid) -> bool {
        self.owner_references.iter().flatten().any(|owner| owner.uid == uid.as_str())
    }
}

impl<'a> Object<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// It as a Proxy, whatever its author wrote into spec and status; `None` when not even the server's own part can be read.
    pub(super) fn into_proxy(self) -> Option<Proxy> {
        let Self { metadata, spec, status } = self;
        let uid = Uid::parse(&metadata.uid).ok()?;
        let spec = match value(spec) {
            Ok(spec) => Spec::read(&spec),
            Err(error) => Err(Unusable(vec![format!("spec: {error}")])),
        };
        let held = metadata.finalizers().iter().any(|finalizer| finalizer == FINALIZER);
        let others =
            metadata.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER).cloned().collect();
        let annotation =
            |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key)).map(String::as_str);
        Some(Proxy {
            key: metadata.key(),
            uid,
            version: metadata.version(),
            generation: metadata.generation.unwrap_or_default(),
            deleting: metadata.is_deleting(),
            held,
            others,
            asks: Asks::read(annotation),
            spec: Arc::new(spec),
            status: Status::read(value(status).ok().as_ref()),
        })
    }
}

/// A Proxy, from the whole text of one.
pub(super) fn proxy(text: &RawValue) -> Option<Proxy> {
    match Object::read(text.get()) {
        Ok(object) => {
            let key = object.metadata.key();
            let proxy = object.into_proxy();
            if proxy.is_none() {
                tracing::warn!(proxy = %key, "a Proxy cannot be read: its UID is none");
            }
            proxy
        }
        Err(error) => {
            tracing::warn!(%error, "a Proxy cannot be read");
            None
        }
    }
}

fn value(text: Option<&RawValue>) -> Result<Value, serde_json::Error> {
    text.map_or(Ok(Value::Null), |text| serde_json::from_str(text.get()))
}
