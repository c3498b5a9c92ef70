//! `get`: the instance as the cloud shows it. It changes nothing (`get.read-only`).

use std::{collections::HashMap, net::IpAddr};

use provider_api::{Error, Instance, LeftBehind, Ownership, ProviderId, StateKind, profile::IpSource};

use super::{
    backend::Backend,
    cloud::{Content, Described},
    error::{Meaning, tolerate},
    id::Id,
    mark,
    provider::MemoryProvider,
    state,
};

impl MemoryProvider {
    /// The instance; `None` when it is proven gone, or something else stands at its id
    /// (`get.not-found-only-with-proof`, `get.never-anothers-data`).
    pub(super) async fn get_instance(&self, id: &ProviderId) -> Result<Option<Instance>, Error> {
        let parsed = self.parse(id)?;
        let Some((zone, described)) = self.look(&parsed).await? else { return Ok(None) };
        let Ownership::Ours(mark) = mark::owner(&described, &self.identity) else { return Ok(None) };
        if described.name != parsed.name.as_str() {
            return Ok(None);
        }
        let address = self.address(&self.backend, &zone, &described).await?;
        Ok(Some(Instance {
            id: id.clone(),
            name: parsed.name,
            created_at: mark::created_at(&self.profile, &described, &mark),
            uid: mark.uid,
            state: state::state(&described, address),
            decommissioned: self.config.zone(&zone).is_some_and(|zone| zone.decommissioned),
        }))
    }

    /// What stands at an id: from a shared listing that shows it, otherwise as the zone says now.
    async fn look(&self, id: &Id) -> Result<Option<(String, Described)>, Error> {
        let Some(zone) = self.zone_of(id).await? else { return Ok(None) };
        if self.config.zone(&zone).is_none() {
            let text =
                format!("zone {zone} is not configured, so nothing can be said about what stands there");
            return Err(Error::permanent(text).leaving(LeftBehind::Unknown));
        }
        if let Some(described) = self.look_in_listing(&zone, id).await? {
            return Ok(Some((zone, described)));
        }
        let described = tolerate(self.backend.describe(&zone, &id.key).await, &[Meaning::Absent])?;
        match described {
            Some(described) => Ok(Some((zone, described))),
            None if id.zone.is_some() => Ok(None),
            // It was there a moment ago: it is gone, or it moved in between.
            None => match self.zone_of(id).await? {
                None => Ok(None),
                Some(zone) => Err(Error::transient(format!("it is moving; it was last seen in zone {zone}"))),
            },
        }
    }

    /// The zone of an instance; where instances move, the cloud is asked (`get.finds-moved-instance`).
    pub(super) async fn zone_of(&self, id: &Id) -> Result<Option<String>, Error> {
        if let Some(zone) = &id.zone {
            return Ok(Some(zone.clone()));
        }
        let located = self.backend.locate(id.name.as_str()).await?;
        Ok(located.into_iter().find(|located| located.key == id.key).map(|located| located.zone))
    }

    /// What a listing shared with others shows. That it does not show something proves nothing.
    async fn look_in_listing(&self, zone: &str, id: &Id) -> Result<Option<Described>, Error> {
        if !self.shared.is_on() {
            return Ok(None);
        }
        // Whoever comes while a listing is being taken waits for that one.
        let _turn = self.gate.name(&format!("listing of {zone}")).await;
        let now = self.seam.clock().monotonic();
        if let Some(taken) = self.shared.taken(zone, &id.name, now) {
            return Ok(taken.get(&id.key).cloned());
        }
        let serial = self.shared.begin();
        let rows = self.rows(zone).await?;
        let whole = rows.into_iter().filter_map(|row| match row.content {
            Content::Whole(described) => Some((row.key, *described)),
            Content::NameOnly | Content::Unreadable(_) => None,
        });
        let instances: HashMap<_, _> = whole.collect();
        let described = instances.get(&id.key).cloned();
        self.shared.keep(zone, serial, now, instances);
        Ok(described)
    }

    /// The instance's own address: what the guest cannot forge first (`get.own-address-only`).
    pub(super) async fn address(
        &self,
        backend: &Backend,
        zone: &str,
        described: &Described,
    ) -> Result<Option<IpAddr>, Error> {
        if self.profile.ip_source == IpSource::AssignedAtCreate {
            return Ok(self.addresses.pick(described.addresses.iter().copied()));
        }
        if described.deleting || state::kind(&described.state) != StateKind::Running {
            return Ok(None);
        }
        let sightings = tolerate(backend.addresses(zone, &described.key).await, &[Meaning::Absent])?;
        let mut sightings = sightings.unwrap_or_default();
        sightings.retain(|sighting| sighting.mac == described.mac);
        sightings.sort_by_key(|sighting| sighting.source);
        Ok(self.addresses.pick(sightings.into_iter().map(|sighting| sighting.address)))
    }
}
