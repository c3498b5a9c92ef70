//! Proxies, one at a time and all of them: reads, and the two things that the operator writes to one.

use http::Method;
use serde_json::{json, value::RawValue};

use super::{
    call::{Caller, Collection, Form, JSON, MERGE, Request},
    object,
};
use crate::{
    cluster::ClusterError,
    resource::{FINALIZER, GROUP, Key, Proxy, Status, VERSION},
};

/// Proxies of all namespaces.
pub(super) fn everywhere() -> Collection {
    Collection { path: format!("/apis/{GROUP}/{VERSION}/proxies"), fields: None, form: Form::Whole }
}

fn path(key: &Key) -> String {
    format!("/apis/{GROUP}/{VERSION}/namespaces/{}/proxies/{}", key.namespace, key.name)
}

/// A text that is no Proxy is no answer that can be trusted.
fn read(text: &RawValue) -> Result<Proxy, ClusterError> {
    object::proxy(text).ok_or_else(|| ClusterError::Doubtful("a Proxy cannot be read".to_owned()))
}

pub(super) async fn one(caller: &Caller, key: &Key) -> Result<Option<Proxy>, ClusterError> {
    match caller.json::<Box<RawValue>>(&Request::get(path(key))).await {
        Ok(text) => read(&text).map(Some),
        Err(failure) if failure.is_absent() => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

/// All of one moment. Whoever leaves one out lets its instance be taken for an orphan, so one that cannot be read fails all.
pub(super) async fn all(caller: &Caller) -> Result<Vec<Proxy>, ClusterError> {
    let mut unreadable = 0;
    let kept = |text: &RawValue| {
        let proxy = object::proxy(text).map(|proxy| proxy.to_keep());
        unreadable += usize::from(proxy.is_none());
        proxy
    };
    let (proxies, _) = caller.list(&everywhere(), kept).await?;
    match unreadable {
        0 => Ok(proxies),
        some => Err(ClusterError::Doubtful(format!("{some} Proxies cannot be read"))),
    }
}

pub(super) async fn write_status(
    caller: &Caller,
    proxy: &Proxy,
    status: &Status,
) -> Result<Proxy, ClusterError> {
    let status = serde_json::to_value(status).map_err(|error| ClusterError::Refused(error.to_string()))?;
    let body = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "Proxy",
        "metadata": {
            "name": proxy.key.name,
            "namespace": proxy.key.namespace,
            "uid": proxy.uid.as_str(),
            "resourceVersion": proxy.version.0,
        },
        "status": status,
    });
    let request = Request::new(Method::PUT, format!("{}/status", path(&proxy.key))).body(JSON, &body);
    read(&caller.json::<Box<RawValue>>(&request).await?)
}

/// Puts our finalizer on or takes it off. Those of others are written back as they were read, and the version that was read
/// stands in the patch: had anybody touched them since, it is a conflict.
pub(super) async fn hold(caller: &Caller, proxy: &Proxy, held: bool) -> Result<Option<Proxy>, ClusterError> {
    let ours = held.then_some(FINALIZER);
    let finalizers: Vec<&str> = proxy.others.iter().map(String::as_str).chain(ours).collect();
    let body = json!({"metadata": {"resourceVersion": proxy.version.0, "finalizers": finalizers}});
    let request = Request::new(Method::PATCH, path(&proxy.key)).body(MERGE, &body);
    let text = caller.json::<Box<RawValue>>(&request).await?;
    let written = read(&text)?;
    // What is being deleted goes with its last finalizer; the answer shows it as it was.
    let is_gone = written.deleting && !written.held && written.others.is_empty();
    Ok((!is_gone).then_some(written))
}
