//! `delete`: one look, and one deletion bound to the machine that was seen. The turn at the name is taken.

use provider_api::{Deleted, Error};

use crate::{error::unwritten, id::MachineId, provider::Stall};

impl Stall {
    /// Deletes the machine, or sees that its deletion is in progress.
    // TO WRITE, about 25 lines:
    //
    // 1. `machine_get`; what is absent is `Deleted::Gone` (delete.absent-is-ok).
    // 2. What is not ours by `mark::ownership` is left alone, with a log line; ours is gone (delete.leaves-foreign-alone).
    // 3. A deletion in progress is not asked for again: `Deleted::Accepted` (delete.repeat-while-deleting).
    // 4. `machine_delete` with the id that was seen (delete.bound-to-incarnation). The API answers before the machine is
    //    gone, so that is `Deleted::Accepted` too (delete.gone-means-gone); absent by now is `Deleted::Gone`.
    pub(crate) async fn delete_machine(&self, id: &MachineId) -> Result<Deleted, Error> {
        let _ = id;
        Err(unwritten("delete", file!()))
    }
}
