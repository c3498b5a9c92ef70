//! An operator as a program puts it together, with a provider that costs nothing.

use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::FutureExt;
use kube::Client;
use provider_api::{
    Built, Context, CreateRequest, Deleted, Error, GetError, Identity, InstallationId, Instance, Listing,
    Live, Name, Profile, Provider, ProviderId, ProviderName, ProviderType, Registry, State, SystemClock,
    TokioSpawner, Uid,
};
use proxy_operator::{
    apiserver::{ApiServer, Parts, Settings},
    cluster::Cluster,
    collector,
    election::{self, Term, Terms},
    health::{provider, proxy},
    resource::Key,
    shell::Brakes,
    step,
    work::Operator,
};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::place::NAMESPACE;

/// The name of the provider, and of its type.
pub(crate) const PROVIDER: &str = "thin";
/// What lies between looks at what runs.
pub(crate) const RUNNING_POLL: Duration = Duration::from_secs(3);

/// A provider with no state but what an id tells, and which of them were deleted. An instance is up at once.
#[derive(Clone)]
pub(crate) struct Thin(Arc<Inner>);

struct Inner {
    profile: Profile,
    deleted: Mutex<HashSet<String>>,
    gets: AtomicUsize,
}

impl Thin {
    pub(crate) fn new() -> Self {
        let profile = Profile::plain(PROVIDER);
        Self(Arc::new(Inner { profile, deleted: Mutex::default(), gets: AtomicUsize::new(0) }))
    }

    /// How often it was looked at instances.
    pub(crate) fn gets(&self) -> usize {
        self.0.gets.load(Ordering::Relaxed)
    }

    fn live(&self, probes: Probes) -> Arc<Live> {
        let mut registry = Registry::default();
        let thin = self.clone();
        registry.register(ProviderType {
            name: PROVIDER,
            profile: || Profile::plain(PROVIDER),
            build: Arc::new(move |_, _, _| Some(Built::new(Arc::new(thin.clone())))),
        });
        let probe = if probes == Probes::Pass { "on" } else { "off" };
        let config =
            json!({"providers": [{"name": PROVIDER, "type": PROVIDER, "probe": probe, PROVIDER: {}}]})
                .to_string();
        let surroundings = |name: &ProviderName| {
            let identity = Identity::new(InstallationId::parse("bench").unwrap());
            Context::new(name.clone(), identity, Arc::new(SystemClock::default()), Arc::new(TokioSpawner))
        };
        Arc::new(Live::new(registry.load(&config, |_| {}, surroundings).unwrap()))
    }
}

#[async_trait]
impl Provider for Thin {
    fn profile(&self) -> &Profile {
        &self.0.profile
    }

    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        Ok(ProviderId::new(request.uid.as_str()))
    }

    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        self.0.gets.fetch_add(1, Ordering::Relaxed);
        if self.0.deleted.lock().unwrap().contains(id.as_str()) {
            return Err(GetError::NotFound);
        }
        let uid = Uid::parse(id.as_str()).unwrap();
        Ok(Instance {
            id: id.clone(),
            name: Name::from_uid(&uid),
            uid,
            created_at: None,
            state: State::Running { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)) },
            decommissioned: false,
        })
    }

    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        self.0.deleted.lock().unwrap().insert(id.as_str().to_owned());
        Ok(Deleted::Gone)
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        Ok(Listing::default())
    }
}

/// Whether proxies are probed; where they are, each probe passes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probes {
    Off,
    Pass,
}

struct Passes;

#[async_trait]
impl proxy::Prober for Passes {
    async fn probe(&self, _: &str) -> Result<(), proxy::Fault> {
        Ok(())
    }
}

/// An operator that stands for election, works while it leads, and sends its events, until this is dropped.
pub(crate) struct Running(JoinHandle<()>);

impl Running {
    pub(crate) fn start(client: Client, thin: &Thin, probes: Probes) -> Self {
        let (server, operator) = put_together(client, thin, probes);
        let cluster = Arc::clone(&operator.cluster);
        Self(tokio::spawn(async move {
            let elected = election::elect(
                cluster,
                Arc::new(SystemClock::default()),
                "bench-1".to_owned(),
                Terms::default(),
                move |term| operator.clone().work(term).boxed(),
                std::future::pending(),
            );
            tokio::join!(elected, server.send_events());
        }))
    }

    /// One that is alone, and works from the start.
    pub(crate) fn alone(client: Client, thin: &Thin, probes: Probes) -> Self {
        let (server, operator) = put_together(client, thin, probes);
        Self(tokio::spawn(async move {
            tokio::join!(operator.work(Term::unlimited()), server.send_events());
        }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn put_together(client: Client, thin: &Thin, probes: Probes) -> (Arc<ApiServer>, Operator) {
    let server = Arc::new(ApiServer::new(Parts {
        client,
        clock: Arc::new(SystemClock::default()),
        lease: Key { namespace: NAMESPACE.to_owned(), name: "proxy-operator".to_owned() },
        instance: "bench-1".to_owned(),
        settings: Settings::default(),
        seed: 7,
    }));
    let operator = Operator {
        cluster: Arc::clone(&server) as Arc<dyn Cluster>,
        providers: thin.live(probes),
        clock: Arc::new(SystemClock::default()),
        spawner: Arc::new(TokioSpawner),
        prober: Arc::new(Passes),
        reconcile: step::Settings { running_poll: RUNNING_POLL, ..step::Settings::default() },
        brakes: Brakes::default(),
        collector: collector::Settings::default(),
        provider_health: provider::Settings::default(),
        probe: proxy::Settings::default(),
        inputs_every: Duration::from_secs(10),
        default_sources: vec!["10.0.0.0/8".parse().unwrap()],
        step: step::step,
        seed: 1,
    };
    (server, operator)
}
