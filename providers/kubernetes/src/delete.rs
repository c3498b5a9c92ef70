//! `delete`: one look, and one DELETE bound to the UID that was seen.

use provider_api::{Deleted, Error, LeftBehind, Ownership, Timestamp};

use crate::{
    backend::{POD_DELETE, POD_GET},
    error::{is_absent, refusal},
    id::PodId,
    mark,
    provider::Kubernetes,
    view::PodView,
};

/// What is to be done about a Pod of ours.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Ask for its deletion.
    Ask,
    /// It is under way.
    Wait,
    /// It is under way and nobody finishes it.
    Force,
}

impl Kubernetes {
    /// Deletes the Pod, or sees that its deletion is under way.
    pub(crate) async fn delete_pod(&self, id: &PodId) -> Result<Deleted, Error> {
        let pod = match self.backend.pod_get(&self.seam, id).await {
            Ok(pod) => pod,
            Err(error) if is_absent(&error) => return Ok(Deleted::Gone),
            Err(error) => return Err(self.failed(POD_GET, "cannot read the Pod to delete", &error)),
        };
        let ownership = mark::ownership(&pod.metadata, &self.context.identity);
        if !matches!(ownership, Ownership::Ours(_)) {
            // delete.leaves-foreign-alone: our own is proven gone.
            let why = ownership.why_not();
            tracing::info!(provider = %self.context.name, id = %id.to_id(), "a Pod {why} and is left alone");
            return Ok(Deleted::Gone);
        }
        let grace = match self.step(&pod) {
            Step::Wait => return Ok(Deleted::Accepted),
            Step::Ask => None,
            Step::Force => {
                tracing::warn!(
                    provider = %self.context.name,
                    id = %id.to_id(),
                    "the Pod does not go and is deleted by force; on a lost node its container may still run"
                );
                Some(0)
            }
        };
        match self.backend.pod_delete(&self.seam, id, &pod.metadata.uid, grace).await {
            // The answer does not say whether anything is left: a finalizer may hold it.
            Ok(()) => Ok(Deleted::Accepted),
            Err(error) if is_absent(&error) => Ok(Deleted::Gone),
            Err(error) if refusal(&error).is_some_and(|refusal| refusal.is_conflict()) => {
                let text = "the Pod was replaced while it was being deleted; look again";
                Err(Error::transient(text).coded("Conflict").leaving(LeftBehind::DeletableById))
            }
            Err(error) => {
                let failed = self.failed(POD_DELETE, "cannot delete the Pod", &error);
                Err(failed.leaving(LeftBehind::DeletableById))
            }
        }
    }

    /// A deletion is asked for once (`delete.repeat-while-deleting`). When a Pod is still there long after the end of
    /// its grace, its kubelet is lost or stuck, and it is forced, once: a second time would change nothing.
    fn step(&self, pod: &PodView) -> Step {
        let Some(by) = pod.metadata.deletion_timestamp else { return Step::Ask };
        if pod.metadata.deletion_grace_period_seconds == Some(0) {
            return Step::Wait;
        }
        match by {
            Some(by)
                if Timestamp::age(self.context.clock.now(), Some(by)) >= self.config.force_delete_after =>
            {
                Step::Force
            }
            _ => Step::Wait,
        }
    }
}
