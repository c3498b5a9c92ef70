//! `delete`: the machine first, bound to the life that was seen; then, once it is gone, its disks. The turn at the name
//! is taken.

use std::time::Duration;

use provider_api::{BoundedWait, Deleted, Error};

use crate::{
    error::{Meaning, tolerate},
    id::MachineId,
    provider::Cellar,
};

/// The host answers before the box is gone, and refuses to delete disks until then.
pub(crate) const REMOVAL: BoundedWait =
    BoundedWait { for_what: "removed", every: Duration::from_secs(1), at_most: Duration::from_secs(120) };

impl Cellar {
    /// Deletes the machine and its disks, and waits until nothing is left (`delete.gone-means-gone`).
    pub(crate) async fn delete_machine(&self, id: &MachineId) -> Result<Deleted, Error> {
        // What is not ours is left alone (delete.leaves-foreign-alone).
        if let Some((machine, _)) = self.look(id).await? {
            if !machine.is_deleting() {
                let asked = self.backend.machine_delete(&id.host, id.name.as_str(), &machine.serial).await;
                tolerate(asked, &[Meaning::Absent])?;
            }
            let gone = self.seam.bounded(REMOVAL.at_most, self.gone(id, &machine.serial)).await;
            gone.unwrap_or_else(|overlong| {
                Err(Error::transient(format!("box {} is not gone: {overlong}", id.name)).coded("Removing"))
            })?;
        }
        self.remove_disks(id).await?;
        Ok(Deleted::Gone)
    }

    /// Waits until that life of the machine is over.
    async fn gone(&self, id: &MachineId, serial: &str) -> Result<(), Error> {
        loop {
            self.seam.pause(REMOVAL.every).await;
            match self.look(id).await? {
                None => return Ok(()),
                Some((machine, _)) if machine.serial == serial => {}
                Some(_) => {
                    let text = format!("box {} was made anew while it was deleted", id.name);
                    return Err(Error::transient(text).coded("Changed"));
                }
            }
        }
    }
}
