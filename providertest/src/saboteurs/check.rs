//! The saboteurs of the group `check`.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use provider_api::{
    Checker, Clock, CreateRequest, Deadline, Error, GetError, Instance, Listing, Provider, ProviderId,
    Reason, TargetStatus, Uid, reasons,
};

use crate::saboteur::{CheckMeddler, HONEST, Meddler, Saboteur, meddle, meddle_check};

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "sorts-targets-by-what-it-finds",
        does: "puts the targets that are not ready first",
        breaks: "check.every-target-stable-order",
        provider: |built, _| meddle_check(built, Restates(worst_first)),
        ..HONEST
    },
    Saboteur {
        name: "leaves-out-the-last-target",
        does: "checks all targets but the last",
        breaks: "check.every-target-stable-order",
        provider: |built, _| meddle_check(built, Restates(without_the_last)),
        ..HONEST
    },
    Saboteur {
        name: "damns-all-for-one",
        does: "says of all targets what is wrong with one of them",
        breaks: "check.never-fails-whole",
        provider: |built, _| meddle_check(built, Restates(all_like_the_worst)),
        ..HONEST
    },
    Saboteur {
        name: "answers-after-the-deadline",
        does: "waits half a minute longer than it was given",
        breaks: "check.prompt-at-deadline",
        provider: |built, context| meddle_check(built, Late(Arc::clone(&context.clock))),
        ..HONEST
    },
    Saboteur {
        name: "resets-connections-to-check-them",
        does: "ends the calls of every operation in flight when a check begins",
        breaks: "check.does-not-disturb",
        provider: |built, _| {
            let checks = Arc::new(AtomicU64::new(0));
            meddle_check(meddle(built, Disturbed(Arc::clone(&checks))), Disturbs(checks))
        },
        ..HONEST
    },
    Saboteur {
        name: "calls-bad-credentials-an-api-error",
        does: "says APIError where the credentials are refused",
        breaks: "check.reasons-table",
        provider: |built, _| meddle_check(built, Restates(unauthorized_is_api_error)),
        ..HONEST
    },
    Saboteur {
        name: "does-not-say-which-right",
        does: "says that a right is missing, and not which",
        breaks: "check.missing-right-named",
        provider: |built, _| meddle_check(built, Restates(without_the_right)),
        ..HONEST
    },
    Saboteur {
        name: "checks-thrice",
        does: "checks three times to be sure",
        breaks: "check.read-only-and-cheap",
        provider: |built, _| meddle_check(built, Thrice),
        ..HONEST
    },
    Saboteur {
        name: "tries-it-out",
        does: "makes an instance and removes it again to see whether that works",
        breaks: "check.read-only-and-cheap",
        provider: |built, _| {
            let seen = Arc::new(LastRequest::default());
            let built = meddle(built, Arc::clone(&seen));
            let provider = Arc::clone(&built.provider);
            meddle_check(built, TriesOut { seen, provider })
        },
        ..HONEST
    },
    Saboteur {
        name: "shows-the-last-payload",
        does: "puts the user data of the last create into a check's details",
        breaks: "check.hides-secrets",
        provider: |built, _| {
            let seen = Arc::new(LastRequest::default());
            meddle_check(meddle(built, Arc::clone(&seen)), Shows { seen, log: false })
        },
        ..HONEST
    },
    Saboteur {
        name: "logs-the-last-password",
        does: "writes the password of the last create into a check's log line",
        breaks: "check.hides-secrets",
        provider: |built, _| {
            let seen = Arc::new(LastRequest::default());
            meddle_check(meddle(built, Arc::clone(&seen)), Shows { seen, log: true })
        },
        ..HONEST
    },
];

/// Changes what a check answers.
struct Restates(fn(Vec<TargetStatus>) -> Vec<TargetStatus>);

#[async_trait]
impl CheckMeddler for Restates {
    async fn check(&self, honest: &dyn Checker, by: Deadline) -> Vec<TargetStatus> {
        (self.0)(honest.check(by).await)
    }
}

fn worst_first(mut targets: Vec<TargetStatus>) -> Vec<TargetStatus> {
    targets.sort_by_key(|target| target.ready);
    targets
}

fn without_the_last(mut targets: Vec<TargetStatus>) -> Vec<TargetStatus> {
    targets.pop();
    targets
}

