//! Saboteurs that misreport what is deleted.

use std::{net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use provider_api::{Clock, CreateRequest, Deleted, Error, GetError, Instance, Provider, ProviderId, State};

use super::super::view::{Memory, View, seen_through};
use crate::{
    memory::{self, cloud::Described},
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "misses-what-others-remove",
        does: "goes on showing an instance that somebody else has removed",
        breaks: "get.not-found-after-delete",
        cloud: |cloud| seen_through(cloud, ShowsTheDead::default()),
        ..HONEST
    },
    Saboteur {
        name: "buries-the-dying",
        does: "answers NotFound as soon as somebody else has begun a deletion",
        breaks: "get.visible-while-deleting",
        provider: |built, _| meddle(built, BuriesTheDying::default()),
        ..HONEST
    },
    Saboteur {
        name: "overlooks-deletions",
        does: "reports an instance Running by the address that it last had, though its deletion is in progress",
        breaks: "get.deleting-is-not-running",
        provider: |built, _| meddle(built, OverlooksDeletions::default()),
        ..HONEST
    },
    Saboteur {
        name: "overlooks-deletions-that-it-declares-absent",
        does: "says that no deletion is ever in progress, and reports an instance Running while somebody else's is",
        breaks: "get.deleting-is-not-running",
        profile: memory::plain,
        provider: |built, _| meddle(built, OverlooksDeletions::default()),
        ..HONEST
    },
    Saboteur {
        name: "gives-a-hanging-deletion-up",
        does: "answers NotFound once a deletion has been in progress for ten minutes",
        breaks: "get.visible-while-deleting",
        provider: |built, context| meddle(built, LosesPatience::new(&context.clock, false)),
        ..HONEST
    },
    Saboteur {
        name: "takes-a-hanging-deletion-back",
        does: "reports an instance Running again once its deletion has been in progress for ten minutes",
        breaks: "get.deleting-is-not-running",
        provider: |built, context| meddle(built, LosesPatience::new(&context.clock, true)),
        ..HONEST
    },
    Saboteur {
        name: "keeps-answers-over-its-own-deletes",
        does: "gives an answer out again for as long as a listing may be old, also after a delete of its own",
        breaks: "get.fresh-after-own-write",
        provider: |built, context| meddle(built, KeepsAnswers::new(&context.clock, false)),
        ..HONEST
    },
    Saboteur {
        name: "keeps-absence-over-its-own-creates",
        does: "keeps NotFound for as long as a listing may be old, also after a create of its own",
        breaks: "get.fresh-after-own-write",
        provider: |built, context| meddle(built, KeepsAnswers::new(&context.clock, true)),
        ..HONEST
    },
    Saboteur {
        name: "keeps-absence-over-others-creates",
        does: "keeps NotFound for a minute unless it makes the instance itself, whatever another process does",
        breaks: "get.fresh-after-own-write",
        provider: |built, context| meddle(built, KeepsAbsence::new(&context.clock)),
        ..HONEST
    },
];

/// Shows what it has seen, until its deletion begins in good order.
#[derive(Default)]
struct ShowsTheDead(Memory<Described>);

impl View for ShowsTheDead {
    fn show(&self, described: Described) -> Option<Described> {
        if described.deleting {
            self.0.forget(&described.key);
        } else {
            self.0.put(&described.key, described.clone());
        }
        Some(described)
    }

    fn absent(&self, key: &str) -> Option<Described> {
        self.0.get(key)
    }

    fn removed(&self, key: &str) {
        self.0.forget(key);
    }
}

/// Whether the memory provider reports an instance as being deleted.
fn is_dying(instance: &Instance) -> bool {
    instance.state.reason().is_some_and(|reason| reason.code == "Deleting")
}

/// Takes for gone what somebody else deletes.
#[derive(Default)]
struct BuriesTheDying(Memory<()>);

