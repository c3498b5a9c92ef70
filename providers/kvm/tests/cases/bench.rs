//! What the provider's own cases need: hosts with a fake daemon on a real socket, a server of images, and a provider that
//! reaches them as in production, in real time and on threads.

use std::{
    net::IpAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use fixture_libvirt::{Config, Guest, Host, VolumeView};
use futures::future::BoxFuture;
use provider_api::{
    Built, Clock, ConfigReport, Context, CreateRequest, Deadline, Error, Identity, InstallationId, Instance,
    Owner, Placement, Provider, ProviderId, ProviderName, Registry, Secret, State, SystemClock, Timestamp,
    TokioSpawner, Uid, Wait,
};
use provider_kvm::Ways;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{daemon::Daemon, images::Images};

/// The memory of an instance.
pub(crate) const MEMORY_MIB: u64 = 512;
/// The pool of every host.
pub(crate) const POOL: &str = "default";

/// The hosts, and what is told of them in the entry.
pub(crate) struct Bench {
    pub(crate) daemons: Vec<Daemon>,
    pub(crate) images: Images,
    /// The entry, which a case changes before it makes a provider.
    pub(crate) entry: Value,
    pub(crate) folder: TempDir,
    clock: Arc<SystemClock>,
    /// How many seconds the hosts' clocks are behind.
    behind: Arc<AtomicU64>,
}

/// The clock of a host: right, or behind.
struct Behind {
    right: Arc<SystemClock>,
    seconds: Arc<AtomicU64>,
}

impl Clock for Behind {
    fn now(&self) -> Timestamp {
        let behind = i64::try_from(self.seconds.load(Ordering::Relaxed)).unwrap();
        Timestamp::from_unix(self.right.now().as_unix() - behind)
    }

    fn monotonic(&self) -> Duration {
        self.right.monotonic()
    }

    fn sleep(&self, how_long: Duration, why: Wait) -> BoxFuture<'static, ()> {
        self.right.sleep(how_long, why)
    }
}

impl Bench {
    /// One host, `rack-1`.
    pub(crate) async fn new() -> Self {
        Self::of(&["rack-1"], |_| ()).await
    }

