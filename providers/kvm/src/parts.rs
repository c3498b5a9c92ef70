//! The volumes of an instance: the disk over its image, and the seed. They are made before the domain that needs them, and
//! removed after it.

use std::collections::BTreeMap;

use libvirt_model::{
    Domain, KVM, Meaning, NewVolume, Part, Placed, Volume, is_image, is_part, part_name, part_of,
};
use provider_api::{CreateRequest, Deleted, Error, Name, Secret};

use crate::{
    client::{DomainUuid, Feed, Lease},
    error::Refused,
    image::can_be_booted,
    provider::Kvm,
    survey::Surveyed,
};

/// What a create has made, for when it must take it back.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) domain: Option<DomainUuid>,
    pub(crate) volumes: Vec<String>,
}

/// Where the volumes of an instance are, on the host.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) disk: String,
    pub(crate) seed: String,
}

impl Kvm {
    /// Makes the volumes of an instance, or takes up those that an earlier create has left.
    pub(crate) async fn make_parts(
        &self,
        lease: &mut Lease,
        request: &CreateRequest,
        placed: &Placed,
        surveyed: &Surveyed,
        image: &str,
        bytes: Secret,
        made: &mut Made,
    ) -> Result<Parts, Refused> {
        let name = |part| part_name(KVM, &request.name, &self.identity.installation, part);
        let (disk, seed) = (name(Part::Disk), name(Part::Seed));
        let image = lease.volume(image).await?;
        can_be_booted(&image, &placed.image).map_err(Refused::before_the_call)?;
        let is_there = |volume: &String| surveyed.volumes.contains(volume);

        let there: Vec<_> = [&disk, &seed].into_iter().filter(|name| is_there(name)).cloned().collect();
        self.nobody_needs(lease, &request.name, &surveyed.volumes, &there)
            .await
            .map_err(Refused::before_the_call)?;
        // A disk that is smaller than its image cannot be booted from.
        let capacity = (self.config.disk_size_gb << 30).max(image.capacity);
        if !is_there(&disk) || !self.is_taken_up(lease, request, &disk, &image, capacity).await? {
            self.has_room_for_disk(lease, capacity).await.map_err(Refused::before_the_call)?;
            let overlay = NewVolume::Overlay { capacity, image: &image.path, format: placed.image.format };
            self.make_volume(lease, &disk, &overlay, made).await?;
        }
        // An upload that was cut off cannot be told from one that was not, so the seed is made anew.
        if is_there(&seed) {
            lease.delete_volume(&seed).await?;
        }
        let length = bytes.len() as u64;
        self.make_volume(lease, &seed, &NewVolume::Bytes { length }, made).await?;
        lease.upload(&seed, Feed::of(bytes)).await?;
        Ok(Parts { disk: lease.volume_path(&disk).await?, seed: lease.volume_path(&seed).await? })
    }

    async fn make_volume(
        &self,
        lease: &mut Lease,
        name: &str,
        volume: &NewVolume<'_>,
        made: &mut Made,
    ) -> Result<(), Refused> {
        match lease.create_volume(name, volume).await {
            Ok(()) => {
                made.volumes.push(name.to_owned());
                Ok(())
            }
            // Somebody else makes it at this moment: what comes of that, the next create finds.
            Err(refused) if refused.meaning == Meaning::Exists => {
                Err(Refused::before_the_call(refused.error))
            }
            Err(refused) => Err(refused),
        }
    }

    /// Whether a disk that stands there can be taken up: it stands on that image and nobody has booted from it. Otherwise
    /// it is removed, unless a domain has come to need it meanwhile.
    async fn is_taken_up(
        &self,
        lease: &mut Lease,
        request: &CreateRequest,
        disk: &str,
        image: &Volume,
        capacity: u64,
    ) -> Result<bool, Refused> {
        match lease.volume(disk).await {
            Ok(volume) if volume.is_fresh_overlay(&image.path, capacity) => return Ok(true),
            Err(refused) if refused.meaning == Meaning::Absent => return Ok(false),
            volume => drop(volume?),
        }
        if lease.domain(request.name.as_str()).await?.is_some() {
            let text = format!("the domain {} was made meanwhile", request.name);
            return Err(Refused::before_the_call(Error::transient(text).coded("Changed")));
        }
        lease.delete_volume(disk).await?;
        Ok(false)
    }

