//! The provider's own cases over the fake cluster: what public bug reports tell, and what the kit cannot know.
#![allow(clippy::unwrap_used)]

mod bench;

use bench::{Bench, NAMESPACE, request};
use provider_api::{
    Checker, Class, Credentials, Deadline, Deleted, FailureClass, GetError, LeftBehind, Provider, Secret,
    State, reasons,
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_whole_life() {
    let bench = Bench::new();
    let provider = bench.provider();
    let (request, id) = bench.running("uid-1").await;
    assert_eq!(id.as_str(), format!("{NAMESPACE}/{}", request.name));
    let instance = provider.get(&id).await.unwrap();
    assert!(matches!(instance.state, State::Running { .. }), "{instance:?}");
    assert_eq!((instance.uid, instance.name), (request.uid.clone(), request.name.clone()));
    assert_eq!(provider.create(&request).await.unwrap(), id);
    let listed = provider.list_by_tag().await.unwrap();
    assert_eq!((listed.items.len(), listed.unreachable.len()), (1, 0));
    assert_eq!(bench.delete(&id).await, Deleted::Accepted);
    assert!(matches!(provider.get(&id).await.unwrap().state, State::Stopped { .. }));
    assert_eq!(bench.delete(&id).await, Deleted::Accepted);
    bench.pass(60);
    assert_eq!(provider.get(&id).await, Err(GetError::NotFound));
    assert_eq!(bench.delete(&id).await, Deleted::Gone);
}

/// A quota that is used up, and by our own Pod: the repetition of a create is refused before its name is looked up.
#[tokio::test]
async fn bug_k01_a_used_up_quota_is_reported_and_does_not_hide_our_own_pod() {
    let bench = Bench::new();
    let provider = bench.provider();
    bench.server.set_quota(NAMESPACE, "rq", &[("pods", "1")]).unwrap();
    let first = request("uid-1");
    let id = provider.create(&first).await.unwrap();
    let error = provider.create(&request("uid-2")).await.unwrap_err();
    assert_eq!(error.class(), FailureClass::QuotaExceeded, "{error}");
    assert_eq!(error.left_behind(), LeftBehind::Nothing);
    assert_eq!(error.provider().unwrap().as_str(), "pods-eu");
    assert!(error.message().contains("quota rq"), "{error}");
    assert_eq!(provider.create(&first).await.unwrap(), id);
}

#[tokio::test]
async fn bug_k02_a_missing_right_is_permanent_and_named() {
    let bench = Bench::new();
    let provider = bench.provider();
    // Once a token is known, who comes without one may do nothing.
    bench.server.access(|access| access.add_token("t", fixture_kube_api::User::named("op")));
    let error = provider.create(&request("uid-1")).await.unwrap_err();
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    assert!(error.message().contains("lacks the right to create pods in namespace team-a"), "{error}");
}

#[tokio::test]
async fn bug_k03_an_evicted_pod_is_terminated_and_can_be_replaced() {
    let bench = Bench::new();
    let provider = bench.provider();
    let (request, id) = bench.running("uid-1").await;
    let evicted =
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
    bench.server.set_status(NAMESPACE, request.name.as_str(), evicted).unwrap();
    let state = provider.get(&id).await.unwrap().state;
    assert_eq!(state.reason().unwrap().code, "Evicted");
    assert!(matches!(state, State::Terminated { .. }));
    // It is ours all the same, so that the caller gets an id by which to delete it.
    assert_eq!(provider.create(&request).await.unwrap(), id);
    bench.delete(&id).await;
    assert_eq!(provider.get(&id).await, Err(GetError::NotFound));
    assert_eq!(provider.create(&request).await.unwrap(), id);
}

#[tokio::test]
async fn bug_k04_an_unpullable_image_is_stopped_in_the_end() {
    let bench = Bench::with(|config| {
        config.life = std::sync::Arc::new(|_| fixture_kube_api::Life::image_pull_error());
    });
    let provider = bench.provider();
    let (_, id) = bench.running("uid-1").await;
    let state = provider.get(&id).await.unwrap().state;
    assert!(matches!(state, State::Provisioning { .. }) && state.reason().is_some(), "{state:?}");
    bench.pass(400);
    let state = provider.get(&id).await.unwrap().state;
    assert!(matches!(state, State::Stopped { .. }), "{state:?}");
    assert!(["ErrImagePull", "ImagePullBackOff"].contains(&&*state.reason().unwrap().code));
}

#[tokio::test]
async fn bug_k05_a_dying_pod_is_not_taken_for_the_new_one() {
    let bench = Bench::new();
    let provider = bench.provider();
    let (request, id) = bench.running("uid-1").await;
    let old = bench.server.object("pods", NAMESPACE, request.name.as_str()).unwrap();
    bench.delete(&id).await;
    let error = provider.create(&request).await.unwrap_err();
    assert_eq!(error.class(), FailureClass::Transient, "{error}");
    bench.pass(60);
    assert_eq!(provider.create(&request).await.unwrap(), id);
    let new = bench.server.object("pods", NAMESPACE, request.name.as_str()).unwrap();
    assert_ne!(old["metadata"]["uid"], new["metadata"]["uid"]);
}

#[tokio::test]
async fn bug_k06_a_pod_on_a_lost_node_is_forced_away_once() {
    let bench = Bench::new();
    let provider = bench.provider();
    let (request, id) = bench.running("uid-1").await;
    bench.server.lose_node("node-1");
    let state = provider.get(&id).await.unwrap().state;
    assert_eq!(state.reason().unwrap().code, "NodeLost");
    assert!(matches!(state, State::Provisioning { .. }), "{state:?}");
    assert_eq!(bench.delete(&id).await, Deleted::Accepted);
    bench.pass(200);
    assert_eq!(bench.delete(&id).await, Deleted::Accepted);
    assert!(
        bench.server.object("pods", NAMESPACE, request.name.as_str()).is_some(),
        "its grace is over, the bound not"
    );
    bench.pass(200);
    assert_eq!(bench.delete(&id).await, Deleted::Accepted);
    assert_eq!(provider.get(&id).await, Err(GetError::NotFound));
    assert_eq!(provider.create(&request).await.unwrap(), id);
}

/// A node that stays away turns its Pod to Stopped, so that it is replaced, once.
#[tokio::test]
async fn bug_k06_a_pod_on_a_lost_node_is_stopped_after_the_bound() {
    let bench = Bench::new();
    let provider = bench.provider();
    let (_, id) = bench.running("uid-1").await;
    bench.server.lose_node("node-1");
    bench.pass(301);
    let state = provider.get(&id).await.unwrap().state;
    assert!(matches!(state, State::Stopped { .. }), "{state:?}");
}

#[tokio::test]
async fn bug_k07_the_address_follows_the_configured_family() {
    let mut bench = Bench::with(|config| {
        config.addresses =
            std::sync::Arc::new(|_| vec!["fd00::7".parse().unwrap(), "10.244.0.7".parse().unwrap()]);
    });
    let (_, id) = bench.running("uid-1").await;
    let address = async |bench: &Bench| match bench.provider().get(&id).await.unwrap().state {
        State::Running { address } => address.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(address(&bench).await, "10.244.0.7");
    bench.shared.addresses.family = provider_api::AddressFamily::Ipv6;
    assert_eq!(address(&bench).await, "fd00::7");
}

/// The token expires between two pages, again and again.
#[tokio::test]
async fn bug_k09_an_expired_page_token_begins_the_listing_anew_and_not_for_ever() {
    let mut bench = Bench::new();
    bench.config.page_size = 1;
    for uid in ["uid-1", "uid-2", "uid-3"] {
        bench.provider().create(&request(uid)).await.unwrap();
    }
    let expiring = |times: usize| {
        let left = std::sync::Mutex::new(times);
        let server = bench.server.clone();
        Expire { server, left }
    };
    bench.server.set_interceptor(Some(std::sync::Arc::new(expiring(2))));
    let listing = bench.provider().list_by_tag().await.unwrap();
    assert_eq!(listing.items.len(), 3, "none is lost, none is there twice");
    bench.server.set_interceptor(Some(std::sync::Arc::new(expiring(usize::MAX))));
    let error = bench.provider().list_by_tag().await.unwrap_err();
    assert_eq!(Class::from(error.class()), Class::Transient, "{error}");
}

/// Forgets the history before every page but a first one.
struct Expire {
    server: fixture_kube_api::Server,
    left: std::sync::Mutex<usize>,
}

#[async_trait::async_trait]
impl fixture_kube_api::Interceptor for Expire {
    async fn around(
        &self,
        request: fixture_kube_api::Exchange,
        effect: fixture_kube_api::Effect,
    ) -> fixture_kube_api::Outcome {
        if request.path_and_query.contains("continue=") {
            let expires = {
                let mut left = self.left.lock().unwrap();
                let expires = *left > 0;
                *left = left.saturating_sub(1);
                expires
            };
            if expires {
                // Something has to change, or there is nothing to forget.
                let name = format!("n{}", self.server.revision());
                self.server.create("namespaces", "", json!({"metadata": {"name": name}})).unwrap();
                self.server.compact();
            }
        }
        fixture_kube_api::Outcome::Answer(effect.run())
    }
}

#[tokio::test]
async fn bug_k10_a_busy_server_is_transient_with_its_hint() {
    let bench = Bench::new();
    bench.server.refuse(Some(fixture_kube_api::Refusal::ShuttingDown));
    let error = bench.provider().create(&request("uid-1")).await.unwrap_err();
    assert_eq!(error.class(), FailureClass::Transient);
    assert_eq!(error.retry_hint(), Some(std::time::Duration::from_secs(5)), "{error:?}");
}

#[tokio::test]
async fn what_is_not_ours_is_left_alone() {
    let bench = Bench::new();
    let provider = bench.provider();
    let request = request("uid-1");
    let foreign = json!({
        "metadata": {"name": request.name.as_str(), "namespace": NAMESPACE},
        "spec": {"containers": [{"name": "c", "image": "i"}]}
    });
    bench.server.create("pods", NAMESPACE, foreign).unwrap();
    let error = provider.create(&request).await.unwrap_err();
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    let id = provider_api::ProviderId::new(format!("{NAMESPACE}/{}", request.name));
    assert_eq!(provider.get(&id).await, Err(GetError::NotFound));
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert!(bench.server.object("pods", NAMESPACE, request.name.as_str()).is_some());
}

#[tokio::test]
async fn the_pod_as_it_is_sent() {
    let mut bench = Bench::new();
    bench.config.own_cluster = true;
    bench.config.zones = vec!["eu-1".into()];
    let mut request = request("6f9619ff-8b86-d011-b42d-00cf4fc964ff");
    request.placement.region = Some("eu".into());
    request.placement.zone = Some("eu-1".into());
    request.port = std::num::NonZeroU16::new(80).unwrap();
    request.access.allowed_sources = vec!["192.0.2.0/24".parse().unwrap()];
    request.access.credentials =
        Some(Credentials { username: "crawler".into(), password: Secret::new("correct horse battery") });
    bench.provider().create(&request).await.unwrap();
    let pod = bench.server.object("pods", NAMESPACE, request.name.as_str()).unwrap();
    let mut pod: Value = (*pod).clone();
    // What the server adds is its own affair.
    for field in ["uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"] {
        pod["metadata"].as_object_mut().unwrap().remove(field);
    }
    pod.as_object_mut().unwrap().remove("status");
    assert!(!pod.to_string().contains("correct horse"), "the password stands nowhere");
    insta::assert_json_snapshot!(pod);
}

#[tokio::test]
async fn a_check_names_what_it_finds() {
    let bench = Bench::new();
    let provider = bench.provider();
    bench.server.set_quota(NAMESPACE, "rq", &[("pods", "10")]).unwrap();
    provider.create(&request("uid-1")).await.unwrap();
    let by = Deadline::within(&bench.clock, std::time::Duration::from_secs(10));
    let found = provider.check(by).await;
    assert_eq!(found.len(), 1);
    assert!(found[0].ready, "{found:?}");
    assert_eq!(found[0].reason.code, reasons::REACHABLE);
    assert_eq!(found[0].details["quotaHeadroom"], format!("9 of 10 Pods left in quota {NAMESPACE}/rq"));
    assert!(found[0].details["serverVersion"].starts_with('v'), "{found:?}");
}

/// Every rule of the Pod Security level `restricted`, as its documentation lists them.
#[tokio::test]
async fn the_pod_is_restricted() {
    let bench = Bench::new();
    let mut request = request("uid-1");
    request.port = std::num::NonZeroU16::new(80).unwrap();
    bench.provider().create(&request).await.unwrap();
    let pod = bench.server.object("pods", NAMESPACE, request.name.as_str()).unwrap();
    let spec = &pod["spec"];
    for shared in ["hostNetwork", "hostPID", "hostIPC"] {
        assert_ne!(spec[shared], json!(true), "{shared}");
    }
    let allowed = [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ];
    for volume in spec["volumes"].as_array().unwrap() {
        let kinds = volume.as_object().unwrap().keys().filter(|key| *key != "name");
        assert!(kinds.clone().all(|kind| allowed.contains(&kind.as_str())), "{volume}");
    }
    for sysctl in spec["securityContext"]["sysctls"].as_array().unwrap() {
        assert_eq!(sysctl["name"], "net.ipv4.ip_unprivileged_port_start");
    }
    assert_eq!(spec["automountServiceAccountToken"], json!(false));
    let containers = spec["containers"].as_array().unwrap();
    assert!(!containers.is_empty() && spec["initContainers"].is_null());
    for container in containers {
        let context = &container["securityContext"];
        assert_eq!(context["runAsNonRoot"], json!(true));
        assert_ne!(context["runAsUser"], json!(0));
        assert_eq!(context["allowPrivilegeEscalation"], json!(false));
        assert_ne!(context["privileged"], json!(true));
        assert_eq!(context["readOnlyRootFilesystem"], json!(true));
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
        assert_eq!(context["seccompProfile"], json!({"type": "RuntimeDefault"}));
        assert!(container["ports"].as_array().unwrap().iter().all(|port| port["hostPort"].is_null()));
    }
}
