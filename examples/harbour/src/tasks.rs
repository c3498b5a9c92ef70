//! Tasks: what the API accepted goes on in one, and may fail in the end.
//! A task is found by its number alone, which nobody has after a restart, so who began it waits for its end.
//! What one looks like is `view.rs`.

use std::time::Duration;

use provider_api::{BoundedWait, Deleted, Error, FailureClass, LeftBehind};

use crate::{
    error::{Meaning, Refused, classify},
    id::MachineId,
    provider::Harbour,
    view::{Accepted, Task},
};

/// The API answers before a machine is made, and its task may still fail.
pub(crate) const MADE: BoundedWait =
    BoundedWait { for_what: "made", every: Duration::from_secs(2), at_most: Duration::from_secs(300) };

/// A deletion goes on after the answer.
pub(crate) const TAKEN_BACK: BoundedWait =
    BoundedWait { for_what: "taken back", every: Duration::from_secs(2), at_most: Duration::from_secs(120) };

/// The status of the answer that a task began with.
const ACCEPTED: u16 = 202;

impl Harbour {
    /// Waits until the making that was accepted is over. What it failed with is a refusal as any other; a wait that ends
    /// before it tells nothing, and the next create looks for the machine.
    pub(crate) async fn made(&self, id: &MachineId, Accepted { task }: Accepted) -> Result<(), Refused> {
        let outcome = self.until(MADE, || self.outcome(id, task)).await;
        match outcome {
            Ok(outcome) => outcome,
            Err(error) if error.class() == FailureClass::Permanent => {
                Err(Refused { meaning: Meaning::Other, error: self.taken_back(id, error).await })
            }
            Err(error) => Err(Refused { meaning: Meaning::Other, error }),
        }
    }

    /// Removes what was accepted where its task may not be looked at: nobody repeats what is Permanent
    /// (`create.nothing-left-on-permanent-failure`).
    async fn taken_back(&self, id: &MachineId, error: Error) -> Error {
        let step = async || match self.delete_machine(id).await? {
            Deleted::Accepted => Ok(None),
            _ => Ok(Some(())),
        };
        match self.until(TAKEN_BACK, step).await {
            Ok(()) => error.leaving(LeftBehind::Nothing),
            Err(why) => {
                let (first, then) = (error.message(), why.message());
                Error::transient(format!("{first}; and what was accepted could not be removed: {then}"))
            }
        }
    }

    /// A step of the wait: gives a result once the task is over.
    async fn outcome(&self, id: &MachineId, number: u64) -> Result<Option<Result<(), Refused>>, Error> {
        let failure = match self.backend.task_get(id.target(), number).await? {
            Task::Running => return Ok(None),
            Task::Success => return Ok(Some(Ok(()))),
            Task::Error { error } => error,
        };
        // Its text may quote what was sent, so only the code goes on (create.hides-secrets).
        let refusal = failure.refusal(ACCEPTED);
        let (meaning, class) = classify(&refusal);
        let text = format!("{} failed after it was accepted: {}", id.to_id(), refusal.code());
        let error = Error::new(class, text).coded(refusal.code()).leaving(LeftBehind::Nothing);
        Ok(Some(Err(Refused { meaning, error })))
    }
}
