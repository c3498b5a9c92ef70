//! The invariants: what must hold in every world at every moment, and when it has come to rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use provider_api::{CreateRequest, ProviderId, Secret};
use proxy_operator::{
    election::Term,
    resource::{CloudInit, ConditionKind, Key, Phase},
};

use crate::{
    api::{Object, Server},
    cloud::{Clouds, PROVIDERS, owner},
    mischief::Trace,
    time::{SkewedClock, Time},
};

/// A property of every world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// A Proxy has at most one live instance at a time.
    OneInstance,
    /// No instance whose owner lives, wants it as it is, and has not been touched is ever deleted.
    NoNeedlessDelete,
    /// A Proxy is released only when nothing of it is left.
    NothingLeftAtRelease,
    /// Never do two operators start a call at once.
    OneLeader,
    /// With faults over, the world becomes what the specs ask for.
    Converges,
    /// At rest nothing is written but leases.
    Quiet,
    /// The status says what is so.
    TruthfulStatus,
    /// There are never more calls in a minute than a bound.
    BoundedCalls,
    /// At rest nothing stands on a backend that no Proxy owns.
    NoOrphans,
}

/// An invariant that did not hold, when, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// When, since the world began.
    pub at: Duration,
    /// What was seen.
    pub what: String,
}

/// How many calls and requests there may be in a minute for each Proxy, and for the world itself.
const CALLS_PER_PROXY: u64 = 90;
const CALLS_OF_ITS_OWN: u64 = 120;

/// It looks at everything. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Watchdog(Arc<Inner>);

struct Inner {
    server: Server,
    clouds: Clouds,
    time: Time,
    trace: Trace,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    violations: Vec<Violation>,
    /// What each UID's instance was made from last, by provider.
    made_from: BTreeMap<(usize, String), Made>,
    /// Whose each id is.
    ids: BTreeMap<(usize, String), String>,
    /// Proxies whose instances people have laid hands on, or whose status.
    touched: BTreeSet<String>,
    /// Every life that was ever seen, by UID.
    lives: BTreeMap<String, BTreeSet<String>>,
    /// The terms of all operators, with their clocks.
    terms: Vec<(u32, Term, Arc<SkewedClock>)>,
    minute: (u64, u64),
}

struct Made {
    generation: i64,
    cloud_init: Vec<u8>,
}

