//! Saboteurs that say something wrong of what they list.

use std::sync::Arc;

use async_trait::async_trait;
use provider_api::{Clock, Error, Listing, Provider, ProviderId, StateKind, Timestamp};

use crate::saboteur::{HONEST, Meddler, Saboteur, meddle};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "lists-ids-of-another-make",
        does: "lists ids that its own delete cannot read",
        breaks: "list.ids-are-deletable",
        provider: |built, _| meddle(built, OtherIds),
        ..HONEST
    },
    Saboteur {
        name: "lists-everything-as-new",
        does: "lists each instance as made just now",
        breaks: "list.uid-and-created-at",
        provider: |built, context| {
            meddle(built, Dates(Arc::clone(&context.clock), |at, now| at.map(|_| now)))
        },
        ..HONEST
    },
    Saboteur {
        name: "lists-made-up-times",
        does: "lists an instance whose creation time cannot be read as made just now",
        breaks: "list.uid-and-created-at",
        provider: |built, context| {
            meddle(built, Dates(Arc::clone(&context.clock), |at, now| at.or(Some(now))))
        },
        ..HONEST
    },
    Saboteur {
        name: "does-not-list-what-is-over",
        does: "leaves out what is Terminated or being deleted",
        breaks: "list.every-state",
        provider: |built, _| meddle(built, NotTheOver),
        ..HONEST
    },
];

struct OtherIds;

#[async_trait]
impl Meddler for OtherIds {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let mut listing = honest.list_by_tag().await?;
        for listed in &mut listing.items {
            listed.id = ProviderId::new(format!("/{}", listed.id));
        }
        Ok(listing)
    }
}

/// Changes creation times, knowing what time it is.
struct Dates(Arc<dyn Clock>, fn(Option<Timestamp>, Timestamp) -> Option<Timestamp>);

#[async_trait]
impl Meddler for Dates {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let mut listing = honest.list_by_tag().await?;
        for listed in &mut listing.items {
            listed.created_at = (self.1)(listed.created_at, self.0.now());
        }
        Ok(listing)
    }
}

struct NotTheOver;

#[async_trait]
impl Meddler for NotTheOver {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let Listing { items, unreachable } = honest.list_by_tag().await?;
        let mut kept = Vec::new();
        for listed in items {
            let over = honest.get(&listed.id).await.is_ok_and(|i| i.state.kind() == StateKind::Terminated);
            if !over {
                kept.push(listed);
            }
        }
        Ok(Listing { items: kept, unreachable })
    }
}
