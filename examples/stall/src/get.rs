//! `get`: the machine as the API shows it. It changes nothing (`get.read-only`).

use provider_api::{Error, Instance};

use crate::{id::MachineId, mark, provider::Stall, state};

impl Stall {
    /// The instance; `None` where it is proven gone: the API says that nothing has the name
    /// (`get.not-found-only-with-proof`), or what has it is not ours (`get.never-anothers-data`).
    pub(crate) async fn get_machine(&self, id: &MachineId) -> Result<Option<Instance>, Error> {
        let Some(machine) = self.backend.machine_find(&id.zone, id.name.as_str()).await? else {
            return Ok(None);
        };
        let ours = mark::ownership(&machine.name, &machine.tags, &self.identity).ours();
        Ok(ours.map(|mark| Instance {
            id: id.to_id(),
            name: id.name.clone(),
            uid: mark.uid,
            created_at: machine.created_at(),
            state: state::state(&machine, &self.addresses),
        }))
    }
}
