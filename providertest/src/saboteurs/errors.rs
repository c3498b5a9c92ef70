//! The saboteurs of the group `errors`. Most of them retell the honest provider's errors with one thing changed.

use std::{
    collections::BTreeMap,
    error::Error as StdError,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use provider_api::{
    CreateRequest, Deleted, Error, FailureClass, FailureId, GetError, Instance, LeftBehind, Listing,
    Operation, Provider, ProviderId, ProviderName, Scrubbed, Scrubber,
};

use crate::{
    harness::UNKNOWN_ERROR,
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "goes-by-the-name-of-its-type",
        does: "puts the name of its type on errors instead of the configured one",
        breaks: "errors.configured-name",
        provider: |built, _| {
            meddle(built, Retells(|told| told.provider = ProviderName::parse("memory").ok()))
        },
        ..HONEST
    },
    Saboteur {
        name: "forgets-what-it-was-about",
        does: "leaves the id or name out of errors",
        breaks: "errors.operation-and-id",
        provider: |built, _| meddle(built, Retells(|told| told.subject = None)),
        ..HONEST
    },
    Saboteur {
        name: "forgets-the-cause",
        does: "hands errors on without their source",
        breaks: "errors.source-chain",
        provider: |built, _| meddle(built, Retells(|told| told.source = None)),
        ..HONEST
    },
    Saboteur {
        name: "hopes-for-better-rights",
        does: "takes a missing right for something that may pass",
        breaks: "errors.table",
        provider: |built, _| meddle(built, Retells(hopes_for_better_rights)),
        ..HONEST
    },
    Saboteur {
        name: "knows-no-quota",
        does: "answers Transient when the quota is used up",
        breaks: "errors.every-class-reachable",
        provider: |built, _| meddle(built, Retells(knows_no_quota)),
        ..HONEST
    },
    Saboteur {
        name: "gives-up-on-the-unknown",
        does: "answers Permanent to what it has never heard of",
        breaks: "errors.unknown-is-transient",
        provider: |built, _| meddle(built, Retells(gives_up_on_the_unknown)),
        ..HONEST
    },
    Saboteur {
        name: "quotes-what-it-remembers",
        does: "quotes the user data of the last create in the errors of everything that follows",
        breaks: "errors.hides-secrets",
        provider: |built, _| meddle(built, Quotes(Mutex::default())),
        ..HONEST
    },
    Saboteur {
        name: "knows-better-when",
        does: "replaces the backend's hint when to come back with its own",
        breaks: "errors.retry-after-kept",
        provider: |built, _| meddle(built, Retells(knows_better_when)),
        ..HONEST
    },
    Saboteur {
        name: "numbers-failures-afresh",
        does: "gives a late failure a new id each time it is reported",
        breaks: "errors.failure-id-kept",
        provider: |built, _| meddle(built, Retells(numbers_afresh)),
        ..HONEST
    },
    Saboteur {
        name: "leaves-nothing",
        does: "says of every failure that it left nothing behind",
        breaks: "errors.left-behind-is-true",
        provider: |built, _| meddle(built, Retells(|told| told.left_behind = LeftBehind::Nothing)),
        ..HONEST
    },
];

fn hopes_for_better_rights(told: &mut Told) {
    if matches!(told.code.as_deref(), Some("forbidden" | "E_FORBIDDEN")) {
        told.class = FailureClass::Transient;
    }
}

fn knows_no_quota(told: &mut Told) {
    if told.class == FailureClass::QuotaExceeded {
        told.class = FailureClass::Transient;
    }
}

fn gives_up_on_the_unknown(told: &mut Told) {
    if told.code.as_deref() == Some(UNKNOWN_ERROR) {
        told.class = FailureClass::Permanent;
    }
}

fn knows_better_when(told: &mut Told) {
    if told.retry_after.is_some() {
        told.retry_after = Some(Duration::from_secs(5));
    }
}

fn numbers_afresh(told: &mut Told) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if told.failure.is_some() {
        told.failure = Some(FailureId::new(format!("failure-{}", NEXT.fetch_add(1, Ordering::Relaxed))));
    }
}

/// An error taken apart.
struct Told {
    class: FailureClass,
    message: String,
    provider: Option<ProviderName>,
    operation: Option<Operation>,
    subject: Option<String>,
    retry_after: Option<Duration>,
    failure: Option<FailureId>,
    left_behind: LeftBehind,
    code: Option<String>,
    source: Option<Scrubbed>,
}

impl Told {
    fn of(error: &Error) -> Self {
        Self {
            class: error.class(),
            message: error.message().to_owned(),
            provider: error.provider().cloned(),
            operation: error.operation(),
            subject: error.subject().map(str::to_owned),
            retry_after: error.retry_hint(),
            failure: error.failure().cloned(),
            left_behind: error.left_behind(),
            code: error.code().map(str::to_owned),
            source: error.source().map(|source| Scrubbed::chain(source, &Scrubber::default())),
        }
    }

    fn into_error(self) -> Error {
        let mut error =
            Error::new(self.class, self.message).retry_after(self.retry_after).leaving(self.left_behind);
        if let Some(failure) = self.failure {
            error = error.for_failure(failure);
        }
        if let Some(code) = self.code {
            error = error.coded(code);
        }
        if let Some(source) = self.source {
            error = error.caused_by(source);
        }
        if let (Some(provider), Some(operation)) = (self.provider, self.operation) {
            // An empty subject is how an error looks that was never told one.
            error = error.at(&provider, operation, self.subject.unwrap_or_default());
        }
        error
    }
}

/// Retells every error with a change.
struct Retells(fn(&mut Told));

impl Retells {
    fn retell(&self, error: Error) -> Error {
        let mut told = Told::of(&error);
        (self.0)(&mut told);
        told.into_error()
    }
}

#[async_trait]
impl Meddler for Retells {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        honest.create(request).await.map_err(|error| self.retell(error))
    }
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        honest.get(id).await.map_err(|error| match error {
            GetError::Failed(error) => GetError::Failed(self.retell(error)),
            GetError::NotFound => GetError::NotFound,
        })
    }
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        honest.delete(id).await.map_err(|error| self.retell(error))
    }
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        honest.list_by_tag().await.map_err(|error| self.retell(error))
    }
}

/// The user data of what was created, by id.
struct Quotes(Mutex<BTreeMap<ProviderId, String>>);

#[async_trait]
impl Meddler for Quotes {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let id = honest.create(request).await?;
        let text = String::from_utf8_lossy(request.cloud_init.reveal()).into_owned();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), text);
        Ok(id)
    }
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        honest.delete(id).await.map_err(|error| {
            let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
            let mut told = Told::of(&error);
            told.message += &remembered.unwrap_or_default();
            told.into_error()
        })
    }
}
