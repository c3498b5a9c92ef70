//! From what the API shows of a Pod to a state. A pure function of the Pod, the present and three bounds, so that a
//! restart changes no answer: every time it counts from is read off the Pod.
//!
//! The rows, first match first; `profile.rs` lists them with their reasons:
//!
//! | the Pod | state |
//! |---|---|
//! | has a deletion timestamp | Stopped |
//! | Succeeded, Failed | Terminated, with the status' or the container's reason |
//! | a phase that is not known, `Unknown` too | Stopped, the phase as reason |
//! | its image cannot be pulled | Provisioning, after a bound Stopped |
//! | Pending for any other cause | Provisioning, with the scheduler's or the kubelet's reason |
//! | Running, its node lost | Provisioning, after a bound Stopped |
//! | Running, not Ready | Provisioning, with the container's or the condition's reason |
//! | Running, Ready, no own address | Provisioning |
//! | Running, Ready, an own address | Running |

use std::{borrow::Cow, time::Duration};

use provider_api::{AddressPolicy, Reason, State, Timestamp};

use crate::view::{Condition, Container, PodView, Stage, Status};

/// What the table needs to know beside the Pod.
#[derive(Clone, Debug)]
pub(crate) struct Bounds<'c> {
    pub(crate) now: Timestamp,
    pub(crate) addresses: &'c AddressPolicy,
    pub(crate) image_pull: Duration,
    pub(crate) node_lost: Duration,
}

/// The kubelet's reasons for an image that it cannot have. It shows two of them by turns, so none has an age of its
/// own.
const UNPULLABLE: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

/// The state of a Pod.
pub(crate) fn state(pod: &PodView, bounds: &Bounds<'_>) -> State {
    let status = &pod.status;
    if pod.metadata.is_deleting() {
        // get.deleting-is-not-running
        return State::Stopped { reason: Some(deleting(pod)) };
    }
    match status.phase.as_str() {
        "Succeeded" | "Failed" => State::Terminated { reason: Some(ended(status)) },
        "Pending" | "" => pending(pod, bounds),
        "Running" => running(pod, bounds),
        other => {
            // get.unknown-state-is-stopped
            let code = status.reason.clone().unwrap_or_else(|| other.to_owned());
            let message = said(&status.message, || format!("the Pod's phase is {other}"));
            State::Stopped { reason: Some(Reason::new(code, message)) }
        }
    }
}

/// Whether the Pod's node is lost: the node controller sets Ready to False without giving a reason, or to Unknown,
/// and leaves everything else as the kubelet last said it.
pub(crate) fn lost_since(status: &Status) -> Option<&Condition> {
    let ready = status.condition("Ready")?;
    let reason = ready.reason.as_deref().unwrap_or("");
    let lost = match ready.status.as_str() {
        "False" => matches!(reason, "" | "NodeStatusUnknown"),
        "Unknown" => true,
        _ => false,
    };
    lost.then_some(ready)
}

fn deleting(pod: &PodView) -> Reason {
    let by = match pod.metadata.deletion_timestamp.flatten() {
        Some(by) => format!("the Pod is being deleted and should be gone by {by}"),
        None => "the Pod is being deleted".to_owned(),
    };
    if lost_since(&pod.status).is_some() {
        return Reason::new("NodeLost", format!("{by}; its node does not answer"));
    }
    match pod.metadata.finalizers.as_slice() {
        [] => Reason::new("Terminating", by),
        finalizers => {
            let names = finalizers.join(", ");
            Reason::new("Terminating", format!("{by}; it waits for its finalizers: {names}"))
        }
    }
}

/// Why a Pod ended: the status' own reason (Evicted, DeadlineExceeded), else the first container's that failed.
fn ended(status: &Status) -> Reason {
    if let Some(code) = &status.reason {
        let message = said(&status.message, || format!("the Pod ended: {code}"));
        return Reason::new(code.clone(), message);
    }
    let ended = status.containers().filter_map(|container| container.state.terminated.as_ref());
    let worst = ended.clone().find(|stage| stage.exit_code != Some(0)).or_else(|| ended.clone().next());
    match worst {
        Some(stage) => exit(stage),
        None => Reason::new(
            status.phase.clone(),
            said(&status.message, || format!("the Pod is {}", status.phase)),
        ),
    }
}

