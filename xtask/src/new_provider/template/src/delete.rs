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

//@if parts
use crate::{error::unwritten, id::MachineId, provider::Newcloud, view::Machine};
//@else
use crate::{error::unwritten, id::MachineId, provider::Newcloud};
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
    // TO WRITE, about 20 lines:
    //
    //@if parts
    // #. `look`; what is not ours is left alone (delete.leaves-foreign-alone), and only its parts are still to be removed
    //    (delete.parts-already-gone).
    // #. A deletion in progress is not asked for again (delete.repeat-while-deleting). `machine_delete` is bound to the
    //    machine that was seen (delete.bound-to-incarnation); absent by now is as good as deleted.
    //@if tasks
    //    `Meaning::Busy`: `self.until(UNLOCKED, …)` looks again, while a task works on it (delete.every-native-state).
    //@end
    // #. `self.until(REMOVAL, || self.gone(…))` looks until it is gone.
    // #. `remove_parts`, and then nothing is left: `Deleted::Gone`.
    //@else
    // #. `look`; what is absent, or not ours, is `Deleted::Gone` (delete.absent-is-ok, delete.leaves-foreign-alone).
    // #. A deletion in progress is not asked for again: `Deleted::Accepted` (delete.repeat-while-deleting).
    // #. `machine_delete` is bound to the machine that was seen (delete.bound-to-incarnation). The API answers before it is
    //    gone, so that is `Deleted::Accepted` too (delete.gone-means-gone); absent by now is `Deleted::Gone`.
    //@if tasks
    // #. `Meaning::Busy`: `self.until(UNLOCKED, …)` looks again, while a task works on it (delete.every-native-state,
    //    delete.races-create).
    //@end
    //@end
    pub(crate) async fn delete_machine(&self, id: &MachineId) -> Result<Deleted, Error> {
        let _ = id;
        Err(unwritten("delete", file!()))
    }
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
