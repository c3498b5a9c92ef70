//! `delete`: one look, and one deletion bound to the machine that was seen. The turn at the name is taken.
//! Once the machine is gone, its parts are removed.

use std::time::Duration;

use provider_api::{BoundedWait, Deleted, Error};

use crate::{
    error::{Meaning, tolerate},
    id::MachineId,
    provider::Cellar,
    view::Machine,
};

/// The API answers before the machine is gone, and refuses to delete its parts until then.
pub(crate) const REMOVAL: BoundedWait =
    BoundedWait { for_what: "removed", every: Duration::from_secs(1), at_most: Duration::from_secs(120) };

impl Cellar {
    /// Deletes the machine and its parts, and waits until nothing is left (`delete.gone-means-gone`).
    pub(crate) async fn delete_machine(&self, id: &MachineId) -> Result<Deleted, Error> {
        // What is not ours is left alone (delete.leaves-foreign-alone).
        if let Some((machine, _)) = self.look(id).await? {
            if !machine.is_deleting() {
                let asked = self.backend.machine_delete(id.target(), &machine).await;
                tolerate(asked, &[Meaning::Absent])?;
            }
            self.until(REMOVAL, || self.gone(id, &machine)).await?;
        }
        self.remove_parts(id).await?;
        Ok(Deleted::Gone)
    }

    /// A step of a wait: gives a result once the machine that was seen is gone.
    pub(crate) async fn gone(&self, id: &MachineId, seen: &Machine) -> Result<Option<()>, Error> {
        match self.look(id).await? {
            None => Ok(Some(())),
            Some((machine, _)) if machine.id == seen.id => Ok(None),
            Some(_) => {
                let text = format!("box {} was made anew while it was deleted", id.name);
                Err(Error::transient(text).coded("Changed"))
            }
        }
    }
}
