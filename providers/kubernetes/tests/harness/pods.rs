//! What Pods look like: the native states as they were recorded on a real node, and what an observer reads of a Pod.

use std::{collections::BTreeMap, net::IpAddr};

use jiff::{SignedDuration, Timestamp};
use provider_api::{
    Credentials,
    mark::{INSTALLATION, MANAGED, UID},
};
use providertest::harness::{Delivered, Thing, ThingKind, UNKNOWN_STATE};
use serde_json::{Value, json};

use super::TARGET;

/// Longer than any bound of the provider.
const LONG: SignedDuration = SignedDuration::from_secs(3_600);

/// The status of a native state; `None` for one that nobody knows how to make.
pub(crate) fn status(native: &str, now: Timestamp, addresses: &[IpAddr]) -> Option<Value> {
    let (state, late) = match native.split_once(", after ") {
        Some((state, _)) => (state, true),
        None => (native, false),
    };
    let began = if late { now - LONG } else { now };
    let (phase, detail) = state.split_once('/').unwrap_or((state, ""));
    let mut status = json!({"phase": phase, "startTime": began.to_string()});
    let condition = |kind: &str, value: &str, reason: &str, message: &str| {
        let mut condition = json!({"type": kind, "status": value, "lastProbeTime": null, "lastTransitionTime": began.to_string()});
        if !reason.is_empty() {
            condition["reason"] = json!(reason);
            condition["message"] = json!(message);
        }
        condition
    };
    let not_ready =
        || condition("Ready", "False", "ContainersNotReady", "containers with unready status: [squid]");
    let scheduled = || condition("PodScheduled", "True", "", "");
    let container = |state: Value, ready: bool| {
        json!([{"name": "squid", "image": "i", "imageID": "", "ready": ready, "restartCount": 0,
            "state": state, "lastState": {}}])
    };
    let waiting = |reason: &str, message: &str| json!({"waiting": {"reason": reason, "message": message}});
    let ended = |code: i64, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason}});
    let running = json!({"running": {"startedAt": began.to_string()}});
    match (phase, detail) {
        ("Pending", "") => {
            status = json!({"phase": "Pending"});
        }
        ("Pending", "Unschedulable") => {
            let message = "0/1 nodes are available: 1 Insufficient cpu.";
            status = json!({"phase": phase});
            status["conditions"] = json!([condition("PodScheduled", "False", "Unschedulable", message)]);
        }
        ("Pending", "ContainerCreating") => {
            status["conditions"] = json!([not_ready(), scheduled()]);
            status["containerStatuses"] = container(json!({"waiting": {"reason": detail}}), false);
        }
        ("Pending", reason) => {
            status["conditions"] = json!([not_ready(), scheduled()]);
            status["containerStatuses"] = container(waiting(reason, "as the kubelet words it"), false);
        }
        ("Running", "Ready" | "deleting") => {
            status["conditions"] = json!([condition("Ready", "True", "", ""), scheduled()]);
            status["containerStatuses"] = container(running, true);
        }
        ("Running", "ContainersNotReady") => {
            status["conditions"] = json!([not_ready(), scheduled()]);
            status["containerStatuses"] = container(running, false);
        }
        ("Running", "CrashLoopBackOff") => {
            status["conditions"] = json!([not_ready(), scheduled()]);
            status["containerStatuses"] = container(
                waiting(detail, "back-off 10s restarting failed container=squid pod=x_team-a(uid)"),
                false,
            );
        }
        ("Running", "OOMKilled") => {
            status["conditions"] = json!([not_ready(), scheduled()]);
            status["containerStatuses"] = container(ended(137, "OOMKilled"), false);
        }
        ("Running", "NodeLost") => {
            status["conditions"] = json!([
                condition("Ready", "False", "", ""),
                condition("ContainersReady", "True", "", ""),
                scheduled()
            ]);
            status["containerStatuses"] = container(running, true);
        }
        ("Succeeded", _) => {
            status["conditions"] = json!([condition("Ready", "False", "PodCompleted", "")]);
            status["containerStatuses"] = container(ended(0, "Completed"), false);
        }
        ("Failed", "Error" | "deleting") => status["containerStatuses"] = container(ended(3, "Error"), false),
        ("Failed", "OOMKilled") => status["containerStatuses"] = container(ended(137, detail), false),
        ("Failed", "DeadlineExceeded") => {
            status["reason"] = json!(detail);
            status["message"] = json!("Pod was active on the node longer than the specified deadline");
            status["containerStatuses"] = container(running, true);
        }
        ("Failed", "Evicted") => {
            status["reason"] = json!(detail);
            status["message"] = json!("The node was low on resource: memory.");
        }
        ("Failed", "OutOfcpu") => {
            status["reason"] = json!(detail);
            status["message"] = json!("Pod Node didn't have enough resource: cpu");
        }
        ("Unknown" | UNKNOWN_STATE, "") => {}
        _ => return None,
    }
    show(&mut status, addresses);
    Some(status)
}

