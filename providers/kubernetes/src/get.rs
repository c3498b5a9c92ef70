//! `get`: one GET. What a Pod's fields mean is `state.rs`.

use provider_api::{Error, Instance, Ownership};

use crate::{backend::POD_GET, error::is_absent, id::PodId, mark, provider::Kubernetes};

impl Kubernetes {
    /// The instance, or `None` where it is proven gone.
    pub(crate) async fn get_pod(&self, id: &PodId) -> Result<Option<Instance>, Error> {
        let pod = match self.backend.pod_get(&self.seam, id).await {
            Ok(pod) => pod,
            // get.not-found-only-with-proof
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(self.failed(POD_GET, "cannot read the Pod", &error)),
        };
        match mark::ownership(&pod.metadata, &self.context.identity) {
            Ownership::Ours(mark) => Ok(Some(Instance {
                id: id.to_id(),
                name: id.name.clone(),
                uid: mark.uid,
                created_at: pod.metadata.creation_timestamp,
                state: self.state(&pod),
                decommissioned: false,
            })),
            // get.never-anothers-data, get.inherited-mark-is-not-ours: ours is gone, whatever stands there now.
            other => {
                tracing::debug!(provider = %self.context.name, id = %id.to_id(), "a Pod {}", other.why_not());
                Ok(None)
            }
        }
    }
}