fn pending(pod: &PodView, bounds: &Bounds<'_>) -> State {
    let status = &pod.status;
    if let Some(scheduled) = status.condition("PodScheduled").filter(|c| c.status == "False") {
        let code = scheduled.reason.clone().unwrap_or_else(|| "Unschedulable".to_owned());
        let message = said(&scheduled.message, || "no node was found for the Pod".to_owned());
        return State::Provisioning { reason: Some(Reason::new(code, message)) };
    }
    match waiting(status) {
        Some((stage, code)) if UNPULLABLE.contains(&code) => unpullable(pod, stage, code, bounds),
        Some((stage, code)) => State::Provisioning { reason: Some(wait(stage, code)) },
        None => State::Provisioning { reason: None },
    }
}

/// An image may come to be there; after the bound it counts as one that will not. The bound runs from when the
/// kubelet took the Pod up.
fn unpullable(pod: &PodView, stage: &Stage, code: &str, bounds: &Bounds<'_>) -> State {
    let since = pod.status.start_time.or(pod.metadata.creation_timestamp);
    let reason = Some(wait(stage, code));
    if Timestamp::age(bounds.now, since) < bounds.image_pull {
        State::Provisioning { reason }
    } else {
        State::Stopped { reason }
    }
}

fn running(pod: &PodView, bounds: &Bounds<'_>) -> State {
    let status = &pod.status;
    if let Some(ready) = lost_since(status) {
        let message = said(&ready.message, || "the Pod's node does not answer".to_owned());
        let reason = Some(Reason::new("NodeLost", message));
        // A short outage of the API server looks the same and passes by itself.
        let lost_for = Timestamp::age(bounds.now, ready.last_transition_time);
        return if lost_for < bounds.node_lost {
            State::Provisioning { reason }
        } else {
            State::Stopped { reason }
        };
    }
    let ready = status.condition("Ready");
    if ready.is_none_or(|condition| condition.status != "True") {
        return match waiting(status) {
            // A container that lost its image, on a node that cleaned up.
            Some((stage, code)) if UNPULLABLE.contains(&code) => unpullable(pod, stage, code, bounds),
            Some((stage, code)) => State::Provisioning { reason: Some(wait(stage, code)) },
            None => State::Provisioning { reason: Some(not_ready(status, ready)) },
        };
    }
    // get.own-address-only, get.address-family-and-ranges
    match bounds.addresses.pick(status.addresses()) {
        Some(address) => State::Running { address },
        None => {
            let family = bounds.addresses.family;
            let message = format!("the Pod has no {family:?} address that counts as its own");
            State::Provisioning { reason: Some(Reason::new("NoAddress", message)) }
        }
    }
}

fn not_ready(status: &Status, ready: Option<&Condition>) -> Reason {
    if let Some(stage) = status.containers().find_map(|container| container.state.terminated.as_ref()) {
        return exit(stage);
    }
    let code = ready.and_then(|ready| ready.reason.clone()).unwrap_or_else(|| "NotReady".to_owned());
    let message = ready.and_then(|ready| ready.message.clone());
    Reason::new(code, said(&message, || "the Pod is not ready yet".to_owned()))
}

/// The first container that waits, and its reason.
fn waiting(status: &Status) -> Option<(&Stage, &str)> {
    let stage = status.containers().find_map(|container: &Container| container.state.waiting.as_ref())?;
    Some((stage, stage.reason.as_deref().unwrap_or("Waiting")))
}

fn wait(stage: &Stage, code: &str) -> Reason {
    Reason::new(code.to_owned(), said(&stage.message, || format!("the container waits: {code}")))
}

fn exit(stage: &Stage) -> Reason {
    let code = stage.reason.clone().map_or(Cow::Borrowed("Error"), Cow::Owned);
    let message = said(&stage.message, || match stage.exit_code {
        Some(exit) => format!("the container ended with exit code {exit}"),
        None => "the container ended".to_owned(),
    });
    Reason::new(code, message)
}

fn said(message: &Option<String>, otherwise: impl FnOnce() -> String) -> String {
    message.clone().filter(|text| !text.is_empty()).unwrap_or_else(otherwise)
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
