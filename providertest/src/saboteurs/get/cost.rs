//! Saboteurs whose get changes things, costs too much, or ends what others do.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use provider_api::{Clock, CreateRequest, Error, GetError, Instance, Provider, ProviderId, State, Wait};

use super::super::view::Memory;
use crate::saboteur::{HONEST, Meddler, Saboteur, meddle};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "wakes-what-it-looks-at",
        does: "starts an instance again when get finds it stopped",
        breaks: "get.read-only",
        provider: |built, _| meddle(built, Wakes::default()),
        ..HONEST
    },
    Saboteur {
        name: "looks-again-and-again",
        does: "lists everything before each get, to be sure",
        breaks: "get.call-budget",
        provider: |built, _| meddle(built, ListsFirst),
        ..HONEST
    },
    Saboteur {
        name: "fails-with-whom-it-waits-for",
        does: "lets one get wait for another, and fails it when that one's caller goes away",
        breaks: "get.cancel-does-not-disturb",
        provider: |built, context| meddle(built, Waits::new(&context.clock)),
        ..HONEST
    },
];

#[derive(Default)]
struct Wakes(Memory<CreateRequest>);

#[async_trait]
impl Meddler for Wakes {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        self.0.put(request.name.as_str(), request.clone());
        honest.create(request).await
    }

    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let instance = honest.get(id).await?;
        if let State::Stopped { .. } = instance.state
            && let Some(request) = self.0.get(instance.name.as_str())
        {
            honest.create(&request).await?;
        }
        Ok(instance)
    }
}

struct ListsFirst;

#[async_trait]
impl Meddler for ListsFirst {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        // That it fails says nothing about the instance.
        let _ = honest.list_by_tag().await;
        honest.get(id).await
    }
}

/// One get at a time; those that wait fail when the one before them was dropped.
struct Waits {
    clock: Arc<dyn Clock>,
    turns: Arc<Turns>,
}

#[derive(Default)]
struct Turns {
    begun: AtomicU64,
    ended: AtomicU64,
    dropped: AtomicU64,
}

/// A get that has its turn; dropped before its end, it takes those that wait with it.
struct Turn {
    turns: Arc<Turns>,
    done: bool,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.done {
            self.turns.dropped.fetch_add(1, Ordering::SeqCst);
        }
        self.turns.ended.fetch_add(1, Ordering::SeqCst);
    }
}

impl Waits {
    fn new(clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), turns: Arc::default() }
    }
}

#[async_trait]
impl Meddler for Waits {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let turns = &self.turns;
        let dropped = turns.dropped.load(Ordering::SeqCst);
        while turns.begun.load(Ordering::SeqCst) > turns.ended.load(Ordering::SeqCst) {
            self.clock.sleep(Duration::from_millis(10), Wait::Idle).await;
            if turns.dropped.load(Ordering::SeqCst) > dropped {
                return Err(Error::transient("the call that this one waited for was cancelled").into());
            }
        }
        turns.begun.fetch_add(1, Ordering::SeqCst);
        let mut turn = Turn { turns: Arc::clone(turns), done: false };
        let answer = honest.get(id).await;
        turn.done = true;
        answer
    }
}
