//! `create`: looks for what is there, and makes what is missing. The request is placed already, the turn at the name is
//! taken, and there is room under `maxInstances`.

use provider_api::{CreateRequest, Error, LeftBehind, Ownership, ProviderId, StateKind};

use crate::{
    error::Meaning,
    mark,
    placement::Placed,
    provider::Pond,
    state,
    view::{Machine, NewMachine},
};

impl Pond {
    /// Makes the machine, or adopts the one that is there.
    pub(crate) async fn create_machine(
        &self,
        request: &CreateRequest,
        placed: &Placed,
    ) -> Result<ProviderId, Error> {
        if let Some(machine) = self.find(&placed.id).await? {
            return self.adopt(placed, &machine).await;
        }
        self.late_failure(request, &placed.id).await?;
        let new = NewMachine::of(request, placed, &self.identity);
        let made = self.backend.hiding(request.scrubber()).machine_create(placed.id.target(), &new).await;
        match made {
            Ok(()) => Ok(placed.id.to_id()),
            // One came in between: whose it is, a second look tells.
            Err(refused) if refused.meaning == Meaning::Exists => match self.find(&placed.id).await? {
                Some(machine) => self.adopt(placed, &machine).await,
                None => Err(refused.into()),
            },
            Err(refused) => Err(refused.into()),
        }
    }

    /// Takes over the machine that stands there, where it is ours, and starts it where it needs that
    /// (`create.adopts-own-partial`).
    pub(crate) async fn adopt(&self, placed: &Placed, machine: &Machine) -> Result<ProviderId, Error> {
        let id = placed.id.to_id();
        if machine.is_deleting() {
            // create.not-while-deleting; whose it is does not matter, for the name will be free.
            let text = "a machine of that name is being deleted; its name is not free yet";
            return Err(Error::transient(text).coded("Deleting").leaving(LeftBehind::DeletableById));
        }
        let ownership = mark::ownership(&machine.name, &machine.labels, &self.identity);
        if !matches!(ownership, Ownership::Ours(_)) {
            // create.refuses-foreign, create.refuses-unmarked, create.refuses-other-installation
            let text = format!("{id} exists and {}; it is left alone", ownership.why_not());
            return Err(Error::permanent(text).coded("ForeignInstance").leaving(LeftBehind::Nothing));
        }
        if state::kind(machine) == StateKind::Terminated {
            let reason = state::reason(machine).map(|reason| format!(": {}", reason.message));
            let text = format!("it cannot be started again{}", reason.unwrap_or_default());
            return Err(Error::permanent(text).coded("BeyondRecovery").leaving(LeftBehind::DeletableById));
        }
        if state::is_started(machine) {
            self.backend.machine_start(placed.id.target(), machine).await?;
        }
        Ok(id)
    }
}
