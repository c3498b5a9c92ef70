//! The seam: one async method per call to the API server, and nothing goes past it. How a request is sent is
//! `client.rs`, what a refusal means `error.rs`.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::Pod, serde_json::json};
use kube::{
    Resource,
    api::{DeleteParams, ListParams, PostParams, Preconditions},
    core::Request,
};
use provider_api::{CallError, CallKind, Seam};
use serde::{Deserialize, Deserializer, de::IgnoredAny};

use crate::{
    client::Connection,
    error::ApiError,
    id::PodId,
    view::{MetaView, PodView},
};

/// Makes a Pod. It carries the configuration, so of its errors only code and reason survive.
pub(crate) const POD_CREATE: CallKind = CallKind::upload("pod_create");
/// Reads a Pod.
pub(crate) const POD_GET: CallKind = CallKind::read("pod_get");
/// Deletes a Pod.
pub(crate) const POD_DELETE: CallKind = CallKind::write("pod_delete");
/// Reads one page of a listing.
pub(crate) const POD_LIST: CallKind = CallKind::read("pod_list");
/// Asks for the server's version.
pub(crate) const VERSION: CallKind = CallKind::read("version");
/// Asks whether a right is there. It is sent as a POST and stores nothing.
pub(crate) const ACCESS_REVIEW: CallKind = CallKind::read("access_review");
/// Reads the quotas.
pub(crate) const QUOTA_LIST: CallKind = CallKind::read("quota_list");

/// Every kind of call, for the profile.
pub(crate) const CALLS: [CallKind; 7] =
    [POD_CREATE, POD_GET, POD_DELETE, POD_LIST, VERSION, ACCESS_REVIEW, QUOTA_LIST];

type Answer<T> = Result<T, CallError<ApiError>>;

/// The API server, through the seam.
#[derive(Debug)]
pub(crate) struct Backend {
    connection: Connection,
}

/// One page of Pods, each item still unread so that a broken one spoils no other.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    #[serde(default)]
    pub(crate) metadata: PageMeta,
    /// An empty page of metadata is sent as null by some releases; a page without items is none.
    #[serde(deserialize_with = "null_is_empty")]
    pub(crate) items: Vec<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct PageMeta {
    #[serde(default, rename = "continue")]
    pub(crate) token: Option<String>,
}

/// What `/version` says.
#[derive(Debug, Deserialize)]
pub(crate) struct Version {
    #[serde(default, rename = "gitVersion")]
    pub(crate) git: String,
}