    /// Removes the volumes of an instance whose domain is gone. What somebody else's domain needs stays
    /// (`delete.keeps-referenced`).
    pub(crate) async fn remove_parts(
        &self,
        lease: &mut Lease,
        owner: &Name,
        gone: Option<DomainUuid>,
    ) -> Result<Deleted, Error> {
        match lease.find_pool().await {
            Err(refused) if refused.meaning == Meaning::NoPool => {
                // Should it come back, they show as leftovers.
                let (pool, host) = (&lease.host.pool, &lease.host.name);
                let what =
                    format!("the volumes of {owner} in the pool {pool}, which host {host} does not have");
                return Ok(Deleted::Abandoned(what));
            }
            found => found?,
        }
        let volumes = lease.volumes().await?;
        let ours = |volume: &&String| {
            part_of(KVM, volume, &self.identity).is_some_and(|(owned_by, _)| owned_by == *owner)
        };
        let parts: Vec<_> = volumes.iter().filter(ours).cloned().collect();
        for part in self.unneeded(lease, owner, &volumes, parts, gone).await? {
            lease.delete_volume(&part).await?;
        }
        Ok(Deleted::Gone)
    }

    /// Those of the parts that nobody needs: no domain but our own, and no volume that is not ours.
    pub(crate) async fn unneeded(
        &self,
        lease: &mut Lease,
        owner: &Name,
        volumes: &[String],
        parts: Vec<String>,
        gone: Option<DomainUuid>,
    ) -> Result<Vec<String>, Error> {
        if parts.is_empty() {
            return Ok(parts);
        }
        let others = self.others(lease, owner, volumes, gone).await?;
        let needed = others.needed(lease, &parts).await?;
        for (volume, who) in &needed {
            tracing::info!(host = lease.host.name, volume, who, "somebody else needs it; it is left");
        }
        Ok(parts.into_iter().filter(|part| !needed.contains_key(part)).collect())
    }

    /// Says who needs what a create would take up or replace: a domain of ours that was renamed, or a clone.
    async fn nobody_needs(
        &self,
        lease: &mut Lease,
        owner: &Name,
        volumes: &[String],
        parts: &[String],
    ) -> Result<(), Error> {
        if parts.is_empty() {
            return Ok(());
        }
        let others = self.others(lease, owner, volumes, None).await?;
        match others.needed(lease, parts).await?.pop_first() {
            None => Ok(()),
            Some((_, who)) if who == owner.as_str() => {
                Err(Error::transient(format!("the domain {owner} was made meanwhile")).coded("Changed"))
            }
            Some((volume, who)) => {
                let who: String = who.chars().take(200).collect();
                let text = format!(
                    "the volume {volume} on host {} is needed by {who}: rename it there, or remove {who}",
                    lease.host.name
                );
                Err(Error::permanent(text).coded("PartNeeded"))
            }
        }
    }

    /// What others have on the host. A domain that is called as ours are uses its own volumes alone; one under the very
    /// name is not ours any more, but where it is the one that should be `gone`.
    async fn others(
        &self,
        lease: &mut Lease,
        owner: &Name,
        volumes: &[String],
        gone: Option<DomainUuid>,
    ) -> Result<Others, Error> {
        let mut others = Others::default();
        for (uuid, name) in lease.domains().await? {
            if gone == Some(uuid) {
                // Somebody has started it between its end and its removal.
                let text = format!("the domain {name} on host {} does not go", lease.host.name);
                return Err(Error::transient(text).coded("StillThere"));
            }
            if Name::parse(&name).is_ok_and(|name| name != *owner) {
                continue;
            }
            match lease.description(&name, uuid).await {
                Err(refused) if refused.meaning == Meaning::Absent => {}
                domain => others.domains.push(domain?),
            }
        }
        for volume in volumes.iter().filter(|volume| !is_part(volume) && !is_image(volume)) {
            match lease.volume(volume).await {
                Err(refused) if refused.meaning == Meaning::Absent => {}
                seen => others.backings.extend(seen?.backing.map(|backing| (volume.clone(), backing))),
            }
        }
        Ok(others)
    }
}

/// What stands on a host that is not ours.
#[derive(Debug, Default)]
struct Others {
    domains: Vec<Domain>,
    /// Volumes that stand on others, with the paths of those.
    backings: Vec<(String, String)>,
}

impl Others {
    /// Those of the parts that somebody needs, each with who it is.
    async fn needed(&self, lease: &mut Lease, parts: &[String]) -> Result<BTreeMap<String, String>, Error> {
        let mut needed = BTreeMap::new();
        if self.domains.is_empty() && self.backings.is_empty() {
            return Ok(needed);
        }
        for part in parts {
            let path = match lease.volume_path(part).await {
                Err(refused) if refused.meaning == Meaning::Absent => continue,
                path => path?,
            };
            if let Some(who) = self.who_needs(&lease.host.pool, part, &path) {
                needed.insert(part.clone(), who);
            }
        }
        Ok(needed)
    }

    fn who_needs(&self, pool: &str, volume: &str, path: &str) -> Option<String> {
        let domain = self.domains.iter().find(|domain| domain.uses(pool, volume, path));
        let stands = self.backings.iter().find(|(_, backing)| backing == path);
        domain.map(|domain| domain.name.clone()).or_else(|| stands.map(|(volume, _)| volume.clone()))
    }
}