#[async_trait]
impl Meddler for BuriesTheDying {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let instance = honest.get(id).await?;
        let own = self.0.get(id.as_str()).is_some();
        if is_dying(&instance) && !own { Err(GetError::NotFound) } else { Ok(instance) }
    }

    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        self.0.put(id.as_str(), ());
        honest.delete(id).await
    }
}

#[derive(Default)]
struct OverlooksDeletions(Memory<IpAddr>);

#[async_trait]
impl Meddler for OverlooksDeletions {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let mut instance = honest.get(id).await?;
        match instance.state {
            State::Running { address } => self.0.put(id.as_str(), address),
            _ if is_dying(&instance) => {
                if let Some(address) = self.0.get(id.as_str()) {
                    instance.state = State::Running { address };
                }
            }
            _ => {}
        }
        Ok(instance)
    }

    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        self.0.forget(id.as_str());
        honest.delete(id).await
    }
}

/// Makes something else of a deletion that takes long.
struct LosesPatience {
    clock: Arc<dyn Clock>,
    runs: bool,
    since: Memory<Duration>,
    addresses: Memory<IpAddr>,
}

impl LosesPatience {
    const PATIENCE: Duration = Duration::from_secs(600);

    fn new(clock: &Arc<dyn Clock>, runs: bool) -> Self {
        Self { clock: Arc::clone(clock), runs, since: Memory::default(), addresses: Memory::default() }
    }
}

#[async_trait]
impl Meddler for LosesPatience {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let mut instance = honest.get(id).await?;
        if let State::Running { address } = instance.state {
            self.addresses.put(id.as_str(), address);
        }
        if !is_dying(&instance) {
            return Ok(instance);
        }
        let now = self.clock.monotonic();
        if now.saturating_sub(self.since.first(id.as_str(), now)) > Self::PATIENCE {
            match self.addresses.get(id.as_str()) {
                Some(address) if self.runs => instance.state = State::Running { address },
                _ => return Err(GetError::NotFound),
            }
        }
        Ok(instance)
    }
}

/// Keeps answers of one kind for the time that a shared listing may be old, and forgets them at no write.
struct KeepsAnswers {
    clock: Arc<dyn Clock>,
    absence: bool,
    kept: Memory<(Duration, Result<Instance, GetError>)>,
}

impl KeepsAnswers {
    fn new(clock: &Arc<dyn Clock>, absence: bool) -> Self {
        Self { clock: Arc::clone(clock), absence, kept: Memory::default() }
    }
}

#[async_trait]
impl Meddler for KeepsAnswers {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let now = self.clock.monotonic();
        if let Some((at, answer)) = self.kept.get(id.as_str())
            && now.saturating_sub(at) < honest.profile().listing_max_age
        {
            return answer;
        }
        let answer = honest.get(id).await;
        let wanted = match &answer {
            Ok(_) => !self.absence,
            Err(GetError::NotFound) => self.absence,
            Err(GetError::Failed(_)) => false,
        };
        if wanted {
            self.kept.put(id.as_str(), (now, answer.clone()));
        }
        answer
    }
}

/// Keeps NotFound, and forgets it at a write of its own.
struct KeepsAbsence {
    clock: Arc<dyn Clock>,
    kept: Memory<Duration>,
}

impl KeepsAbsence {
    const KEEPS: Duration = Duration::from_secs(60);

    fn new(clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), kept: Memory::default() }
    }
}

#[async_trait]
impl Meddler for KeepsAbsence {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let made = honest.create(request).await;
        self.kept.clear();
        made
    }

    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let now = self.clock.monotonic();
        if self.kept.get(id.as_str()).is_some_and(|at| now.saturating_sub(at) < Self::KEEPS) {
            return Err(GetError::NotFound);
        }
        let answer = honest.get(id).await;
        if let Err(GetError::NotFound) = answer {
            self.kept.put(id.as_str(), now);
        }
        answer
    }
}
