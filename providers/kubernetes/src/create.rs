//! `create`: one POST, and a look at what stands in the way when it is refused.

use provider_api::{CreateRequest, Error, LeftBehind, Ownership, ProviderId};

use crate::{
    backend::{POD_CREATE, POD_GET},
    error::{failure, is_absent, refusal},
    mark,
    placement::{self, Placed},
    pod,
    provider::{Kubernetes, untouched},
    squid,
    view::PodView,
};

impl Kubernetes {
    /// Everything that can be told before any call.
    pub(crate) fn placed(&self, request: &CreateRequest) -> Result<Placed, Error> {
        squid::sources(&request.access, &self.config.default_allowed_sources)?;
        placement::place(request, &self.config, &self.shared)
    }

    /// Makes the Pod, or finds the one that is there.
    ///
    /// One POST is the whole act: mark, configuration and Pod appear together or not at all, so there is no partial
    /// state that a crash or a dropped caller could leave.
    pub(crate) async fn create_pod(
        &self,
        request: &CreateRequest,
        placed: &Placed,
    ) -> Result<ProviderId, Error> {
        // create.max-instances
        let listing = async { self.list_all().await.map_err(untouched) };
        let _room = self.gate.admit(self.shared.max_instances, &request.name, listing).await?;
        let squid = self.squid(request).await?;
        let pod = pod::build(request, placed, &self.config, &self.context.identity, &squid);
        let mut scrubber = request.scrubber();
        if let Some(passwords) = &squid.passwords {
            scrubber.hide(passwords.as_bytes());
        }
        let seam = self.seam.hiding(scrubber.clone());
        let Err(error) = self.backend.pod_create(&seam, &placed.id, &pod).await else {
            return Ok(placed.id.to_id());
        };
        let failed = failure(POD_CREATE, &scrubber, "cannot make the Pod", &error);
        // Without a refusal the Pod may be there or come to be there, and the next create finds it. Whom the server did
        // not listen to, it tells nothing about the Pod.
        let Some(refusal) = refusal(&error).filter(|refusal| refusal.is_about_the_pod()) else {
            return Err(failed);
        };
        // Admission runs before the name is looked up: a quota that is just used up refuses the repetition of a create
        // whose Pod is there (create.idempotent). So any refusal is worth a look.
        match self.look(placed).await {
            Ok(Some(pod)) => self.adopt(placed, &pod),
            Ok(None) if refusal.is_name_taken() => {
                let text = "the name was taken a moment ago and is free now; try again";
                Err(untouched(Error::transient(text).coded("AlreadyExists")))
            }
            Ok(None) => Err(untouched(failed)),
            Err(error) if refusal.is_name_taken() => Err(error),
            Err(_) => Err(failed),
        }
    }

    /// The files of the proxy. Hashing a password takes a thread some milliseconds.
    async fn squid(&self, request: &CreateRequest) -> Result<squid::Squid, Error> {
        let sources = squid::sources(&request.access, &self.config.default_allowed_sources)?.to_vec();
        let (uid, port, helper) = (request.uid.clone(), request.port, self.config.basic_auth_helper.clone());
        let Some(credentials) = request.access.credentials.clone() else {
            return Ok(squid::build(&uid, port, &sources, None, &helper));
        };
        let work = move || squid::build(&uid, port, &sources, Some(&credentials), &helper);
        let overlong = |overlong| untouched(Error::transient(format!("hashing the password was {overlong}")));
        self.seam.local(work).await.map_err(overlong)
    }

    async fn look(&self, placed: &Placed) -> Result<Option<PodView>, Error> {
        match self.backend.pod_get(&self.seam, &placed.id).await {
            Ok(pod) => Ok(Some(pod)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(self.failed(POD_GET, "cannot see what has the Pod's name", &error)),
        }
    }

    /// Takes over the Pod that has the name, if it is ours and is to stay.
    ///
    /// A Pod of ours that ended is ours all the same: its id is the answer, and `get` says Terminated with the reason,
    /// upon which the caller deletes it and creates anew. A refusal would leave nobody to delete it.
    fn adopt(&self, placed: &Placed, pod: &PodView) -> Result<ProviderId, Error> {
        // create.not-while-deleting; whose it is does not matter, for the name will be free.
        if pod.metadata.is_deleting() {
            let text = "a Pod of that name is being deleted; the name is not free yet";
            return Err(Error::transient(text).coded("Terminating").leaving(LeftBehind::DeletableById));
        }
        match mark::ownership(&pod.metadata, &self.context.identity) {
            Ownership::Ours(_) => Ok(placed.id.to_id()),
            other => {
                // create.refuses-foreign, create.refuses-unmarked, create.refuses-other-installation
                let text =
                    format!("the Pod {} exists and {}; it is left alone", placed.id.to_id(), other.why_not());
                Err(untouched(Error::permanent(text).coded("ForeignInstance")))
            }
        }
    }
}
