//! The Secret in which a Proxy's endpoint is published. It is the Proxy's by its owner reference, by which it also goes with
//! it; one that has none of ours is never written.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Method;
use provider_api::Secret;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    call::{Caller, Form, JSON, MERGE, Request},
    object::Meta,
};
use crate::{
    cluster::ClusterError,
    resource::{GROUP, Proxy, SecretData, VERSION},
    step::Published,
};

/// A Secret as far as it is looked at.
#[derive(Deserialize)]
struct Wire {
    metadata: Meta,
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
}

fn collection(proxy: &Proxy) -> String {
    format!("/api/v1/namespaces/{}/secrets", proxy.key.namespace)
}

async fn find(caller: &Caller, path: &str, form: Form) -> Result<Option<Wire>, ClusterError> {
    match caller.send(&Request::get(path.to_owned()).accept(form.of_one()).secret()).await {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(wire) => Ok(Some(wire)),
            // What serde says may quote what it has read.
            Err(_) => Err(ClusterError::Doubtful("a Secret cannot be read".to_owned())),
        },
        Err(failure) if failure.is_absent() => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

pub(super) async fn publish(
    caller: &Caller,
    proxy: &Proxy,
    secret: &str,
    data: &SecretData,
) -> Result<Published, ClusterError> {
    let path = format!("{}/{secret}", collection(proxy));
    let encoded = |value: &Secret| json!(BASE64_STANDARD.encode(value.reveal()));
    let mut wanted: Map<String, Value> =
        data.iter().map(|(key, value)| (key.clone(), encoded(value))).collect();
    let request = match find(caller, &path, Form::Whole).await? {
        None => {
            let body = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "Opaque",
                "metadata": {
                    "name": secret,
                    "namespace": proxy.key.namespace,
                    "labels": {"app.kubernetes.io/managed-by": "proxy-operator"},
                    "ownerReferences": [{
                        "apiVersion": format!("{GROUP}/{VERSION}"),
                        "kind": "Proxy",
                        "name": proxy.key.name,
                        "uid": proxy.uid.as_str(),
                        "controller": true,
                    }],
                },
                "data": wanted,
            });
            Request::new(Method::POST, collection(proxy)).body(JSON, &body)
        }
        Some(found) if !found.metadata.is_owned_by(&proxy.uid) => return Ok(Published::Taken),
        Some(found) if found.metadata.is_deleting() => {
            return Err(ClusterError::Doubtful(format!("Secret {secret} is being deleted")));
        }
        Some(found) => {
            let stands = found.data.unwrap_or_default();
            let same = stands.len() == wanted.len()
                && stands.iter().all(|(key, value)| wanted.get(key).is_some_and(|wanted| wanted == value));
            if same {
                return Ok(Published::Done);
            }
            for key in stands.into_keys() {
                // A null in a merge patch takes the key away.
                wanted.entry(key).or_insert(Value::Null);
            }
            let body = json!({"metadata": {"resourceVersion": found.metadata.version().0}, "data": wanted});
            Request::new(Method::PATCH, path).body(MERGE, &body)
        }
    };
    caller.send(&request.secret()).await?;
    Ok(Published::Done)
}

pub(super) async fn withdraw(caller: &Caller, proxy: &Proxy, secret: &str) -> Result<(), ClusterError> {
    let path = format!("{}/{secret}", collection(proxy));
    let found = find(caller, &path, Form::Metadata).await?;
    let Some(Wire { metadata, .. }) = found.filter(|found| found.metadata.is_owned_by(&proxy.uid)) else {
        return Ok(());
    };
    let body = json!({"preconditions": {"uid": metadata.uid, "resourceVersion": metadata.resource_version}});
    match caller.send(&Request::new(Method::DELETE, path).body(JSON, &body).secret()).await {
        Ok(_) => Ok(()),
        Err(failure) if failure.is_absent() => Ok(()),
        Err(failure) => Err(failure.into()),
    }
}
