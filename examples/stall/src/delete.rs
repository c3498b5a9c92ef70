//! `delete`: one look, and one deletion bound to the machine that was seen. The turn at the name is taken.

use provider_api::{Deleted, Error};

use crate::{error::Meaning, id::MachineId, mark, profile::TASK, provider::Stall};

impl Stall {
    /// Deletes the machine, or sees that its deletion is in progress. While a task works on it, which its own making is
    /// too, it is looked at again in a while (`delete.every-native-state`, `delete.races-create`).
    pub(crate) async fn delete_machine(&self, id: &MachineId) -> Result<Deleted, Error> {
        let began = self.seam.clock().monotonic();
        loop {
            let Some(machine) = self.backend.machine_find(&id.zone, id.name.as_str()).await? else {
                return Ok(Deleted::Gone); // delete.absent-is-ok
            };
            let ownership = mark::ownership(&machine.name, &machine.tags, &self.identity);
            let why_not = ownership.why_not();
            if ownership.ours().is_none() {
                // delete.leaves-foreign-alone
                tracing::info!(machine = %machine.name, zone = %id.zone, "left alone: it {why_not}");
                return Ok(Deleted::Gone);
            }
            if machine.is_deleting() {
                return Ok(Deleted::Accepted); // delete.repeat-while-deleting
            }
            let waited = self.seam.clock().monotonic().saturating_sub(began);
            match self.backend.machine_delete(&id.zone, &machine.id).await {
                Ok(()) => return Ok(Deleted::Accepted), // delete.gone-means-gone
                Err(refused) if refused.meaning == Meaning::Absent => return Ok(Deleted::Gone),
                Err(refused) if refused.meaning == Meaning::Busy && waited < TASK.at_most => {
                    self.seam.pause(TASK.every).await;
                }
                Err(refused) => return Err(refused.into()),
            }
        }
    }
}
