//! The waits inside operations: each polls, each is bounded, and each is declared in the profile.

use std::time::Duration;

use provider_api::{BoundedWait, Error, LeftBehind, Seam, State, StateKind};

use super::{
    backend::Backend,
    cloud::{Described, Outcome},
    error::{Meaning, tolerate},
    profile::{GONE, RUNNING, TASK},
    provider::MemoryProvider,
    state, tasks,
};

/// How long a wait may still go on.
pub(super) struct Patience<'s> {
    seam: &'s Seam,
    wait: BoundedWait,
    until: Duration,
}

impl<'s> Patience<'s> {
    pub(super) fn new(seam: &'s Seam, wait: BoundedWait) -> Self {
        Self { seam, wait, until: seam.clock().monotonic() + wait.at_most }
    }

    /// Waits until it is time to look again; `seen` is what was there at the last look.
    pub(super) async fn pause(&self, seen: &str) -> Result<(), Error> {
        if self.seam.clock().monotonic() >= self.until {
            let BoundedWait { for_what, at_most, .. } = self.wait;
            let text = format!("it is not {for_what} after {at_most:?}; last seen: {seen}");
            return Err(Error::transient(text).leaving(LeftBehind::DeletableById));
        }
        self.seam.pause(self.wait.every).await;
        Ok(())
    }
}

impl MemoryProvider {
    /// Waits until a task is over; a failed one is the error that a later create would report too.
    pub(super) async fn until_done(&self, backend: &Backend, zone: &str, task: u64) -> Result<(), Error> {
        let patience = Patience::new(&self.seam, TASK);
        loop {
            let task = backend.task(zone, task).await?;
            match &task.outcome {
                Outcome::Done => return Ok(()),
                Outcome::Failed(error) => return Err(tasks::failure(&self.profile, &task, error)),
                Outcome::Running => patience.pause("a running task").await?,
            }
        }
    }

    /// Waits until an instance runs and has its address.
    pub(super) async fn until_running(&self, backend: &Backend, zone: &str, key: &str) -> Result<(), Error> {
        let patience = Patience::new(&self.seam, RUNNING);
        loop {
            let described = tolerate(backend.describe(zone, key).await, &[Meaning::Absent])?;
            let Some(described) = described.filter(|described| !described.deleting) else {
                return Err(Error::transient("it went away while it was starting"));
            };
            let address = self.address(backend, zone, &described).await?;
            let seen = match state::state(&described, address) {
                State::Running { .. } => return Ok(()),
                State::Terminated { .. } => return Err(beyond_recovery(&described)),
                State::Provisioning { reason } | State::Stopped { reason } => reason,
            };
            patience.pause(&seen.map_or(described.state, |reason| reason.to_string())).await?;
        }
    }

    /// Waits until one incarnation is gone, whatever stands there then.
    pub(super) async fn until_gone(&self, zone: &str, key: &str, incarnation: u64) -> Result<(), Error> {
        let patience = Patience::new(&self.seam, GONE);
        loop {
            let described = tolerate(self.backend.describe(zone, key).await, &[Meaning::Absent])?;
            match described.filter(|described| described.incarnation == incarnation) {
                None => return Ok(()),
                Some(described) => patience.pause(&described.state).await?,
            }
        }
    }
}

/// The error for an instance of ours that nothing can bring up again.
pub(super) fn beyond_recovery(described: &Described) -> Error {
    debug_assert_eq!(state::kind(&described.state), StateKind::Terminated);
    let reason = state::reason(described).map_or_else(String::new, |reason| format!(": {}", reason.message));
    let text = format!("it is there and cannot be started again{reason}; delete it first");
    Error::permanent(text).coded(described.state.clone()).leaving(LeftBehind::DeletableById)
}