impl Watchdog {
    pub(crate) fn new(server: Server, clouds: Clouds, time: Time, trace: Trace) -> Self {
        Self(Arc::new(Inner { server, clouds, time, trace, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn violated(&self, invariant: Invariant, what: String) {
        let at = self.0.time.now();
        self.0.trace.line(at, "watchdog", || format!("{invariant:?}: {what}"));
        let mut state = self.state();
        if !state.violations.iter().any(|known| known.invariant == invariant) {
            state.violations.push(Violation { invariant, at, what });
        }
    }

    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.state().violations.clone()
    }

    /// How many lives each UID's instances have had.
    pub(crate) fn lives(&self) -> BTreeMap<String, usize> {
        self.state().lives.iter().map(|(uid, lives)| (uid.clone(), lives.len())).collect()
    }

    /// An operator leads by that term.
    pub(crate) fn leads(&self, operator: u32, term: Term, clock: Arc<SkewedClock>) {
        let mut state = self.state();
        state.terms.retain(|(_, term, clock)| term.holds(&**clock));
        state.terms.push((operator, term, clock));
    }

    /// People have laid hands on what belongs to this Proxy.
    pub(crate) fn touched(&self, key: &Key) {
        let uid = self.0.server.state().proxies.get(key).map(|object| object.uid.clone());
        if let Some(uid) = uid {
            self.state().touched.insert(uid);
        }
    }

    /// A call is started.
    pub(crate) fn starts_a_call(&self) {
        let minute = self.0.time.now().as_secs() / 60;
        let proxies = self.0.server.state().proxies.len() as u64;
        let mut state = self.state();
        if state.minute.0 != minute {
            state.minute = (minute, 0);
        }
        state.minute.1 += 1;
        let (calls, bound) = (state.minute.1, CALLS_OF_ITS_OWN + CALLS_PER_PROXY * proxies);
        let leaders: BTreeSet<_> = state
            .terms
            .iter()
            .filter(|(_, term, clock)| term.holds(&**clock))
            .map(|(operator, _, _)| *operator)
            .collect();
        drop(state);
        if leaders.len() > 1 {
            self.violated(Invariant::OneLeader, format!("operators {leaders:?} lead at once"));
        }
        if calls > bound {
            self.violated(
                Invariant::BoundedCalls,
                format!("{calls} calls within a minute, for {proxies} Proxies"),
            );
        }
    }

    pub(crate) fn begins_to_make(&self, provider: usize, request: &CreateRequest) {
        let uid = request.uid.to_string();
        let object = self.object(&uid);
        let made = Made {
            generation: object.map_or(0, |object| object.generation),
            cloud_init: request.cloud_init.reveal().to_vec(),
        };
        self.state().made_from.insert((provider, uid), made);
    }

    pub(crate) fn made(&self, provider: usize, id: &ProviderId, request: &CreateRequest) {
        self.state().ids.insert((provider, id.to_string()), request.uid.to_string());
    }

    fn object(&self, uid: &str) -> Option<Arc<Object>> {
        self.0.server.state().proxies.values().find(|object| object.uid == uid).cloned()
    }

    /// An instance is about to be deleted.
    pub(crate) fn deletes(&self, provider: usize, id: &ProviderId) {
        let uid = self.state().ids.get(&(provider, id.to_string())).cloned();
        let Some(uid) = uid else { return };
        let Some(object) = self.object(&uid) else { return };
        let alive = self.0.clouds.instances().any(|(at, thing)| {
            at == provider
                && owner(&thing) == Some(&uid)
                && !thing.deleting
                && thing.native_state != "stopped"
        });
        let state = self.state();
        let is_unchanged = state.made_from.get(&(provider, uid.clone())).is_some_and(|made| {
            made.generation == object.generation && Some(&made.cloud_init) == self.wanted(&object).as_ref()
        });
        let is_touched = state.touched.contains(&uid);
        drop(state);
        if alive && is_unchanged && !is_touched && !object.deleting {
            let what = format!(
                "{id} of {} is deleted, whose owner {} wants it as it is",
                PROVIDERS[provider], object.key
            );
            self.violated(Invariant::NoNeedlessDelete, what);
        }
    }

    /// The user data that a Proxy asks for now.
    fn wanted(&self, object: &Object) -> Option<Vec<u8>> {
        let proxy = object.read();
        match &proxy.usable()?.cloud_init {
            CloudInit::Inline { text, .. } => text.clone().map(String::into_bytes),
            CloudInit::SecretRef { name, .. } => {
                let key = Key { namespace: object.key.namespace.clone(), name: name.clone() };
                self.0.server.state().secrets.get(&key).cloned().map(String::into_bytes)
            }
        }
    }

    /// Looks at the backends: after every call that may have changed them.
    pub(crate) fn looks(&self) {
        let mut alive: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut state = self.state();
        for (provider, thing) in self.0.clouds.instances() {
            let Some(uid) = owner(&thing).cloned() else { continue };
            state.lives.entry(uid.clone()).or_default().insert(thing.key.clone());
            if !thing.deleting {
                alive.entry(uid).or_default().push(format!("{} of {}", thing.key, PROVIDERS[provider]));
            }
        }
        drop(state);
        for (uid, instances) in alive.into_iter().filter(|(_, instances)| instances.len() > 1) {
            self.violated(Invariant::OneInstance, format!("{uid} has {}", instances.join(" and ")));
        }
    }

    /// A Proxy was released, by an operator.
    pub(crate) fn released(&self, uid: &str) {
        let left: Vec<_> = self
            .0
            .clouds
            .instances()
            .filter(|(_, thing)| owner(thing).is_some_and(|owner| owner == uid))
            .map(|(provider, thing)| format!("{} of {}", thing.key, PROVIDERS[provider]))
            .collect();
        if !left.is_empty() && !self.state().touched.contains(uid) {
            self.violated(
                Invariant::NothingLeftAtRelease,
                format!("{uid} was released, and left {}", left.join(" and ")),
            );
        }
    }

    /// What is still not as the specs ask for.
    pub(crate) fn unsettled(&self) -> Vec<String> {
        let mut unsettled = Vec::new();
        let instances: Vec<_> = self.0.clouds.instances().collect();
        let objects: Vec<_> = self.0.server.state().proxies.values().cloned().collect();
        for object in &objects {
            let proxy = object.read();
            let mut say = |what: &str| unsettled.push(format!("{}: {what}", object.key));
            if proxy.deleting {
                say("is still being deleted");
                continue;
            }
            let Some(spec) = proxy.usable() else { continue };
            let Some(provider) = PROVIDERS.iter().position(|name| *name == spec.provider.as_str()) else {
                continue;
            };
            let own: Vec<_> =
                instances.iter().filter(|(_, thing)| owner(thing) == Some(&object.uid)).collect();
            let [(at, thing)] = own[..] else {
                say(&format!("has {} instances", own.len()));
                continue;
            };
            if *at != provider {
                say("has an instance of another provider");
            }
            if thing.native_state != "running" {
                say(&format!("has an instance that is {}", thing.native_state));
            }
            let wanted = self.wanted(object);
            let made =
                self.state().made_from.get(&(*at, object.uid.clone())).map(|made| made.cloud_init.clone());
            if made != wanted {
                say("has an instance of an earlier spec");
            }
            let status = &proxy.status;
            if status.phase != Some(Phase::Running) || !status.holds(ConditionKind::Ready) {
                say(&format!("says {:?}, {:?}", status.phase, status.condition(ConditionKind::Progressing)));
            }
            if status.intent.is_some() {
                say("has an intent that is still open");
            }
            if status.last_failure.is_some() {
                say("tells of a failure that is over");
            }
            let state = self.0.server.state();
            let mut published: Vec<_> = state
                .published
                .iter()
                .filter(|(_, (owner, _))| *owner == object.uid)
                .map(|(key, (_, data))| {
                    let host = data.get("host").and_then(Secret::reveal_str);
                    (key.name.clone(), host.map(str::to_owned))
                })
                .collect();
            drop(state);
            let wanted = spec.connection_secret.clone().map(|name| (name, status.address.clone()));
            if published.pop() != wanted || !published.is_empty() {
                say("is not published as it asks for");
            }
        }
        unsettled
    }

    /// What stands on a backend that no Proxy owns.
    pub(crate) fn orphans(&self) -> Vec<String> {
        let objects: Vec<_> = self.0.server.state().proxies.values().cloned().collect();
        let uids: BTreeSet<_> = objects.iter().map(|object| &object.uid).collect();
        let names: BTreeSet<_> =
            objects.iter().map(|object| object.read().instance_name().to_string()).collect();
        let belongings = self.0.clouds.belongings();
        let orphans = belongings.filter(|(_, thing)| match owner(thing) {
            Some(uid) => !uids.contains(uid),
            None => !names.iter().any(|name| thing.name.starts_with(name.as_str())),
        });
        orphans.map(|(provider, thing)| format!("{} of {}", thing.name, PROVIDERS[provider])).collect()
    }

    /// Looks whether statuses tell the truth about what is up: at rest.
    pub(crate) fn checks_truth(&self) {
        let instances: Vec<_> = self.0.clouds.instances().collect();
        let objects: Vec<_> = self.0.server.state().proxies.values().cloned().collect();
        for object in objects {
            let status = object.read().status;
            let is_there = instances.iter().any(|(_, thing)| owner(thing) == Some(&object.uid));
            if status.holds(ConditionKind::Ready) && !is_there {
                let what = format!("{} says that it is Ready, and has no instance", object.key);
                self.violated(Invariant::TruthfulStatus, what);
            }
        }
    }
}

impl std::fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watchdog").field("violations", &self.violations()).finish_non_exhaustive()
    }
}
