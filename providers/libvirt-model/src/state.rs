//! What a domain's state and its reason mean, by libvirt's numbers.
//!
//! The state alone does not tell: a domain paused by a migration goes on by itself, one paused by an I/O error does not.

use provider_api::{NativeState, StateKind};

/// One row: a state, a reason where that decides, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainState {
    /// libvirt's `virDomainState`.
    pub state: i32,
    /// The reason within that state; `None` stands for all that have no row of their own.
    pub reason: Option<i32>,
    /// What it means, under the name that libvirt's tools give it: `paused/ioerror`.
    pub native: NativeState,
}

const fn row(state: i32, reason: Option<i32>, native: NativeState) -> DomainState {
    DomainState { state, reason, native }
}

const fn comes_back(name: &'static str) -> NativeState {
    NativeState::reasoned(name, StateKind::Provisioning)
}

const fn stays(name: &'static str) -> NativeState {
    NativeState::reasoned(name, StateKind::Stopped)
}

/// The states of `libvirt-domain.h`, as of libvirt 11; reasons that mean what their state means have no row.
///
/// A create resumes what somebody paused, wakes what sleeps and starts what is off. It does not start a domain that was
/// migrated away, which runs elsewhere from the same disks, nor resume one whose trouble is still there.
pub const DOMAIN_STATES: &[DomainState] = &[
    row(0, None, comes_back("nostate")),
    row(1, None, NativeState::new("running", StateKind::Running)),
    row(2, None, NativeState::new("blocked", StateKind::Running)),
    row(3, None, stays("paused").started()),
    row(3, Some(1), stays("paused/user").started()),
    row(3, Some(2), comes_back("paused/migration")),
    row(3, Some(3), comes_back("paused/save")),
    row(3, Some(4), comes_back("paused/dump")),
    row(3, Some(5), stays("paused/ioerror")),
    row(3, Some(6), stays("paused/watchdog")),
    row(3, Some(7), stays("paused/from-snapshot").started()),
    row(3, Some(8), stays("paused/shutting-down")),
    row(3, Some(9), comes_back("paused/snapshot")),
    row(3, Some(10), stays("paused/crashed")),
    row(3, Some(11), comes_back("paused/starting-up")),
    row(3, Some(12), comes_back("paused/postcopy")),
    row(3, Some(13), stays("paused/postcopy-failed")),
    row(3, Some(14), stays("paused/api-error")),
    row(4, None, stays("shutdown")),
    row(5, None, stays("shutoff").started()),
    row(5, Some(3), stays("shutoff/crashed").started()),
    row(5, Some(4), stays("shutoff/migrated")),
    row(5, Some(5), stays("shutoff/saved").started()),
    row(5, Some(6), stays("shutoff/failed").started()),
    row(5, Some(8), stays("shutoff/daemon").started()),
    row(6, None, stays("crashed")),
    row(6, Some(1), stays("crashed/panicked")),
    row(7, None, stays("pmsuspended").started()),
];

/// The row for a state and a reason; `None` for a state that libvirt had not when this was written, which is Stopped
/// with its number as the reason.
pub fn domain_state(state: i32, reason: i32) -> Option<&'static DomainState> {
    let of_state = || DOMAIN_STATES.iter().filter(|row| row.state == state);
    of_state().find(|row| row.reason == Some(reason)).or_else(|| of_state().find(|row| row.reason.is_none()))
}

/// Whether a domain in that state runs: with an address it is Running.
pub fn runs(state: i32, reason: i32) -> bool {
    domain_state(state, reason).and_then(|row| row.native.state()) == Some(StateKind::Running)
}

/// The table as a profile has it.
pub fn native_states() -> Vec<NativeState> {
    DOMAIN_STATES.iter().map(|row| row.native).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(state: i32, reason: i32) -> Option<StateKind> {
        domain_state(state, reason)?.native.state()
    }

    #[test]
    fn the_reason_decides_where_it_has_a_row() {
        assert_eq!(shown(3, 2), Some(StateKind::Provisioning), "a migration goes on by itself");
        assert_eq!(shown(3, 5), Some(StateKind::Stopped), "a full disk does not");
        assert_eq!(shown(3, 99), Some(StateKind::Stopped), "a reason that libvirt may yet invent");
        assert_eq!(shown(1, 9), Some(StateKind::Running));
        assert_eq!(shown(8, 0), None);
    }

    #[test]
    fn every_state_has_a_row_for_the_reasons_without_one() {
        for state in 0..=7 {
            let rows: Vec<_> = DOMAIN_STATES.iter().filter(|row| row.state == state).collect();
            assert_eq!(rows.iter().filter(|row| row.reason.is_none()).count(), 1, "state {state}");
            let mut reasons: Vec<_> = rows.iter().map(|row| row.reason).collect();
            reasons.sort_unstable();
            reasons.dedup();
            assert_eq!(reasons.len(), rows.len(), "state {state} has a reason twice");
        }
    }
}
