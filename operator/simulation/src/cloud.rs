//! The backends of a world, and the providers over them as each operator calls them: calls may fail, land unheard, or kill
//! their caller.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures::FutureExt;
use provider_api::{
    Built, Context, CreateRequest, Deleted, Error, GetError, Identity, InstallationId, Instance, LeftoverId,
    LeftoverListing, Leftovers, Listing, Live, Profile, Provider, ProviderId, ProviderName, ProviderType,
    Registry, decorate, mark,
};
use providertest::{
    harness::{Backend, Case, Thing, ThingKind},
    ledger::Ledger,
    memory::{self, MemoryBackend, Standing},
    wire::{Condition, Wire},
};
use serde_json::{Value, json};

use crate::{
    layer::Layer,
    mischief::{Mischief, Struck},
    plan::{Fault, Plan, Setup},
    pool::Pool,
    time::{SkewedClock, Time},
    watchdog::{Late, Watchdog},
};

/// The names under which the two providers are configured.
pub(crate) const PROVIDERS: [&str; 2] = ["alpha", "beta"];
/// The types that they are of.
const TYPES: [&str; 2] = ["memory-alpha", "memory-beta"];

/// The backends. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Clouds(Arc<Inner>);

struct Inner {
    clouds: [Open; 2],
    is_wide: bool,
    /// What stands there, as of so many changes.
    seen: Mutex<Seen>,
}

/// What stands on the backends, by whose it is.
#[derive(Default)]
pub(crate) struct Seen {
    changes: [u64; 2],
    whose: HashMap<(usize, u64), String>,
    by_uid: HashMap<String, BTreeMap<(usize, u64), Life>>,
    /// The UIDs about which something has changed since somebody took them.
    news: BTreeSet<String>,
    round: u64,
}

/// One life of an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub(crate) deleting: bool,
    pub(crate) runs: bool,
    pub(crate) stopped: bool,
    round: u64,
}

impl Seen {
    /// The lives of a UID that are there now.
    pub(crate) fn of(&self, uid: &str) -> impl Iterator<Item = (&(usize, u64), &Life)> {
        self.by_uid.get(uid).into_iter().flatten()
    }

    /// The UIDs about which something has changed since this was asked last.
    pub(crate) fn news(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.news)
    }

    fn saw(&mut self, provider: usize, it: Standing<'_>) {
        let key = (provider, it.life);
        let whose = match self.whose.get(&key) {
            Some(whose) => whose,
            None => {
                // A placeholder has no marks yet.
                let Some(uid) = it.marks.get(mark::UID) else { return };
                self.whose.entry(key).or_insert_with(|| uid.clone())
            }
        };
        let life = Life {
            deleting: it.deleting,
            runs: it.native_state == "running" && !it.deleting,
            stopped: it.native_state == "stopped",
            round: self.round,
        };
        let lives = match self.by_uid.get_mut(whose) {
            Some(lives) => lives,
            None => self.by_uid.entry(whose.clone()).or_default(),
        };
        if lives.insert(key, life).is_none_or(|before| before.deleting != life.deleting) {
            self.news.insert(whose.clone());
        }
    }
}

/// One backend, and the case whose folder its credentials are in.
struct Open {
    backend: MemoryBackend,
    wire: Wire,
    _case: Case,
}

impl Clouds {
    pub(crate) fn new(plan: &Plan, faults: &Arc<[Fault]>, time: &Time, pool: &Pool, late: &Late) -> Self {
        let profile = match plan.setup {
            Setup::Submit => memory::profile(),
            Setup::Blocking => memory::blocking(),
            Setup::Plain => memory::plain(),
        };
        let zones = plan.zones.map_or(if plan.setup == Setup::Plain { 1 } else { 3 }, |zones| zones as usize);
        let open = |number: u32| {
            let wire = Wire::new(Ledger::default());
            let case = Case {
                clock: Arc::new(SkewedClock::new(time.clone(), 0, 1000)),
                wire: wire.clone(),
                seed: plan.seed ^ u64::from(number),
                tag: format!("cloud-{number}"),
                folder: Arc::default(),
            };
            let see = |below| {
                Arc::new(Layer {
                    below,
                    provider: number,
                    time: time.clone(),
                    pool: pool.clone(),
                    faults: Arc::clone(faults),
                    late: late.clone(),
                }) as _
            };
            let backend = MemoryBackend::with_zones(&profile, zones, &case, see);
            Open { backend: backend.expect("there is room for a token file"), wire, _case: case }
        };
        let clouds = Self(Arc::new(Inner {
            clouds: [open(0), open(1)],
            is_wide: plan.zones.is_some(),
            seen: Mutex::default(),
        }));
        for fault in faults.iter() {
            clouds.clone().misbehaves(fault, time, pool);
        }
        clouds
    }

