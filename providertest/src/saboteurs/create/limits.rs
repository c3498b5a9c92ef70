//! Saboteurs that keep no limit, no budget and no word about failures.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use provider_api::{
    CreateRequest, Error, FailureClass, FailureId, InstallationId, Name, Provider, ProviderId, mark,
};

use crate::{
    memory::{
        At, Cloud,
        cloud::{Answer, Outcome, Page, Row, Task},
    },
    saboteur::Meddler,
};

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

thread_local! {
    /// The create that is at work just now.
    static AT_WORK: RefCell<Option<AtWork>> = const { RefCell::new(None) };
}

/// What a cloud cannot know of a create: where it is to be, and for whom.
#[derive(Clone)]
struct AtWork {
    zone: Option<String>,
    installation: InstallationId,
}

/// Creates that say where they are, and for whom.
pub(super) struct Tells(pub(super) InstallationId);

#[async_trait]
impl Meddler for Tells {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let at_work = AtWork { zone: request.placement.zone.clone(), installation: self.0.clone() };
        let mut create = honest.create(request);
        poll_fn(|context| {
            AT_WORK.set(Some(at_work.clone()));
            let polled = create.as_mut().poll(context);
            AT_WORK.set(None);
            polled
        })
        .await
    }
}

/// A cloud whose other zones look empty to a create.
pub(super) struct OneZone(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for OneZone {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        let zone = AT_WORK.with_borrow(|create| create.as_ref()?.zone.clone());
        let elsewhere = zone.is_some_and(|zone| zone != at.zone);
        let mut listed = self.0.list(at, page).await?;
        listed.items.retain(|_| !elsewhere);
        Ok(listed)
    }
}

/// Tasks of every installation count as those of the one that asks.
pub(super) struct EveryTaskIsOurs(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for EveryTaskIsOurs {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn tasks(&self, at: At, name: &str) -> Answer<Vec<Task>> {
        let ours =
            AT_WORK.with_borrow(|create| create.as_ref().map(|create| create.installation.to_string()));
        let mut tasks = self.0.tasks(at, name).await?;
        let marks = tasks.iter_mut().filter_map(|task| task.marks.get_mut(mark::INSTALLATION));
        if let Some(ours) = ours {
            marks.for_each(|whose| whose.clone_from(&ours));
        }
        Ok(tasks)
    }
}

/// The tasks that went well are forgotten.
pub(super) struct FailuresAlone(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for FailuresAlone {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn tasks(&self, at: At, name: &str) -> Answer<Vec<Task>> {
        let mut tasks = self.0.tasks(at, name).await?;
        tasks.retain(|task| task.outcome != Outcome::Done);
        Ok(tasks)
    }
}
