//! `create`: looks for what is there, and makes what is missing. The request is placed already, the turn at the name is
//! taken, and there is room under `maxInstances`.

use provider_api::{CreateRequest, Error, LeftBehind, Ownership, ProviderId, StateKind};

use crate::{error::unwritten, mark, placement::Placed, provider::Newcloud, state, view::Machine};

impl Newcloud {
    /// Makes the machine, or adopts the one that is there.
    // TO WRITE, about 25 lines:
    //
    // #. Look first, with `find`: a crash may have come after the last attempt (create.idempotent,
    //    create.crash-resumable). What stands there is for `adopt`.
    //@if late
    // #. Where none stands, `late_failure` says whether an earlier create failed after it was accepted
    //    (create.late-failure-reported-until-acknowledged).
    //@end
    //@if parts
    // #. Where none stands, make its parts: `parts::name` for each of `parts::PARTS`, `part_create` over what an earlier
    //    create has left unused. Go through `self.backend.hiding(request.scrubber())` (create.hides-secrets).
    // #. Then `machine_create` with `NewMachine::of`, of these parts, marks and all (create.marks-from-first-moment).
    //@if wait
    // #. It was accepted, and `made` waits until that is over, or says how it failed (create-return: blocking).
    //@end
    // #. `Meaning::Exists` means that one came in between: look again, once.
    // #. After another refusal that is not Transient, `tidied` removes what was made and says what is left
    //    (create.nothing-left-on-permanent-failure).
    //@else
    // #. Then `machine_create` with `NewMachine::of`, through `self.backend.hiding(request.scrubber())`
    //    (create.hides-secrets). The one call makes the machine and its marks (create.marks-from-first-moment).
    //@if wait
    // #. It was accepted, and `made` waits until that is over, or says how it failed (create-return: blocking).
    //@end
    // #. `Meaning::Exists` means that one came in between: look again, once.
    // #. Say of an error what it leaves behind, as far as you know it (errors.left-behind-is-true).
    //@end
    pub(crate) async fn create_machine(
        &self,
        request: &CreateRequest,
        placed: &Placed,
    ) -> Result<ProviderId, Error> {
        let _ = (request, placed);
        Err(unwritten("create", file!()))
    }

    /// Takes over the machine that stands there, where it is ours, and starts it where it needs that
    /// (`create.adopts-own-partial`).
    pub(crate) async fn adopt(&self, placed: &Placed, machine: &Machine) -> Result<ProviderId, Error> {
        let id = placed.id.to_id();
        if machine.is_deleting() {
            // create.not-while-deleting; whose it is does not matter, for the name will be free.
            let text = "a newmachine of that name is being deleted; its name is not free yet";
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