    /// Lets a part of a cloud misbehave for its time.
    fn misbehaves(self, fault: &Fault, time: &Time, pool: &Pool) {
        let (provider, zone, from, until, condition) = match fault {
            Fault::Outage { provider, zone, from, until } => (provider, zone, from, until, Condition::Cut),
            Fault::Hang { provider, zone, from, until } => (provider, zone, from, until, Condition::Hangs),
            _ => return,
        };
        let targets = match zone {
            Some(zone) => vec![zone.clone()],
            None => {
                let mut targets = self.of(*provider as usize).targets();
                targets.push(memory::cloud::FRONT.to_owned());
                targets
            }
        };
        let wire = self.0.clouds[*provider as usize].wire.clone();
        let (time, from, until) = (time.clone(), Duration::from_millis(*from), Duration::from_millis(*until));
        pool.add(Box::pin(async move {
            time.sleep_until(from).await;
            targets.iter().for_each(|target| wire.set_condition(target, Some(condition)));
            time.sleep_until(until).await;
            targets.iter().for_each(|target| wire.set_condition(target, None));
        }));
    }

    pub(crate) fn of(&self, provider: usize) -> &MemoryBackend {
        &self.0.clouds[provider].backend
    }

    /// Shows every instance, with the number of its provider.
    fn each(&self, mut see: impl FnMut(usize, Standing<'_>)) {
        for provider in 0..PROVIDERS.len() {
            self.of(provider).each_instance(|standing| see(provider, standing));
        }
    }

    /// How often something has changed on each, other than by the clock alone.
    fn changes(&self) -> [u64; 2] {
        [self.of(0).changes(), self.of(1).changes()]
    }

    /// What stands there now. It is looked at anew where something has changed, other than by the clock.
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        let changes = self.changes();
        let mut seen = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.changes != changes {
            seen.changes = changes;
            self.looks(&mut seen);
        }
        seen
    }

    fn looks(&self, seen: &mut Seen) {
        seen.round += 1;
        self.each(|provider, it| seen.saw(provider, it));
        let round = seen.round;
        seen.by_uid.retain(|_, lives| {
            lives.retain(|_, life| life.round == round);
            !lives.is_empty()
        });
    }

    /// Whether an instance of that UID runs. What runs goes on to until somebody changes something; what does not yet may have
    /// come up.
    pub(crate) fn is_up(&self, uid: &str) -> bool {
        let mut seen = self.seen();
        let runs = |seen: &Seen| seen.of(uid).any(|(_, life)| life.runs);
        if !runs(&seen) {
            self.looks(&mut seen);
        }
        runs(&seen)
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
            let called =
                |inner| Called { inner, index, mischief: mischief.clone(), watchdog: watchdog.clone() };
            let leftovers = built.leftovers.map(|inner| {
                let called = Called { inner, index, mischief: mischief.clone(), watchdog: watchdog.clone() };
                Arc::new(called) as Arc<dyn Leftovers>
            });
            Built { provider: Arc::new(called(built.provider)), leftovers, ..built }
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
            let mut entry = json!({ "name": PROVIDERS[index], "type": TYPES[index], TYPES[index]: block });
            if self.0.is_wide {
                // Worlds with many zones are made for calls that take a minute.
                entry["budgets"] = json!({ "call": "120s", "create": "1800s" });
            }
            entry
        };
        json!({ "providers": [entry(0), entry(1)] })
    }
}

/// Whose something is, by its mark.
pub(crate) fn owner(thing: &Thing) -> Option<&String> {
    thing.marks.get(mark::UID)
}

/// A provider, or its leftovers, as an operator calls them.
struct Called<T: ?Sized> {
    inner: Arc<T>,
    index: usize,
    mischief: Mischief,
    watchdog: Watchdog,
}

impl<T: ?Sized> Called<T> {
    /// One call.
    async fn call<A>(
        &self,
        what: impl Fn() -> String + Send,
        mutates: bool,
        call: impl Future<Output = A> + Send,
        done: impl FnOnce(&A) + Send,
    ) -> Result<A, Error> {
        let name = PROVIDERS[self.index];
        self.watchdog.starts_a_call();
        self.mischief.latency().await;
        let struck = self.mischief.strike(|| format!("{name}: {}", what()), mutates);
        if matches!(struck, Some(Struck::Before | Struck::Outpaced)) {
            return Err(Error::transient("the connection was reset"));
        }
        let answer = call.await;
        done(&answer);
        self.watchdog.looks();
        match struck {
            None | Some(Struck::Before | Struck::Outpaced) => Ok(answer),
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
impl Provider for Called<dyn Provider> {
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
        let what = || format!("create {}", request.uid);
        self.call(what, true, self.inner.create(request), made).await?
    }

    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        self.call(|| format!("get {id}"), false, self.inner.get(id), |_| {}).await?
    }

    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        let delete = async {
            self.watchdog.deletes(self.index, id);
            self.inner.delete(id).await
        };
        self.call(|| format!("delete {id}"), true, delete, |_| {}).await?
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.call(|| "list".to_owned(), false, self.inner.list_by_tag(), |_| {}).await?
    }
}

#[async_trait]
impl Leftovers for Called<dyn Leftovers> {
    async fn list(&self) -> Result<LeftoverListing, Error> {
        self.call(|| "list leftovers".to_owned(), false, self.inner.list(), |_| {}).await?
    }

    async fn delete(&self, id: &LeftoverId) -> Result<(), Error> {
        self.call(|| format!("delete leftover {id}"), true, self.inner.delete(id), |_| {}).await?
    }
}
