//! The invariants: what must hold in every world at every moment, and when it has come to rest.
// long: everything that may be held against an operator, on one state

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use provider_api::{CreateRequest, ProviderId, Secret, mark};
use proxy_operator::{
    election::Term,
    resource::{CloudInit, ConditionKind, Key, Phase, Proxy},
};

use crate::{
    api::{Object, Server},
    cloud::{Clouds, PROVIDERS, owner},
    mischief::Trace,
    plan::Fault,
    time::{SkewedClock, Time},
};

/// A property of every world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// A Proxy has at most one live instance at a time. Outside of it are what people have done to its status, and calls that
    /// landed when nobody waited for them: those are the collector's, and it has [`COLLECTED`] for them.
    OneInstance,
    /// No instance whose owner lives, wants it as it is, and has not been touched is ever deleted.
    NoNeedlessDelete,
    /// A Proxy is released only when nothing of it is left.
    NothingLeftAtRelease,
    /// Never do two operators start a call at once.
    OneLeader,
    /// With faults over, the world becomes what the specs ask for.
    Converges,
    /// At rest nothing is written but leases, and nothing is told.
    Quiet,
    /// The status says what is so: nothing turns Ready whose instance does not run, and at rest every part of it is true.
    TruthfulStatus,
    /// The time of a condition moves with its truth, and with nothing else.
    Transitions,
    /// There are never more calls and requests in a minute than a bound.
    BoundedCalls,
    /// At rest nothing stands on a backend that no Proxy owns.
    NoOrphans,
    /// Whatever stands in an object, the operator neither panics nor goes round in circles.
    NoPanic,
    /// One fault makes no more lives of instances than there are without it: of a sweep.
    AsManyLives,
    /// It does not matter how a Proxy came to be what it is, and a refused spec changes nothing: of pairs of plans.
    PathIndependence,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::OneInstance,
        Self::NoNeedlessDelete,
        Self::NothingLeftAtRelease,
        Self::OneLeader,
        Self::Converges,
        Self::Quiet,
        Self::TruthfulStatus,
        Self::Transitions,
        Self::BoundedCalls,
        Self::NoOrphans,
        Self::NoPanic,
        Self::AsManyLives,
        Self::PathIndependence,
    ];
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

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:.3} s: {}", self.invariant, self.at.as_secs_f64(), self.what)
    }
}

/// How many calls there may be in a minute for each Proxy, and for the world itself, and as many requests.
const CALLS_PER_PROXY: u64 = 90;
const CALLS_OF_ITS_OWN: u64 = 120;
const REQUESTS_OF_THEIR_OWN: u64 = 400;

/// Within this the collector has removed what landed late: its least age, a round, and what a round takes where much hangs.
pub const COLLECTED: Duration = Duration::from_secs(35 * 60);

/// Of fewer than these a provider's unhealthy Proxies are no sign that it is the operator that is ill.
const FEW: usize = 3;

/// It looks at everything. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Watchdog(Arc<Inner>);

struct Inner {
    server: Server,
    clouds: Clouds,
    time: Time,
    trace: Trace,
    faults: Arc<[Fault]>,
    state: Mutex<State>,
}

/// Tells the watchdog of what has landed late; clouds are made before it is.
#[derive(Clone, Default)]
pub(crate) struct Late(Arc<OnceLock<std::sync::Weak<Inner>>>);

impl Late {
    pub(crate) fn landed(&self, provider: u32) {
        if let Some(inner) = self.0.get().and_then(std::sync::Weak::upgrade) {
            Watchdog(inner).landed_late(provider as usize);
        }
    }
}

/// What people have done to a Proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Touch {
    /// Its status says less of what exists than is so.
    Wiped,
    /// Its instance, its finalizer or what its status says of them is theirs.
    Changed,
}

#[derive(Default)]
struct State {
    violations: Vec<Violation>,
    /// What each UID's instance was made from last, by provider.
    made_from: BTreeMap<(usize, String), Made>,
    /// Whose each id is.
    ids: BTreeMap<(usize, String), String>,
    /// Proxies that people have laid hands on.
    touched: BTreeMap<String, Touch>,
    /// When people last took out of a status what exists, by UID.
    wiped: BTreeMap<String, Duration>,
    /// Every life that was ever seen, by UID, and since when.
    lives: BTreeMap<String, BTreeMap<(usize, u64), Duration>>,
    /// What has landed late, and when.
    late: BTreeMap<(usize, u64), Duration>,
    /// The terms of all operators, with their clocks.
    terms: Vec<(u32, Term, Arc<SkewedClock>)>,
    leaders: Vec<(Duration, u32)>,
    /// When each Proxy turned Ready first.
    ready: BTreeMap<Key, Duration>,
    minute: u64,
    calls: u64,
    requests: u64,
}

