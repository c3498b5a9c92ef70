//! `get`: the machine as the API shows it. It changes nothing (`get.read-only`).

use provider_api::{Error, Instance, Ownership};

use crate::{
    error::{Meaning, tolerate},
    id::MachineId,
    mark,
    provider::Newcloud,
    state::state,
};

impl Newcloud {
    /// The instance; `None` where it is proven gone.
    pub(crate) async fn get_machine(&self, id: &MachineId) -> Result<Option<Instance>, Error> {
        let found = self.backend.machine_get(&id.zone, id.name.as_str()).await;
        // get.not-found-only-with-proof
        let Some(machine) = tolerate(found, &[Meaning::Absent])? else { return Ok(None) };
        // get.never-anothers-data: ours is gone, whatever stands there now.
        let Ownership::Ours(mark) = mark::ownership(&machine, &self.identity) else { return Ok(None) };
        Ok(Some(Instance {
            id: id.to_id(),
            name: id.name.clone(),
            uid: mark.uid,
            created_at: machine.created_at(),
            state: state(&machine, &self.addresses),
        }))
    }
}
