//! The saboteurs of the group `runtime`: over the registry and its constructors, over the cloud, over the provider.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use provider_api::{
    Built, Context, CreateRequest, Deleted, Error, FailureClass, Gate, GetError, InstallationId, Instance,
    Listing, Profile, Provider, ProviderId, ProviderType, Registry, Seam, Secret,
    config::{Fields, Shared},
};

use crate::{
    memory::{
        At, Cloud,
        cloud::{Answer, Described, Page, Row},
    },
    rules::runtime::UNKNOWN_KEY,
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "looks-around-at-once",
        does: "lists everything as soon as it is built",
        breaks: "runtime.constructor-does-not-dial",
        provider: |built, context| {
            let provider = Arc::clone(&built.provider);
            context.spawner.spawn(Box::pin(async move { drop(provider.list_by_tag().await) }));
            built
        },
        ..HONEST
    },
    Saboteur {
        name: "works-on-in-the-background",
        does: "creates in a task of its own, which goes on when the caller is gone",
        breaks: "runtime.no-work-after-drop",
        provider: |built, context| {
            let seam = context.seam("memory", Duration::from_secs(30));
            over(built, |honest| Background { honest, seam })
        },
        ..HONEST
    },
    Saboteur {
        name: "one-at-a-time",
        does: "works on one instance at a time, whatever its target",
        breaks: "runtime.one-hang-does-not-block-others",
        provider: |built, context| {
            let gate = context.gate(1);
            over(built, |honest| OneAtATime { honest, gate })
        },
        ..HONEST
    },
    Saboteur {
        name: "lets-everything-in-at-once",
        does: "lets sixty-four operations work on a target, whatever the entry says",
        breaks: "runtime.per-target-limit",
        types: |registry| {
            rebuild(registry, |build, shared, fields, context| {
                let mut shared = shared.clone();
                shared.max_concurrent_per_target = 64;
                build(&shared, fields, context)
            })
        },
        ..HONEST
    },
    Saboteur {
        name: "keeps-its-first-credentials",
        does: "goes on using the credentials that it read first",
        breaks: "runtime.credentials-rotate",
        cloud: |cloud| Arc::new(FirstToken { below: cloud, first: OnceLock::new() }),
        ..HONEST
    },
    Saboteur {
        name: "closes-before-it-opens",
        does: "shuts the provider in force down when a new config is read, whether or not that loads",
        breaks: "runtime.reload-keeps-old-on-error",
        types: |registry| rebuild(registry, closes_before_it_opens),
        ..HONEST
    },
    Saboteur {
        name: "knows-a-key-too-many",
        does: "passes over an unknown key at the top of its block",
        breaks: "runtime.strict-config",
        types: |registry| {
            rebuild(registry, |build, shared, fields, context| {
                fields.find(UNKNOWN_KEY);
                build(shared, fields, context)
            })
        },
        ..HONEST
    },
    Saboteur {
        name: "stops-at-the-first-mistake",
        does: "reports an unknown key at the top of its block, and reads no further",
        breaks: "runtime.all-config-errors-at-once",
        types: |registry| rebuild(registry, stops_at_the_first_mistake),
        ..HONEST
    },
];

type Build<'b> = &'b dyn Fn(&Shared, &mut Fields<'_>, Context) -> Option<Built>;
type Rebuild = fn(Build<'_>, &Shared, &mut Fields<'_>, Context) -> Option<Built>;

/// Puts something round every constructor.
fn rebuild(registry: Registry, change: Rebuild) -> Registry {
    registry.map(|known| {
        let build = Arc::clone(&known.build);
        ProviderType {
            build: Arc::new(move |shared, fields, context| change(&*build, shared, fields, context)),
            ..known
        }
    })
}

/// Puts a provider in the place of the honest one.
fn over<P: Provider>(built: Built, make: impl FnOnce(Arc<dyn Provider>) -> P) -> Built {
    Built {
        provider: Arc::new(make(built.provider)),
        checker: built.checker,
        leftovers: built.leftovers,
        watch: built.watch,
    }
}

fn closes_before_it_opens(
    build: Build<'_>,
    shared: &Shared,
    fields: &mut Fields<'_>,
    context: Context,
) -> Option<Built> {
    // Cases run beside each other; each has an installation of its own.
    static CLOSED: Mutex<BTreeSet<InstallationId>> = Mutex::new(BTreeSet::new());
    struct Closable(InstallationId);
    #[async_trait]
    impl Meddler for Closable {
        async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
            if CLOSED.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.0) {
                return Err(Error::transient("the provider is shut down").into());
            }
            honest.get(id).await
        }
    }
    let installation = context.identity.installation.clone();
    let built = build(shared, fields, context);
    let mut closed = CLOSED.lock().unwrap_or_else(PoisonError::into_inner);
    match built {
        Some(built) => {
            closed.remove(&installation);
            drop(closed);
            Some(meddle(built, Closable(installation)))
        }
        None => {
            closed.insert(installation);
            None
        }
    }
}

fn stops_at_the_first_mistake(
    build: Build<'_>,
    shared: &Shared,
    fields: &mut Fields<'_>,
    context: Context,
) -> Option<Built> {
    if fields.find(UNKNOWN_KEY).is_none() {
        return build(shared, fields, context);
    }
    for key in ["credentialsFile", "zones", "images", "machineTypes"] {
        fields.find(key);
    }
    fields.problem(UNKNOWN_KEY, "is not a known key");
    None
}

struct Background {
    honest: Arc<dyn Provider>,
    seam: Seam,
}

impl Background {
    /// How often a task tries again what may pass.
    const TRIES: usize = 3;
}

#[async_trait]
impl Provider for Background {
    fn profile(&self) -> &Profile {
        self.honest.profile()
    }
    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        let (honest, request) = (Arc::clone(&self.honest), request.clone());
        let task = self.seam.spawn(async move {
            let mut result = honest.create(&request).await;
            for _ in 1..Background::TRIES {
                match &result {
                    Err(error) if error.class() == FailureClass::Transient => {
                        result = honest.create(&request).await;
                    }
                    _ => break,
                }
            }
            result
        });
        task.await.unwrap_or_else(|| Err(Error::transient("the task went away")))
    }
    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        self.honest.get(id).await
    }
    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        self.honest.delete(id).await
    }
    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.honest.list_by_tag().await
    }
}

struct OneAtATime {
    honest: Arc<dyn Provider>,
    gate: Gate,
}

#[async_trait]
impl Provider for OneAtATime {
    fn profile(&self) -> &Profile {
        self.honest.profile()
    }
    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        let _turn = self.gate.name("everything").await;
        self.honest.create(request).await
    }
    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        self.honest.get(id).await
    }
    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        let _turn = self.gate.name("everything").await;
        self.honest.delete(id).await
    }
    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.honest.list_by_tag().await
    }
}

struct FirstToken {
    below: Arc<dyn Cloud>,
    first: OnceLock<Secret>,
}

impl FirstToken {
    fn at(&self, at: At) -> At {
        At { token: self.first.get_or_init(|| at.token.clone()).clone(), ..at }
    }
}

#[async_trait]
impl Cloud for FirstToken {
    fn below(&self) -> &dyn Cloud {
        &*self.below
    }
    async fn describe(&self, at: At, key: &str) -> Answer<Described> {
        self.below.describe(self.at(at), key).await
    }
    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        self.below.list(self.at(at), page).await
    }
}
