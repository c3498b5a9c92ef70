//! A node that dies and comes back. Its kubelet is stopped where it stands: it neither renews its lease nor ends a Pod,
//! and what runs on the node runs on. That is all that the cluster sees of a node without power too.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use provider_api::{Deleted, StateKind};
use serde_json::{Value, json};

use crate::cluster::{Stage, code, get, offered, squids_of, until};

/// A kubelet that does nothing until this is dropped.
struct Silence(String);

impl Silence {
    fn of_kubelet() -> Self {
        let pid = std::fs::read_to_string(offered("KUBERNETES_TEST_KUBELET")).unwrap().trim().to_owned();
        let silence = Self(pid);
        silence.signal("STOP");
        silence
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.0]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the kubelet is process {}", self.0);
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        self.signal("CONT");
    }
}

#[tokio::test]
async fn what_runs_on_a_node_that_dies_is_stopped_after_the_bound_and_goes_by_force() {
    let patient = json!({"nodeLostTimeout": "1h", "forceDeleteAfter": "1h"});
    let stage = Stage::alone("lost", patient).await;
    let bound = Duration::from_secs(3);
    let impatient = stage.another(json!({"nodeLostTimeout": "3s", "forceDeleteAfter": "3s"}));
    let doomed = stage.built.provider.create(&stage.request("doomed")).await.unwrap();
    let spared = stage.built.provider.create(&stage.request("spared")).await.unwrap();
    for id in [&doomed, &spared] {
        stage.until(id, "a running proxy", |state| state.kind() == StateKind::Running).await;
    }
    let pod = pod_of(&stage, &doomed).await.unwrap();
    let uid = pod["metadata"]["uid"].as_str().unwrap().to_owned();

    let silence = Silence::of_kubelet();
    let began = Instant::now();
    for id in [&doomed, &spared] {
        let state =
            stage.until(id, "that its node is lost", |state| state.kind() != StateKind::Running).await;
        assert_eq!((state.kind(), code(&state)), (StateKind::Provisioning, "NodeLost"), "{state:?}");
    }
    println!("the node was lost {:?} after its kubelet stopped", began.elapsed());
    let until_stopped = until("that the bound is over", || async {
        let state = get(&impatient, &doomed).await?.state;
        assert_eq!(code(&state), "NodeLost", "{state:?}");
        (state.kind() == StateKind::Stopped).then_some(())
    });
    until_stopped.await;
    let state = stage.get(&doomed).await.unwrap().state;
    assert_eq!(state.kind(), StateKind::Provisioning, "another bound: {state:?}");

    assert_eq!(impatient.provider.delete(&doomed).await.unwrap(), Deleted::Accepted);
    let pod = pod_of(&stage, &doomed).await.unwrap();
    let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_u64().unwrap();
    assert!(grace > 0, "{pod}");
    let asked = Instant::now();
    let state = stage.get(&doomed).await.unwrap().state;
    assert_eq!((state.kind(), code(&state)), (StateKind::Stopped, "NodeLost"), "{state:?}");
    // Nobody ends it, and no delete is forced before the bound.
    let until_gone = until("that it is gone by force", || async {
        assert_eq!(stage.built.provider.delete(&doomed).await.unwrap(), Deleted::Accepted);
        impatient.provider.delete(&doomed).await.unwrap();
        let left = pod_of(&stage, &doomed).await;
        if let Some(pod) = &left {
            assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], grace, "{pod}");
        }
        left.is_none().then_some(())
    });
    until_gone.await;
    // The times in the API have whole seconds.
    let least = Duration::from_secs(grace) + bound - Duration::from_secs(1);
    assert!(asked.elapsed() >= least, "gone {:?} after the delete", asked.elapsed());
    assert_eq!(impatient.provider.delete(&doomed).await.unwrap(), Deleted::Gone);
    assert!(stage.get(&doomed).await.is_none());
    assert!(!squids_of(&uid).is_empty(), "nobody has ended its container");
    let state = stage.get(&spared).await.unwrap().state;
    assert_eq!(code(&state), "NodeLost", "{state:?}");

    drop(silence);
    let began = Instant::now();
    stage.until(&spared, "that it runs again", |state| state.kind() == StateKind::Running).await;
    until("the end of a container whose Pod is gone", || async { squids_of(&uid).is_empty().then_some(()) })
        .await;
    until("a node that takes Pods", || async { takes_pods(&stage).await.then_some(()) }).await;
    println!("all was well again {:?} after the kubelet went on", began.elapsed());
    stage.clear().await;
}

/// The Pod as the API has it.
async fn pod_of(stage: &Stage, id: &provider_api::ProviderId) -> Option<Value> {
    let (_, name) = id.as_str().split_once('/').unwrap();
    let pod = stage.pods().get_opt(name).await.unwrap()?;
    Some(serde_json::to_value(pod).unwrap())
}

/// The node is Ready and has no taint left of its absence.
async fn takes_pods(stage: &Stage) -> bool {
    let node = serde_json::to_value(stage.node().await).unwrap();
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.filter(|condition| condition["type"] == "Ready");
    node["spec"]["taints"].is_null() && ready.into_iter().any(|condition| condition["status"] == "True")
}
