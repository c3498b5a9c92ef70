//! `delete`: one look, and one deletion bound to the machine that was seen. The turn at the name is taken.

use provider_api::{Deleted, Error, Ownership};

use crate::{
    error::{Meaning, tolerate},
    id::MachineId,
    mark,
    provider::Newcloud,
};

impl Newcloud {
    /// Deletes the machine, or sees that its deletion is in progress.
    pub(crate) async fn delete_machine(&self, id: &MachineId) -> Result<Deleted, Error> {
        let found = self.backend.machine_get(&id.zone, id.name.as_str()).await;
        let Some(machine) = tolerate(found, &[Meaning::Absent])? else { return Ok(Deleted::Gone) };
        let owner = mark::ownership(&machine, &self.identity);
        if !matches!(owner, Ownership::Ours(_)) {
            // delete.leaves-foreign-alone: ours is gone.
            let why = owner.why_not();
            tracing::info!(provider = %self.name, id = %id.to_id(), "a machine {why} and is left alone");
            return Ok(Deleted::Gone);
        }
        if machine.is_deleting() {
            return Ok(Deleted::Accepted);
        }
        let deleted = self.backend.machine_delete(&id.zone, &machine.name, &machine.id).await;
        match tolerate(deleted, &[Meaning::Absent])? {
            Some(()) => Ok(Deleted::Accepted),
            None => Ok(Deleted::Gone),
        }
    }
}
