//! `delete`: removes the instance, then its parts, whichever of them are there. It never touches what is not its own,
//! and it is bound to the incarnation that it looked at.

use provider_api::{
    Deleted, Error, Name, Ownership, ProviderId,
    profile::{DeleteBinding, DeleteReturn, Mobility},
};

use super::{
    cloud::{Described, Part},
    error::{Meaning, tolerate},
    mark,
    pages::Pages,
    profile::{self, UNLOCKED},
    provider::MemoryProvider,
    wait::Patience,
};

impl MemoryProvider {
    /// Removes what stands at an id, with everything that `create` made for it.
    pub(super) async fn delete_instance(&self, id: &ProviderId) -> Result<Deleted, Error> {
        let id = self.parse(id)?;
        let _turn = self.gate.name(id.name.as_str()).await;
        let _writing = self.shared.writing(&id.name);
        let zone = self.zone_of(&id).await?;
        if let Some(zone) = zone.as_deref().filter(|zone| self.config.zone(zone).is_none()) {
            // delete.abandoned-is-said
            let what = format!("instance {} in zone {zone}, which is no longer configured", id.name);
            return Ok(Deleted::Abandoned(what));
        }
        if let Some(zone) = &zone {
            let removing = self.remove_own(zone, &id.key, &id.name).await?;
            match (removing, self.profile.delete_return) {
                (None, _) => {}
                (Some(_), DeleteReturn::ReturnsEarly) => return Ok(Deleted::Accepted),
                (Some(incarnation), DeleteReturn::Waits) => {
                    self.until_gone(zone, &id.key, incarnation).await?
                }
            }
        }
        let everywhere = self.config.zones.iter().map(|zone| zone.name.as_str());
        let zones: Vec<_> = match self.profile.mobility {
            Mobility::Fixed => zone.as_deref().into_iter().collect(),
            // What moved may have left its parts in any zone.
            Mobility::Moves => everywhere.collect(),
        };
        self.remove_parts(&zones, &id.name).await?;
        Ok(Deleted::Gone)
    }

    /// Begins to remove an instance or placeholder of ours, and answers with its incarnation; `None` when there is
    /// none. A lock is waited for; a removal that is in progress is not asked for again
    /// (`delete.repeat-while-deleting`).
    pub(super) async fn remove_own(&self, zone: &str, key: &str, name: &Name) -> Result<Option<u64>, Error> {
        let patience = Patience::new(&self.seam, UNLOCKED);
        loop {
            let described = tolerate(self.backend.describe(zone, key).await, &[Meaning::Absent])?;
            let Some(described) = described else { return Ok(None) };
            if !self.is_own(&described, name) {
                // delete.leaves-foreign-alone
                tracing::info!(provider = %self.name, zone, key, "what stands at the id is not ours; it is left alone");
                return Ok(None);
            }
            let incarnation = described.incarnation;
            if described.deleting {
                return Ok(Some(incarnation));
            }
            let only = (self.profile.delete_binding == DeleteBinding::Incarnation).then_some(incarnation);
            match self.backend.remove(zone, key, only).await {
                Ok(_) => return Ok(Some(incarnation)),
                Err(refused) => match refused.meaning {
                    Meaning::Absent | Meaning::Changed => return Ok(None),
                    Meaning::Locked => patience.pause("a locked instance").await?,
                    _ => return Err(refused.error),
                },
            }
        }
    }

    fn is_own(&self, described: &Described, name: &Name) -> bool {
        described.name == name.as_str()
            && (mark::is_our_placeholder(&self.profile, &self.identity, described)
                || matches!(mark::owner(described, &self.identity), Ownership::Ours(_)))
    }

    /// Removes the parts of an instance that is gone, whichever are there and not needed by somebody else
    /// (`delete.parts-already-gone`, `delete.keeps-referenced`). Where the cloud takes them along with the instance,
    /// this finds those of one that went without them.
    pub(super) async fn remove_parts(&self, zones: &[&str], name: &Name) -> Result<(), Error> {
        if !profile::has_parts(&self.profile) {
            return Ok(());
        }
        for zone in zones {
            for part in self.parts(zone).await? {
                if mark::part_owner(&part.name, &self.identity).as_ref() == Some(name) {
                    self.remove_part(zone, &part).await?;
                }
            }
        }
        Ok(())
    }

    /// Removes one part that was looked at, unless something needs it or it is another one by now.
    pub(super) async fn remove_part(&self, zone: &str, part: &Part) -> Result<(), Error> {
        if part.used {
            return Ok(());
        }
        let only = (self.profile.delete_binding == DeleteBinding::Incarnation).then_some(part.incarnation);
        let removed = self.backend.remove_part(zone, &part.name, only).await;
        tolerate(removed, &[Meaning::Absent, Meaning::Changed, Meaning::InUse])?;
        Ok(())
    }

    /// Every part in a zone, whoever owns it.
    pub(super) async fn parts(&self, zone: &str) -> Result<Vec<Part>, Error> {
        let mut pages = Pages::new();
        while pages.add(self.backend.list_parts(zone, pages.token()).await)? {}
        Ok(pages.items())
    }
}
