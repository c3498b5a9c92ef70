//! The state table over Pods as they were recorded on a real node, and over time.

use serde_json::{Value, json};

use super::*;

const CREATED: &str = "2026-11-05T12:00:00Z";

/// What a Pod is `after` seconds after it was made.
fn at(after: i64, pod: &Value) -> State {
    let addresses = AddressPolicy::default();
    with(after, pod, &addresses)
}

fn with(after: i64, pod: &Value, addresses: &AddressPolicy) -> State {
    let pod: PodView = serde_json::from_value(pod.clone()).unwrap();
    let start: Timestamp = CREATED.parse().unwrap();
    let bound = Duration::from_secs(300);
    let now = Timestamp::from_unix(start.as_unix() + after);
    state(&pod, &Bounds { now, addresses, image_pull: bound, node_lost: bound })
}

fn pod(status: Value) -> Value {
    json!({"metadata": {"name": "p", "uid": "u", "creationTimestamp": CREATED}, "status": status})
}

fn waiting(phase: &str, reason: &str, message: &str) -> Value {
    pod(json!({
        "phase": phase, "startTime": CREATED, "podIP": "10.244.0.7", "podIPs": [{"ip": "10.244.0.7"}],
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady",
             "message": "containers with unready status: [squid]", "lastTransitionTime": CREATED},
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": CREATED}
        ],
        "containerStatuses": [{"name": "squid", "state": {"waiting": {"reason": reason, "message": message}}}]
    }))
}

fn ready(addresses: &[&str]) -> Value {
    let all: Vec<_> = addresses.iter().map(|address| json!({"ip": address})).collect();
    pod(json!({
        "phase": "Running", "startTime": CREATED, "podIP": addresses.first(), "podIPs": all,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": CREATED}],
        "containerStatuses": [{"name": "squid", "ready": true, "state": {"running": {"startedAt": CREATED}}}]
    }))
}

fn code(state: &State) -> &str {
    state.reason().map_or("", |reason| &reason.code)
}

fn kind(state: &State) -> &'static str {
    match state {
        State::Provisioning { .. } => "Provisioning",
        State::Running { .. } => "Running",
        State::Stopped { .. } => "Stopped",
        State::Terminated { .. } => "Terminated",
    }
}

#[test]
fn a_life_as_it_was_recorded() {
    let steps = [
        (pod(json!({"phase": "Pending", "qosClass": "Burstable"})), "Provisioning", ""),
        (
            pod(json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]})),
            "Provisioning",
            "",
        ),
        (waiting("Pending", "ContainerCreating", ""), "Provisioning", "ContainerCreating"),
        (
            pod(json!({
                "phase": "Running", "podIP": "10.244.0.7",
                "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
                "containerStatuses": [{"state": {"running": {}}, "started": true}]
            })),
            "Provisioning",
            "ContainersNotReady",
        ),
        (ready(&["10.244.0.7"]), "Running", ""),
    ];
    for (pod, expected, reason) in steps {
        let state = at(5, &pod);
        assert_eq!((kind(&state), code(&state)), (expected, reason), "{pod}");
    }
}

#[test]
fn bug_k03_what_was_evicted_or_rejected_is_over_and_says_why() {
    for (reason, message) in [
        ("Evicted", "The node was low on resource: memory."),
        ("OutOfcpu", "Pod Node didn't have enough resource: cpu, requested: 2000, used: 100, capacity: 1000"),
        ("NodeAffinity", "Pod Predicate NodeAffinity failed"),
        ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline"),
    ] {
        // No conditions, or the container still said to run: neither counts.
        let bare = pod(json!({"phase": "Failed", "reason": reason, "message": message}));
        let mut stale = ready(&["10.244.0.7"]);
        stale["status"]["phase"] = json!("Failed");
        stale["status"]["reason"] = json!(reason);
        for pod in [bare, stale] {
            let state = at(5, &pod);
            assert_eq!((kind(&state), code(&state)), ("Terminated", reason));
        }
    }
    let ended = |code: i64, reason: &str| {
        pod(json!({"phase": if code == 0 { "Succeeded" } else { "Failed" }, "containerStatuses": [
            {"state": {"terminated": {"exitCode": code, "reason": reason}}}
        ]}))
    };
    for (exit, reason) in
        [(137, "OOMKilled"), (3, "Error"), (0, "Completed"), (127, "ContainerCannotRun"), (128, "StartError")]
    {
        let state = at(5, &ended(exit, reason));
        assert_eq!((kind(&state), code(&state)), ("Terminated", reason));
    }
}

#[test]
fn bug_k04_an_image_that_cannot_be_pulled_is_stopped_after_the_bound() {
    for reason in ["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"] {
        let pod = waiting("Pending", reason, "rpc error: pull access denied");
        let (early, late) = (at(299, &pod), at(300, &pod));
        assert_eq!((kind(&early), code(&early)), ("Provisioning", reason));
        assert_eq!((kind(&late), code(&late)), ("Stopped", reason));
        assert_eq!(late.reason().unwrap().message, "rpc error: pull access denied");
    }
    // The bound runs from when the kubelet took it up: an hour without a node does not count.
    let mut late = waiting("Pending", "ErrImagePull", "");
    late["status"]["startTime"] = json!("2026-11-05T13:00:00Z");
    assert_eq!(kind(&at(3_700, &late)), "Provisioning");
}

