//! The API server of a world: one store, with versions and a log of every change, from which each operator's watch is fed
//! as late as the plan says.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use futures::task::AtomicWaker;
use provider_api::{Secret, Uid};
use proxy_operator::{
    cluster::{ClusterError, Lease, ProviderHealth},
    resource::{Asks, Digest, Key, Proxy, ResourceVersion, SecretData, Spec, Status},
    step::Published,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// One stored Proxy. Spec and status are what was written, whoever wrote it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Object {
    pub(crate) key: Key,
    pub(crate) uid: String,
    pub(crate) version: u64,
    pub(crate) generation: i64,
    pub(crate) deleting: bool,
    pub(crate) held: bool,
    pub(crate) annotations: Arc<BTreeMap<String, String>>,
    pub(crate) spec: Arc<Value>,
    pub(crate) status: Value,
    /// It as an operator reads it, once somebody has.
    parsed: Parsed,
}

/// What was parsed of one version of an object: a copy that is to be edited begins without.
#[derive(Default)]
struct Parsed(OnceLock<Arc<Proxy>>);

impl Clone for Parsed {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Parsed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Parsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

impl Object {
    /// As an operator reads it.
    pub(crate) fn read(&self) -> Arc<Proxy> {
        Arc::clone(self.parsed.0.get_or_init(|| Arc::new(self.parse())))
    }

    /// The endpoint that its status names, whoever wrote it.
    fn endpoint(&self) -> Option<&str> {
        self.status.get("endpoint")?.as_str()
    }

    fn parse(&self) -> Proxy {
        Proxy {
            key: self.key.clone(),
            uid: Uid::parse(&self.uid).expect("the world's UIDs are well-formed"),
            version: ResourceVersion(self.version.to_string()),
            generation: self.generation,
            deleting: self.deleting,
            held: self.held,
            others: Vec::new(),
            asks: Asks::read(|key| self.annotations.get(key).map(String::as_str)),
            spec: Arc::new(Spec::read(&self.spec)),
            status: Status::read(Some(&self.status)),
        }
    }
}

/// One change, as the log keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) at: Duration,
    pub(crate) what: Changed,
}

/// What changed.
#[derive(Clone, Debug)]
pub(crate) enum Changed {
    Proxy(Arc<Object>),
    Gone(Key, String),
    Secret(Key),
    Lease(Lease),
}

/// What was written, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Writes of Proxies: status and finalizer.
    pub writes: u64,
    /// Reads of one Proxy.
    pub reads: u64,
    /// Lists of all.
    pub lists: u64,
    /// Writes of leases.
    pub leases: u64,
    /// Writes of Secrets.
    pub secrets: u64,
    /// Writes of ProviderHealth.
    pub health: u64,
    /// Events.
    pub events: u64,
}

/// The server. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    wakers: Mutex<Vec<Arc<AtomicWaker>>>,
}

#[derive(Default)]
pub(crate) struct State {
    version: u64,
    uids: u64,
    pub(crate) proxies: BTreeMap<Key, Arc<Object>>,
    pub(crate) secrets: BTreeMap<Key, String>,
    /// Secrets that operators have published, with the UID of the Proxy that each is of.
    pub(crate) published: BTreeMap<Key, (String, SecretData)>,
    pub(crate) lease: Option<Lease>,
    pub(crate) health: BTreeMap<String, ProviderHealth>,
    pub(crate) log: Vec<Entry>,
    pub(crate) counts: Counts,
    /// When a Proxy was written last, by an operator.
    pub(crate) last_write: Duration,
    /// The Proxies whose status names an endpoint.
    endpoints: BTreeMap<String, BTreeSet<Key>>,
    /// The numbers of the UIDs that were given, and who has them now.
    by_uid: BTreeMap<String, Key>,
}

impl Server {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is woken whenever something changes.
    pub(crate) fn listener(&self) -> Arc<AtomicWaker> {
        let waker = Arc::new(AtomicWaker::new());
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        // Those of watches that are gone.
        wakers.retain(|waker| Arc::strong_count(waker) > 1);
        wakers.push(Arc::clone(&waker));
        waker
    }

    fn wake(&self) {
        for waker in &*self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake();
        }
    }

    /// Changes the store, and tells those who watch.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.wake();
        result
    }
}

/// A status as two worlds of one plan have it alike. The digest of a provider's config has in it where the token file is, and
/// that is another folder each time.
fn told(status: &Value) -> Cow<'_, Value> {
    if status.get("inputDigest").is_none() {
        return Cow::Borrowed(status);
    }
    let mut status = status.clone();
    drop(status.as_object_mut().and_then(|status| status.remove("inputDigest")));
    Cow::Owned(status)
}

