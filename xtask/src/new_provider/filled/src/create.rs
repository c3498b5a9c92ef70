//! `create`: looks for what is there, and makes what is missing. The request is placed already, the turn at the name is
//! taken, and there is room under `maxInstances`.

use provider_api::{CreateRequest, Error, LeftBehind, Ownership, ProviderId, StateKind};

use crate::{
    error::{Meaning, tolerate},
    mark,
    placement::Placed,
    provider::Newcloud,
    state,
    view::{Machine, NewMachine},
};

impl Newcloud {
    /// Makes the machine, or adopts the one that is there.
    pub(crate) async fn create_machine(
        &self,
        request: &CreateRequest,
        placed: &Placed,
    ) -> Result<ProviderId, Error> {
        if let Some(machine) = self.standing(placed).await? {
            return self.adopt(placed, machine).await;
        }
        let backend = self.backend.hiding(request.scrubber());
        let new = NewMachine::of(request, placed, &self.identity);
        match backend.machine_create(&placed.id.zone, &new).await {
            Ok(_) => Ok(placed.id.to_id()),
            // One came in between.
            Err(refused) if refused.meaning == Meaning::Exists => match self.standing(placed).await? {
                Some(machine) => self.adopt(placed, machine).await,
                None => Err(refused.error),
            },
            Err(refused) => Err(refused.error),
        }
    }

    /// What stands under the name.
    async fn standing(&self, placed: &Placed) -> Result<Option<Machine>, Error> {
        let found = self.backend.machine_get(&placed.id.zone, placed.id.name.as_str()).await;
        Ok(tolerate(found, &[Meaning::Absent])?)
    }

    /// Takes over what is ours, and nothing else.
    async fn adopt(&self, placed: &Placed, machine: Machine) -> Result<ProviderId, Error> {
        let id = placed.id.to_id();
        if machine.is_deleting() {
            // create.not-while-deleting; whose it is does not matter, for the name will be free.
            let text = "a machine of that name is being deleted; its name is not free yet";
            return Err(Error::transient(text).coded("Deleting").leaving(LeftBehind::DeletableById));
        }
        let owner = mark::ownership(&machine, &self.identity);
        if !matches!(owner, Ownership::Ours(_)) {
            // create.refuses-foreign, create.refuses-unmarked, create.refuses-other-installation
            let text = format!("{id} exists and {}; it is left alone", owner.why_not());
            return Err(Error::permanent(text).coded("ForeignInstance").leaving(LeftBehind::Nothing));
        }
        match state::kind(&machine.status) {
            StateKind::Provisioning | StateKind::Running => Ok(id),
            StateKind::Stopped => {
                self.backend.machine_start(&placed.id.zone, &machine.name).await?;
                Ok(id)
            }
            StateKind::Terminated => {
                let reason = state::reason(&machine).map(|reason| format!(": {}", reason.message));
                let text = format!("it cannot be started again{}", reason.unwrap_or_default());
                Err(Error::permanent(text).coded("BeyondRecovery").leaving(LeftBehind::DeletableById))
            }
        }
    }
}
