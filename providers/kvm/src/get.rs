//! `get`: the domain as libvirt shows it. It changes nothing (`get.read-only`).

use libvirt_model::{Domain, DomainId, Host, Leased, Meaning, Uplink, ownership, shown};
use provider_api::{Error, Instance, StateKind};

use crate::{
    client::{DomainUuid, Lease, Source},
    error::Refused,
    provider::Kvm,
};

impl Kvm {
    /// The instance; `None` where it is proven gone, and where what stands there is not ours
    /// (`get.not-found-only-with-proof`, `get.never-anothers-data`).
    pub(crate) async fn get_domain(&self, host: &Host, id: &DomainId) -> Result<Option<Instance>, Error> {
        let mut lease = self.hosts.lease(&self.seam, host).await?;
        let name = id.name.as_str();
        let Some(uuid) = lease.domain(name).await? else { return Ok(None) };
        let domain = lease.description(name, uuid).await.map_err(changed)?;
        let whose = ownership(&domain.name, &domain.marks, &self.identity);
        if whose.clone().ours().is_none() || domain.name != name {
            tracing::info!(host = host.name, domain = name, "the domain {}", whose.why_not());
            return Ok(None);
        }
        let Some(mark) = whose.ours() else { return Ok(None) };
        let (state, reason) = lease.state(name, uuid).await.map_err(changed)?;
        let addresses = self.addresses_of(&mut lease, &domain, uuid, (state, reason)).await?;
        let state = shown(state, reason, domain.mac.as_deref(), &addresses, &self.addresses);
        Ok(Some(Instance {
            id: id.to_id(),
            name: id.name.clone(),
            uid: mark.uid,
            created_at: mark.created_at,
            state,
            decommissioned: host.decommissioned,
        }))
    }

    /// What the sources know, in the order of trust, until one has an address that counts.
    async fn addresses_of(
        &self,
        lease: &mut Lease,
        domain: &Domain,
        uuid: DomainUuid,
        (state, reason): (i32, i32),
    ) -> Result<Vec<Leased>, Error> {
        let mut known = Vec::new();
        let kind =
            |known: &[Leased]| shown(state, reason, domain.mac.as_deref(), known, &self.addresses).kind();
        // Of one that does not run nothing is asked: whether it runs shows with an address in place.
        if !libvirt_model::runs(state, reason) {
            return Ok(known);
        }
        for source in Source::ALL {
            // Only libvirt's own networks keep leases.
            if source == Source::Lease && matches!(lease.host.uplink, Uplink::Bridge(_)) {
                continue;
            }
            known.extend(lease.addresses(&domain.name, uuid, source).await?);
            if kind(&known) == StateKind::Running {
                break;
            }
        }
        Ok(known)
    }
}

/// What was there when it was looked up is gone: another look will tell.
fn changed(refused: Refused) -> Error {
    match refused.meaning {
        Meaning::Absent => {
            Error::transient("it went, or was made anew, while it was looked at").coded("Changed")
        }
        _ => refused.error,
    }
}
