//! What a machine's status means.
//!
//! A status that the table does not have is Stopped, with its name as the reason.

use provider_api::{AddressPolicy, NativeState, Reason, State, StateKind};

use crate::view::Machine;

/// The native-state table (`get.native-state-table`). Stopped and Terminated are for what does not recover by itself.
pub(crate) const TABLE: &[NativeState] = &[
    NativeState::new("creating", StateKind::Provisioning).locked(),
    NativeState::new("booting", StateKind::Provisioning).locked(),
    NativeState::new("ready", StateKind::Running),
    NativeState::reasoned("halted", StateKind::Stopped).started(),
];

/// The state of a machine.
pub(crate) fn state(machine: &Machine, addresses: &AddressPolicy) -> State {
    if machine.is_deleting() {
        // get.deleting-is-not-running
        let reason = Reason::new("Deleting", "its deletion is in progress");
        return State::Stopped { reason: Some(reason) };
    }
    match kind(machine) {
        StateKind::Running => match addresses.pick(machine.addresses.iter().copied()) {
            Some(address) => State::Running { address },
            // get.no-address-is-provisioning
            None => {
                let reason = Reason::new("NoAddress", "it runs, and has no usable address yet");
                State::Provisioning { reason: Some(reason) }
            }
        },
        StateKind::Provisioning => State::Provisioning { reason: reason(machine) },
        StateKind::Stopped => State::Stopped { reason: reason(machine) },
        StateKind::Terminated => State::Terminated { reason: reason(machine) },
    }
}

/// The kind of state; an unknown status is Stopped (`get.unknown-state-is-stopped`).
pub(crate) fn kind(machine: &Machine) -> StateKind {
    row(machine).and_then(NativeState::state).unwrap_or(StateKind::Stopped)
}

/// Whether `create` starts it (`create.adopts-own-partial`).
pub(crate) fn is_started(machine: &Machine) -> bool {
    row(machine).is_some_and(|row| row.started)
}

/// Why it is in that state, in the backend's own words where it has some (`get.reasons-reach-the-caller`).
pub(crate) fn reason(machine: &Machine) -> Option<Reason> {
    let said = row(machine).is_none_or(|row| row.reasoned);
    let text = || machine.reason.clone().unwrap_or_else(|| format!("its status is {}", machine.status));
    said.then(|| Reason::new(camel_case(&machine.status), text()))
}

fn row(machine: &Machine) -> Option<&'static NativeState> {
    TABLE.iter().find(|row| row.native == machine.status)
}

/// `out-of-memory` as `OutOfMemory`.
fn camel_case(status: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    status.split(['-', '_', ' ']).filter_map(word).collect()
}