#[test]
fn an_unschedulable_pod_goes_on_waiting_and_says_why() {
    let message = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity.";
    let pod = pod(json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    ]}));
    let state = at(100_000, &pod);
    assert_eq!((kind(&state), code(&state)), ("Provisioning", "Unschedulable"));
    assert_eq!(state.reason().unwrap().message, message);
}

#[test]
fn a_crash_shows_under_the_phase_running() {
    let message = "back-off 10s restarting failed container=squid pod=p_t(u)";
    let looping = waiting("Running", "CrashLoopBackOff", message);
    let state = at(100_000, &looping);
    assert_eq!((kind(&state), code(&state)), ("Provisioning", "CrashLoopBackOff"));
    let mut ended = looping;
    ended["status"]["containerStatuses"] =
        json!([{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]);
    assert_eq!(code(&at(5, &ended)), "OOMKilled");
    // Ready stays True while a liveness probe restarts the container.
    assert_eq!(kind(&at(5, &ready(&["10.244.0.7"]))), "Running");
}

#[test]
fn bug_k05_a_pod_that_is_being_deleted_is_stopped_until_it_is_gone() {
    for phase in ["Running", "Succeeded", "Failed", "Pending"] {
        let mut pod = ready(&["10.244.0.7"]);
        pod["status"]["phase"] = json!(phase);
        pod["metadata"]["deletionTimestamp"] = json!("2026-11-05T12:00:40Z");
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        let state = at(20, &pod);
        assert_eq!((kind(&state), code(&state)), ("Stopped", "Terminating"), "{phase}");
    }
    let mut held = ready(&["10.244.0.7"]);
    held["metadata"]["deletionTimestamp"] = json!("2026-11-05T12:00:40Z");
    held["metadata"]["finalizers"] = json!(["example.com/wait"]);
    assert!(at(20, &held).reason().unwrap().message.contains("example.com/wait"));
}

#[test]
fn bug_k06_a_lost_node_is_not_running_and_after_the_bound_stopped() {
    // Ready False without a reason, everything else as the kubelet last said it.
    let mut lost = ready(&["10.244.0.7"]);
    lost["status"]["conditions"] = json!([
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-05T12:10:00Z"},
        {"type": "ContainersReady", "status": "True", "lastTransitionTime": CREATED}
    ]);
    let (dip, gone) = (at(615, &lost), at(901, &lost));
    assert_eq!((kind(&dip), code(&dip)), ("Provisioning", "NodeLost"));
    assert_eq!((kind(&gone), code(&gone)), ("Stopped", "NodeLost"));
    lost["status"]["conditions"][0]["status"] = json!("Unknown");
    lost["status"]["conditions"][0]["reason"] = json!("NodeStatusUnknown");
    assert_eq!(kind(&at(615, &lost)), "Provisioning");
    lost["metadata"]["deletionTimestamp"] = json!("2026-11-05T12:15:00Z");
    let deleting = at(5_000, &lost);
    assert_eq!((kind(&deleting), code(&deleting)), ("Stopped", "NodeLost"));
    // The phase that old clusters had for it.
    let unknown = pod(json!({"phase": "Unknown", "reason": "NodeLost", "message": "Node n is unresponsive"}));
    assert_eq!((kind(&at(5, &unknown)), code(&at(5, &unknown))), ("Stopped", "NodeLost"));
}

#[test]
fn bug_k07_the_address_is_chosen_by_family() {
    let four = AddressPolicy::default();
    let six = AddressPolicy { family: provider_api::AddressFamily::Ipv6, ranges: Vec::new() };
    let dual = ready(&["fd00:10:244::7", "10.244.0.7"]);
    let address = |state: State| match state {
        State::Running { address } => address.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(address(with(5, &dual, &four)), "10.244.0.7");
    assert_eq!(address(with(5, &dual, &six)), "fd00:10:244::7");
    let only_six = ready(&["fd00:10:244::7"]);
    assert_eq!(code(&with(5, &only_six, &four)), "NoAddress");
    for noise in ["127.0.0.1", "169.254.1.1", "0.0.0.0", "224.0.0.1", "no address"] {
        assert_eq!(kind(&with(5, &ready(&[noise]), &four)), "Provisioning", "{noise}");
    }
    assert_eq!(kind(&with(5, &ready(&[]), &four)), "Provisioning");
}

#[test]
fn a_phase_that_is_not_known_is_stopped_with_its_name() {
    let state = at(5, &pod(json!({"phase": "Hibernating"})));
    assert_eq!((kind(&state), code(&state)), ("Stopped", "Hibernating"));
}
