//! Saboteurs that mistreat leftovers.

use std::sync::Arc;

use async_trait::async_trait;
use provider_api::{
    Error, InstallationId, Leftover, LeftoverId, LeftoverListing, Leftovers, ProviderType, Registry,
};

use super::{
    super::view::{Memory, OnePageOfParts},
    scope::StopsAtEmpty,
};
use crate::{
    memory,
    saboteur::{HONEST, LeftoverMeddler, Saboteur, meddle_leftovers},
};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "forgets-how-old-leftovers-are",
        does: "lists leftovers without their creation time",
        breaks: "list.leftovers-listed",
        profile: memory::blocking,
        provider: |built, _| meddle_leftovers(built, Ageless),
        ..HONEST
    },
    Saboteur {
        name: "lists-one-leftover-of-many",
        does: "lists the first leftover only",
        breaks: "list.leftovers-listed",
        profile: memory::blocking,
        provider: |built, _| meddle_leftovers(built, FirstOnly),
        ..HONEST
    },
    Saboteur {
        name: "reads-one-page-of-parts",
        does: "takes the first page of parts for all of them when it lists leftovers",
        breaks: "list.leftovers-listed",
        profile: memory::blocking,
        cloud: |below| Arc::new(OnePageOfParts(below)),
        ..HONEST
    },
    Saboteur {
        name: "finds-no-parts-behind-an-empty-page",
        does: "takes the parts for all of them at a page with nothing on it when it lists leftovers",
        breaks: "list.leftovers-listed",
        profile: memory::blocking,
        cloud: |below| Arc::new(StopsAtEmpty(below)),
        ..HONEST
    },
    Saboteur {
        name: "deletes-leftovers-by-id-alone",
        does: "deletes the part that an id names, whichever installation it belongs to",
        breaks: "list.leftovers-deletable",
        profile: memory::blocking,
        types: takes_any,
        ..HONEST
    },
    Saboteur {
        name: "trusts-the-shape-of-a-leftover",
        does: "panics on the id of a leftover that it did not write itself",
        breaks: "list.leftovers-deletable",
        profile: memory::blocking,
        provider: |built, _| meddle_leftovers(built, TrustsTheShape),
        ..HONEST
    },
    Saboteur {
        name: "says-deleted-and-does-nothing",
        does: "answers that a leftover is deleted, and leaves it",
        breaks: "list.leftovers-deletable",
        profile: memory::blocking,
        provider: |built, _| meddle_leftovers(built, Idle),
        ..HONEST
    },
    Saboteur {
        name: "refuses-what-is-gone",
        does: "fails to delete a leftover that it has deleted before",
        breaks: "list.leftovers-deletable",
        profile: memory::blocking,
        provider: |built, _| meddle_leftovers(built, Once::default()),
        ..HONEST
    },
    Saboteur {
        name: "once-a-leftover-always-a-leftover",
        does: "goes on listing as a leftover what a living instance has taken up again",
        breaks: "list.leftovers-spare-the-living",
        profile: memory::blocking,
        provider: |built, _| meddle_leftovers(built, Always::default()),
        ..HONEST
    },
];

/// Has every installation of the case adopt the others.
fn takes_any(registry: Registry) -> Registry {
    registry.map(|honest| {
        let build = honest.build;
        ProviderType {
            build: Arc::new(move |shared, fields, mut context| {
                let (tag, _) = context.identity.installation.as_str().split_once('-').unwrap_or_default();
                let all =
                    ["installation", "elsewhere"].map(|of| InstallationId::parse(&format!("{tag}-{of}")));
                context.identity.adopt.extend(all.into_iter().flatten());
                build(shared, fields, context)
            }),
            ..honest
        }
    })
}

struct TrustsTheShape;

#[async_trait]
impl LeftoverMeddler for TrustsTheShape {
    async fn delete(&self, honest: &dyn Leftovers, id: &LeftoverId) -> Result<(), Error> {
        let zone = id.as_str().split('/').nth(1).expect("an id has a zone");
        tracing::trace!(zone, "deleting a leftover");
        honest.delete(id).await
    }
}

struct Ageless;

#[async_trait]
impl LeftoverMeddler for Ageless {
    async fn list(&self, honest: &dyn Leftovers) -> Result<LeftoverListing, Error> {
        let mut listing = honest.list().await?;
        listing.items.iter_mut().for_each(|leftover| leftover.created_at = None);
        Ok(listing)
    }
}

struct FirstOnly;

#[async_trait]
impl LeftoverMeddler for FirstOnly {
    async fn list(&self, honest: &dyn Leftovers) -> Result<LeftoverListing, Error> {
        let mut listing = honest.list().await?;
        listing.items.truncate(1);
        Ok(listing)
    }
}

struct Idle;

#[async_trait]
impl LeftoverMeddler for Idle {
    async fn delete(&self, _: &dyn Leftovers, _: &LeftoverId) -> Result<(), Error> {
        Ok(())
    }
}

#[derive(Default)]
struct Once(Memory<()>);

#[async_trait]
impl LeftoverMeddler for Once {
    async fn delete(&self, honest: &dyn Leftovers, id: &LeftoverId) -> Result<(), Error> {
        if self.0.get(id.as_str()).is_some() {
            return Err(Error::transient("there is no such leftover"));
        }
        honest.delete(id).await?;
        self.0.put(id.as_str(), ());
        Ok(())
    }
}

/// Remembers for ever what it has listed.
#[derive(Default)]
struct Always(Memory<Leftover>);

#[async_trait]
impl LeftoverMeddler for Always {
    async fn list(&self, honest: &dyn Leftovers) -> Result<LeftoverListing, Error> {
        let mut listing = honest.list().await?;
        for leftover in &listing.items {
            self.0.put(leftover.id.as_str(), leftover.clone());
        }
        listing.items = self.0.all();
        Ok(listing)
    }
}
