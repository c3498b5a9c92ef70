//! The saboteurs of the rules that sweep.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use provider_api::{
    Built, CreateRequest, Deleted, Error, FailureClass, GetError, Instance, Listing, Provider, ProviderId,
    State,
};

use crate::{
    memory,
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

/// The saboteurs of the sweeps.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "never-lets-go-of-a-dropped-create",
        does: "remembers a create as under way until it ends, also when its caller went away",
        breaks: "create.cancel-safe",
        provider: |built, _| meddle(built, Busy { create: true, names: Mutex::default() }),
        ..HONEST
    },
    Saboteur {
        name: "knows-only-what-it-remembers",
        does: "refuses an instance of its own that an earlier process made",
        breaks: "create.crash-resumable",
        provider: |built, _| meddle(built, Memory { creates: true, begun: Mutex::default() }),
        ..HONEST
    },
    Saboteur {
        name: "forgets-what-a-crash-leaves",
        does: "lists no leftovers, so that what an unfinished create made stays for ever",
        breaks: "delete.after-every-partial-create",
        profile: memory::blocking,
        provider: |built, _| Built { leftovers: None, ..built },
        ..HONEST
    },
    Saboteur {
        name: "finishes-no-other-delete",
        does: "refuses to go on with a delete that an earlier process began",
        breaks: "delete.crash-resumable",
        provider: |built, _| meddle(built, Memory { creates: false, begun: Mutex::default() }),
        ..HONEST
    },
    Saboteur {
        name: "takes-what-passes-for-final",
        does: "answers Permanent where the fault may pass",
        breaks: "create.classifies-faults",
        provider: |built, _| meddle(built, Final),
        ..HONEST
    },
    Saboteur {
        name: "takes-silence-for-absence",
        does: "answers NotFound when the backend cannot be asked",
        breaks: "get.not-found-only-with-proof",
        provider: |built, _| meddle(built, Absent),
        ..HONEST
    },
    Saboteur {
        name: "stops-when-the-instance-is-gone",
        does: "deletes the parts only while the instance is still there",
        breaks: "delete.parts-already-gone",
        profile: memory::blocking,
        provider: |built, _| meddle(built, NoInstanceNoParts),
        ..HONEST
    },
    Saboteur {
        name: "never-lets-go-of-a-dropped-delete",
        does: "remembers a delete as under way until it ends, also when its caller went away",
        breaks: "delete.cancel-safe",
        provider: |built, _| meddle(built, Busy { create: false, names: Mutex::default() }),
        ..HONEST
    },
    Saboteur {
        name: "lists-nothing-on-failure",
        does: "answers with an empty listing when the backend cannot be read",
        breaks: "list.never-silently-short",
        provider: |built, _| meddle(built, EmptyOnError),
        ..HONEST
    },
    Saboteur {
        name: "deletes-an-id-only-once",
        does: "answers Gone at once for an id that it has deleted before",
        breaks: "model.state-machine",
        provider: |built, _| meddle(built, Once(Mutex::default())),
        ..HONEST
    },
];

/// Refuses an operation on a name for as long as an earlier one has not ended.
struct Busy {
    create: bool,
    names: Mutex<BTreeSet<String>>,
}

impl Busy {
    fn enter(&self, name: &str) -> Result<(), Error> {
        let fresh = self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        if fresh { Ok(()) } else { Err(Error::transient(format!("{name} is being worked on"))) }
    }

    fn leave(&self, name: &str) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

#[async_trait]
impl Meddler for Busy {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        if !self.create {
            return honest.create(request).await;
        }
        self.enter(request.name.as_str())?;
        let result = honest.create(request).await;
        self.leave(request.name.as_str());
        result
    }

    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        if self.create {
            return honest.delete(id).await;
        }
        self.enter(id.as_str())?;
        let result = honest.delete(id).await;
        self.leave(id.as_str());
        result
    }
}

/// Knows only the operations that this process began.
struct Memory {
    creates: bool,
    begun: Mutex<BTreeSet<String>>,
}

impl Memory {
    /// Says whether this process has begun on that before, and that it has from now on.
    fn begin(&self, what: &str) -> bool {
        !self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(what.to_owned())
    }
}

#[async_trait]
impl Meddler for Memory {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        if self.creates && !self.begin(request.name.as_str()) {
            let listing = honest.list_by_tag().await?;
            if listing.items.iter().any(|item| item.uid == request.uid) {
                return Err(Error::permanent(format!("{} exists already", request.name)));
            }
        }
        honest.create(request).await
    }

    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        if !self.creates && !self.begin(id.as_str()) {
            let running = matches!(honest.get(id).await, Ok(Instance { state: State::Running { .. }, .. }));
            if !running {
                return Err(Error::permanent(format!("{id} is half deleted")));
            }
        }
        honest.delete(id).await
    }
}

struct Final;

#[async_trait]
impl Meddler for Final {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        honest.create(request).await.map_err(|error| match error.class() {
            FailureClass::Transient => Error::permanent(error.to_string()),
            _ => error,
        })
    }
}

struct Absent;

#[async_trait]
impl Meddler for Absent {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        honest.get(id).await.map_err(|error| match error {
            GetError::Failed(error) if error.class() == FailureClass::Transient => GetError::NotFound,
            error => error,
        })
    }
}

struct NoInstanceNoParts;

#[async_trait]
impl Meddler for NoInstanceNoParts {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        match honest.get(id).await {
            Err(GetError::NotFound) => Ok(Deleted::Gone),
            _ => honest.delete(id).await,
        }
    }
}

struct EmptyOnError;

#[async_trait]
impl Meddler for EmptyOnError {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        Ok(honest.list_by_tag().await.unwrap_or_default())
    }
}

struct Once(Mutex<BTreeSet<ProviderId>>);

#[async_trait]
impl Meddler for Once {
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(id) {
            return Ok(Deleted::Gone);
        }
        let result = honest.delete(id).await;
        if matches!(result, Ok(Deleted::Gone)) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        }
        result
    }
}
