//! What tests put around the operator's parts: a clock moved by hand, a cluster that holds what it is given, and providers
//! that answer what they are told to.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context as Polling, Poll, Wake, Waker},
    time::Duration,
};

use async_trait::async_trait;
use futures::{future::BoxFuture, stream::BoxStream};
use provider_api::{
    Built, Checker, Clock, Context, CreateRequest, Deadline, Deleted, Error, GetError, Identity,
    InstallationId, Instance, LeftoverId, LeftoverListing, Leftovers, Listed, Listing, Live, Name, Profile,
    Provider, ProviderId, ProviderName, ProviderType, Registry, Spawner, TargetStatus, Timestamp, Uid, Wait,
};

use crate::{
    cluster::{Change, Cluster, ClusterError, Lease, ProviderHealth},
    resource::{Asks, Digest, InstanceRecord, Intent, Key, Proxy, ResourceVersion, SecretData, Spec, Status},
    step::{Note, Published},
};

/// Time that stands still until it is moved, and moves by itself when a driven future waits for it.
#[derive(Default)]
pub(crate) struct HandClock(Mutex<Hands>);

#[derive(Default)]
struct Hands {
    now: Duration,
    sleepers: Vec<(Duration, Waker)>,
}

/// The clock as others take it.
#[derive(Clone, Default)]
pub(crate) struct Hand(pub(crate) Arc<HandClock>);

impl Hand {
    pub(crate) fn set(&self, to: Duration) {
        let mut hands = self.0.0.lock().unwrap();
        hands.now = hands.now.max(to);
        let now = hands.now;
        let woken: Vec<_> = hands.sleepers.extract_if(.., |(until, _)| *until <= now).collect();
        drop(hands);
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn next(&self) -> Option<Duration> {
        self.0.0.lock().unwrap().sleepers.iter().map(|(until, _)| *until).min()
    }

    /// Polls a future, moving the clock to the next sleep whenever nothing else can go on.
    pub(crate) fn drive<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(value) = self.settle(future.as_mut()) {
                return value;
            }
            let next = self.next().expect("nothing sleeps, and nothing can go on");
            self.set(next);
        }
    }

    /// Polls a future for so long by the clock.
    pub(crate) fn drive_until<T>(&self, until: Duration, mut future: Pin<&mut dyn Future<Output = T>>) {
        loop {
            if self.settle(future.as_mut()).is_ready() {
                return;
            }
            match self.next().filter(|next| *next <= until) {
                Some(next) => self.set(next),
                None => return self.set(until),
            }
        }
    }

    /// Polls until nothing more is woken.
    pub(crate) fn settle<T>(&self, mut future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
        struct Flag(AtomicBool);
        impl Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&flag));
        while flag.0.swap(false, Ordering::SeqCst) {
            if let Poll::Ready(value) = future.as_mut().poll(&mut Polling::from_waker(&waker)) {
                return Poll::Ready(value);
            }
        }
        Poll::Pending
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        NOON.after(self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        self.0.0.lock().unwrap().now
    }

    fn sleep(&self, how_long: Duration, _: Wait) -> BoxFuture<'static, ()> {
        let clock = Arc::clone(&self.0);
        let until = self.monotonic() + how_long;
        Box::pin(std::future::poll_fn(move |cx| {
            let mut hands = clock.0.lock().unwrap();
            if hands.now >= until {
                return Poll::Ready(());
            }
            hands.sleepers.push((until, cx.waker().clone()));
            Poll::Pending
        }))
    }
}

/// When the hand clock begins.
pub(crate) static NOON: std::sync::LazyLock<Timestamp> =
    std::sync::LazyLock::new(|| Timestamp::from_unix(1_800_000_000));

/// Runs what it is given at once.
pub(crate) struct AtOnce;

impl Spawner for AtOnce {
    fn spawn(&self, _: BoxFuture<'static, ()>) {}

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}

/// A cluster that holds what a test puts into it, and writes down what it is asked.
#[derive(Default)]
pub(crate) struct FakeCluster(Mutex<Held>);

#[derive(Default)]
pub(crate) struct Held {
    pub(crate) proxies: Vec<Proxy>,
    /// What the next lists and reads fail with.
    pub(crate) doubts: Option<ClusterError>,
    /// What the next writes of health fail with.
    pub(crate) refuses_health: Option<ClusterError>,
    pub(crate) health: Vec<(String, ProviderHealth)>,
    pub(crate) kept: Vec<Vec<ProviderName>>,
    pub(crate) notes: Vec<(ProviderName, Note)>,
    pub(crate) lists: usize,
}

impl FakeCluster {
    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap()
    }
}

