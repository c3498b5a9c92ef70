//! Leftovers: volumes of ours whose domain is not there.

use async_trait::async_trait;
use libvirt_model::{KVM, Meaning, part_of};
use provider_api::{
    Error, Grammar, LeftBehind, Leftover, LeftoverId, LeftoverListing, Leftovers, Name, Operation, ProviderId,
};

use crate::{
    client::Lease,
    list::{Found, unread},
    provider::Kvm,
};

/// The time of making is in the id, so that an old id never takes a volume that was made anew
/// (`list.leftovers-spare-the-living`).
const IDS: Grammar = Grammar::new("hosts/{host}/volumes/{volume}/{made}");

#[async_trait]
impl Leftovers for Kvm {
    async fn list(&self) -> Result<LeftoverListing, Error> {
        let work = async {
            let found = self.every_host(|mut lease| async move { self.left_on(&mut lease).await }).await;
            Ok(LeftoverListing { items: found.0, unreachable: found.1 })
        };
        self.bounded(Operation::Leftovers, "every leftover", work).await
    }

    async fn delete(&self, id: &LeftoverId) -> Result<(), Error> {
        let work = async {
            let malformed =
                |why: String| Error::permanent(why).coded("MalformedId").leaving(LeftBehind::Nothing);
            let text = ProviderId::new(id.as_str());
            let [host, volume, made] = IDS.parse::<3>(&text).map_err(|error| malformed(error.to_string()))?;
            let owner = part_of(KVM, volume, &self.identity);
            let (owner, _) = owner.ok_or_else(|| malformed(format!("{volume:?} is no volume of ours")))?;
            let host = self.host(host).ok_or_else(|| {
                Error::permanent(format!("host {host} is not configured")).coded("NotConfigured")
            })?;
            let _turn = self.gate.name(owner.as_str()).await;
            let _room = self.gate.target(&host.name).await;
            let mut lease = self.hosts.lease(&self.seam, host).await?;
            if lease.domain(owner.as_str()).await?.is_some() {
                let text = format!("the domain {owner} is there, and needs {volume}");
                return Err(Error::transient(text).coded("InUse"));
            }
            self.remove_leftover(&mut lease, &owner, volume, made).await
        };
        self.bounded(Operation::Leftovers, id.as_str(), work).await
    }
}

impl Kvm {
    async fn left_on(&self, lease: &mut Lease) -> Result<Found<Leftover>, Error> {
        lease.find_pool().await?;
        // Volumes before domains: a domain that is made in between protects its own.
        let volumes = lease.volumes().await?;
        let domains = lease.domains().await?;
        let (mut items, mut unreachable) = (Vec::new(), Vec::new());
        for volume in volumes {
            let Some((owner, _)) = part_of(KVM, &volume, &self.identity) else { continue };
            if domains.iter().any(|(_, name)| name == owner.as_str()) {
                continue;
            }
            let target = format!("{}/{volume}", lease.host.name);
            let seen = match lease.volume(&volume).await {
                Ok(seen) => seen,
                Err(refused) if refused.meaning == Meaning::Absent => continue,
                Err(refused) if lease.is_broken() => return Err(refused.error),
                Err(refused) => {
                    unreachable.push(unread(target, &refused.error));
                    continue;
                }
            };
            let made = seen.made.map_or_else(|| "unknown".to_owned(), |made| made.as_unix().to_string());
            match IDS.format([&lease.host.name, &volume, &made]) {
                Ok(id) => {
                    let id = LeftoverId::new(id.as_str());
                    items.push(Leftover { id, owner, created_at: seen.made });
                }
                Err(malformed) => {
                    unreachable.push(unread(target, &Error::transient(malformed.to_string())));
                }
            }
        }
        Ok((items, unreachable))
    }

    async fn remove_leftover(
        &self,
        lease: &mut Lease,
        owner: &Name,
        volume: &str,
        made: &str,
    ) -> Result<(), Error> {
        lease.find_pool().await?;
        let volumes = lease.volumes().await?;
        if !volumes.iter().any(|other| other == volume) {
            return Ok(());
        }
        let seen = match lease.volume(volume).await {
            Err(refused) if refused.meaning == Meaning::Absent => return Ok(()),
            seen => seen?,
        };
        if seen.made.is_some_and(|now| now.as_unix().to_string() != made) {
            tracing::info!(
                host = lease.host.name,
                volume,
                "it was made anew since it was listed; it is left"
            );
            return Ok(());
        }
        for volume in self.unneeded(lease, owner, &volumes, vec![volume.to_owned()], None).await? {
            lease.delete_volume(&volume).await?;
        }
        Ok(())
    }
}
