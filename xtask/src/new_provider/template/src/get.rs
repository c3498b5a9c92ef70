//! `get`: the machine as the API shows it. It changes nothing (`get.read-only`).

use provider_api::{Error, Instance, Mark};

use crate::{
    error::{Meaning, tolerate, unwritten},
    id::MachineId,
    mark,
    provider::Newcloud,
    view::Machine,
};

impl Newcloud {
    /// The instance; `None` where it is proven gone.
    // TO WRITE, about 10 lines: what `look` finds as an `Instance`, with the uid of the mark, the creation time of the
    // machine (get.reads-back-uid-and-created-at), and what `state::state` makes of its status.
    //@if places
    // Its `decommissioned` is false: a place that is left out of the config is no target.
    //@else
    // Whether it is `decommissioned` the config says of its target (delete.decommissioned-target).
    //@end
    //@if late
    // Where a machine does not show until its task is done, `task_list` tells: while the task runs it is Provisioning.
    //@end
    pub(crate) async fn get_machine(&self, id: &MachineId) -> Result<Option<Instance>, Error> {
        let _ = id;
        Err(unwritten("get", file!()))
    }

    /// The machine with its mark; `None` where there is none. What stands there and is not ours is another instance, so
    /// ours is gone (`get.never-anothers-data`).
    pub(crate) async fn look(&self, id: &MachineId) -> Result<Option<(Machine, Mark)>, Error> {
        let Some(machine) = self.find(id).await? else { return Ok(None) };
        let ownership = mark::ownership(&machine.name, &machine.labels, &self.identity);
        let why_not = ownership.why_not();
        let mark = ownership.ours();
        if mark.is_none() {
            tracing::info!(provider = %self.name, id = %id.to_id(), "the newmachine of that name {why_not}");
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