impl State {
    /// Makes a Proxy; nothing where one of that name stands.
    pub(crate) fn create(&mut self, key: &Key, spec: Value, at: Duration) {
        if self.proxies.contains_key(key) {
            return;
        }
        self.uids += 1;
        let object = Object {
            key: key.clone(),
            uid: format!("uid-{}", self.uids),
            version: 0,
            generation: 1,
            deleting: false,
            held: false,
            annotations: Arc::default(),
            spec: Arc::new(spec),
            status: Value::Null,
            parsed: Parsed::default(),
        };
        self.store(object, at);
    }

    /// Changes a Proxy by hand, past every version.
    pub(crate) fn edit(&mut self, key: &Key, at: Duration, edit: impl FnOnce(&mut Object)) {
        let Some(object) = self.proxies.get(key) else { return };
        let mut object = Object::clone(object);
        let spec = Arc::clone(&object.spec);
        edit(&mut object);
        if !Arc::ptr_eq(&object.spec, &spec) && object.spec != spec {
            object.generation += 1;
        }
        self.store(object, at);
    }

    /// Asks for the deletion of a Proxy.
    pub(crate) fn delete(&mut self, key: &Key, at: Duration) {
        self.edit(key, at, |object| object.deleting = true);
    }

    /// Removes a Secret.
    pub(crate) fn unmake(&mut self, key: &Key, at: Duration) {
        if self.secrets.remove(key).is_some() {
            self.version += 1;
            self.log.push(Entry { at, what: Changed::Secret(key.clone()) });
        }
    }

    /// Changes a Secret.
    pub(crate) fn rotate(&mut self, key: &Key, text: String, at: Duration) {
        self.secrets.insert(key.clone(), text);
        self.version += 1;
        self.log.push(Entry { at, what: Changed::Secret(key.clone()) });
    }

    /// An operator's write over the version that it read.
    pub(crate) fn write(
        &mut self,
        proxy: &Proxy,
        at: Duration,
        write: impl FnOnce(&mut Object),
    ) -> Result<Option<Proxy>, ClusterError> {
        let Some(object) = self.proxies.get(&proxy.key) else { return Err(ClusterError::NotFound) };
        if object.version.to_string() != proxy.version.0 || object.uid != proxy.uid.as_str() {
            return Err(ClusterError::Conflict);
        }
        let mut object = Object::clone(object);
        write(&mut object);
        self.counts.writes += 1;
        self.last_write = at;
        Ok(self.store(object, at).map(|object| Proxy::clone(&object.read())))
    }

    /// The Proxy of that UID.
    pub(crate) fn of_uid(&self, uid: &str) -> Option<&Arc<Object>> {
        self.proxies.get(self.by_uid.get(uid)?).filter(|object| object.uid == uid)
    }

    /// The UIDs of the Proxies whose status names that endpoint.
    pub(crate) fn at_endpoint(&self, endpoint: &str) -> impl Iterator<Item = &str> {
        let keys = self.endpoints.get(endpoint).into_iter().flatten();
        keys.filter_map(|key| self.proxies.get(key)).map(|object| object.uid.as_str())
    }

    pub(crate) fn write_lease(&mut self, lease: &Lease, at: Duration) -> Result<Lease, ClusterError> {
        if self.lease.as_ref().and_then(|lease| lease.version.as_ref()) != lease.version.as_ref() {
            return Err(ClusterError::Conflict);
        }
        self.counts.leases += 1;
        self.version += 1;
        let stored = Lease { version: Some(ResourceVersion(self.version.to_string())), ..lease.clone() };
        self.lease = Some(stored.clone());
        self.log.push(Entry { at, what: Changed::Lease(stored.clone()) });
        Ok(stored)
    }

    pub(crate) fn secret(&self, key: &Key) -> Option<SecretData> {
        let text = self.secrets.get(key)?;
        Some([("user-data".to_owned(), Secret::new(text.clone().into_bytes()))].into())
    }

    /// Publishes an endpoint, as an operator does.
    pub(crate) fn publish(
        &mut self,
        proxy: &Proxy,
        secret: &str,
        data: &SecretData,
        at: Duration,
    ) -> Published {
        let key = Key { name: secret.to_owned(), ..proxy.key.clone() };
        let now = (proxy.uid.as_str().to_owned(), data.clone());
        let before = self.published.get(&key);
        if self.secrets.contains_key(&key) || before.is_some_and(|(owner, _)| *owner != now.0) {
            return Published::Taken;
        }
        if before != Some(&now) {
            self.published.insert(key.clone(), now);
            self.secret_written(key, at);
        }
        Published::Done
    }

