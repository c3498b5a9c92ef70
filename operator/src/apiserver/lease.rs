//! The Lease by which operators agree on who works. What others have put on it stays.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream::BoxStream};
use http::Method;
use provider_api::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    call::{Caller, Collection, Form, JSON, MERGE, Request},
    follow::{Pace, Read, Seen, follow},
};
use crate::{
    cluster::{ClusterError, Lease},
    resource::{Key, ResourceVersion},
};

const API: &str = "coordination.k8s.io/v1";

#[derive(Deserialize)]
struct Wire {
    metadata: WireMeta,
    #[serde(default)]
    spec: WireSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    resource_version: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<u32>,
    acquire_time: Option<Timestamp>,
    renew_time: Option<Timestamp>,
    lease_transitions: Option<u32>,
}

impl From<Wire> for Lease {
    fn from(wire: Wire) -> Self {
        let spec = wire.spec;
        let never = Timestamp::from_unix(0);
        Self {
            version: Some(ResourceVersion(wire.metadata.resource_version)),
            holder: spec.holder_identity.unwrap_or_default(),
            duration: Duration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into()),
            acquired: spec.acquire_time.unwrap_or(never),
            renewed: spec.renew_time.unwrap_or(never),
            transitions: spec.lease_transitions.unwrap_or_default(),
        }
    }
}

fn collection(key: &Key) -> String {
    format!("/apis/{API}/namespaces/{}/leases", key.namespace)
}

/// The lease as it is and whenever it changes.
pub(super) fn watch(caller: Arc<Caller>, key: &Key, pace: Pace) -> BoxStream<'static, Option<Lease>> {
    let of = Collection {
        path: collection(key),
        fields: Some(format!("metadata.name={}", key.name)),
        form: Form::Whole,
    };
    let read: Read<Lease> = |text: &RawValue| serde_json::from_str::<Wire>(text.get()).ok().map(Lease::from);
    let seen = follow(caller, of, pace, read, None);
    Box::pin(seen.map(|seen| match seen {
        Seen::All(all) => all.into_iter().next(),
        Seen::Changed(lease) => Some(lease),
        Seen::Gone(_) => None,
    }))
}

pub(super) async fn write(caller: &Caller, key: &Key, lease: &Lease) -> Result<Lease, ClusterError> {
    let spec = json!({
        // Nobody's is one without a holder: an empty name would be refused.
        "holderIdentity": Some(&lease.holder).filter(|holder| !holder.is_empty()),
        "leaseDurationSeconds": lease.duration.as_secs().max(1),
        "acquireTime": micros(lease.acquired),
        "renewTime": micros(lease.renewed),
        "leaseTransitions": lease.transitions,
    });
    let request = match &lease.version {
        None => {
            let body = json!({
                "apiVersion": API,
                "kind": "Lease",
                "metadata": {"name": key.name, "namespace": key.namespace},
                "spec": without_nulls(spec),
            });
            Request::new(Method::POST, collection(key)).body(JSON, &body)
        }
        Some(version) => {
            let body = json!({"metadata": {"resourceVersion": version.0}, "spec": spec});
            Request::new(Method::PATCH, format!("{}/{}", collection(key), key.name)).body(MERGE, &body)
        }
    };
    let wire: Wire = caller.json(&request.within(caller.settings.lease)).await?;
    Ok(wire.into())
}

/// A time as the API takes it here: with exactly six digits after the second.
pub(super) fn micros(time: Timestamp) -> String {
    jiff::Timestamp::from(time).strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(map) = value.as_object_mut() {
        map.retain(|_, value| !value.is_null());
    }
    value
}
