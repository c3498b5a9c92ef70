//! `delete`: one look, and one deletion bound to the machine that was seen. The turn at the name is taken.

use std::time::Duration;

use provider_api::{BoundedWait, Deleted, Error};

use crate::{
    error::{Meaning, Refused},
    id::MachineId,
    provider::Harbour,
};

/// The API refuses to delete a machine while a task works on it, its own making too.
pub(crate) const UNLOCKED: BoundedWait = BoundedWait {
    for_what: "free of tasks",
    every: Duration::from_secs(2),
    at_most: Duration::from_secs(30),
};

impl Harbour {
    /// Deletes the machine, or sees that its deletion is in progress.
    pub(crate) async fn delete_machine(&self, id: &MachineId) -> Result<Deleted, Error> {
        let step = async || {
            let Some((machine, _)) = self.look(id).await? else { return Ok(Some(Deleted::Gone)) };
            if machine.is_deleting() {
                return Ok(Some(Deleted::Accepted)); // delete.repeat-while-deleting
            }
            match self.backend.machine_delete(id.target(), &machine).await {
                Ok(()) => Ok(Some(Deleted::Accepted)),
                Err(Refused { meaning: Meaning::Absent, .. }) => Ok(Some(Deleted::Gone)),
                Err(Refused { meaning: Meaning::Busy, .. }) => Ok(None), // delete.races-create
                Err(refused) => Err(refused.error),
            }
        };
        self.until(UNLOCKED, step).await
    }
}
