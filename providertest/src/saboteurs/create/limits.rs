//! Saboteurs that keep no limit, no budget and no word about failures.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use provider_api::{CreateRequest, Error, FailureClass, FailureId, Name, Provider, ProviderId};

use crate::saboteur::Meddler;

/// Nearly the budget of a whole create.
pub(super) const LONG: Duration = Duration::from_secs(550);

/// One class for another.
pub(super) struct Reclassifies(pub(super) FailureClass, pub(super) FailureClass);

#[async_trait]
impl Meddler for Reclassifies {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        honest.create(request).await.map_err(|error| match error.class() == self.0 {
            true => Error::new(self.1, error.message()),
            false => error,
        })
    }
}

/// A memory of what it has told.
#[derive(Default)]
pub(super) struct TellsOnce(Mutex<BTreeMap<Name, FailureId>>);

#[async_trait]
impl Meddler for TellsOnce {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let mut request = request.clone();
        let told =
            |told: &Self| told.0.lock().unwrap_or_else(PoisonError::into_inner).get(&request.name).cloned();
        if let Some(told) = told(self) {
            request.acknowledged_failure = Some(told);
        }
        let answer = honest.create(&request).await;
        if let Some(failure) = answer.as_ref().err().and_then(Error::failure) {
            let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            told.insert(request.name.clone(), failure.clone());
        }
        answer
    }
}

/// No ear for what the caller has seen.
pub(super) struct Deaf;

#[async_trait]
impl Meddler for Deaf {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let mut request = request.clone();
        request.acknowledged_failure = None;
        honest.create(&request).await
    }
}
