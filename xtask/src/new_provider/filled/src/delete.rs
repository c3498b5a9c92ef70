//! `delete`: one look, and one deletion bound to the machine that was seen. The turn at the name is taken.
//@if parts
//! Once the machine is gone, its parts are removed.
//@end

//@if parts tasks
use std::time::Duration;

use provider_api::{BoundedWait, Deleted, Error};
//@else
use provider_api::{Deleted, Error};
//@end

//@if tasks
use crate::{error::Meaning, id::MachineId, provider::Newcloud, view::Machine};
//@else
use crate::{
    error::{Meaning, tolerate},
    id::MachineId,
    provider::Newcloud,
    view::Machine,
};
//@end

//@if parts
/// The API answers before the machine is gone, and refuses to delete its parts until then.
pub(crate) const REMOVAL: BoundedWait =
    BoundedWait { for_what: "removed", every: Duration::from_secs(1), at_most: Duration::from_secs(120) };
//@end
//@if tasks
/// The API refuses to delete a machine while a task works on it, its own making too.
pub(crate) const UNLOCKED: BoundedWait =
    BoundedWait { for_what: "free of tasks", every: Duration::from_secs(2), at_most: Duration::from_secs(30) };
//@end
//@if parts tasks

//@end
impl Newcloud {
    //@if parts
    /// Deletes the machine and its parts, and waits until nothing is left (`delete.gone-means-gone`).
    //@else
    /// Deletes the machine, or sees that its deletion is in progress.
    //@end
    pub(crate) async fn delete_machine(&self, id: &MachineId) -> Result<Deleted, Error> {
        //@if parts
        if let Some((machine, _)) = self.look(id).await? {
            //@if tasks
            self.until(UNLOCKED, || self.ask(id, &machine)).await?;
            //@else
            self.ask(id, &machine).await?;
            //@end
            self.until(REMOVAL, || self.gone(id, &machine)).await?;
        }
        self.remove_parts(id).await?;
        Ok(Deleted::Gone)
        //@else
        let Some((machine, _)) = self.look(id).await? else { return Ok(Deleted::Gone) };
        //@if tasks
        self.until(UNLOCKED, || self.ask(id, &machine)).await
        //@else
        self.ask(id, &machine).await
        //@end
        //@end
    }

    //@if tasks
    /// Asks for the deletion; `None` while a task works on the machine.
    //@else
    /// Asks for the deletion.
    //@end
    //@if tasks
    async fn ask(&self, id: &MachineId, machine: &Machine) -> Result<Option<Deleted>, Error> {
        if machine.is_deleting() {
            return Ok(Some(Deleted::Accepted));
        }
        match self.backend.machine_delete(id.target(), machine).await {
            Ok(()) => Ok(Some(Deleted::Accepted)),
            Err(refused) if refused.meaning == Meaning::Absent => Ok(Some(Deleted::Gone)),
            Err(refused) if refused.meaning == Meaning::Busy => Ok(None),
            Err(refused) => Err(refused.error),
        }
    }
    //@else
    async fn ask(&self, id: &MachineId, machine: &Machine) -> Result<Deleted, Error> {
        if machine.is_deleting() {
            return Ok(Deleted::Accepted);
        }
        let deleted = self.backend.machine_delete(id.target(), machine).await;
        Ok(tolerate(deleted, &[Meaning::Absent])?.map_or(Deleted::Gone, |()| Deleted::Accepted))
    }
    //@end
    //@if parts

    /// A step of a wait: gives a result once the machine that was seen is gone.
    pub(crate) async fn gone(&self, id: &MachineId, seen: &Machine) -> Result<Option<()>, Error> {
        match self.look(id).await? {
            None => Ok(Some(())),
            Some((machine, _)) if machine.id == seen.id => Ok(None),
            Some(_) => {
                let text = format!("newmachine {} was made anew while it was deleted", id.name);
                Err(Error::transient(text).coded("Changed"))
            }
        }
    }
    //@end
}