    /// These hosts, started so.
    pub(crate) async fn of(names: &[&str], change: impl Fn(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (clock, behind) = (Arc::<SystemClock>::default(), Arc::<AtomicU64>::default());
        let mut daemons = Vec::new();
        for name in names {
            let of_host = Behind { right: Arc::clone(&clock), seconds: Arc::clone(&behind) };
            let mut config = Config::new(*name, Arc::new(of_host));
            config.guest =
                Guest { address_after: Duration::ZERO, agent_after: Duration::ZERO, ..config.guest };
            change(&mut config);
            daemons.push(Daemon::start(Host::new(config), folder.path().join(name)).await);
        }
        let images = Images::start(folder.path().join("images")).await;
        let hosts: Vec<_> = daemons
            .iter()
            .map(|daemon| json!({"name": daemon.host.name(), "socket": daemon.socket, "network": "default"}))
            .collect();
        let entry = json!({
            "name": "racks",
            "type": "kvm",
            "budgets": {"call": "20s", "connect": "10s"},
            "kvm": {
                "images": {
                    "squid": {"url": "http://images.example/squid.qcow2", "sha256": images.sha256()},
                    "other": {"url": "http://images.example/other.qcow2"},
                },
                "machineTypes": {"small": {"vcpus": 1, "memoryMiB": MEMORY_MIB}},
                "hosts": hosts,
            },
        });
        Self { daemons, images, entry, folder, clock, behind }
    }

    /// The first host.
    pub(crate) fn host(&self) -> &Host {
        &self.daemons[0].host
    }

    /// The type's own block of the entry.
    pub(crate) fn block(&mut self) -> &mut Value {
        &mut self.entry["kvm"]
    }

    /// What the entry makes.
    pub(crate) fn built(&self) -> Built {
        self.load().unwrap_or_else(|report| panic!("{report}"))
    }

    pub(crate) fn load(&self) -> Result<Built, ConfigReport> {
        let ways = Ways { dial: None, images: Some(self.images.socket.clone()) };
        load(ways, &self.clock, &json!({"providers": [self.entry]}).to_string())
    }

    pub(crate) fn provider(&self) -> Arc<dyn Provider> {
        self.built().provider
    }

    /// Creates one, and lets it get its address.
    pub(crate) async fn running(&self, provider: &dyn Provider, uid: &str) -> (CreateRequest, ProviderId) {
        let request = request(uid);
        let id = provider.create(&request).await.unwrap();
        self.host().boot(request.name.as_str()).unwrap();
        (request, id)
    }

    /// The volumes of the first host that belong to no image.
    pub(crate) fn parts(&self) -> Vec<String> {
        let volumes = self.host().volumes().into_iter().map(|volume| volume.name);
        let mut parts: Vec<_> = volumes.filter(|name| !name.starts_with("proxy-image-")).collect();
        parts.sort();
        parts
    }

    /// The volume of that name.
    pub(crate) fn volume(&self, is_it: impl Fn(&str) -> bool) -> VolumeView {
        self.host().volumes().into_iter().find(|volume| is_it(&volume.name)).expect("there is such a volume")
    }

    /// The moment that many seconds from now.
    pub(crate) fn in_seconds(&self, seconds: u64) -> Deadline {
        Deadline::within(&*self.clock, Duration::from_secs(seconds))
    }

    /// Sets the hosts' clocks that many seconds behind.
    pub(crate) fn set_behind(&self, seconds: u64) {
        self.behind.store(seconds, Ordering::Relaxed);
    }

    /// Somewhere to put a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Makes what a file names.
pub(crate) fn load(ways: Ways, clock: &Arc<SystemClock>, yaml: &str) -> Result<Built, ConfigReport> {
    let mut registry = Registry::default();
    registry.register(provider_kvm::provider_type(ways));
    let surroundings = |name: &ProviderName| {
        let identity = Identity::new(InstallationId::parse("installation-1").unwrap());
        Context::new(name.clone(), identity, Arc::clone(clock) as _, Arc::new(TokioSpawner))
    };
    let providers = registry.load(yaml, |_| {}, surroundings)?;
    let (_, entry) = providers.iter().next().expect("the file names a provider");
    Ok(entry.built.clone())
}

/// A request that the first host can satisfy.
pub(crate) fn request(uid: &str) -> CreateRequest {
    let owner = Owner {
        namespace: "team-a".to_owned(),
        name: format!("proxy-{uid}"),
        api_version: "crawl.example.com/v1alpha1".to_owned(),
        kind: "Proxy".to_owned(),
    };
    let cloud_init = format!("#cloud-config\nfinal_message: for {uid}\n");
    let mut request = CreateRequest::new(Uid::parse(uid).unwrap(), owner, Secret::new(cloud_init));
    request.placement = Placement {
        region: None,
        zone: Some("rack-1".to_owned()),
        machine_type: Some("small".to_owned()),
        image: Some("squid".to_owned()),
    };
    request
}

/// The address of one that runs.
pub(crate) fn address(state: &State) -> Option<IpAddr> {
    match state {
        State::Running { address } => Some(*address),
        _ => None,
    }
}

/// How an instance is, which is there.
pub(crate) async fn shown(provider: &dyn Provider, id: &ProviderId) -> Instance {
    provider.get(id).await.unwrap()
}

/// The error of an operation that must fail, and soon.
pub(crate) async fn fails<T: std::fmt::Debug>(
    within: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Error {
    let began = Instant::now();
    let error = work.await.unwrap_err();
    assert!(began.elapsed() < within, "it took {:?}: {error}", began.elapsed());
    error
}

/// Waits, for a while, until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what} has not come about");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