#[async_trait]
impl Cluster for FakeCluster {
    fn watch(&self) -> BoxStream<'static, Change> {
        Box::pin(futures::stream::pending())
    }

    async fn read(&self, key: &Key) -> Result<Option<Proxy>, ClusterError> {
        let held = self.held();
        match &held.doubts {
            Some(error) => Err(error.clone()),
            None => Ok(held.proxies.iter().find(|proxy| proxy.key == *key).cloned()),
        }
    }

    async fn list(&self) -> Result<Vec<Proxy>, ClusterError> {
        let mut held = self.held();
        held.lists += 1;
        held.doubts.clone().map_or_else(|| Ok(held.proxies.clone()), Err)
    }

    async fn write_status(&self, _: &Proxy, _: &Status) -> Result<Proxy, ClusterError> {
        unreachable!("health and collector write no Proxy")
    }

    async fn hold(&self, _: &Proxy, _: bool) -> Result<Option<Proxy>, ClusterError> {
        unreachable!("health and collector write no Proxy")
    }

    async fn secret(&self, _: &Key) -> Result<Option<SecretData>, ClusterError> {
        unreachable!("health and collector read no Secret")
    }

    async fn publish(&self, _: &Proxy, _: &str, _: &SecretData) -> Result<Published, ClusterError> {
        unreachable!("health and collector publish nothing")
    }

    async fn withdraw(&self, _: &Proxy, _: &str) -> Result<(), ClusterError> {
        unreachable!("health and collector publish nothing")
    }

    fn tell(&self, _: &Key, _: &Uid, _: &Note) {}

    fn watch_lease(&self) -> BoxStream<'static, Option<Lease>> {
        Box::pin(futures::stream::pending())
    }

    async fn write_lease(&self, _: &Lease) -> Result<Lease, ClusterError> {
        unreachable!("health and collector do not stand for election")
    }

    async fn write_health(&self, name: &str, health: &ProviderHealth) -> Result<(), ClusterError> {
        let mut held = self.held();
        if let Some(error) = held.refuses_health.take() {
            return Err(error);
        }
        held.health.push((name.to_owned(), health.clone()));
        Ok(())
    }

    async fn keep_health(&self, configured: &[ProviderName]) -> Result<(), ClusterError> {
        self.held().kept.push(configured.to_vec());
        Ok(())
    }

    fn tell_of_provider(&self, name: &ProviderName, note: &Note) {
        self.held().notes.push((name.clone(), note.clone()));
    }
}

/// What one provider answers.
#[derive(Default)]
pub(crate) struct Canned(Mutex<Answers>);

#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) listing: Option<Result<Listing, Error>>,
    pub(crate) leftovers: Option<Result<LeftoverListing, Error>>,
    pub(crate) deletes: Option<Result<Deleted, Error>>,
    /// What happens when a delete is asked for.
    pub(crate) on_delete: Option<Box<dyn FnMut() + Send>>,
    /// What happens when instances are listed.
    pub(crate) on_list: Option<Box<dyn FnMut() + Send>>,
    pub(crate) deleted: Vec<String>,
    /// What checks answer, one after the other and the last one for ever; `None` hangs.
    pub(crate) checks: VecDeque<Option<Vec<TargetStatus>>>,
    pub(crate) hangs: bool,
}

impl Canned {
    pub(crate) fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap()
    }

    pub(crate) fn lists(&self, items: Vec<Listed>) {
        self.answers().listing = Some(Ok(Listing { items, unreachable: Vec::new() }));
    }
}

struct Toy {
    profile: Profile,
    canned: Arc<Canned>,
}

#[async_trait]
impl Provider for Toy {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn create(&self, _: &CreateRequest) -> Result<ProviderId, Error> {
        unreachable!("neither health nor collector creates")
    }

    async fn get(&self, _: &ProviderId) -> Result<Instance, GetError> {
        unreachable!("neither health nor collector looks at one instance")
    }

    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        let mut answers = self.canned.answers();
        answers.deleted.push(id.to_string());
        answers.on_delete.iter_mut().for_each(|run| run());
        answers.deletes.clone().unwrap_or(Ok(Deleted::Gone))
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        if self.canned.answers().hangs {
            std::future::pending::<()>().await;
        }
        let mut answers = self.canned.answers();
        answers.on_list.iter_mut().for_each(|run| run());
        answers.listing.clone().unwrap_or_else(|| Ok(Listing::default()))
    }
}

#[async_trait]
impl Leftovers for Toy {
    async fn list(&self) -> Result<LeftoverListing, Error> {
        self.canned.answers().leftovers.clone().unwrap_or_else(|| Ok(LeftoverListing::default()))
    }

    async fn delete(&self, id: &LeftoverId) -> Result<(), Error> {
        self.canned.answers().deleted.push(id.to_string());
        Ok(())
    }
}

#[async_trait]
impl Checker for Toy {
    async fn check(&self, _: Deadline) -> Vec<TargetStatus> {
        let next = {
            let mut answers = self.canned.answers();
            match answers.checks.len() {
                0 => Some(Vec::new()),
                1 => answers.checks[0].clone(),
                _ => answers.checks.pop_front().flatten(),
            }
        };
        match next {
            Some(targets) => targets,
            None => std::future::pending().await,
        }
    }
}

