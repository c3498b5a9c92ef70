//! What the cloud's native states mean.

use std::net::IpAddr;

use provider_api::{NativeState, Profile, Reason, State, StateKind, profile::AsyncOp};

use super::cloud::{Described, LOCKING};

/// The native-state table of a profile (`get.native-state-table`).
pub(super) fn table(profile: &Profile) -> Vec<NativeState> {
    let locks = profile.async_ops.contains(&AsyncOp::BackendLock);
    ROWS.iter().filter(|row| locks || !LOCKING.contains(&row.native)).copied().collect()
}

const ROWS: &[NativeState] = &[
    NativeState::new("pending", StateKind::Provisioning),
    NativeState::new("staging", StateKind::Provisioning),
    NativeState::reasoned("no-capacity", StateKind::Provisioning),
    NativeState::reasoned("image-error", StateKind::Provisioning),
    // These recover by themselves.
    NativeState::reasoned("migrating", StateKind::Provisioning),
    NativeState::reasoned("repairing", StateKind::Provisioning),
    NativeState::reasoned("locked", StateKind::Provisioning),
    NativeState::new("running", StateKind::Running),
    NativeState::new("backup", StateKind::Running).locked(),
    NativeState::reasoned("stopping", StateKind::Stopped).started(),
    NativeState::reasoned("stopped", StateKind::Stopped).started(),
    NativeState::reasoned("suspended", StateKind::Stopped).started(),
    NativeState::reasoned("disk-full", StateKind::Stopped).started(),
    NativeState::reasoned("crashed", StateKind::Terminated),
];

/// The state of an instance; `address` is its own, as far as it is known.
pub(super) fn state(described: &Described, address: Option<IpAddr>) -> State {
    if described.deleting {
        // get.deleting-is-not-running
        let reason = Reason::new("Deleting", "its removal is in progress");
        return State::Terminated { reason: Some(reason) };
    }
    match (kind(&described.state), address) {
        (StateKind::Running, Some(address)) => State::Running { address },
        (StateKind::Running, None) => {
            // get.no-address-is-provisioning
            let reason = Reason::new("NoAddress", "it runs, and has no usable address yet");
            State::Provisioning { reason: Some(reason) }
        }
        (StateKind::Provisioning, _) => State::Provisioning { reason: reason(described) },
        (StateKind::Stopped, _) => State::Stopped { reason: reason(described) },
        (StateKind::Terminated, _) => State::Terminated { reason: reason(described) },
    }
}

/// The kind of state; one that nobody has heard of is Stopped (`get.unknown-state-is-stopped`).
pub(super) fn kind(native: &str) -> StateKind {
    row(native).and_then(NativeState::state).unwrap_or(StateKind::Stopped)
}

/// Why it is in that state, in the cloud's own words where it has some (`get.reasons-reach-the-caller`).
pub(super) fn reason(described: &Described) -> Option<Reason> {
    let Described { state, detail, .. } = described;
    let said = row(state).is_none_or(|row| row.reasoned);
    let message = || detail.clone().unwrap_or_else(|| format!("the cloud says {state}"));
    said.then(|| Reason::new(camel_case(state), message()))
}

fn row(native: &str) -> Option<&'static NativeState> {
    ROWS.iter().find(|row| row.native == native)
}

/// `image-error` as `ImageError`.
fn camel_case(native: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    native.split('-').filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_camel_case() {
        assert_eq!(camel_case("image-error"), "ImageError");
        assert_eq!(camel_case("never-heard-of"), "NeverHeardOf");
    }
}
