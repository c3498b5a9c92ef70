//! `create`: looks for what is there, and makes what is missing. The request is placed already, the turn at the name is
//! taken, and there is room under `maxInstances`.

use provider_api::{CreateRequest, Error, FailureClass, LeftBehind, Ownership, ProviderId};

use crate::{
    error::{Meaning, Refused},
    mark,
    placement::Placed,
    provider::Harbour,
    state,
    view::{Machine, NewMachine},
};

impl Harbour {
    /// Makes the machine, or adopts the one that is there.
    pub(crate) async fn create_machine(
        &self,
        request: &CreateRequest,
        placed: &Placed,
    ) -> Result<ProviderId, Error> {
        let id = &placed.id;
        if let Some(machine) = self.find(id).await? {
            return self.adopt(placed, &machine);
        }
        let backend = self.backend.hiding(request.scrubber());
        let new = NewMachine::of(request, placed, &self.identity);
        match backend.machine_create(id.target(), &new).await {
            Ok(accepted) => {
                self.made(id, accepted).await?;
                Ok(id.to_id())
            }
            // Somebody came in between: who that was, a second look tells.
            Err(Refused { meaning: Meaning::Exists, error }) => match self.find(id).await? {
                Some(machine) => self.adopt(placed, &machine),
                None => Err(error),
            },
            Err(Refused { error, .. }) if error.class() == FailureClass::Transient => Err(error),
            Err(Refused { error, .. }) => Err(error.leaving(LeftBehind::Nothing)),
        }
    }

    /// Takes over the machine that stands there, where it is ours (`create.adopts-own-partial`).
    fn adopt(&self, placed: &Placed, machine: &Machine) -> Result<ProviderId, Error> {
        let id = placed.id.to_id();
        if machine.is_deleting() {
            // create.not-while-deleting; whose it is does not matter, for the name will be free.
            let text = "a server of that name is being deleted; its name is not free yet";
            return Err(Error::transient(text).coded("Deleting").leaving(LeftBehind::DeletableById));
        }
        let ownership = mark::ownership(&machine.name, &machine.labels, &self.identity);
        if !matches!(ownership, Ownership::Ours(_)) {
            // create.refuses-foreign, create.refuses-unmarked, create.refuses-other-installation
            let text = format!("{id} exists and {}; it is left alone", ownership.why_not());
            return Err(Error::permanent(text).coded("ForeignInstance").leaving(LeftBehind::Nothing));
        }
        if state::is_off(machine) {
            let text =
                format!("{id} is {}, and the API starts no server; start or delete it", machine.status);
            return Err(Error::permanent(text).coded("BeyondRecovery").leaving(LeftBehind::DeletableById));
        }
        Ok(id)
    }
}