struct Made {
    generation: i64,
    cloud_init: Vec<u8>,
}

impl Watchdog {
    pub(crate) fn new(
        server: Server,
        clouds: Clouds,
        time: Time,
        trace: Trace,
        faults: Arc<[Fault]>,
        late: &Late,
    ) -> Self {
        let inner = Arc::new(Inner { server, clouds, time, trace, faults, state: Mutex::default() });
        let first = late.0.set(Arc::downgrade(&inner));
        debug_assert!(first.is_ok(), "a world has one watchdog");
        Self(inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn violated(&self, invariant: Invariant, what: String) {
        let at = self.0.time.now();
        let mut state = self.state();
        if !state.violations.iter().any(|known| known.invariant == invariant) {
            self.0.trace.line(at, "watchdog", || format!("{invariant:?}: {what}"));
            state.violations.push(Violation { invariant, at, what });
        }
    }

    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.state().violations.clone()
    }

    /// Whether one of these is broken.
    pub(crate) fn has_broken(&self, which: &[Invariant]) -> bool {
        self.state().violations.iter().any(|seen| which.contains(&seen.invariant))
    }

    /// How many lives each UID's instances have had.
    pub(crate) fn lives(&self) -> BTreeMap<String, usize> {
        self.state().lives.iter().map(|(uid, lives)| (uid.clone(), lives.len())).collect()
    }

    /// Who has led, from when on.
    pub(crate) fn leaders(&self) -> Vec<(Duration, u32)> {
        self.state().leaders.clone()
    }

    /// When each Proxy turned Ready first.
    pub(crate) fn ready(&self) -> BTreeMap<Key, Duration> {
        self.state().ready.clone()
    }

    /// An operator leads by that term.
    pub(crate) fn leads(&self, operator: u32, term: Term, clock: Arc<SkewedClock>) {
        let now = self.0.time.now();
        let mut state = self.state();
        state.terms.retain(|(_, term, clock)| term.holds(&**clock));
        state.terms.push((operator, term, clock));
        state.leaders.push((now, operator));
    }

    /// People have laid hands on what belongs to this Proxy.
    pub(crate) fn touched(&self, key: &Key, touch: Touch) {
        let uid = self.0.server.state().proxies.get(key).map(|object| object.uid.clone());
        if let Some(uid) = uid {
            let now = self.0.time.now();
            let mut state = self.state();
            if touch == Touch::Wiped {
                state.wiped.insert(uid.clone(), now);
            }
            let known = state.touched.entry(uid).or_insert(touch);
            *known = touch.max(*known);
        }
    }

    /// A request to the API server is sent.
    pub(crate) fn starts_a_request(&self) {
        self.counts(|state| &mut state.requests, "requests", REQUESTS_OF_THEIR_OWN);
    }

    /// A call is started.
    pub(crate) fn starts_a_call(&self) {
        self.counts(|state| &mut state.calls, "calls", CALLS_OF_ITS_OWN);
        let state = self.state();
        if state.terms.len() < 2 {
            return;
        }
        let holding = state.terms.iter().filter(|(_, term, clock)| term.holds(&**clock));
        let leaders: BTreeSet<_> = holding.map(|(operator, _, _)| *operator).collect();
        drop(state);
        if leaders.len() > 1 {
            self.violated(Invariant::OneLeader, format!("operators {leaders:?} lead at once"));
        }
    }

    fn counts(&self, which: fn(&mut State) -> &mut u64, what: &str, of_its_own: u64) {
        let minute = self.0.time.now().as_secs() / 60;
        let proxies = self.0.server.state().proxies.len() as u64;
        let mut state = self.state();
        if state.minute != minute {
            (state.minute, state.calls, state.requests) = (minute, 0, 0);
        }
        let count = which(&mut state);
        *count += 1;
        let count = *count;
        drop(state);
        if count > of_its_own + CALLS_PER_PROXY * proxies {
            self.violated(
                Invariant::BoundedCalls,
                format!("{count} {what} within a minute, for {proxies} Proxies"),
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
        self.0.server.state().of_uid(uid).cloned()
    }

    /// An instance is about to be deleted.
    pub(crate) fn deletes(&self, provider: usize, id: &ProviderId) {
        let uid = self.state().ids.get(&(provider, id.to_string())).cloned();
        let Some(uid) = uid else { return };
        let Some(object) = self.object(&uid) else { return };
        let alive = {
            // What comes up by itself is seen when it is looked at.
            let _ = self.0.clouds.is_up(&uid);
            let seen = self.0.clouds.seen();
            seen.of(&uid).any(|((at, _), life)| *at == provider && !life.deleting && !life.stopped)
        };
        let state = self.state();
        let is_unchanged = state.made_from.get(&(provider, uid.clone())).is_some_and(|made| {
            made.generation == object.generation && Some(&made.cloud_init) == self.wanted(&object).as_ref()
        });
        let is_touched = state.touched.get(&uid) == Some(&Touch::Changed);
        drop(state);
        // A Proxy that nobody can reach is replaced, unless there are so many that it is the operator that is ill.
        let is_explained = self.has_been_blind() && self.up_of(provider) < FEW;
        if alive && is_unchanged && !is_touched && !object.deleting && !is_explained {
            let what = format!(
                "{id} of {} is deleted, whose owner {} wants it as it is",
                PROVIDERS[provider], object.key
            );
            self.violated(Invariant::NoNeedlessDelete, what);
        }
    }

    fn up_of(&self, provider: usize) -> usize {
        let mut all = 0;
        self.0.clouds.of(provider).each_instance(|it| all += usize::from(it.native_state == "running"));
        all
    }

    /// Whether an operator's probes have reached nobody of late.
    fn has_been_blind(&self) -> bool {
        let now = u64::try_from(self.0.time.now().as_millis()).unwrap_or(u64::MAX);
        self.0.faults.iter().any(
            |fault| matches!(fault, Fault::Blind { from, until, .. } if now >= *from && now < *until + 120_000),
        )
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

    /// A call has landed after its caller had gone.
    fn landed_late(&self, provider: usize) {
        let now = self.0.time.now();
        let mut state = self.state();
        let State { lives, late, .. } = &mut *state;
        self.0.clouds.of(provider).each_instance(|it| {
            let life = (provider, it.life);
            if !lives.values().any(|lives| lives.contains_key(&life)) {
                late.entry(life).or_insert(now);
            }
        });
        drop(state);
        self.looks();
    }

    /// Looks at the backends, if anything has changed there.
    pub(crate) fn looks(&self) {
        let mut seen = self.0.clouds.seen();
        let news = seen.news();
        if news.is_empty() {
            return;
        }
        let now = self.0.time.now();
        let mut doubles = Vec::new();
        let mut state = self.state();
        let State { lives, late, touched, .. } = &mut *state;
        for uid in news {
            let known = lives.entry(uid.clone()).or_default();
            for (life, _) in seen.of(&uid) {
                known.entry(*life).or_insert(now);
            }
            let is_the_collectors =
                |life: &(usize, u64)| late.get(life).is_some_and(|at| now < *at + COLLECTED);
            let alive = seen.of(&uid).filter(|(at, life)| !life.deleting && !is_the_collectors(at));
            let alive: Vec<_> =
                alive.map(|((at, life), _)| format!("life {life} of {}", PROVIDERS[*at])).collect();
            if alive.len() > 1 && !touched.contains_key(&uid) {
                doubles.push((uid, alive));
            }
        }
        drop((seen, state));
        for (uid, lives) in doubles {
            self.violated(Invariant::OneInstance, format!("{uid} has {}", lives.join(" and ")));
        }
    }

    /// An operator has written a status.
    pub(crate) fn written(&self, before: &Proxy, now: &Proxy) {
        for condition in &now.status.conditions {
            let Some(was) = before.status.condition(condition.kind) else { continue };
            let (same, moved) =
                (was.status == condition.status, was.last_transition_time != condition.last_transition_time);
            if same && moved {
                let what = format!(
                    "{:?} of {} stays {:?}, and its time moves from {} to {}",
                    condition.kind,
                    now.key,
                    condition.status,
                    was.last_transition_time,
                    condition.last_transition_time
                );
                self.violated(Invariant::Transitions, what);
            }
        }
        let turns_ready =
            now.status.holds(ConditionKind::Ready) && !before.status.holds(ConditionKind::Ready);
        if turns_ready {
            let at = self.0.time.now();
            self.state().ready.entry(now.key.clone()).or_insert(at);
        }
        if turns_ready && !self.0.clouds.is_up(now.uid.as_str()) && !self.is_touched(now.uid.as_str()) {
            // What ran when it was looked at may have gone since.
            let ever = self.state().lives.contains_key(now.uid.as_str());
            let has_one = self.0.clouds.seen().of(now.uid.as_str()).next().is_some();
            if has_one || !ever {
                let what = format!("{} turns Ready, and its instance does not run", now.key);
                self.violated(Invariant::TruthfulStatus, what);
            }
        }
    }

    fn is_touched(&self, uid: &str) -> bool {
        self.state().touched.contains_key(uid)
    }

    /// A Proxy was released, by an operator.
    pub(crate) fn released(&self, uid: &str) {
        let seen = self.0.clouds.seen();
        let state = self.state();
        let left = seen.of(uid).filter(|(life, _)| !state.late.contains_key(life));
        let left: Vec<_> = left.map(|((at, life), _)| format!("life {life} of {}", PROVIDERS[*at])).collect();
        let is_touched = state.touched.contains_key(uid);
        drop((seen, state));
        if !left.is_empty() && !is_touched {
            self.violated(
                Invariant::NothingLeftAtRelease,
                format!("{uid} was released, and left {}", left.join(" and ")),
            );
        }
    }

    /// What is still not as the specs ask for.
    pub(crate) fn unsettled(&self) -> Vec<String> {
        let mut unsettled = Vec::new();
        let mut instances: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
        for provider in 0..PROVIDERS.len() {
            self.0.clouds.of(provider).each_instance(|it| {
                if let Some(uid) = it.marks.get(mark::UID) {
                    instances.entry(uid.clone()).or_default().push((provider, it.native_state.to_owned()));
                }
            });
        }
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
            if self.wanted(object).is_none() || proxy.asks.paused {
                continue;
            }
            let own = instances.get(&object.uid).map(Vec::as_slice).unwrap_or_default();
            let [(at, native)] = own else {
                say(&format!("has {} instances", own.len()));
                continue;
            };
            if *at != provider {
                say("has an instance of another provider");
            }
            if native != "running" {
                say(&format!("has an instance that is {native}"));
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

    /// Whether a Proxy's instance is older than the last time that people took out of its status what exists. What that was
    /// made from nobody knows: it is taken up as what the spec asks for.
    fn is_of_unknown_make(&self, uid: &str) -> bool {
        let seen = self.0.clouds.seen();
        let state = self.state();
        let (Some(wiped), Some(lives)) = (state.wiped.get(uid), state.lives.get(uid)) else { return false };
        // What was under way at that time landed later.
        seen.of(uid).all(|(life, _)| lives.get(life).is_some_and(|since| *since <= *wiped + COLLECTED))
    }

    /// Looks whether instances are made from what is asked for, and statuses tell the truth about them: at rest.
    pub(crate) fn checks_truth(&self) {
        let things: Vec<_> = self.0.clouds.belongings().collect();
        let objects: Vec<_> = self.0.server.state().proxies.values().cloned().collect();
        for object in objects {
            let proxy = object.read();
            let status = &proxy.status;
            let lies =
                |what: String| self.violated(Invariant::TruthfulStatus, format!("{}: {what}", object.key));
            let own = things.iter().find(|(_, thing)| owner(thing) == Some(&object.uid));
            let Some((at, thing)) = own else {
                if status.holds(ConditionKind::Ready) || status.instance.is_some() {
                    lies(format!("it has no instance, and says {status:?}"));
                }
                continue;
            };
            match &status.instance {
                Some(record)
                    if record.provider.as_str() == PROVIDERS[*at] && is_id_of(&record.id, &proxy) => {}
                record => lies(format!("it has {} of {}, and says {record:?}", thing.name, PROVIDERS[*at])),
            }
            let runs = thing.native_state == "running";
            if status.holds(ConditionKind::Ready) != runs && !proxy.asks.paused {
                lies(format!("its instance is {}, and it says {:?}", thing.native_state, status.conditions));
            }
            if proxy.usable().is_none() || self.wanted(&object).is_none() || proxy.asks.paused {
                continue;
            }
            if status.observed_generation != Some(object.generation) {
                lies(format!(
                    "it speaks of generation {:?} of {}",
                    status.observed_generation, object.generation
                ));
            }
            if status.endpoint.as_ref().zip(status.address.as_ref()).is_none_or(|(endpoint, address)| {
                !endpoint.trim_start_matches('[').starts_with(address.as_str()) || address == "192.0.2.1"
            }) {
                lies(format!("it says {:?} and {:?}", status.address, status.endpoint));
            }
            let delivered = thing.delivered.cloud_init.clone();
            let made =
                || self.state().made_from.get(&(*at, object.uid.clone())).map(|it| it.cloud_init.clone());
            if delivered.or_else(made) != self.wanted(&object) && !self.is_of_unknown_make(&object.uid) {
                let what = format!("{}: its instance was made from something else", object.key);
                self.violated(Invariant::Converges, what);
            }
        }
    }
}

/// Whether an id names the instance of that Proxy.
fn is_id_of(id: &str, proxy: &Proxy) -> bool {
    let name = proxy.instance_name();
    id.split('/').any(|segment| segment == name.as_str())
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchdog").field("violations", &self.violations()).finish_non_exhaustive()
    }
}
