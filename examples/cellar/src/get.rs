//! `get`: the machine as the API shows it. It changes nothing (`get.read-only`).

use provider_api::{Error, Instance, Mark};

use crate::{
    error::{Meaning, tolerate},
    id::MachineId,
    mark,
    provider::Cellar,
    state,
    view::Machine,
};

impl Cellar {
    /// The instance; `None` where it is proven gone.
    pub(crate) async fn get_machine(&self, id: &MachineId) -> Result<Option<Instance>, Error> {
        Ok(self.look(id).await?.map(|(machine, mark)| Instance {
            id: id.to_id(),
            name: id.name.clone(),
            uid: mark.uid,
            created_at: machine.created_at(),
            state: state::state(&machine, &self.addresses),
        }))
    }

    /// The machine with its mark; `None` where there is none, and where what stands there is not ours
    /// (`get.not-found-only-with-proof`, `get.never-anothers-data`).
    pub(crate) async fn look(&self, id: &MachineId) -> Result<Option<(Machine, Mark)>, Error> {
        let found = self.backend.machine_get(&id.host, id.name.as_str()).await;
        let Some(machine) = tolerate(found, &[Meaning::Absent])? else { return Ok(None) };
        let whose = mark::ownership(&machine, &self.identity);
        if whose.clone().ours().is_none() {
            tracing::info!(host = id.host, name = %id.name, "a box {}", whose.why_not());
        }
        Ok(whose.ours().filter(|_| machine.name == id.name.as_str()).map(|mark| (machine, mark)))
    }
}