    /// Takes it away again.
    pub(crate) fn withdraw(&mut self, proxy: &Proxy, secret: &str, at: Duration) {
        let key = Key { name: secret.to_owned(), ..proxy.key.clone() };
        if self.published.get(&key).is_some_and(|(owner, _)| owner == proxy.uid.as_str()) {
            self.published.remove(&key);
            self.secret_written(key, at);
        }
    }

    fn secret_written(&mut self, key: Key, at: Duration) {
        self.counts.secrets += 1;
        self.last_write = at;
        self.version += 1;
        self.log.push(Entry { at, what: Changed::Secret(key) });
    }

    fn store(&mut self, mut object: Object, at: Duration) -> Option<Arc<Object>> {
        let before = self.proxies.get(&object.key);
        object.version = before.map_or(0, |before| before.version);
        if before.is_some_and(|before| **before == object) {
            return Some(Arc::clone(before.expect("it was just looked at")));
        }
        self.version += 1;
        object.version = self.version;
        let key = object.key.clone();
        let before = before.and_then(|before| before.endpoint()).map(str::to_owned);
        if before.as_deref() != object.endpoint() {
            if let Some(keys) = before.and_then(|before| self.endpoints.get_mut(&before)) {
                keys.remove(&key);
            }
            if let Some(endpoint) = object.endpoint() {
                self.endpoints.entry(endpoint.to_owned()).or_default().insert(key.clone());
            }
        }
        self.by_uid.insert(object.uid.clone(), key.clone());
        let object = Arc::new(object);
        if object.deleting && !object.held {
            self.proxies.remove(&key);
            // What it owns goes with it.
            self.published.retain(|_, (owner, _)| *owner != object.uid);
            if let Some(keys) = object.endpoint().and_then(|endpoint| self.endpoints.get_mut(endpoint)) {
                keys.remove(&key);
            }
            self.log.push(Entry { at, what: Changed::Gone(key, object.uid.clone()) });
            return None;
        }
        self.proxies.insert(key, Arc::clone(&object));
        self.log.push(Entry { at, what: Changed::Proxy(Arc::clone(&object)) });
        Some(object)
    }

    /// The Proxies as they stood after the first `entries` of the log.
    pub(crate) fn as_of(&self, entries: usize) -> BTreeMap<Key, Arc<Object>> {
        let mut proxies = BTreeMap::new();
        for entry in &self.log[..entries] {
            match &entry.what {
                Changed::Proxy(object) => drop(proxies.insert(object.key.clone(), Arc::clone(object))),
                Changed::Gone(key, _) => drop(proxies.remove(key)),
                Changed::Secret(_) | Changed::Lease(_) => {}
            }
        }
        proxies
    }

    /// When Proxies changed, up to a point in time.
    pub(crate) fn changes(&self, until: Duration) -> Vec<Duration> {
        let of_proxies = |entry: &&Entry| matches!(entry.what, Changed::Proxy(_) | Changed::Gone(..));
        self.log.iter().filter(of_proxies).map(|entry| entry.at).take_while(|at| *at <= until).collect()
    }

    /// Where the log tells of the lease last.
    pub(crate) fn last_lease(&self) -> Option<usize> {
        self.log.iter().rposition(|entry| matches!(entry.what, Changed::Lease(_)))
    }

    /// The digest of all that ever happened here.
    pub(crate) fn digest(&self) -> Digest {
        let mut digest = Sha256::new();
        // What an entry shares with the one before it is taken in once.
        let mut before: BTreeMap<&Key, &Object> = BTreeMap::new();
        for Entry { at, what } in &self.log {
            digest.update(at.as_nanos().to_be_bytes());
            match what {
                Changed::Proxy(object) => {
                    let Object { key, uid, version, generation, deleting, held, annotations, spec, .. } =
                        &**object;
                    let plain = format!("{key}\0{uid}\0{version}\0{generation}{deleting}{held}");
                    digest.update(plain.as_bytes());
                    let before = before.insert(key, object);
                    if before.is_none_or(|before| !Arc::ptr_eq(&before.annotations, annotations)) {
                        digest.update(format!("{annotations:?}").as_bytes());
                    }
                    if before.is_none_or(|before| !Arc::ptr_eq(&before.spec, spec)) {
                        digest.update(spec.to_string().as_bytes());
                    }
                    digest.update(told(&object.status).to_string().as_bytes());
                }
                Changed::Gone(key, uid) => digest.update(format!("{key}\0{uid}").as_bytes()),
                Changed::Secret(key) => digest.update(key.to_string().as_bytes()),
                Changed::Lease(Lease { holder, renewed, transitions, .. }) => {
                    digest.update(holder.as_bytes());
                    digest.update(renewed.as_unix().to_be_bytes());
                    digest.update(transitions.to_be_bytes());
                }
            }
        }
        Digest::of(&digest.finalize())
    }
}
