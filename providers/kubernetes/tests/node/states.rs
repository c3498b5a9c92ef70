//! The native states that the table of states rests on, made by a real scheduler and a real kubelet: what the provider
//! says of each, and that each can be deleted.

use std::collections::BTreeSet;

use provider_api::{ProviderId, StateKind};
use serde_json::{Value, json};

use crate::cluster::{Stage, code, get, image, squids_of, until};

/// A Pod of one container that runs a shell line and is not started again.
fn once(line: &str) -> Value {
    json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [{
            "name": "c", "image": image(), "imagePullPolicy": "Never", "command": ["/bin/sh", "-c", line]
        }]
    })
}

/// A Pod that takes more memory than it may.
fn hungry() -> Value {
    let mut hungry = once("exec tail /dev/zero");
    hungry["containers"][0]["resources"] = json!({"limits": {"memory": "24Mi"}});
    hungry
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_is_on_its_way_and_after_the_bound_stopped() {
    let images = json!({"none": "localhost/none:1", "misspelt": "localhost/Not/An/Image:1"});
    let patient = json!({"images": images.clone(), "imagePullTimeout": "1h"});
    let stage = Stage::set("images", patient).await;
    let impatient = stage.another(json!({"images": images, "imagePullTimeout": "1s"}));
    let (mut none, mut misspelt) = (stage.request("none"), stage.request("misspelt"));
    none.placement.image = Some("none".into());
    misspelt.placement.image = Some("misspelt".into());
    let none = stage.built.provider.create(&none).await.unwrap();
    let misspelt = stage.built.provider.create(&misspelt).await.unwrap();

    let state = stage.until(&misspelt, "an invalid name", |state| code(state) == "InvalidImageName").await;
    assert_eq!(state.kind(), StateKind::Provisioning);
    // The kubelet shows both by turns, for ever.
    let by_turns = BTreeSet::from(["ErrImagePull".to_owned(), "ImagePullBackOff".to_owned()]);
    let mut seen = BTreeSet::new();
    while seen != by_turns {
        let state = stage.until(&none, "the other reason", |state| {
            by_turns.contains(code(state)) && !seen.contains(code(state))
        });
        let state = state.await;
        assert_eq!(state.kind(), StateKind::Provisioning, "{state:?}");
        assert!(!state.reason().unwrap().message.is_empty());
        seen.insert(code(&state).to_owned());
    }
    for (id, codes) in [(&none, by_turns), (&misspelt, ["InvalidImageName".to_owned()].into())] {
        let state = get(&impatient, id).await.unwrap().state;
        assert_eq!(state.kind(), StateKind::Stopped, "{state:?}");
        assert!(codes.contains(code(&state)), "{state:?}");
        stage.built.provider.delete(id).await.unwrap();
    }
    stage.until_gone(&none).await;
    stage.until_gone(&misspelt).await;
    assert_eq!(stage.left().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_no_node_has_room_for_is_on_its_way_and_says_so() {
    let stage = Stage::set("unschedulable", json!({})).await;
    let (mut huge, mut mars) = (stage.request("huge"), stage.request("mars"));
    huge.placement.machine_type = Some("huge".into());
    mars.placement.zone = Some("mars".into());
    for (request, text) in [(huge, "Insufficient cpu"), (mars, "affinity")] {
        let id = stage.built.provider.create(&request).await.unwrap();
        let state =
            stage.until(&id, "that it is unschedulable", |state| code(state) == "Unschedulable").await;
        assert_eq!(state.kind(), StateKind::Provisioning);
        assert!(state.reason().unwrap().message.contains(text), "{state:?}");
        stage.built.provider.delete(&id).await.unwrap();
        stage.until_gone(&id).await;
    }
    assert_eq!(stage.left().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_is_killed_for_its_memory_again_and_again_does_not_count_as_running() {
    let stage = Stage::set("hungry", json!({})).await;
    let mut hungry = hungry();
    hungry["restartPolicy"] = json!("Always");
    let id = stage.plant("hungry", hungry).await;
    let mut seen = BTreeSet::new();
    while !seen.contains("CrashLoopBackOff") {
        let state =
            stage.until(&id, "a back-off", |state| !code(state).is_empty() && !seen.contains(code(state)));
        let state = state.await;
        // Its phase is Running all the time.
        assert_eq!(state.kind(), StateKind::Provisioning, "{state:?}");
        seen.insert(code(&state).to_owned());
    }
    let (_, name) = id.as_str().split_once('/').unwrap();
    let pod = serde_json::to_value(stage.pods().get(name).await.unwrap()).unwrap();
    assert_eq!(pod["status"]["phase"], "Running");
    let container = &pod["status"]["containerStatuses"][0];
    assert_eq!(container["lastState"]["terminated"]["reason"], "OOMKilled", "{seen:?} {container}");
    stage.clear().await;
}

#[tokio::test]
async fn what_ended_is_terminated_with_its_reason() {
    let stage = Stage::set("ended", json!({})).await;
    let mut limited = once("exec sleep 600");
    limited["activeDeadlineSeconds"] = json!(3);
    let mut sprawling = once("head -c 8000000 /dev/zero >/scratch/file; exec sleep 600");
    sprawling["volumes"] = json!([{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}]);
    sprawling["containers"][0]["volumeMounts"] = json!([{"name": "scratch", "mountPath": "/scratch"}]);
    let cases = [
        ("done", once("true"), "Completed"),
        ("failed", once("exit 3"), "Error"),
        ("limited", limited, "DeadlineExceeded"),
        ("hungry", hungry(), "OOMKilled"),
        ("sprawling", sprawling, "Evicted"),
    ];
    let mut planted: Vec<(ProviderId, &str)> = Vec::new();
    for (uid, spec, reason) in cases {
        planted.push((stage.plant(uid, spec).await, reason));
    }
    for (id, reason) in &planted {
        let state = stage.until(id, reason, |state| state.kind() == StateKind::Terminated).await;
        assert_eq!(code(&state), *reason, "{state:?}");
        assert!(!state.reason().unwrap().message.is_empty());
        stage.built.provider.delete(id).await.unwrap();
    }
    for (id, _) in &planted {
        stage.until_gone(id).await;
    }
    assert_eq!(stage.left().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_pod_that_waits_for_its_config_is_on_its_way_and_says_so() {
    let stage = Stage::set("config", json!({})).await;
    let mut spec = once("true");
    spec["containers"][0]["envFrom"] = json!([{"configMapRef": {"name": "nope"}}]);
    let id = stage.plant("config", spec).await;
    let state =
        stage.until(&id, "the missing map", |state| code(state) == "CreateContainerConfigError").await;
    assert_eq!(state.kind(), StateKind::Provisioning);
    assert!(state.reason().unwrap().message.contains("nope"), "{state:?}");
    stage.clear().await;
}

#[tokio::test]
async fn a_squid_that_is_killed_is_on_its_way_until_it_is_ready_again() {
    let stage = Stage::set("restarted", json!({})).await;
    let id = stage.built.provider.create(&stage.request("restarted")).await.unwrap();
    stage.until(&id, "a running proxy", |state| state.kind() == StateKind::Running).await;
    let (_, name) = id.as_str().split_once('/').unwrap();
    let uid = stage.pods().get(name).await.unwrap().metadata.uid.unwrap();
    kill_squid_of(&uid);
    let state = stage.until(&id, "that it is not ready", |state| state.kind() != StateKind::Running).await;
    assert_eq!(state.kind(), StateKind::Provisioning, "{state:?}");
    stage.until(&id, "that it runs again", |state| state.kind() == StateKind::Running).await;
    let restarts = || async {
        let pod = stage.pods().get(name).await.unwrap();
        let restarts = pod.status?.container_statuses?.first()?.restart_count;
        (restarts > 0).then_some(())
    };
    until("a restart", restarts).await;
    stage.clear().await;
}

/// Ends the Squid of one Pod as the kernel might.
fn kill_squid_of(pod_uid: &str) {
    let squids = squids_of(pod_uid);
    assert!(!squids.is_empty(), "no Squid of that Pod was found");
    for pid in squids {
        // One may have ended with another.
        let _ended = std::process::Command::new("kill").arg("-KILL").arg(pid).status().unwrap();
    }
}
