//! Saboteurs that panic where nobody waits for them: in a task, and on a thread.

use std::sync::Arc;

use async_trait::async_trait;
use futures::channel::oneshot;
use provider_api::{CreateRequest, Error, Provider, ProviderId, Spawner};

use crate::saboteur::{HONEST, Meddler, Saboteur, meddle};

/// The saboteurs that panic aside.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "panics-when-nobody-hears-it-out",
        does: "watches each create from a task of its own, which panics when the caller goes away",
        breaks: "runtime.no-work-after-drop",
        provider: |built, context| meddle(built, Watched(Arc::clone(&context.spawner))),
        ..HONEST
    },
    Saboteur {
        name: "cuts-names-on-a-thread",
        does: "cuts an owner's name for its log on a thread that it does not wait for, wherever a character ends",
        breaks: "create.hostile-names",
        provider: |built, context| meddle(built, Shortens(Arc::clone(&context.spawner))),
        ..HONEST
    },
];

struct Watched(Arc<dyn Spawner>);

#[async_trait]
impl Meddler for Watched {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let (end, ended) = oneshot::channel::<()>();
        let name = request.name.clone();
        self.0.spawn(Box::pin(async move {
            ended.await.unwrap_or_else(|_| panic!("the create of {name} has an end"));
        }));
        let answer = honest.create(request).await;
        // Who watches may be gone.
        let _ = end.send(());
        answer
    }
}

struct Shortens(Arc<dyn Spawner>);

#[async_trait]
impl Meddler for Shortens {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let owner = request.owner.name.clone();
        self.0.spawn_blocking(Box::new(move || {
            let short = owner[..5].to_owned();
            tracing::trace!("a create for {short}");
        }));
        honest.create(request).await
    }
}
