//! The saboteurs of the group `create`.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use provider_api::{CreateRequest, Error, Provider, ProviderId, Uid};

use crate::saboteur::{HONEST, Meddler, Saboteur, meddle};

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[Saboteur {
    name: "always-makes-a-new-one",
    does: "makes an instance under a new name for every create",
    breaks: "create.idempotent",
    provider: |built, _| meddle(built, NewName(AtomicU64::new(0))),
    ..HONEST
}];

struct NewName(AtomicU64);

#[async_trait]
impl Meddler for NewName {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        let uid = Uid::parse(&format!("{}-{count}", request.uid)).expect("a UID and a number are a UID");
        let mut other = CreateRequest::new(uid, request.owner.clone(), request.cloud_init.clone());
        other.placement = request.placement.clone();
        honest.create(&other).await
    }
}
