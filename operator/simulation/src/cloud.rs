//! The backends of a world, and the providers over them as each operator calls them: calls may fail, land unheard, or kill
//! their caller.

use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use provider_api::{
    Built, Context, CreateRequest, Deleted, Error, GetError, Identity, InstallationId, Instance, Listing,
    Live, Profile, Provider, ProviderId, ProviderName, ProviderType, Registry, decorate, mark,
};
use providertest::{
    harness::{Backend, Case, Harness, Thing, ThingKind},
    ledger::Ledger,
    memory::{self, MemoryHarness},
    wire::Wire,
};
use serde_json::{Value, json};

use crate::{
    mischief::{Mischief, Struck},
    plan::Setup,
    pool::Pool,
    time::{SkewedClock, Time},
    watchdog::Watchdog,
};

/// The names under which the two providers are configured.
pub(crate) const PROVIDERS: [&str; 2] = ["alpha", "beta"];
/// The types that they are of.
const TYPES: [&str; 2] = ["memory-alpha", "memory-beta"];

/// The backends. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Clouds(Arc<[Open; 2]>);

/// One backend, and the case whose folder its credentials are in.
struct Open {
    backend: Box<dyn Backend>,
    _case: Case,
}

impl Clouds {
    pub(crate) fn new(setup: Setup, time: &Time, seed: u64) -> Self {
        let profile = match setup {
            Setup::Submit => memory::profile(),
            Setup::Blocking => memory::blocking(),
            Setup::Plain => memory::plain(),
        };
        let harness = MemoryHarness::with("simulation", profile);
        let setup = harness.setups().remove(0);
        let open = |number: u64| {
            let case = Case {
                clock: Arc::new(SkewedClock::new(time.clone(), 0, 1000)),
                wire: Wire::new(Ledger::default()),
                seed: seed ^ number,
                tag: format!("cloud-{number}"),
                folder: Arc::default(),
            };
            let opened =
                harness.open(&setup, &case).now_or_never().expect("a cloud in memory waits for nothing");
            Open { backend: opened.expect("there is room for a token file"), _case: case }
        };
        Self(Arc::new([open(0), open(1)]))
    }

    pub(crate) fn of(&self, provider: usize) -> &dyn Backend {
        &*self.0[provider].backend
    }

    /// Every instance, with the number of its provider.
    pub(crate) fn instances(&self) -> impl Iterator<Item = (usize, Thing)> {
        let is_one = |kind| matches!(kind, ThingKind::Instance | ThingKind::Placeholder);
        self.belongings().filter(move |(_, thing)| is_one(thing.kind))
    }

    /// Everything that belongs to instances, with the number of its provider.
    pub(crate) fn belongings(&self) -> impl Iterator<Item = (usize, Thing)> {
        let all = |provider: usize| {
            let things = self.of(provider).everything().now_or_never().expect("a store waits for nothing");
            things.expect("a store can be looked at").into_iter().map(move |thing| (provider, thing))
        };
        all(0).chain(all(1)).filter(|(_, thing)| thing.kind != ThingKind::Shared)
    }

    /// The providers, as one process has them.
    pub(crate) fn providers(
        &self,
        clock: &Arc<SkewedClock>,
        pool: &Pool,
        mischief: &Mischief,
        watchdog: &Watchdog,
    ) -> Arc<Live> {
        let registry = self.registry();
        let identity = Identity::new(InstallationId::parse("the-world").expect("a label value"));
        let surroundings = |name: &ProviderName| {
            let clock = Arc::clone(clock) as Arc<dyn provider_api::Clock>;
            Context::new(name.clone(), identity.clone(), clock, Arc::new(pool.clone()))
        };
        let finish = |built: Built, context: &Context| {
            let index = PROVIDERS.iter().position(|name| *name == context.name.as_str()).unwrap_or(0);
            let built = decorate(built, context);
            let provider = Called {
                inner: Arc::clone(&built.provider),
                index,
                mischief: mischief.clone(),
                watchdog: watchdog.clone(),
            };
            Built { provider: Arc::new(provider), ..built }
        };
        let config = self.config().to_string();
        let none = provider_api::Providers::default();
        let loaded = registry.load_finished(&none, &config, |_| {}, surroundings, finish);
        Arc::new(Live::new(loaded.unwrap_or_else(|report| panic!("the world's config: {report}"))))
    }

    fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        for (index, name) in TYPES.into_iter().enumerate() {
            registry.register(ProviderType { name, ..self.of(index).provider_type() });
        }
        registry
    }

    fn config(&self) -> Value {
        let entry = |index: usize| {
            let block = self.of(index).block(&[]).expect("the plain block can be had");
            json!({ "name": PROVIDERS[index], "type": TYPES[index], TYPES[index]: block })
        };
        json!({ "providers": [entry(0), entry(1)] })
    }
}

/// Whose an instance is, by its mark.
pub(crate) fn owner(thing: &Thing) -> Option<&String> {
    thing.marks.get(mark::UID)
}

/// A provider as an operator calls it.
struct Called {
    inner: Arc<dyn Provider>,
    index: usize,
    mischief: Mischief,
    watchdog: Watchdog,
}

impl Called {
    /// One call: `None` when its answer is lost.
    async fn call<T>(
        &self,
        what: String,
        mutates: bool,
        call: impl Future<Output = T> + Send,
        done: impl FnOnce(&T) + Send,
    ) -> Result<T, Error> {
        let name = PROVIDERS[self.index];
        self.watchdog.starts_a_call();
        self.mischief.latency().await;
        match self.mischief.backend(u32::try_from(self.index).unwrap_or(0)) {
            Some(Struck::Silence) => {
                self.mischief.pass(std::time::Duration::from_secs(60)).await;
                return Err(Error::transient(format!("{name} does not answer")));
            }
            Some(_) => return Err(Error::transient(format!("{name} is out"))),
            None => {}
        }
        let struck = self.mischief.strike(&format!("{name}: {what}"), mutates);
        if struck == Some(Struck::Before) {
            return Err(Error::transient("the connection was reset"));
        }
        let answer = call.await;
        done(&answer);
        self.watchdog.looks();
        match struck {
            None | Some(Struck::Before) => Ok(answer),
            Some(Struck::After) => Err(Error::transient("500 after all")),
            Some(Struck::Silence) => {
                self.mischief.pass(std::time::Duration::from_secs(30)).await;
                Err(Error::transient("no answer within 30 s"))
            }
            Some(Struck::Dead) => self.mischief.die().await,
        }
    }
}

#[async_trait]
impl Provider for Called {
    fn profile(&self) -> &Profile {
        self.inner.profile()
    }

    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        let made = |answer: &Result<ProviderId, Error>| {
            if let Ok(id) = answer {
                self.watchdog.made(self.index, id, request);
            }
        };
        self.watchdog.begins_to_make(self.index, request);
        let what = format!("create {}", request.uid);
        self.call(what, true, self.inner.create(request), made).await?
    }

    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        self.call(format!("get {id}"), false, self.inner.get(id), |_| {}).await?
    }

    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        let delete = async {
            self.watchdog.deletes(self.index, id);
            self.inner.delete(id).await
        };
        self.call(format!("delete {id}"), true, delete, |_| {}).await?
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.call("list".to_owned(), false, self.inner.list_by_tag(), |_| {}).await?
    }
}