/// One quota, with what it allows and what is used.
#[derive(Debug, Deserialize)]
pub(crate) struct Quota {
    pub(crate) metadata: crate::view::Meta,
    #[serde(default)]
    pub(crate) status: QuotaStatus,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct QuotaStatus {
    #[serde(default)]
    pub(crate) hard: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) used: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Quotas {
    #[serde(deserialize_with = "null_is_empty")]
    items: Vec<Quota>,
}

#[derive(Deserialize)]
struct Review {
    status: ReviewStatus,
}

#[derive(Deserialize)]
struct ReviewStatus {
    #[serde(default)]
    allowed: bool,
}

impl Backend {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection }
    }

    /// Where the API server is, for readers.
    pub(crate) fn address(&self) -> String {
        self.connection.address()
    }

    /// Makes a Pod.
    pub(crate) async fn pod_create(&self, seam: &Seam, id: &PodId, pod: &Pod) -> Answer<()> {
        let body = serde_json::to_vec(pod).expect("a Pod has no keys that JSON cannot hold");
        let params = PostParams { field_manager: Some("proxy-operator".into()), ..PostParams::default() };
        let request = pods(Some(&id.namespace)).create(&params, body);
        self.call::<IgnoredAny>(seam, POD_CREATE, id.to_id().as_str(), request).await.map(drop)
    }

    /// Reads a Pod.
    pub(crate) async fn pod_get(&self, seam: &Seam, id: &PodId) -> Answer<PodView> {
        let request = pods(Some(&id.namespace)).get(id.name.as_str(), &Default::default());
        self.call(seam, POD_GET, id.to_id().as_str(), request).await
    }

    /// Deletes the Pod with that UID and no other (`delete.bound-to-incarnation`); `grace` replaces the Pod's own.
    pub(crate) async fn pod_delete(
        &self,
        seam: &Seam,
        id: &PodId,
        uid: &str,
        grace: Option<u32>,
    ) -> Answer<()> {
        let params = DeleteParams {
            grace_period_seconds: grace,
            preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
            ..DeleteParams::default()
        };
        let request = pods(Some(&id.namespace)).delete(id.name.as_str(), &params);
        self.call::<IgnoredAny>(seam, POD_DELETE, id.to_id().as_str(), request).await.map(drop)
    }

    /// Reads one page: metadata only, which is all that a listing needs. Without a namespace, of all of them.
    pub(crate) async fn pod_list(
        &self,
        seam: &Seam,
        namespace: Option<&str>,
        selector: &str,
        page_size: u32,
        token: Option<&str>,
    ) -> Answer<Page> {
        let params = ListParams {
            label_selector: Some(selector.to_owned()),
            limit: Some(page_size),
            continue_token: token.map(str::to_owned),
            ..ListParams::default()
        };
        let request = pods(namespace).list_metadata(&params);
        self.call(seam, POD_LIST, scope(namespace), request).await
    }

    /// Asks for the server's version.
    pub(crate) async fn version(&self, seam: &Seam) -> Answer<Version> {
        let request = http::Request::get("/version").body(Vec::new());
        self.call(seam, VERSION, "apiserver", request.map_err(kube::core::request::Error::BuildRequest)).await
    }

    /// Asks whether our identity may do that to Pods.
    pub(crate) async fn may(&self, seam: &Seam, verb: &str, namespace: Option<&str>) -> Answer<bool> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "verb": verb, "group": "", "resource": "pods", "namespace": namespace.unwrap_or("")
            }}
        });
        let request = Request::new("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
            .create(&PostParams::default(), review.to_string().into_bytes());
        let review: Review = self.call(seam, ACCESS_REVIEW, scope(namespace), request).await?;
        Ok(review.status.allowed)
    }

    /// Reads the first page of quotas.
    pub(crate) async fn quotas(&self, seam: &Seam, namespace: Option<&str>) -> Answer<Vec<Quota>> {
        let path = match namespace {
            Some(namespace) => format!("/api/v1/namespaces/{namespace}/resourcequotas"),
            None => "/api/v1/resourcequotas".to_owned(),
        };
        let request = Request::new(path).list(&ListParams::default().limit(500));
        let quotas: Quotas = self.call(seam, QUOTA_LIST, scope(namespace), request).await?;
        Ok(quotas.items)
    }

    /// The one way out. Credentials are read before the call begins: a file is no backend.
    async fn call<T: serde::de::DeserializeOwned>(
        &self,
        seam: &Seam,
        kind: CallKind,
        target: &str,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Answer<T> {
        let request = request.map_err(|error| ApiError::unsendable(&error))?;
        let ready = self.connection.ready(seam).await?;
        seam.call(kind, target, ready.send(request)).await
    }
}

/// Reads one item of a page; an unreadable one gives its name, as far as that can be read.
pub(crate) fn read_item(item: serde_json::Value) -> Result<MetaView, String> {
    let text = |key: &str| {
        let value = item.pointer(&format!("/metadata/{key}")).and_then(serde_json::Value::as_str);
        value.unwrap_or("unnamed").to_owned()
    };
    let name = format!("{}/{}", text("namespace"), text("name"));
    serde_json::from_value(item).map_err(|_| name)
}

fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

fn pods(namespace: Option<&str>) -> Request {
    Request::new(Pod::url_path(&(), namespace))
}

fn scope(namespace: Option<&str>) -> &str {
    namespace.unwrap_or("all namespaces")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_page_may_say_null_but_not_nothing() {
        let page = |text: &str| serde_json::from_str::<Page>(text);
        // As kube-apiserver 1.20 answers.
        let empty = r#"{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"9"},"items":null}"#;
        assert_eq!(page(empty).unwrap().items.len(), 0);
        assert_eq!(page(r#"{"items":[{},{}]}"#).unwrap().items.len(), 2);
        assert!(page(r#"{"kind":"PartialObjectMetadataList","metadata":{}}"#).is_err());
    }
}
