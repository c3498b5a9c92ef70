//! Saboteurs that stumble over one instance, or change what they list.

use std::sync::Arc;

use async_trait::async_trait;
use provider_api::{CreateRequest, Error, Listing, Provider, ProviderId, StateKind};

use super::super::view::{Memory, is_absent};
use crate::{
    memory::{
        self, At, Cloud,
        cloud::{Accepted, Answer, CloudError, Described},
    },
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "skips-what-it-cannot-read",
        does: "leaves out an instance that it cannot read and does not say so",
        breaks: "list.one-unreadable-is-reported",
        provider: |built, _| meddle(built, Skips),
        ..HONEST
    },
    Saboteur {
        name: "fails-over-one-instance",
        does: "fails the whole listing over one instance that it cannot read",
        breaks: "list.one-unreadable-is-reported",
        provider: |built, _| meddle(built, FailsOverOne),
        ..HONEST
    },
    Saboteur {
        name: "fails-over-what-has-gone",
        does: "fails the whole listing when an instance is gone by the time it is read",
        breaks: "list.vanishing-during-list",
        profile: memory::blocking,
        cloud: |below| Arc::new(GoneIsBroken { below, removed: Memory::default() }),
        ..HONEST
    },
    Saboteur {
        name: "wakes-what-it-lists",
        does: "starts every stopped instance that it lists",
        breaks: "list.read-only",
        provider: |built, _| meddle(built, Wakes::default()),
        ..HONEST
    },
];

fn is_one(code: &str) -> bool {
    code == "Unreadable"
}

struct Skips;

#[async_trait]
impl Meddler for Skips {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let mut listing = honest.list_by_tag().await?;
        listing.unreachable.retain(|part| !is_one(&part.reason.code));
        Ok(listing)
    }
}

struct FailsOverOne;

#[async_trait]
impl Meddler for FailsOverOne {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let listing = honest.list_by_tag().await?;
        match listing.unreachable.iter().find(|part| is_one(&part.reason.code)) {
            Some(part) => Err(Error::transient(part.reason.to_string())),
            None => Ok(listing),
        }
    }
}

/// Takes absence for a broken connection, unless the provider has removed the thing itself.
struct GoneIsBroken {
    below: Arc<dyn Cloud>,
    removed: Memory<()>,
}

#[async_trait]
impl Cloud for GoneIsBroken {
    fn below(&self) -> &dyn Cloud {
        &*self.below
    }

    async fn describe(&self, at: At, key: &str) -> Answer<Described> {
        let answer = self.below.describe(at, key).await;
        let expected = self.removed.get(key).is_some();
        answer.map_err(|error| if is_absent(&error) && !expected { CloudError::reset() } else { error })
    }

    async fn remove(&self, at: At, key: &str, only: Option<u64>) -> Answer<Accepted> {
        self.removed.put(key, ());
        self.below.remove(at, key, only).await
    }
}

#[derive(Default)]
struct Wakes(Memory<CreateRequest>);

#[async_trait]
impl Meddler for Wakes {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        self.0.put(request.name.as_str(), request.clone());
        honest.create(request).await
    }

    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let listing = honest.list_by_tag().await?;
        for listed in &listing.items {
            let stopped = honest.get(&listed.id).await.is_ok_and(|i| i.state.kind() == StateKind::Stopped);
            if let Some(request) = self.0.get(listed.name.as_str()).filter(|_| stopped) {
                honest.create(&request).await?;
            }
        }
        Ok(listing)
    }
}
