//! Leftovers: parts whose instance is gone, and bare copies that nobody went on with.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use futures::future::join_all;
use provider_api::{
    Error, Grammar, Leftover, LeftoverId, LeftoverListing, Leftovers, Malformed, Name, Operation, ProviderId,
};

use super::{
    cloud::{Content, Described, Row},
    delete::MOOT,
    error::{Meaning, tolerate},
    mark, profile,
    provider::MemoryProvider,
};

/// The ability to find and remove leftovers.
pub(super) struct MemoryLeftovers(pub(super) Arc<MemoryProvider>);

const PARTS: Grammar = Grammar::new("zones/{zone}/parts/{part}");
const PLACEHOLDERS: Grammar = Grammar::new("zones/{zone}/placeholders/{key}/{name}");

#[async_trait]
impl Leftovers for MemoryLeftovers {
    async fn list(&self) -> Result<LeftoverListing, Error> {
        self.0.run(Operation::Leftovers, "all", self.0.list_leftovers()).await
    }

    async fn delete(&self, id: &LeftoverId) -> Result<(), Error> {
        self.0.run(Operation::Leftovers, id.as_str(), self.0.delete_leftover(id)).await
    }
}

impl MemoryProvider {
    async fn list_leftovers(&self) -> Result<LeftoverListing, Error> {
        let zones = self.config.zones.iter();
        let parts = join_all(
            zones.map(|zone| async { (&zone.name, self.in_time(self.leftovers_in(&zone.name)).await) }),
        )
        .await;
        let mut listing = LeftoverListing::default();
        for (zone, part) in parts {
            match part {
                Ok(items) => listing.items.extend(items),
                Err(error) => listing.unreachable.push(self.left_out(zone, error)?),
            }
        }
        Ok(listing)
    }

    /// Parts are read before instances, so that an instance made in between protects its parts
    /// (`list.leftovers-spare-the-living`). Placeholders come first, since they may hold on to parts.
    async fn leftovers_in(&self, zone: &str) -> Result<Vec<Leftover>, Error> {
        let parts = if profile::has_parts(&self.profile) { self.parts(zone).await? } else { Vec::new() };
        let (mut leftovers, mut living) = (Vec::new(), BTreeSet::new());
        for row in self.rows(zone).await? {
            let name = row.name.clone();
            match self.bare(zone, row).await? {
                Some(described) => leftovers.push(self.placeholder(zone, &described)?),
                None => {
                    living.insert(name);
                }
            }
        }
        for part in parts.into_iter().filter(|part| !part.used) {
            let Some(owner) = mark::part_owner(&part.name, &self.identity) else { continue };
            if !living.contains(owner.as_str()) {
                let id = written(PARTS.format([zone, &part.name]))?;
                leftovers.push(Leftover { id, owner, created_at: part.created.parse().ok() });
            }
        }
        Ok(leftovers)
    }

    /// The row as a placeholder of ours, when it is one.
    async fn bare(&self, zone: &str, row: Row) -> Result<Option<Box<Described>>, Error> {
        if !self.profile.visible_placeholder {
            return Ok(None);
        }
        let described = match self.content(zone, row).await? {
            Content::Whole(described) => described,
            Content::NameOnly | Content::Unreadable(_) => return Ok(None),
        };
        let ours = mark::is_our_placeholder(&self.profile, &self.identity, &described);
        Ok(Some(described).filter(|described| ours && !described.deleting))
    }

    fn placeholder(&self, zone: &str, described: &Described) -> Result<Leftover, Error> {
        let id = written(PLACEHOLDERS.format([zone, &described.key, &described.name]))?;
        let owner = Name::parse(&described.name).map_err(|error| Error::transient(error.to_string()))?;
        Ok(Leftover { id, owner, created_at: described.created.parse().ok() })
    }

    /// Removes one leftover; what is gone, or came to life again, is left as it is.
    async fn delete_leftover(&self, id: &LeftoverId) -> Result<(), Error> {
        let text = ProviderId::new(id.as_str());
        if let Ok([zone, part]) = PARTS.parse(&text) {
            return self.delete_part(self.known(zone)?, part).await;
        }
        let [zone, key, name] = PLACEHOLDERS.parse(&text).map_err(malformed)?;
        self.delete_placeholder(self.known(zone)?, key, Name::parse(name).map_err(malformed)?).await
    }

    async fn delete_part(&self, zone: &str, name: &str) -> Result<(), Error> {
        let Some(owner) = mark::part_owner(name, &self.identity) else {
            return Err(Error::permanent(format!(
                "{name:?} is not the name of a part of this installation's"
            )));
        };
        let _turn = self.gate.name(owner.as_str()).await;
        match self.parts(zone).await?.iter().find(|part| part.name == name) {
            Some(part) if !part.used => {
                tolerate(self.remove_part(zone, part).await, MOOT)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn delete_placeholder(&self, zone: &str, key: &str, name: Name) -> Result<(), Error> {
        let _turn = self.gate.name(name.as_str()).await;
        let looked = tolerate(self.backend.describe(zone, key).await, &[Meaning::Absent])?;
        let bare = |described: &Described| {
            described.name == name.as_str()
                && mark::is_our_placeholder(&self.profile, &self.identity, described)
        };
        if looked.as_ref().is_some_and(bare)
            && let Some(incarnation) = self.remove_own(zone, key, &name).await?
        {
            self.until_gone(zone, key, incarnation).await?;
        }
        Ok(())
    }

    fn known<'z>(&self, zone: &'z str) -> Result<&'z str, Error> {
        match self.config.zone(zone) {
            Some(_) => Ok(zone),
            None => Err(Error::permanent(format!("zone {zone} is not configured"))),
        }
    }
}

fn written(id: Result<ProviderId, Malformed>) -> Result<LeftoverId, Error> {
    id.map(|id| LeftoverId::new(id.as_str())).map_err(|error| Error::transient(error.to_string()))
}

fn malformed(error: Malformed) -> Error {
    Error::permanent(error.to_string())
}
