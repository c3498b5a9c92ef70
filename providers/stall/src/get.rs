//! `get`: the machine as the API shows it. It changes nothing (`get.read-only`).

use provider_api::{Error, Instance};

use crate::{error::unwritten, id::MachineId, provider::Stall};

impl Stall {
    /// The instance; `None` where it is proven gone.
    // TO WRITE, about 15 lines:
    //
    // 1. `machine_get`, with `Meaning::Absent` tolerated and nothing else (get.not-found-only-with-proof).
    // 2. `mark::ownership`: what is not ours is not our instance, so ours is gone (get.never-anothers-data).
    // 3. The uid comes from the mark, the creation time from the machine (get.reads-back-uid-and-created-at), the state
    //    from `state::state`.
    pub(crate) async fn get_machine(&self, id: &MachineId) -> Result<Option<Instance>, Error> {
        let _ = id;
        Err(unwritten("get", file!()))
    }
}
