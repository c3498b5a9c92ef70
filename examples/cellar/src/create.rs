//! `create`: looks for what is there, and makes what is missing. The request is placed already, the turn at the name is
//! taken, and there is room under `maxInstances`.

use provider_api::{CreateRequest, Error, FailureClass, LeftBehind, Ownership, ProviderId, StateKind};

use crate::{
    backend::Backend,
    disks::{self, SEED, SYSTEM},
    error::{Meaning, Refused, tolerate},
    mark,
    placement::Placed,
    provider::Cellar,
    state,
    view::NewMachine,
};

impl Cellar {
    /// Makes the machine, or adopts the one that is there.
    pub(crate) async fn create_machine(
        &self,
        request: &CreateRequest,
        placed: &Placed,
    ) -> Result<ProviderId, Error> {
        if let Some(id) = self.adopt(placed).await? {
            return Ok(id);
        }
        let backend = self.backend.hiding(request.scrubber());
        let Err(refused) = self.make(&backend, request, placed).await else { return Ok(placed.id.to_id()) };
        match refused.meaning {
            // One came in between: look again, once.
            Meaning::Exists => self.adopt(placed).await?.ok_or(refused.error),
            _ if refused.error.class() == FailureClass::Transient => Err(refused.error),
            _ => Err(self.tidied(placed, refused.error).await),
        }
    }

    /// The disks first, since a box needs them. Each is made over what an earlier create has left unused.
    async fn make(&self, backend: &Backend, request: &CreateRequest, placed: &Placed) -> Result<(), Refused> {
        let host = &placed.id.host;
        let disk = |part| disks::name(&request.name, &self.identity.installation, part);
        let (system, seed) = (disk(SYSTEM), disk(SEED));
        backend.disk_put(host, &system, &placed.image).await?;
        backend.seed_put(host, &seed, &request.cloud_init).await?;
        let labels = mark::labels(&self.identity, &request.uid); // create.marks-from-first-moment
        let new = NewMachine { labels, cpus: placed.cpus, disks: [&system, &seed] };
        backend.machine_put(host, request.name.as_str(), &new).await
    }

    /// The machine that stands there, brought to running if it is ours; `None` where there is none.
    async fn adopt(&self, placed: &Placed) -> Result<Option<ProviderId>, Error> {
        let (host, name) = (&placed.id.host, placed.id.name.as_str());
        let found = self.backend.machine_get(host, name).await;
        let Some(machine) = tolerate(found, &[Meaning::Absent])? else { return Ok(None) };
        let whose = mark::ownership(&machine, &self.identity);
        if !matches!(whose, Ownership::Ours(_)) {
            let text = format!("box {name} on host {host} {}", whose.why_not());
            return Err(Error::permanent(text).coded("NotOurs"));
        }
        if machine.is_deleting() {
            return Err(Error::transient(format!("box {name} is being removed")).coded("Deleting"));
        }
        if state::kind(&machine) == StateKind::Terminated {
            let why = state::reason(&machine).map(|reason| reason.message).unwrap_or_default();
            return Err(Error::permanent(format!("box {name} cannot be powered on: {why}")).coded("Crashed"));
        }
        if state::is_started(&machine) {
            self.backend.machine_power_on(host, name).await?;
        }
        Ok(Some(placed.id.to_id()))
    }

    /// Removes what this create has begun before it was refused (`create.nothing-left-on-permanent-failure`).
    async fn tidied(&self, placed: &Placed, error: Error) -> Error {
        match self.remove_disks(&placed.id).await {
            Ok(()) => error.leaving(LeftBehind::Nothing),
            // A repetition can tidy up, and nobody repeats what is Permanent.
            Err(why) if error.class() == FailureClass::Permanent => Error::transient(format!(
                "{}; and its disks could not be removed: {}",
                error.message(),
                why.message()
            )),
            Err(_) => error,
        }
    }
}
