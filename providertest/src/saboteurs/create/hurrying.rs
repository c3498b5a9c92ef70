//! Saboteurs that do things at the wrong time: at once, one by one, or too late.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use provider_api::{CreateRequest, Error, Gate, Name, Provider, ProviderId};

use super::answering::renamed;
use crate::{
    memory::{
        At, Cloud,
        cloud::{Accepted, Answer, NewInstance},
    },
    saboteur::Meddler,
};

/// A second instance while the first is being made.
#[derive(Default)]
pub(super) struct Twin(Mutex<BTreeSet<Name>>);

impl Twin {
    fn under_way(&self) -> std::sync::MutexGuard<'_, BTreeSet<Name>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Meddler for Twin {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        if !self.under_way().insert(request.name.clone()) {
            return honest.create(&renamed(request, 2)).await;
        }
        let answer = honest.create(request).await;
        self.under_way().remove(&request.name);
        answer
    }
}

/// One lock over all.
pub(super) struct OneAtATime(pub(super) Gate);

#[async_trait]
impl Meddler for OneAtATime {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let _turn = self.0.target("everything").await;
        honest.create(request).await
    }
}

/// A bare copy first, and its marks later.
pub(super) struct MarksLater(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for MarksLater {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn insert(&self, at: At, new: NewInstance) -> Answer<Accepted> {
        let accepted = self.0.clone_image(at.clone(), &new.key, &new.name, &new.image).await?;
        let key = new.key.clone();
        self.0.configure(at.clone(), new).await?;
        self.0.start(at, &key).await?;
        Ok(accepted)
    }
}