/// Providers of the type `toy`, which has a checker and leftovers, and of the type `plain`, which has neither. They go by
/// the names that are given with a type each.
pub(crate) fn providers(entries: &[(&str, &str)]) -> (Arc<Live>, BTreeMap<String, Arc<Canned>>) {
    let canned: BTreeMap<String, Arc<Canned>> =
        entries.iter().map(|(name, _)| ((*name).to_owned(), Arc::default())).collect();
    let live = Live::default();
    reload(&live, &canned, entries);
    (Arc::new(live), canned)
}

/// Puts other entries in force; each has its answers in `canned`.
pub(crate) fn reload(live: &Live, canned: &BTreeMap<String, Arc<Canned>>, entries: &[(&str, &str)]) {
    let entry = |(name, kind): &(&str, &str)| format!("- {{name: {name}, type: {kind}}}\n");
    let list: String = entries.iter().map(entry).collect();
    let yaml = if list.is_empty() { "providers: []".to_owned() } else { format!("providers:\n{list}") };
    let surroundings = |name: &ProviderName| {
        let identity = Identity::new(InstallationId::parse("us").unwrap());
        Context::new(name.clone(), identity, Arc::new(Hand::default()), Arc::new(AtOnce))
    };
    live.reload(&registry(canned.clone()), &yaml, |_| {}, surroundings).unwrap();
}

/// The types `toy` and `plain`.
pub(crate) fn registry(canned: BTreeMap<String, Arc<Canned>>) -> Registry {
    let mut registry = Registry::default();
    for name in ["toy", "plain"] {
        let canned = canned.clone();
        let profile = || Profile::plain("toy");
        let build: provider_api::Build = Arc::new(move |shared, fields, _| {
            fields.optional::<std::path::PathBuf>("tokenFile");
            let canned = canned.get(shared.name.as_str()).cloned().unwrap_or_default();
            let toy = Arc::new(Toy { profile: Profile::plain(name), canned });
            let mut built = Built::new(Arc::clone(&toy) as _);
            if name == "toy" {
                built.checker = Some(Arc::clone(&toy) as _);
                built.leftovers = Some(toy);
            }
            Some(built)
        });
        registry.register(ProviderType { name, profile, build });
    }
    registry
}

pub(crate) fn provider(name: &str) -> ProviderName {
    ProviderName::parse(name).unwrap()
}

pub(crate) fn key(name: &str) -> Key {
    Key { namespace: "crawl".to_owned(), name: name.to_owned() }
}

/// A Proxy of provider `a` by that name, whose UID is `uid-` and the name, and that has nothing.
pub(crate) fn proxy(name: &str) -> Proxy {
    let spec = serde_json::json!({"provider": "a", "cloudInit": {"inline": "#cloud-config"}});
    Proxy {
        key: key(name),
        uid: uid(name),
        version: ResourceVersion("1".to_owned()),
        generation: 1,
        deleting: false,
        held: true,
        others: Vec::new(),
        asks: Asks::default(),
        spec: Arc::new(Spec::read(&spec)),
        status: Status::default(),
    }
}

/// The same with that instance recorded.
pub(crate) fn proxy_with(name: &str, at: &str, id: &str) -> Proxy {
    let mut proxy = proxy(name);
    proxy.status.instance = Some(InstanceRecord {
        provider: provider(at),
        id: id.to_owned(),
        spec_hash: Digest::of(b"spec"),
        created_at: *NOON,
    });
    proxy
}

/// An open intent at that provider.
pub(crate) fn intent(at: &str) -> Intent {
    Intent { provider: provider(at), spec_hash: Digest::of(b"spec"), since: *NOON }
}

pub(crate) fn uid(name: &str) -> Uid {
    Uid::parse(&format!("uid-{name}")).unwrap()
}

/// An instance of the Proxy of that name, made so long before noon; `None` for nobody knows when.
pub(crate) fn listed(name: &str, id: &str, age: Option<Duration>) -> Listed {
    let uid = uid(name);
    let created_at = age.map(|age| Timestamp::from_unix(NOON.as_unix() - age.as_secs() as i64));
    Listed { id: ProviderId::new(id), name: Name::from_uid(&uid), uid, created_at }
}

/// Counts what is written under the target `audit` while `work` runs.
pub(crate) fn audit_lines<T>(work: impl FnOnce() -> T) -> (T, usize) {
    struct Counts(Arc<AtomicUsize>);
    impl tracing::Subscriber for Counts {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            metadata.target() == "audit"
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }
    let count = Arc::new(AtomicUsize::new(0));
    let done = tracing::subscriber::with_default(Counts(Arc::clone(&count)), work);
    (done, count.load(Ordering::SeqCst))
}
