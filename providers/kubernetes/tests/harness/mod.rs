//! Fresh clusters for cases: the fake API server behind the provider's own client, credentials in files. The hand of
//! others is `hand.rs`, the way of a request `bridge.rs`, what Pods look like `pods.rs`, what is asked of the provider
//! `asked.rs`. Real clusters are `real.rs`.

mod admin;
mod asked;
mod bridge;
mod hand;
mod kubelet;
mod pods;
mod real;
mod real_access;
mod real_config;
mod real_hand;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use fixture_kube_api::{Config, Release, Server, User};
use provider_api::{CreateRequest, Credentials, Placement, ProviderType, Secret, Uid};
use providertest::harness::{Backend, Case, Hand, Harness, HarnessError, Setup, Shape, Thing, Unable};
use serde_json::{Value, json};

/// Where the Proxies of the cases live.
pub(crate) const NAMESPACE: &str = "team-a";
/// What every request of the provider goes to.
pub(crate) const TARGET: &str = "apiserver";
/// The operator, as the cluster knows it.
pub(crate) const USER: &str = "system:serviceaccount:proxy-operator:proxy-operator";

/// Makes clusters.
pub(crate) struct Clusters;

/// One cluster and what a case has done to it.
pub(crate) struct Cluster {
    pub(crate) server: Server,
    pub(crate) case: Case,
    pub(crate) folder: PathBuf,
    pub(crate) played: Arc<Mutex<Played>>,
}

/// How a cluster is made to behave.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// The size of listings' pages, for providers built from now on.
    pub(crate) page_size: Option<usize>,
    /// Whether refusals quote what was sent.
    pub(crate) quotes: bool,
    /// The Pod that is to vanish once a listing has shown it.
    pub(crate) vanishing: Option<String>,
    /// How often the token was replaced.
    pub(crate) rotations: u32,
}

#[async_trait]
impl Harness for Clusters {
    fn provider(&self) -> &'static str {
        provider_kubernetes::TYPE
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn setups(&self) -> Vec<Setup> {
        let setup = |name, version: &str| Setup {
            name,
            profile: provider_kubernetes::profile(),
            catalogue: provider_kubernetes::CATALOGUE,
            backend_version: version.to_owned(),
        };
        vec![setup("current", "fake kube-apiserver, current"), setup("1.20", "fake kube-apiserver 1.20")]
    }

    fn real(&self, config: &Path) -> Result<Arc<dyn Harness>, HarnessError> {
        Ok(Arc::new(real::RealClusters::open(config)?))
    }

    async fn open(&self, setup: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
        let clock = Arc::clone(&case.clock);
        let server = Server::new(Config {
            clock: Arc::new(move || clock.now().into()),
            release: if setup.name == "1.20" { Release::V1_20 } else { Release::Current },
            seed: case.seed,
            ..Config::default()
        });
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        server.create("namespaces", "", namespace).map_err(|e| HarnessError(format!("{e:?}")))?;
        let cluster = Cluster {
            server,
            case: case.clone(),
            folder: case.folder.path()?.to_owned(),
            played: Arc::default(),
        };
        cluster.server.set_interceptor(Some(Arc::new(bridge::Bridge::new(&cluster))));
        cluster.write_credentials().map_err(|error| HarnessError(error.to_string()))?;
        Ok(Box::new(cluster))
    }
}

impl Cluster {
    pub(crate) fn played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn token(&self) -> String {
        format!("token-of-{}-{}", self.case.tag, self.played().rotations)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// Writes the kubeconfig and the token, and makes that token the only one that counts.
    pub(crate) fn write_credentials(&self) -> std::io::Result<()> {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": "http://fake"}}],
            "users": [{"name": "operator", "user": {"tokenFile": "token"}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "operator"}}]
        });
        std::fs::write(self.kubeconfig(), kubeconfig.to_string())?;
        std::fs::write(self.folder.join("token"), self.token())?;
        self.server.access(|access| access.add_token(&self.token(), User::named(USER)));
        Ok(())
    }
}

#[async_trait]
impl Backend for Cluster {
    fn provider_type(&self) -> ProviderType {
        let server = self.server.clone();
        // The credentials are the config's; only the way there is short.
        provider_kubernetes::through(Arc::new(move |config| {
            provider_kubernetes::Transport::new(server.service()).of_config(config)
        }))
    }

    fn block(&self, shape: &[Shape]) -> Result<Value, Unable> {
        asked::block(&self.kubeconfig(), self.played().page_size, shape)
    }

    async fn everything(&self) -> Result<Vec<Thing>, HarnessError> {
        Ok(self.server.all_of("pods").iter().map(|pod| pods::thing(pod)).collect())
    }

    fn admits(&self, instance: &Thing, credentials: &Credentials) -> Option<bool> {
        let pod = self.server.object("pods", NAMESPACE, &instance.name)?;
        pods::admits(&pod, credentials)
    }

    fn request(&self, uid: &Uid) -> CreateRequest {
        asked::request(NAMESPACE, uid)
    }

    fn placements(&self) -> Vec<Placement> {
        asked::placements()
    }

    fn targets(&self) -> Vec<String> {
        vec![TARGET.into()]
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![Secret::new(self.token())]
    }

    fn unsatisfiable(&self) -> Vec<(Placement, &'static str)> {
        asked::unsatisfiable()
    }

    fn hand(&self) -> &dyn Hand {
        self
    }
}
