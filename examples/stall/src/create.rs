//! `create`: looks for what is there, and makes what is missing. The request is placed already, the turn at the name is
//! taken, and there is room under `maxInstances`.

use provider_api::{
    CreateRequest, Error, FailureClass, FailureId, LeftBehind, ProviderId, Scrubber, StateKind,
};

use crate::{
    error::{Meaning, classify, tolerate},
    mark,
    placement::Placed,
    provider::Stall,
    state,
    view::{Machine, NewMachine},
};

impl Stall {
    /// Makes the machine, or adopts the one that is there.
    pub(crate) async fn create_machine(
        &self,
        request: &CreateRequest,
        placed: &Placed,
    ) -> Result<ProviderId, Error> {
        let (zone, name) = (placed.id.zone.as_str(), request.name.as_str());
        // create.idempotent, create.crash-resumable
        if let Some(machine) = self.backend.machine_find(zone, name).await? {
            return self.adopt(&machine, placed).await;
        }
        self.late_failure(request, zone).await?;
        let new = NewMachine::of(request, placed, &self.identity);
        let made = self.backend.hiding(request.scrubber()).machine_create(zone, &new).await;
        // errors.left-behind-is-true: what the API refuses for a reason it has not begun.
        let made = made.map_err(|mut refused| {
            if refused.meaning != Meaning::Exists && refused.error.class() != FailureClass::Transient {
                refused.error = refused.error.leaving(LeftBehind::Nothing);
            }
            refused
        });
        if tolerate(made, &[Meaning::Exists])?.is_some() {
            return Ok(placed.id.to_id());
        }
        // One came in between: look again, once.
        match self.backend.machine_find(zone, name).await? {
            Some(machine) => self.adopt(&machine, placed).await,
            None => {
                Err(Error::transient(format!("the name {name} in zone {zone} was taken, and is free now")))
            }
        }
    }

    /// The machine that has the name already, brought to running where it is ours (`create.adopts-own-partial`).
    async fn adopt(&self, machine: &Machine, placed: &Placed) -> Result<ProviderId, Error> {
        let (zone, name) = (placed.id.zone.as_str(), machine.name.as_str());
        let ownership = mark::ownership(name, &machine.tags, &self.identity);
        let why_not = ownership.why_not();
        if ownership.ours().is_none() {
            // create.refuses-foreign, create.refuses-unmarked, create.refuses-other-installation
            return Err(Error::permanent(format!("machine {name} in zone {zone} {why_not}")).coded("Foreign"));
        }
        if machine.is_deleting() {
            // create.not-while-deleting
            let text = format!("machine {name} in zone {zone} is still being dropped");
            return Err(Error::transient(text).coded("Deleting"));
        }
        match state::kind(&machine.phase) {
            StateKind::Terminated => {
                let why = state::reason(machine).map_or_else(String::new, |reason| reason.message);
                let text = format!("machine {name} in zone {zone} cannot be started: {why}");
                Err(Error::permanent(text).coded("Broken").leaving(LeftBehind::DeletableById))
            }
            StateKind::Stopped => {
                self.backend.machine_start(zone, &machine.id).await?;
                Ok(placed.id.to_id())
            }
            StateKind::Provisioning | StateKind::Running => Ok(placed.id.to_id()),
        }
    }

    /// Says that the last making of ours failed after it was accepted, until the caller acknowledges it
    /// (`create.late-failure-reported-until-acknowledged`). Tasks come oldest first, so whatever is acknowledged is no
    /// newer than the last.
    async fn late_failure(&self, request: &CreateRequest, zone: &str) -> Result<(), Error> {
        let name = request.name.as_str();
        let mut tasks = self.backend.task_list(zone, name).await?;
        tasks.retain(|task| mark::ownership(name, &task.tags, &self.identity).ours().is_some());
        let Some(task) = tasks.pop() else { return Ok(()) };
        let Some(failure) = task.error else { return Ok(()) };
        let id = FailureId::new(task.task);
        if request.acknowledged_failure.as_ref() == Some(&id) {
            return Ok(());
        }
        // Its text may quote what was sent, so only the code goes on (create.hides-secrets).
        let refusal = failure.refusal(&Scrubber::default());
        let text = format!("machine {name} in zone {zone} failed after it was accepted: {}", refusal.code());
        let error = Error::new(classify(&refusal).1, text).coded(refusal.code()).for_failure(id);
        Err(error.retry_after(refusal.retry_after).leaving(LeftBehind::Nothing))
    }
}
