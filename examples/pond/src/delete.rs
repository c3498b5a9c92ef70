//! `delete`: one look, and one deletion bound to the machine that was seen. The turn at the name is taken.

use std::time::Duration;

use provider_api::{BoundedWait, Deleted, Error};

use crate::{error::Meaning, id::MachineId, provider::Pond};

/// The API refuses to delete a machine that is being made or started, which takes some 25 seconds.
pub(crate) const UNLOCKED: BoundedWait = BoundedWait {
    for_what: "free for a deletion",
    every: Duration::from_secs(2),
    at_most: Duration::from_secs(40),
};

impl Pond {
    /// Deletes the machine, or sees that its deletion is in progress.
    pub(crate) async fn delete_machine(&self, id: &MachineId) -> Result<Deleted, Error> {
        self.until(UNLOCKED, || async {
            let Some((machine, _)) = self.look(id).await? else { return Ok(Some(Deleted::Gone)) };
            if machine.is_deleting() {
                return Ok(Some(Deleted::Accepted));
            }
            match self.backend.machine_delete(id.target(), &machine).await {
                Ok(()) => Ok(Some(Deleted::Accepted)),
                Err(refused) if refused.meaning == Meaning::Absent => Ok(Some(Deleted::Gone)),
                // Who holds the lock may have changed everything, so the next round looks again.
                Err(refused) if refused.meaning == Meaning::Busy => Ok(None),
                Err(refused) => Err(refused.into()),
            }
        })
        .await
    }
}
