//! `delete`: removes the instance, then its parts, whichever of them are there. It never touches what is not its own,
//! and it is bound to the incarnation that it looked at.

use provider_api::{
    Deleted, Error, Name, Ownership, ProviderId,
    profile::{DeleteBinding, DeleteReturn, Mobility},
};

use super::{
    cloud::{Described, Part},
    error::{Meaning, Refused, tolerate},
    mark,
    pages::Pages,
    profile::{self, UNLOCKED},
    provider::MemoryProvider,
    wait::Patience,
};

/// What makes the removal of a part pointless.
pub(super) const MOOT: &[Meaning] = &[Meaning::Absent, Meaning::Changed, Meaning::InUse];
/// How often parts are looked at before a refusal is passed on.
const LOOKS: usize = 3;

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
        let mut bound = None;
        loop {
            let described = tolerate(self.backend.describe(zone, key).await, &[Meaning::Absent])?;
            let Some(described) = described else { return Ok(None) };
            if !self.is_own(&described, name) {
                // delete.leaves-foreign-alone
                tracing::info!(provider = %self.name, zone, key, "what stands at the id is not ours; it is left alone");
                return Ok(None);
            }
            let incarnation = described.incarnation;
            let again = bound == Some(incarnation);
            if *bound.get_or_insert(incarnation) != incarnation {
                // What was looked at first is gone; its successor is not this call's to remove.
                return Ok(None);
            }
            if described.deleting {
                return Ok(Some(incarnation));
            }
            let only = (self.profile.delete_binding == DeleteBinding::Incarnation).then_some(incarnation);
            match self.backend.remove(zone, key, only).await {
                Ok(_) => return Ok(Some(incarnation)),
                Err(refused) => match refused.meaning {
                    // The cloud says that it is gone: look again, and believe it when it bears that out.
                    Meaning::Absent | Meaning::Changed if !again => {}
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
            self.remove_parts_in(zone, name).await?;
        }
        Ok(())
    }

    /// That a part is gone, or needed after all, is believed when the next look bears it out.
    async fn remove_parts_in(&self, zone: &str, name: &Name) -> Result<(), Error> {
        let mut looks = 0;
        loop {
            let mut parts = self.parts(zone).await?;
            parts.retain(|part| {
                !part.used && mark::part_owner(&part.name, &self.identity).as_ref() == Some(name)
            });
            looks += 1;
            let mut doubt = None;
            for part in &parts {
                match self.remove_part(zone, part).await {
                    Ok(()) => {}
                    Err(refused) if MOOT.contains(&refused.meaning) => doubt = Some(refused.error),
                    Err(refused) => return Err(refused.error),
                }
            }
            match doubt {
                None => return Ok(()),
                Some(error) if looks == LOOKS => return Err(error),
                Some(_) => {}
            }
        }
    }

    /// Removes one part that was looked at, bound to the incarnation where the profile says so.
    pub(super) async fn remove_part(&self, zone: &str, part: &Part) -> Result<(), Refused> {
        let only = (self.profile.delete_binding == DeleteBinding::Incarnation).then_some(part.incarnation);
        self.backend.remove_part(zone, &part.name, only).await
    }

    /// Every part in a zone, whoever owns it.
    pub(super) async fn parts(&self, zone: &str) -> Result<Vec<Part>, Error> {
        let mut pages = Pages::new();
        while pages.add(self.backend.list_parts(zone, pages.token()).await)? {}
        Ok(pages.items())
    }
}
