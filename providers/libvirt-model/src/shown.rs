//! What a `get` shows of a domain: its state by the table, with an address where it runs and has one.

use std::net::IpAddr;

use provider_api::{AddressPolicy, NativeState, Reason, State, StateKind};

use crate::{DomainState, domain_state};

/// An address that a source knows, and the network interface that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// The interface's own address; sources that do not know it do not count.
    pub mac: Option<String>,
    /// The address.
    pub address: IpAddr,
}

/// What a domain in that state and reason is shown as. `addresses` are in the order of trust: the lease before the agent
/// before the neighbour table.
pub fn shown(
    state: i32,
    reason: i32,
    mac: Option<&str>,
    addresses: &[Leased],
    policy: &AddressPolicy,
) -> State {
    let row = domain_state(state, reason);
    match row.and_then(|row| row.native.state()) {
        Some(StateKind::Running) => match own(mac, addresses, policy) {
            Some(address) => State::Running { address },
            // get.no-address-is-provisioning
            None => State::Provisioning {
                reason: Some(Reason::new("NoAddress", "it runs, and has no usable address yet")),
            },
        },
        Some(StateKind::Provisioning) => State::Provisioning { reason: why(row, state, reason) },
        // What libvirt had not when the table was written (get.unknown-state-is-stopped).
        Some(StateKind::Stopped) | None => State::Stopped { reason: why(row, state, reason) },
        Some(StateKind::Terminated) => State::Terminated { reason: why(row, state, reason) },
    }
}

/// The first usable address of the domain's own interface (`get.own-address-only`,
/// `get.address-family-and-ranges`).
fn own(mac: Option<&str>, addresses: &[Leased], policy: &AddressPolicy) -> Option<IpAddr> {
    let mac = mac?;
    let of_it = |leased: &&Leased| leased.mac.as_deref().is_some_and(|its| its.eq_ignore_ascii_case(mac));
    policy.pick(addresses.iter().filter(of_it).map(|leased| leased.address))
}

/// Why it is in that state, under the name that libvirt's own tools give it (`get.reasons-reach-the-caller`).
fn why(row: Option<&DomainState>, state: i32, reason: i32) -> Option<Reason> {
    let Some(NativeState { native, .. }) = row.map(|row| row.native) else {
        let text = format!("libvirt says state {state} for reason {reason}, which is not known here");
        return Some(Reason::new(format!("State{state}"), text));
    };
    let text = match native {
        "paused/ioerror" => "it is paused: its disk cannot be written, the pool may be full",
        "shutoff/migrated" => "it was migrated away, and runs elsewhere from the same disks",
        "shutoff/failed" => "it could not be started",
        "shutdown" => "it is being shut down",
        _ => "",
    };
    let text = if text.is_empty() { format!("the domain is {native}") } else { text.to_owned() };
    Some(Reason::new(camel_case(native), text))
}

/// `paused/starting-up` as `PausedStartingUp`.
fn camel_case(native: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    native.split(['-', '/']).filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "52:00:00:00:00:01";

    fn leased(mac: &str, address: &str) -> Leased {
        Leased { mac: Some(mac.to_owned()), address: address.parse().unwrap() }
    }

    fn running(addresses: &[Leased]) -> State {
        shown(1, 1, Some(OURS), addresses, &AddressPolicy::default())
    }

    #[test]
    fn only_the_own_interface_counts() {
        let bridge = leased("02:42:00:00:00:01", "172.17.0.1");
        let address = "192.0.2.7".parse().unwrap();
        assert_eq!(running(std::slice::from_ref(&bridge)).kind(), StateKind::Provisioning);
        assert_eq!(running(&[bridge, leased(&OURS.to_uppercase(), "192.0.2.7")]), State::Running { address });
        let unknown = Leased { mac: None, address };
        assert_eq!(running(&[unknown]).kind(), StateKind::Provisioning);
        assert_eq!(
            shown(1, 1, None, &[leased(OURS, "192.0.2.7")], &AddressPolicy::default()).kind(),
            StateKind::Provisioning
        );
    }

    #[test]
    fn the_reason_decides_and_is_told() {
        let told = |state, reason| shown(state, reason, None, &[], &AddressPolicy::default());
        let State::Stopped { reason: Some(reason) } = told(3, 5) else { panic!("{:?}", told(3, 5)) };
        assert_eq!(reason.code, "PausedIoerror");
        assert_eq!(told(3, 2).reason().unwrap().code, "PausedMigration");
        assert_eq!(told(8, 0).kind(), StateKind::Stopped);
        assert_eq!(told(8, 0).reason().unwrap().code, "State8");
    }
}
