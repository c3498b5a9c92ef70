//! Saboteurs that adopt what they must not, or do not adopt as they must.

use std::sync::Arc;

use async_trait::async_trait;
use provider_api::{CreateRequest, Error, Provider, ProviderId, Registry};

use crate::{
    memory::{
        At, Cloud,
        cloud::{Accepted, Answer, NewInstance},
    },
    saboteur::Meddler,
};

/// Takes a refusal that says so for an adoption.
pub(super) struct Adopts(pub(super) &'static str);

#[async_trait]
impl Meddler for Adopts {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let answer = honest.create(request).await;
        if answer.as_ref().is_err_and(|error| error.message().contains(self.0)) {
            let zone = request.placement.zone.as_deref().unwrap_or_default();
            return Ok(ProviderId::new(format!("zones/{zone}/instances/{}", request.name)));
        }
        answer
    }
}

/// Builds without the adopted installations.
pub(super) fn adopt_none(registry: Registry) -> Registry {
    registry.map(|mut known| {
        let build = Arc::clone(&known.build);
        known.build = Arc::new(move |shared, fields, mut context| {
            context.identity.adopt.clear();
            build(shared, fields, context)
        });
        known
    })
}

/// A start that does nothing.
pub(super) struct NeverStarts(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for NeverStarts {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn start(&self, _: At, _: &str) -> Answer<()> {
        Ok(())
    }
}

/// A name that is taken counts as an instance that was made.
pub(super) struct TakesTakenForMade(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for TakesTakenForMade {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn insert(&self, at: At, new: NewInstance) -> Answer<Accepted> {
        let key = new.key.clone();
        let made = self.0.insert(at.clone(), new).await;
        if made.is_err() && self.0.describe(at, &key).await.is_ok() {
            return Ok(Accepted { task: None });
        }
        made
    }
}
