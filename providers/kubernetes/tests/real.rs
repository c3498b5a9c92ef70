//! The provider against a real API server without nodes; `cargo xtask e2e kube` brings one.
#![allow(clippy::unwrap_used)]

mod cluster;

use std::time::Duration;

use cluster::{Place, said};
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use provider_api::{Class, Deadline, Deleted, FailureClass, GetError, StateKind, SystemClock, reasons};
use provider_kubernetes::CATALOGUE;
use serde_json::json;

#[tokio::test]
async fn a_whole_life() {
    let place = Place::new(json!({})).await;
    let built = place.provider("admin", json!({"pageSize": 1}));
    let provider = &built.provider;
    providertest::capture::start();
    let requests = ["one", "two", "three"].map(|uid| place.request(uid));
    let mut ids = Vec::new();
    for request in &requests {
        let id = provider.create(request).await.unwrap();
        assert_eq!(provider.create(request).await.unwrap(), id);
        let instance = provider.get(&id).await.unwrap();
        assert_eq!(instance.state.kind(), StateKind::Provisioning);
        assert_eq!((&instance.uid, &instance.name), (&request.uid, &request.name));
        assert!(instance.created_at.is_some());
        ids.push(id);
    }
    let listing = provider.list_by_tag().await.unwrap();
    let mut listed: Vec<_> = listing.items.into_iter().map(|item| item.id).collect();
    listed.sort();
    ids.sort();
    assert_eq!((listed, listing.unreachable.len()), (ids.clone(), 0));
    for id in &ids {
        // No node has it, so that it goes at once.
        provider.delete(id).await.unwrap();
        assert_eq!(provider.get(id).await, Err(GetError::NotFound));
        assert_eq!(provider.delete(id).await.unwrap(), Deleted::Gone);
    }
    let captured = providertest::capture::take();
    let calls = captured.spans.iter().filter(|span| span.name.starts_with("kubernetes."));
    assert!(calls.clone().count() >= 15, "{:?}", captured.spans);
    for call in calls {
        let parent = call.parent.map(|parent| captured.spans[parent].name.as_str());
        assert!(parent.is_some_and(|parent| parent.starts_with("provider.")), "{call:?} under {parent:?}");
    }
    place.end().await;
}

#[tokio::test]
async fn the_pod_passes_the_level_restricted() {
    let place = Place::new(json!({"pod-security.kubernetes.io/enforce": "restricted"})).await;
    let built = place.provider("admin", json!({"regions": ["eu"], "zones": ["eu-1"]}));
    let mut request = place.request("one");
    request.port = std::num::NonZeroU16::new(80).unwrap();
    request.placement.region = Some("eu".into());
    request.placement.zone = Some("eu-1".into());
    request.access.credentials = Some(provider_api::Credentials {
        username: "crawler".into(),
        password: provider_api::Secret::new("correct horse battery"),
    });
    let id = built.provider.create(&request).await.unwrap();
    built.provider.delete(&id).await.unwrap();
    place.end().await;
}

#[tokio::test]
async fn who_has_no_rights_is_told_which() {
    let place = Place::new(json!({})).await;
    let built = place.provider("alice", json!({}));
    let error = built.provider.create(&place.request("one")).await.unwrap_err();
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    let right = format!("create pods in namespace {}", place.namespace);
    assert!(error.message().contains(&right), "{error}");
    let error = built.provider.list_by_tag().await.unwrap_err();
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    let id = provider_api::ProviderId::new(format!("{}/{}", place.namespace, place.request("one").name));
    assert_eq!(built.provider.get(&id).await.unwrap_err().class(), Class::Permanent);
    let by = Deadline::within(&SystemClock::default(), Duration::from_secs(20));
    let found = built.checker.as_ref().unwrap().check(by).await;
    assert_eq!(found[0].reason.code, reasons::FORBIDDEN, "{found:?}");
    assert!(found[0].reason.message.contains(&right), "{found:?}");
    place.end().await;
}

#[tokio::test]
async fn a_check_says_the_version() {
    let place = Place::new(json!({})).await;
    let built = place.provider("admin", json!({}));
    let by = Deadline::within(&SystemClock::default(), Duration::from_secs(20));
    let found = built.checker.as_ref().unwrap().check(by).await;
    assert!(found[0].ready, "{found:?}");
    let version = said("KUBERNETES_TEST_SERVER_VERSION");
    assert!(found[0].details["serverVersion"].contains(&version), "{found:?} is not {version}");
    place.end().await;
}

/// Nobody counts on a bare server, so that the test says what is used.
#[tokio::test]
async fn a_quota_is_told_from_a_missing_right() {
    let place = Place::new(json!({})).await;
    let built = place.provider("admin", json!({}));
    let quotas: Api<ResourceQuota> = Api::namespaced(place.admin.clone(), &place.namespace);
    let quota = json!({"metadata": {"name": "rq"}, "spec": {"hard": {"pods": "1"}}});
    let quota: ResourceQuota = serde_json::from_value(quota).unwrap();
    quotas.create(&PostParams::default(), &quota).await.unwrap();
    let counted = async |used: serde_json::Value| {
        let status = json!({"status": {"hard": {"pods": "1"}, "used": used}});
        let params = PatchParams::default();
        quotas.patch_status("rq", &params, &Patch::Merge(&status)).await.unwrap();
        // The server looks at quotas through a cache of its own.
        tokio::time::sleep(Duration::from_secs(2)).await;
    };
    let mine = place.request("one");
    counted(json!(null)).await;
    let error = built.provider.create(&mine).await.unwrap_err();
    assert_eq!(error.class(), FailureClass::Transient, "nobody has counted yet: {error}");
    counted(json!({"pods": "0"})).await;
    let id = built.provider.create(&mine).await.unwrap();
    let error = built.provider.create(&place.request("two")).await.unwrap_err();
    assert_eq!(error.class(), FailureClass::QuotaExceeded, "{error}");
    assert!(error.message().contains("quota rq"), "{error}");
    // The repetition is refused before its name is looked up, and finds its Pod all the same.
    assert_eq!(built.provider.create(&mine).await.unwrap(), id);
    built.provider.delete(&id).await.unwrap();
    place.end().await;
}

/// The texts of the catalogue are those of the server, as far as it can be made to say them.
#[tokio::test]
async fn the_catalogue_words_it_as_the_server_does() {
    let place = Place::new(json!({})).await;
    let pods = place.pods();
    let words = |id: &str, name: &str| {
        CATALOGUE.get(id).unwrap().text.replace("{name}", name).replace("{namespace}", &place.namespace)
    };
    let message = |error: kube::Error| match error {
        kube::Error::Api(status) => status.message,
        other => panic!("{other}"),
    };
    assert_eq!(message(pods.get("nobody").await.unwrap_err()), words("absent", "nobody"));
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let pod = serde_json::from_value(pod).unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    let taken = pods.create(&PostParams::default(), &pod).await.unwrap_err();
    assert_eq!(message(taken), words("name-taken", "a"));
    pods.delete("a", &Default::default()).await.unwrap();
    place.end().await;
}
