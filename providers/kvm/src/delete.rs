//! `delete`: the domain first, by the UUID of the one that was looked up; then its volumes. The turn at the name is taken.

use libvirt_model::{Host, Meaning, ownership};
use provider_api::{Deleted, Error, Name};

use crate::{
    client::{DomainUuid, Lease},
    provider::Kvm,
};

impl Kvm {
    /// Deletes the domain and its volumes; when it answers nothing is left (`delete.gone-means-gone`).
    pub(crate) async fn delete_domain(&self, host: &Host, name: &Name) -> Result<Deleted, Error> {
        let mut lease = self.hosts.lease(&self.seam, host).await?;
        let mut gone = None;
        // Twice, for a domain may have come to run after it was found off, and is then there for as long as it runs.
        for last in [false, true] {
            let Some(uuid) = self.ours(&mut lease, name).await? else { break };
            // Both are bound to that UUID: a successor of the name is another domain (delete.bound-to-incarnation).
            if *gone.get_or_insert(uuid) != uuid {
                break;
            }
            let ended = lease.destroy(name.as_str(), uuid).await?;
            lease.undefine(name.as_str(), uuid).await?;
            if ended {
                break;
            }
            if last {
                let text = format!("the domain {name} on host {} does not go", host.name);
                return Err(Error::transient(text).coded("StillThere"));
            }
        }
        self.remove_parts(&mut lease, name, gone).await
    }

    /// The domain of that name, if it is ours; what is not is left alone (`delete.leaves-foreign-alone`).
    async fn ours(&self, lease: &mut Lease, name: &Name) -> Result<Option<DomainUuid>, Error> {
        let Some(uuid) = lease.domain(name.as_str()).await? else { return Ok(None) };
        let marks = match lease.marks(name.as_str(), uuid).await {
            Err(refused) if refused.meaning == Meaning::Absent => return Ok(None),
            marks => marks?,
        };
        let whose = ownership(name.as_str(), &marks, &self.identity);
        let ours = whose.clone().ours().is_some();
        if !ours {
            tracing::info!(host = lease.host.name, domain = %name, "the domain {}; it is left", whose.why_not());
        }
        Ok(ours.then_some(uuid))
    }
}
