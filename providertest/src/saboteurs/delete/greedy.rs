//! Saboteurs that remove too much, or too little.

use std::sync::Arc;

use async_trait::async_trait;

use crate::memory::{
    At, Cloud,
    cloud::{Accepted, Answer, Page, Part},
};

/// A part that stays.
pub(super) struct ForgetsTheSeed(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for ForgetsTheSeed {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn remove_part(&self, at: At, name: &str, only: Option<u64>) -> Answer<()> {
        if name.ends_with("seed") { Ok(()) } else { self.0.remove_part(at, name, only).await }
    }
}

/// Everything in the zone.
pub(super) struct TakesNeighbours(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for TakesNeighbours {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn remove(&self, at: At, key: &str, only: Option<u64>) -> Answer<Accepted> {
        for row in self.0.list(at.clone(), None).await?.items.iter().filter(|row| row.key != key) {
            self.0.remove(at.clone(), &row.key, None).await?;
        }
        self.0.remove(at, key, only).await
    }
}

/// No part is in use.
pub(super) struct SeesNoUse(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for SeesNoUse {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn list_parts(&self, at: At, page: Option<&str>) -> Answer<Page<Part>> {
        let mut page = self.0.list_parts(at, page).await?;
        page.items.iter_mut().for_each(|part| part.used = false);
        Ok(page)
    }
}

/// Whoever needs a part goes first.
pub(super) struct ByForce(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for ByForce {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn list_parts(&self, at: At, page: Option<&str>) -> Answer<Page<Part>> {
        let mut page = self.0.list_parts(at, page).await?;
        page.items.iter_mut().for_each(|part| part.used = false);
        Ok(page)
    }

    async fn remove_part(&self, at: At, name: &str, only: Option<u64>) -> Answer<()> {
        let refused = self.0.remove_part(at.clone(), name, only).await;
        if refused.is_err() {
            for row in self.0.list(at.clone(), None).await?.items {
                self.0.remove(at.clone(), &row.key, None).await?;
            }
        }
        refused
    }
}
