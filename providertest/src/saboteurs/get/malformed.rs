//! Saboteurs that trust ids.

use async_trait::async_trait;
use provider_api::{FailureClass, GetError, Instance, Provider, ProviderId};

use crate::saboteur::{HONEST, Meddler, Saboteur, meddle};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "takes-nonsense-for-absence",
        does: "answers NotFound for an id that it cannot read",
        breaks: "get.malformed-id-is-permanent",
        provider: |built, _| meddle(built, Absence),
        ..HONEST
    },
    Saboteur {
        name: "asks-before-it-reads-the-id",
        does: "asks the backend about an id that it then finds malformed",
        breaks: "get.malformed-id-is-permanent",
        provider: |built, _| meddle(built, AsksFirst),
        ..HONEST
    },
    Saboteur {
        name: "cuts-ids-anywhere",
        does: "cuts an id in two without looking where its characters end",
        breaks: "get.malformed-id-is-permanent",
        provider: |built, _| meddle(built, Cuts),
        ..HONEST
    },
];

fn is_refused(answer: &Result<Instance, GetError>) -> bool {
    matches!(answer, Err(GetError::Failed(error)) if error.class() == FailureClass::Permanent)
}

struct Absence;

#[async_trait]
impl Meddler for Absence {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let answer = honest.get(id).await;
        if is_refused(&answer) { Err(GetError::NotFound) } else { answer }
    }
}

struct AsksFirst;

#[async_trait]
impl Meddler for AsksFirst {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let answer = honest.get(id).await;
        if is_refused(&answer) {
            honest.list_by_tag().await?;
        }
        answer
    }
}

struct Cuts;

#[async_trait]
impl Meddler for Cuts {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let text = id.as_str();
        let (scope, _) = text.split_at(text.len().min(9));
        tracing::trace!(scope, "looking");
        honest.get(id).await
    }
}