fn all_like_the_worst(mut targets: Vec<TargetStatus>) -> Vec<TargetStatus> {
    let worst = targets.iter().find(|target| !target.ready).map(|target| target.reason.clone());
    if let Some(reason) = worst {
        for target in &mut targets {
            (target.ready, target.reason) = (false, reason.clone());
        }
    }
    targets
}

fn unauthorized_is_api_error(mut targets: Vec<TargetStatus>) -> Vec<TargetStatus> {
    for target in targets.iter_mut().filter(|target| target.reason.code == reasons::UNAUTHORIZED) {
        target.reason.code = reasons::API_ERROR.into();
    }
    targets
}

fn without_the_right(mut targets: Vec<TargetStatus>) -> Vec<TargetStatus> {
    for target in targets.iter_mut().filter(|target| target.reason.code == reasons::FORBIDDEN) {
        target.reason = Reason::new(reasons::FORBIDDEN, "a right is missing");
        target.details.clear();
    }
    targets
}

struct Late(Arc<dyn Clock>);

#[async_trait]
impl CheckMeddler for Late {
    async fn check(&self, honest: &dyn Checker, by: Deadline) -> Vec<TargetStatus> {
        let later = by.remaining(&*self.0) + Duration::from_secs(30);
        honest.check(Deadline::within(&*self.0, later)).await
    }
}

struct Disturbs(Arc<AtomicU64>);

#[async_trait]
impl CheckMeddler for Disturbs {
    async fn check(&self, honest: &dyn Checker, by: Deadline) -> Vec<TargetStatus> {
        self.0.fetch_add(1, Ordering::SeqCst);
        honest.check(by).await
    }
}

struct Disturbed(Arc<AtomicU64>);

impl Disturbed {
    async fn unless_checked<T, E: From<Error>>(
        &self,
        operation: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let before = self.0.load(Ordering::SeqCst);
        let result = operation.await;
        if self.0.load(Ordering::SeqCst) == before {
            return result;
        }
        Err(Error::transient("the connection was closed").into())
    }
}

#[async_trait]
impl Meddler for Disturbed {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        self.unless_checked(honest.create(request)).await
    }
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        self.unless_checked(honest.get(id)).await
    }
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        self.unless_checked(honest.list_by_tag()).await
    }
}

struct Thrice;

#[async_trait]
impl CheckMeddler for Thrice {
    async fn check(&self, honest: &dyn Checker, by: Deadline) -> Vec<TargetStatus> {
        honest.check(by).await;
        honest.check(by).await;
        honest.check(by).await
    }
}

/// The request of the last create.
#[derive(Default)]
struct LastRequest(Mutex<Option<CreateRequest>>);

impl LastRequest {
    fn last(&self) -> Option<CreateRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Meddler for Arc<LastRequest> {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.clone());
        honest.create(request).await
    }
}

struct TriesOut {
    seen: Arc<LastRequest>,
    provider: Arc<dyn Provider>,
}

#[async_trait]
impl CheckMeddler for TriesOut {
    async fn check(&self, honest: &dyn Checker, by: Deadline) -> Vec<TargetStatus> {
        if let Some(last) = self.seen.last() {
            let uid = Uid::parse("a-trial").expect("it is a UID");
            let mut trial = CreateRequest::new(uid, last.owner, last.cloud_init);
            trial.placement = last.placement;
            if let Ok(id) = self.provider.create(&trial).await {
                let _ = self.provider.delete(&id).await;
            }
        }
        honest.check(by).await
    }
}

struct Shows {
    seen: Arc<LastRequest>,
    log: bool,
}

#[async_trait]
impl CheckMeddler for Shows {
    async fn check(&self, honest: &dyn Checker, by: Deadline) -> Vec<TargetStatus> {
        let mut targets = honest.check(by).await;
        let Some(last) = self.seen.last() else { return targets };
        if let Some(credentials) = last.access.credentials.filter(|_| self.log) {
            tracing::debug!(password = credentials.password.reveal_str(), "checked");
        } else if let Some(target) = targets.first_mut() {
            let text = String::from_utf8_lossy(last.cloud_init.reveal()).into_owned();
            target.details.insert("userData".to_owned(), text);
        }
        targets
    }
}
