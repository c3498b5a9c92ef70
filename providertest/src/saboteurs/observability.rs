//! The saboteurs of the group `observability`: over the decorator, and over the provider below it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use provider_api::{
    Built, CreateRequest, Deleted, Error, GetError, Instance, Listing, Metrics, Profile, Provider,
    ProviderId, ProviderType, Registry, Seam, decorate,
};

use crate::saboteur::{HONEST, Meddler, Saboteur, meddle};

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "drops-the-check",
        does: "decorates everything but the check, which it loses",
        breaks: "observability.decorator-drops-none",
        decorate: |built, context| Built { checker: None, ..decorate(built, context) },
        ..HONEST
    },
    Saboteur {
        name: "declares-another-profile",
        does: "declares that an answer of get may be six seconds older than it is judged by",
        breaks: "observability.decorator-drops-none",
        types: declares_another,
        ..HONEST
    },
    Saboteur {
        name: "decorates-twice",
        does: "puts the decorator over itself",
        breaks: "observability.one-outcome-line",
        decorate: |built, context| decorate(decorate(built, context), context),
        ..HONEST
    },
    Saboteur {
        name: "logs-calls-by-hand-too",
        does: "writes a line of its own about a backend call that the seam has told of",
        breaks: "observability.every-backend-call-logged-once",
        provider: |built, _| meddle(built, LogsByHand),
        ..HONEST
    },
    Saboteur {
        name: "calls-out-of-sight",
        does: "makes the backend calls of a get in a task that does not know its span",
        breaks: "observability.every-backend-call-has-a-child-span",
        provider: |built, context| {
            let seam = context.seam("memory", Duration::from_secs(30));
            Built { provider: Arc::new(OutOfSight { honest: built.provider, seam }), ..built }
        },
        ..HONEST
    },
    Saboteur {
        name: "counts-for-itself",
        does: "counts operations where the program never looks",
        breaks: "observability.metrics-by-class",
        decorate: |built, context| {
            let mut other = context.clone();
            other.metrics = Metrics::default();
            decorate(built, &other)
        },
        ..HONEST
    },
    Saboteur {
        name: "shouts-from-outside",
        does: "writes a line that stands in no span",
        breaks: "observability.ids-on-lines",
        provider: |built, _| meddle(built, Shouts),
        ..HONEST
    },
];

struct LogsByHand;

#[async_trait]
impl Meddler for LogsByHand {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        let result = honest.delete(id).await;
        tracing::debug!(
            provider = "by hand",
            call = "describe",
            target = "z1",
            elapsed_ms = 0,
            "backend call"
        );
        result
    }
}

struct Shouts;

#[async_trait]
impl Meddler for Shouts {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        tracing::debug!(parent: None, %id, "looking");
        honest.get(id).await
    }
}

struct OutOfSight {
    honest: Arc<dyn Provider>,
    seam: Seam,
}

#[async_trait]
impl Provider for OutOfSight {
    fn profile(&self) -> &Profile {
        self.honest.profile()
    }
    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        self.honest.create(request).await
    }
    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        let (honest, id) = (Arc::clone(&self.honest), id.clone());
        let task = self.seam.spawn(async move { honest.get(&id).await });
        task.await.unwrap_or_else(|| Err(Error::transient("the task went away").into()))
    }
    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        self.honest.delete(id).await
    }
    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.honest.list_by_tag().await
    }
}

fn declares_another(registry: Registry) -> Registry {
    registry.map(|honest| {
        let build = honest.build;
        ProviderType {
            build: Arc::new(move |shared, fields, context| {
                let built = build(shared, fields, context)?;
                let mut profile = built.provider.profile().clone();
                profile.listing_max_age += Duration::from_secs(6);
                Some(Built { provider: Arc::new(Declares { honest: built.provider, profile }), ..built })
            }),
            ..honest
        }
    })
}

struct Declares {
    honest: Arc<dyn Provider>,
    profile: Profile,
}

#[async_trait]
impl Provider for Declares {
    fn profile(&self) -> &Profile {
        &self.profile
    }
    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        self.honest.create(request).await
    }
    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        self.honest.get(id).await
    }
    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        self.honest.delete(id).await
    }
    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.honest.list_by_tag().await
    }
}
