//! `create`: looks for what is there, and makes what is missing. The request is placed already, the turn at the name is
//! taken, and there is room under `maxInstances`.

use provider_api::{CreateRequest, Error, ProviderId};

use crate::{error::unwritten, placement::Placed, provider::Stall};

impl Stall {
    /// Makes the machine, or adopts the one that is there.
    // TO WRITE, about 50 lines:
    //
    // 1. Look first, with `machine_get`: a crash may have come after the last attempt (create.idempotent,
    //    create.crash-resumable). `tolerate(…, &[Meaning::Absent])` makes `None` of a machine that is not there.
    // 2. Where one stands, `mark::ownership` says whose it is. Not ours: Permanent, and it is left alone
    //    (create.refuses-foreign, create.refuses-unmarked, create.refuses-other-installation). Ours and being deleted:
    //    Transient (create.not-while-deleting). Ours and stopped: `machine_start`; ours and beyond recovery: Permanent with
    //    its reason; ours else: its id (create.adopts-own-partial). `state::kind` tells.
    // 3. Where none stands, `machine_create` with `NewMachine::of`, through `self.backend.hiding(request.scrubber())`
    //    (create.hides-secrets). The one call makes the machine and its marks (create.marks-from-first-moment).
    // 4. `Meaning::Exists` means that one came in between: look again, once.
    // 5. Say of an error what it leaves behind, as far as you know it (errors.left-behind-is-true).
    pub(crate) async fn create_machine(
        &self,
        request: &CreateRequest,
        placed: &Placed,
    ) -> Result<ProviderId, Error> {
        let _ = (request, placed);
        Err(unwritten("create", file!()))
    }
}
