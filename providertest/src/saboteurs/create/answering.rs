//! Saboteurs that answer create wrongly.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use provider_api::{
    CreateRequest, Deleted, Error, FailureClass, GetError, Instance, Provider, ProviderId, Uid,
};

use super::super::view::Memory;
use crate::saboteur::Meddler;

/// Ids with a slash more, which it takes off again.
pub(super) struct Spelling;

fn plain(id: &ProviderId) -> ProviderId {
    ProviderId::new(id.as_str().trim_end_matches('/'))
}

#[async_trait]
impl Meddler for Spelling {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        Ok(ProviderId::new(format!("{}/", honest.create(request).await?)))
    }
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        Ok(Instance { id: id.clone(), ..honest.get(&plain(id)).await? })
    }
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        honest.delete(&plain(id)).await
    }
}

/// A new name each time.
#[derive(Default)]
pub(super) struct NewName(AtomicU64);

#[async_trait]
impl Meddler for NewName {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        honest.create(&renamed(request, count)).await
    }
}

/// The request for another owner.
pub(super) fn renamed(request: &CreateRequest, count: u64) -> CreateRequest {
    let uid = Uid::parse(&format!("{}-{count}", request.uid)).expect("a UID and a number are a UID");
    let mut other = CreateRequest::new(uid, request.owner.clone(), request.cloud_init.clone());
    other.placement = request.placement.clone();
    other
}

/// Ids that are good in one process.
#[derive(Default)]
pub(super) struct OwnMemory(Mutex<BTreeSet<ProviderId>>);

impl OwnMemory {
    fn knows(&self, id: &ProviderId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }
}

#[async_trait]
impl Meddler for OwnMemory {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let id = honest.create(request).await?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        Ok(id)
    }
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        if self.knows(id) { honest.get(id).await } else { Err(GetError::NotFound) }
    }
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        if self.knows(id) { honest.delete(id).await } else { Ok(Deleted::Gone) }
    }
}

/// A call before anything is checked.
pub(super) struct AsksFirst;

#[async_trait]
impl Meddler for AsksFirst {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        honest.list_by_tag().await?;
        honest.create(request).await
    }
}

/// No list of what may be booted.
pub(super) struct AnyImage;

#[async_trait]
impl Meddler for AnyImage {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let mut request = request.clone();
        request.placement.image = request.placement.image.map(|image| match image.contains('/') {
            true => "squid".to_owned(),
            false => image,
        });
        honest.create(&request).await
    }
}

/// Errors that repeat what they were given.
pub(super) struct Echoes;

#[async_trait]
impl Meddler for Echoes {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        honest.create(request).await.map_err(|error| {
            let zone = request.placement.zone.as_deref().unwrap_or_default();
            match error.class() == FailureClass::Permanent && error.message().contains("zone") {
                true => Error::permanent(format!("placement.zone {zone} is not known")),
                false => error,
            }
        })
    }
}

/// No respect for a no.
pub(super) struct GoesOn;

#[async_trait]
impl Meddler for GoesOn {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let answer = honest.create(request).await;
        if answer.as_ref().is_err_and(|error| error.class() == FailureClass::Permanent) {
            let _ = honest.create(request).await;
        }
        answer
    }
}

/// Knows where it was last told to make each instance.
#[derive(Default)]
pub(super) struct MakesAnew(Memory<(Option<String>, ProviderId)>);

#[async_trait]
impl Meddler for MakesAnew {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let name = request.name.as_str();
        if let Some((zone, id)) = self.0.get(name)
            && zone != request.placement.zone
        {
            honest.delete(&id).await?;
        }
        let id = honest.create(request).await?;
        self.0.put(name, (request.placement.zone.clone(), id.clone()));
        Ok(id)
    }
}
