//! Saboteurs that answer delete, or about deletions, wrongly.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use provider_api::{
    Clock, CreateRequest, Deleted, Error, FailureClass, GetError, Instance, Provider, ProviderId, Seam, State,
};

use crate::saboteur::Meddler;

/// Texts that are remembered.
type Memory = Mutex<BTreeSet<String>>;

fn open(memory: &Memory) -> MutexGuard<'_, BTreeSet<String>> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whatever stands there has to go.
pub(super) struct WaitsForAnybody(pub(super) Seam);

#[async_trait]
impl Meddler for WaitsForAnybody {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        let answer = honest.delete(id).await?;
        for _ in 0..120 {
            if answer != Deleted::Gone || honest.get(id).await == Err(GetError::NotFound) {
                return Ok(answer);
            }
            self.0.pause(Duration::from_secs(1)).await;
        }
        Err(Error::transient("it is not gone after two minutes"))
    }
}

/// Once, and no more.
#[derive(Default)]
pub(super) struct NotTwice(Memory);

#[async_trait]
impl Meddler for NotTwice {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        if open(&self.0).contains(id.as_str()) {
            return Err(Error::transient("it is deleted already"));
        }
        let answer = honest.delete(id).await;
        if answer == Ok(Deleted::Gone) {
            open(&self.0).insert(id.to_string());
        }
        answer
    }
}

/// Takes for done what takes long.
pub(super) struct LosesPatience {
    clock: Arc<dyn Clock>,
    since: Mutex<BTreeMap<String, Duration>>,
}

impl LosesPatience {
    pub(super) fn new(clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), since: Mutex::default() }
    }
}

#[async_trait]
impl Meddler for LosesPatience {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        let answer = honest.delete(id).await?;
        let now = self.clock.monotonic();
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *since.entry(id.to_string()).or_insert(now);
        Ok(if now.saturating_sub(since) > Duration::from_secs(600) { Deleted::Gone } else { answer })
    }
}

/// Only what it has begun to delete itself may be gone.
#[derive(Default)]
pub(super) struct Misses(Memory);

#[async_trait]
impl Meddler for Misses {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        let begun = open(&self.0).contains(id.as_str());
        if !begun && honest.get(id).await == Err(GetError::NotFound) {
            return Err(Error::permanent("there is nothing to delete"));
        }
        open(&self.0).insert(id.to_string());
        honest.delete(id).await
    }
}

/// What names nothing is gone.
pub(super) struct NonsenseIsGone;

#[async_trait]
impl Meddler for NonsenseIsGone {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        match honest.delete(id).await {
            Err(error) if error.class() == FailureClass::Permanent => Ok(Deleted::Gone),
            answer => answer,
        }
    }
}

/// What is stopped stays.
pub(super) struct OnlyRunning;

#[async_trait]
impl Meddler for OnlyRunning {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        match honest.get(id).await {
            Ok(Instance { state: State::Stopped { .. }, .. }) => {
                Err(Error::permanent("a stopped instance cannot be deleted"))
            }
            _ => honest.delete(id).await,
        }
    }
}

/// Submitted is done.
pub(super) struct TooSoon;

#[async_trait]
impl Meddler for TooSoon {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        match honest.delete(id).await? {
            Deleted::Accepted => Ok(Deleted::Gone),
            answer => Ok(answer),
        }
    }
}

/// Out of sight once it is submitted.
#[derive(Default)]
pub(super) struct Forgets(Memory);

#[async_trait]
impl Meddler for Forgets {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        if open(&self.0).contains(id.as_str()) {
            return Err(GetError::NotFound);
        }
        honest.get(id).await
    }
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        let answer = honest.delete(id).await;
        if answer == Ok(Deleted::Accepted) {
            open(&self.0).insert(id.to_string());
        }
        answer
    }
}

/// Done is only submitted.
pub(super) struct NeverSure;

#[async_trait]
impl Meddler for NeverSure {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        let stood = honest.get(id).await.is_ok();
        match honest.delete(id).await? {
            Deleted::Gone if stood => Ok(Deleted::Accepted),
            answer => Ok(answer),
        }
    }
}

/// No word about what is left behind.
pub(super) struct Silent;

#[async_trait]
impl Meddler for Silent {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        match honest.delete(id).await? {
            Deleted::Abandoned(_) => Ok(Deleted::Gone),
            answer => Ok(answer),
        }
    }
}

/// Nothing stands where it cannot look.
pub(super) struct OutOfSight;

#[async_trait]
impl Meddler for OutOfSight {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        match honest.get(id).await {
            Err(GetError::Failed(error)) if error.message().contains("is not configured") => {
                Err(GetError::NotFound)
            }
            answer => answer,
        }
    }
}

/// What it does not find may stand anywhere.
pub(super) struct NeverKnew;

#[async_trait]
impl Meddler for NeverKnew {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        let stood = honest.get(id).await.is_ok();
        match honest.delete(id).await? {
            Deleted::Gone if !stood => {
                Ok(Deleted::Abandoned(format!("{id} is not here, and may stand elsewhere")))
            }
            answer => Ok(answer),
        }
    }
}

/// Everything may pass.
pub(super) struct Hopes;

#[async_trait]
impl Meddler for Hopes {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        honest.create(request).await.map_err(|error| match error.message().contains("decommissioned") {
            true => Error::transient(error.message()),
            false => error,
        })
    }
}

/// All is as ever.
pub(super) struct NothingLeaves;

#[async_trait]
impl Meddler for NothingLeaves {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        Ok(Instance { decommissioned: false, ..honest.get(id).await? })
    }
}

/// One thing at a time, or none.
#[derive(Default)]
pub(super) struct Quarrels(Memory);

#[async_trait]
impl Meddler for Quarrels {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        open(&self.0).insert(request.name.to_string());
        let answer = honest.create(request).await;
        open(&self.0).remove(request.name.as_str());
        answer
    }
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        if open(&self.0).iter().any(|name| id.as_str().contains(name)) {
            return Err(Error::permanent("it is being created"));
        }
        honest.delete(id).await
    }
}
