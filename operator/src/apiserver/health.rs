//! `ProviderHealth`: one object for each configured provider.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use http::Method;
use provider_api::{ProviderName, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    call::{Caller, Collection, Form, JSON, Request},
    failure::Failure,
    object::{Meta, Object},
};
use crate::{
    cluster::{ClusterError, ProviderHealth},
    resource::{GROUP, VERSION},
};

/// What stands in the cluster of each, as far as it was seen.
#[derive(Default)]
pub(super) struct Stored(Mutex<BTreeMap<String, One>>);

#[derive(Clone, Debug)]
struct One {
    uid: String,
    version: String,
    targets: Vec<Target>,
}

/// Since when a target is what it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    name: String,
    ready: bool,
    last_transition: Timestamp,
}

fn collection() -> String {
    format!("/apis/{GROUP}/{VERSION}/providerhealths")
}

impl One {
    fn read(text: &str) -> Result<Self, ClusterError> {
        let object = Object::read(text)
            .map_err(|error| ClusterError::Doubtful(format!("a ProviderHealth cannot be read: {error}")))?;
        let Meta { uid, resource_version: version, .. } = object.metadata;
        let status = object.status.and_then(|status| serde_json::from_str::<Value>(status.get()).ok());
        let targets = status.as_ref().and_then(|status| status.get("targets")?.as_array());
        // One that somebody else has spoilt begins anew.
        let targets = targets.into_iter().flatten().filter_map(|target| Target::deserialize(target).ok());
        Ok(Self { uid, version, targets: targets.collect() })
    }

    /// Since when a target is ready or not.
    fn since(&self, name: &str, ready: bool) -> Option<Timestamp> {
        let target = self.targets.iter().find(|target| target.name == name)?;
        (target.ready == ready).then_some(target.last_transition)
    }
}

impl Stored {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, One>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The UID of one, for events about it.
    pub(super) fn uid(&self, name: &str) -> Option<String> {
        self.known().get(name).map(|one| one.uid.clone())
    }

    /// Writes one over the version that was seen last.
    pub(super) async fn write(
        &self,
        caller: &Caller,
        name: &str,
        health: &ProviderHealth,
    ) -> Result<(), ClusterError> {
        // Whatever comes of it, what was known is old: a failed write leaves the next one to look first.
        let known = self.known().remove(name);
        let stored = match known {
            Some(stored) => stored,
            None => find_or_make(caller, name).await?,
        };
        let body = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": "ProviderHealth",
            "metadata": {"name": name, "uid": stored.uid, "resourceVersion": stored.version},
            "status": status(&stored, health, caller.clock.now()),
        });
        let request = Request::new(Method::PUT, format!("{}/{name}/status", collection())).body(JSON, &body);
        let text: Box<RawValue> = caller.json(&request).await?;
        self.known().insert(name.to_owned(), One::read(text.get())?);
        Ok(())
    }

    /// Removes all but those.
    pub(super) async fn keep(&self, caller: &Caller, kept: &[ProviderName]) -> Result<(), ClusterError> {
        let all = Collection { path: collection(), fields: None, form: Form::Metadata };
        let read = |text: &RawValue| Object::read(text.get()).ok().map(|object| object.metadata);
        let (all, _) = caller.list(&all, read).await?;
        for Meta { name, uid, .. } in all {
            if kept.iter().any(|kept| kept.as_str() == name) {
                continue;
            }
            self.known().remove(&name);
            let body = json!({"preconditions": {"uid": uid}});
            let request = Request::new(Method::DELETE, format!("{}/{name}", collection())).body(JSON, &body);
            match caller.send(&request).await {
                Ok(_) => {}
                Err(failure) if failure.is_absent() => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        Ok(())
    }
}

async fn find_or_make(caller: &Caller, name: &str) -> Result<One, ClusterError> {
    let found: Result<Box<RawValue>, Failure> =
        caller.json(&Request::get(format!("{}/{name}", collection()))).await;
    let text = match found {
        Err(failure) if failure.is_absent() => {
            let body = json!({
                "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "ProviderHealth", "metadata": {"name": name}
            });
            caller.json(&Request::new(Method::POST, collection()).body(JSON, &body)).await?
        }
        found => found?,
    };
    One::read(text.get())
}

fn status(before: &One, health: &ProviderHealth, now: Timestamp) -> Value {
    let targets: Vec<_> = health
        .targets
        .iter()
        .map(|target| {
            json!({
                "name": target.name,
                "address": target.address,
                "ready": target.ready,
                "reason": target.reason.code,
                "message": target.reason.message,
                "latency": format!("{}ms", target.latency.as_millis()),
                "lastTransition": before.since(&target.name, target.ready).unwrap_or(now).to_string(),
                "details": target.details,
            })
        })
        .collect();
    let mut status = json!({
        "type": health.provider_type,
        "state": match health.ready {
            Some(true) => "Ready",
            Some(false) => "NotReady",
            None => "Unsupported",
        },
        "targets": targets,
    });
    if let Some(ready) = health.ready {
        status["ready"] = json!(ready);
    }
    status
}