/// Puts addresses into a status, most trusted first.
pub(crate) fn show(status: &mut Value, addresses: &[IpAddr]) {
    status["podIP"] = addresses.first().map_or(Value::Null, |address| json!(address));
    status["podIPs"] = addresses.iter().map(|address| json!({"ip": address})).collect();
}

/// The patch that puts a status in the place of the one that the Pod with that UID has.
pub(crate) fn laid(uid: &Value, status: Value) -> Value {
    let mut whole = json!({
        "reason": null, "message": null, "startTime": null, "conditions": null, "podIP": null, "podIPs": null,
        "initContainerStatuses": null, "containerStatuses": null
    });
    if let (Some(whole), Value::Object(status)) = (whole.as_object_mut(), status) {
        whole.extend(status);
    }
    json!({"metadata": {"uid": uid}, "status": whole})
}

/// What an observer sees in a Pod.
pub(crate) fn thing(pod: &Value) -> Thing {
    let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let label = |key: &str| Some((key.to_owned(), pod["metadata"]["labels"].get(key)?.as_str()?.to_owned()));
    let marks: BTreeMap<_, _> = [MANAGED, UID, INSTALLATION].into_iter().filter_map(label).collect();
    Thing {
        key: text("/metadata/uid"),
        kind: ThingKind::Instance,
        name: text("/metadata/name"),
        target: TARGET.into(),
        marks,
        native_state: native_state(pod),
        deleting: !text("/metadata/deletionTimestamp").is_empty(),
        references: Vec::new(),
        delivered: delivered(pod),
    }
}

fn native_state(pod: &Value) -> String {
    let status = &pod["status"];
    let phase = status["phase"].as_str().unwrap_or_default();
    let state = &status["containerStatuses"][0]["state"];
    let reason = [&status["reason"], &state["waiting"]["reason"], &state["terminated"]["reason"]];
    let reason = reason.into_iter().find_map(Value::as_str);
    let ready = status["conditions"].as_array().into_iter().flatten().find(|c| c["type"] == "Ready");
    let ready = ready.and_then(|c| c["status"].as_str()).unwrap_or("-");
    format!("{phase}/{}/{ready}", reason.unwrap_or("-"))
}

/// The observer reads the files that the Pod mounts, and knows nothing of the provider's builder.
fn delivered(pod: &Value) -> Delivered {
    let conf = mounted(pod, "squid.conf").unwrap_or_default();
    let words = |start: &'static str| conf.lines().filter_map(move |line| line.strip_prefix(start));
    let sources: Vec<_> = words("acl sources src ").filter_map(|net| net.parse().ok()).collect();
    Delivered {
        cloud_init: None,
        port: words("http_port ").next().and_then(|port| port.parse().ok()),
        allowed_sources: (!sources.is_empty()).then_some(sources),
    }
}

/// The content of a file of the downward-API volume.
fn mounted<'p>(pod: &'p Value, file: &str) -> Option<&'p str> {
    let volumes = pod["spec"]["volumes"].as_array()?;
    let items = volumes.iter().find_map(|volume| volume["downwardAPI"]["items"].as_array())?;
    let item = items.iter().find(|item| item["path"] == file)?;
    let key = item["fieldRef"]["fieldPath"].as_str()?;
    let key = key.strip_prefix("metadata.annotations['")?.strip_suffix("']")?;
    pod["metadata"]["annotations"][key].as_str()
}

/// Whether the password file lets somebody in, as `basic_ncsa_auth` would decide it.
pub(crate) fn admits(pod: &Value, credentials: &Credentials) -> Option<bool> {
    let file = mounted(pod, "passwd")?;
    let (user, hash) = file.trim_end().split_once(':')?;
    let mut parts = hash.strip_prefix("$6$")?.split('$');
    let (salt, digest) = (parts.next()?, parts.next()?);
    let params = sha_crypt::Sha512Params::new(sha_crypt::ROUNDS_DEFAULT).ok()?;
    let same = sha_crypt::sha512_crypt_b64(credentials.password.reveal(), salt.as_bytes(), &params).ok()?;
    Some(user == credentials.username && same == digest)
}
