//! Saboteurs that list what is not theirs.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use provider_api::{
    CreateRequest, Error, InstallationId, Listed, Listing, Name, Provider, ProviderId, ProviderType,
    Registry, Uid, mark,
};

use super::super::view::{Memory, NoCapitals, View, is_inherited, seen_through};
use crate::{
    memory::{self, cloud::Described},
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "takes-half-a-mark",
        does: "takes an instance for its own by managed and uid, whatever installation is missing there",
        breaks: "list.only-managed",
        cloud: |cloud| seen_through(cloud, FillsIn::default()),
        ..HONEST
    },
    Saboteur {
        name: "takes-managed-as-a-word",
        does: "takes the managed mark for set whatever its value is",
        breaks: "list.only-managed",
        cloud: |cloud| seen_through(cloud, AnyValue),
        ..HONEST
    },
    Saboteur {
        name: "reads-managed-in-any-case",
        does: "takes the managed mark for set when it is True or TRUE",
        breaks: "list.only-managed",
        cloud: |cloud| seen_through(cloud, AnyCase),
        ..HONEST
    },
    Saboteur {
        name: "compares-the-beginning-of-an-identity",
        does: "takes an installation for its own whose identity begins as its own does",
        breaks: "list.only-this-installation",
        cloud: |cloud| seen_through(cloud, BeginsAlike::default()),
        ..HONEST
    },
    Saboteur {
        name: "lists-an-identity-in-any-case",
        does: "lists what an installation made whose identity differs from its own in case only",
        breaks: "list.only-this-installation",
        cloud: |cloud| seen_through(cloud, NoCapitals),
        ..HONEST
    },
    Saboteur {
        name: "claims-the-neighbours",
        does: "lists the instances of another installation on the same backend",
        breaks: "list.only-this-installation",
        types: claims_the_neighbours,
        ..HONEST
    },
    Saboteur {
        name: "lists-copies-by-their-mark",
        does: "lists a copy under the name that its inherited mark belongs to",
        breaks: "list.inherited-mark-is-not-listed",
        cloud: |cloud| seen_through(cloud, NamedByMark),
        ..HONEST
    },
    Saboteur {
        name: "lists-what-it-has-begun",
        does: "lists an instance from the moment on in which its create begins",
        breaks: "list.placeholder-not-listed",
        profile: memory::blocking,
        provider: |built, _| meddle(built, ListsTheBegun::default()),
        ..HONEST
    },
];

struct AnyCase;

impl View for AnyCase {
    fn show(&self, mut described: Described) -> Option<Described> {
        if let Some(managed) = described.marks.get_mut(mark::MANAGED) {
            *managed = managed.to_ascii_lowercase();
        }
        Some(described)
    }
}

/// Puts the shortest identity that it knows where a longer one begins with it.
#[derive(Default)]
struct BeginsAlike(Memory<String>);

impl View for BeginsAlike {
    fn show(&self, mut described: Described) -> Option<Described> {
        if let Some(installation) = described.marks.get_mut(mark::INSTALLATION) {
            let known = self.0.all().into_iter().find(|known| installation.starts_with(known.as_str()));
            match known {
                Some(known) => *installation = known,
                None => self.0.put(&installation.clone(), installation.clone()),
            }
        }
        Some(described)
    }
}

/// Puts the installation that it saw last where none stands.
#[derive(Default)]
struct FillsIn(Mutex<Option<String>>);

impl View for FillsIn {
    fn show(&self, mut described: Described) -> Option<Described> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if described.marks.contains_key(mark::UID) {
            match described.marks.get(mark::INSTALLATION) {
                Some(installation) => *last = Some(installation.clone()),
                None => {
                    described.marks.extend(last.clone().map(|last| (mark::INSTALLATION.to_owned(), last)))
                }
            }
        }
        Some(described)
    }
}

struct AnyValue;

impl View for AnyValue {
    fn show(&self, mut described: Described) -> Option<Described> {
        if let Some(value) = described.marks.get_mut(mark::MANAGED) {
            *value = mark::MANAGED_YES.to_owned();
        }
        Some(described)
    }
}

/// The last words of the identity that the kit gives a case's own installation, and of the other one.
const OURS: &str = "-installation";
const THEIRS: &str = "-elsewhere";

fn claims_the_neighbours(registry: Registry) -> Registry {
    registry.map(|honest| {
        let build = honest.build;
        ProviderType {
            build: Arc::new(move |shared, fields, mut context| {
                let installation = &context.identity.installation;
                let other = installation.as_str().strip_suffix(OURS).map(|tag| format!("{tag}{THEIRS}"));
                let other = other.and_then(|other| InstallationId::parse(&other).ok());
                context.identity.adopt.extend(other);
                build(shared, fields, context)
            }),
            ..honest
        }
    })
}

struct NamedByMark;

impl View for NamedByMark {
    fn show(&self, mut described: Described) -> Option<Described> {
        if is_inherited(&described)
            && let Some(uid) = described.marks.get(mark::UID).and_then(|uid| Uid::parse(uid).ok())
        {
            described.name = Name::from_uid(&uid).to_string();
        }
        Some(described)
    }
}

#[derive(Default)]
struct ListsTheBegun(Memory<Listed>);

#[async_trait]
impl Meddler for ListsTheBegun {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let name = request.name.clone();
        // Where it will stand is not known yet; any id serves a listing that nobody deletes by.
        let id = ProviderId::new(name.as_str());
        let begun = Listed { id, name: name.clone(), uid: request.uid.clone(), created_at: None };
        self.0.put(name.as_str(), begun);
        let result = honest.create(request).await;
        self.0.forget(name.as_str());
        result
    }

    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let mut listing = honest.list_by_tag().await?;
        let begun = self.0.all().into_iter();
        let new: Vec<_> =
            begun.filter(|begun| listing.items.iter().all(|item| item.uid != begun.uid)).collect();
        listing.items.extend(new);
        Ok(listing)
    }
}
