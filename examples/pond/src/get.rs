//! `get`: the machine as the API shows it. It changes nothing (`get.read-only`).

use provider_api::{Error, Instance, Mark};

use crate::{
    error::{Meaning, tolerate},
    id::MachineId,
    mark,
    provider::Pond,
    state,
    view::Machine,
};

impl Pond {
    /// The instance; `None` where it is proven gone.
    pub(crate) async fn get_machine(&self, id: &MachineId) -> Result<Option<Instance>, Error> {
        let found = self.look(id).await?;
        Ok(found.map(|(machine, mark)| Instance {
            id: id.to_id(),
            name: id.name.clone(),
            uid: mark.uid,
            created_at: machine.created_at(),
            state: state::state(&machine, &self.addresses),
            decommissioned: self.config.is_decommissioned(id.target()),
        }))
    }

    /// The machine with its mark; `None` where there is none. What stands there and is not ours is another instance, so
    /// ours is gone (`get.never-anothers-data`).
    pub(crate) async fn look(&self, id: &MachineId) -> Result<Option<(Machine, Mark)>, Error> {
        let Some(machine) = self.find(id).await? else { return Ok(None) };
        let ownership = mark::ownership(&machine.name, &machine.labels, &self.identity);
        let why_not = ownership.why_not();
        let mark = ownership.ours();
        if mark.is_none() {
            tracing::info!(provider = %self.name, id = %id.to_id(), "the machine of that name {why_not}");
        }
        Ok(mark.map(|mark| (machine, mark)))
    }

    /// What stands under the name, whosever it is; `None` where the API itself says that nothing does
    /// (`get.not-found-only-with-proof`).
    pub(crate) async fn find(&self, id: &MachineId) -> Result<Option<Machine>, Error> {
        let found = self.backend.machine_get(id.target(), id.name.as_str()).await;
        Ok(tolerate(found, &[Meaning::Absent])?)
    }
}
