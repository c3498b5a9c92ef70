//! Saboteurs that misread whose an instance is, how old it is or where it stands.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use provider_api::{
    Clock, CreateRequest, Error, GetError, Instance, Provider, ProviderId, Timestamp, Uid, mark,
};

use super::super::view::{Memory, NoCapitals, View, is_inherited, seen_through};
use crate::{
    memory::{
        self, At, Cloud,
        cloud::{Accepted, Answer, Described, Located, NewInstance},
    },
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "makes-everything-new",
        does: "says that each instance was made just now",
        breaks: "get.reads-back-uid-and-created-at",
        provider: |built, context| {
            meddle(built, Dates(Arc::clone(&context.clock), |at, now| at.map(|_| now)))
        },
        ..HONEST
    },
    Saboteur {
        name: "makes-it-younger-with-each-create",
        does: "says that an instance was made when it was last asked for",
        breaks: "get.reads-back-uid-and-created-at",
        provider: |built, context| meddle(built, Younger::new(&context.clock)),
        ..HONEST
    },
    Saboteur {
        name: "cuts-long-marks",
        does: "writes the first 32 characters of each mark",
        breaks: "get.reads-back-uid-and-created-at",
        cloud: |below| Arc::new(CutsMarks(below)),
        ..HONEST
    },
    Saboteur {
        name: "forgets-uids-at-a-restart",
        does: "keeps the uids of what it has created in memory, and says the name where it knows none",
        breaks: "get.reads-back-uid-and-created-at",
        provider: |built, _| meddle(built, ForgetsUids::default()),
        ..HONEST
    },
    Saboteur {
        name: "makes-up-a-creation-time",
        does: "says now where the creation time cannot be read",
        breaks: "get.unreadable-created-at-is-none",
        provider: |built, context| {
            meddle(built, Dates(Arc::clone(&context.clock), |at, now| at.or(Some(now))))
        },
        ..HONEST
    },
    Saboteur {
        name: "takes-an-unmarked-successor-for-its-own",
        does: "remembers the marks that it saw at a place, and goes by them when what stands there now has none",
        breaks: "get.never-anothers-data",
        cloud: |cloud| {
            seen_through(
                cloud,
                RemembersMarks { of: |described| described.marks.is_empty(), seen: Memory::default() },
            )
        },
        ..HONEST
    },
    Saboteur {
        name: "answers-for-an-identity-in-any-case",
        does: "answers with what an installation made whose identity differs from its own in case only",
        breaks: "get.never-anothers-data",
        cloud: |cloud| seen_through(cloud, NoCapitals),
        ..HONEST
    },
    Saboteur {
        name: "takes-another-installations-for-its-own",
        does: "goes by the marks that it saw first, when what stands there is another installation's now",
        breaks: "get.never-anothers-data",
        cloud: |cloud| {
            let of = |described: &Described| {
                described.marks.get(mark::INSTALLATION).is_some_and(|of| of.ends_with("-elsewhere"))
            };
            seen_through(cloud, RemembersMarks { of, seen: Memory::default() })
        },
        ..HONEST
    },
    Saboteur {
        name: "remembers-marks-of-copies",
        does: "goes by the marks that it saw first, when an instance has come to carry another's",
        breaks: "get.inherited-mark-is-not-ours",
        cloud: |cloud| seen_through(cloud, RemembersMarks { of: is_inherited, seen: Memory::default() }),
        ..HONEST
    },
    Saboteur {
        name: "looks-only-where-it-was-made",
        does: "looks for an instance where it first stood",
        breaks: "get.finds-moved-instance",
        profile: memory::blocking,
        cloud: |below| Arc::new(FirstPlace { below, places: Memory::default() }),
        ..HONEST
    },
];

/// Changes creation times, knowing what time it is.
struct Dates(Arc<dyn Clock>, fn(Option<Timestamp>, Timestamp) -> Option<Timestamp>);

#[async_trait]
impl Meddler for Dates {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let instance = honest.get(id).await?;
        Ok(Instance { created_at: (self.1)(instance.created_at, self.0.now()), ..instance })
    }
}

#[derive(Default)]
struct ForgetsUids(Memory<Uid>);

#[async_trait]
impl Meddler for ForgetsUids {
    async fn create(
        &self,
        honest: &dyn Provider,
        request: &provider_api::CreateRequest,
    ) -> Result<ProviderId, provider_api::Error> {
        self.0.put(request.name.as_str(), request.uid.clone());
        honest.create(request).await
    }

    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let instance = honest.get(id).await?;
        let name = instance.name.as_str();
        let uid = self.0.get(name).unwrap_or_else(|| Uid::parse(name).expect("a name can stand as a UID"));
        Ok(Instance { uid, ..instance })
    }
}

struct RemembersMarks {
    of: fn(&Described) -> bool,
    seen: Memory<BTreeMap<String, String>>,
}

impl View for RemembersMarks {
    fn show(&self, mut described: Described) -> Option<Described> {
        if (self.of)(&described) {
            described.marks = self.seen.get(&described.key).unwrap_or(described.marks);
        } else if described.marks.contains_key(mark::UID) {
            self.seen.put(&described.key, described.marks.clone());
        }
        Some(described)
    }
}

struct FirstPlace {
    below: Arc<dyn Cloud>,
    places: Memory<String>,
}

#[async_trait]
impl Cloud for FirstPlace {
    fn below(&self) -> &dyn Cloud {
        &*self.below
    }

    async fn locate(&self, at: At, name: &str) -> Answer<Vec<Located>> {
        let mut located = self.below.locate(at, name).await?;
        for located in &mut located {
            located.zone = self.places.first(&located.key, located.zone.clone());
        }
        Ok(located)
    }
}

/// Writes the creation time anew with each create but the first.
struct Younger {
    clock: Arc<dyn Clock>,
    made: Memory<Option<Timestamp>>,
}

impl Younger {
    fn new(clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), made: Memory::default() }
    }
}

#[async_trait]
impl Meddler for Younger {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let id = honest.create(request).await?;
        let again = self.made.get(id.as_str()).map(|_| self.clock.now());
        self.made.put(id.as_str(), again);
        Ok(id)
    }

    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let mut instance = honest.get(id).await?;
        if let Some(Some(at)) = self.made.get(id.as_str()) {
            instance.created_at = Some(at);
        }
        Ok(instance)
    }
}

/// Marks that are short enough for a cloud that nobody has.
struct CutsMarks(Arc<dyn Cloud>);

#[async_trait]
impl Cloud for CutsMarks {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn insert(&self, at: At, mut new: NewInstance) -> Answer<Accepted> {
        new.marks.values_mut().for_each(|mark| mark.truncate(32));
        self.0.insert(at, new).await
    }
}
