//! A real cluster for cases: each has a namespace of its own, named from its tag, in which the provider, over its own
//! transport, is a service account. Who that is, is `real_access.rs`; the hand of others, a kubelet's too, is
//! `real_hand.rs`; where the cluster is, `real_config.rs`.

use std::{
    collections::BTreeSet,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use kube::config::{KubeConfigOptions, Kubeconfig};
use provider_api::{CreateRequest, Credentials, Placement, ProviderType, Registry, Secret, Uid};
use providertest::harness::{Backend, Case, Hand, Harness, HarnessError, Setup, Shape, Thing, Unable};
use serde_json::{Value, json};

use super::{
    TARGET,
    admin::{Admin, Refused},
    asked, kubelet, pods,
    real_config::RealConfig,
};

/// What every namespace of ours carries, with the tag of its case.
const TAG: &str = "provider-conformance/tag";
/// How long the server may take for what it does by itself.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// A Pod that a case leaves under deletion without a kubelet is to be forced soon.
const FORCE_AFTER: &str = "2s";

/// Makes places on one real cluster.
pub(crate) struct RealClusters {
    config: RealConfig,
    /// An administrator's way in.
    admin: kube::Config,
    /// The kubeconfig's entry for the cluster, which the provider's kubeconfig has too.
    cluster: Value,
    version: String,
}

/// A place on the cluster, and what a case has done there.
pub(crate) struct RealCluster {
    pub(crate) admin: Admin,
    pub(crate) namespace: String,
    pub(crate) controllers: bool,
    pub(crate) cluster: Value,
    pub(crate) folder: PathBuf,
    pub(crate) played: Arc<Mutex<Played>>,
    /// Ends the kubelet.
    over: Arc<AtomicBool>,
}

/// What is played in a place.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// The size of listings' pages, for providers built from now on.
    pub(crate) page_size: Option<usize>,
    /// The UIDs of Pods that the kubelet leaves alone.
    pub(crate) held: BTreeSet<String>,
    /// The token that the provider has.
    pub(crate) token: String,
    /// How many tokens there have been; each is bound to a Secret of that number.
    pub(crate) tokens: u32,
    /// Something that takes connections and never answers, in the server's place.
    pub(crate) silent: Option<TcpListener>,
    /// What the observer saw last, for what can be asked of it without another look.
    seen: Vec<Value>,
    /// What the server refused the hand though it should not have.
    trouble: Option<String>,
}

impl RealClusters {
    /// Reads the file, and sees whether the cluster answers.
    pub(crate) fn open(path: &Path) -> Result<Self, HarnessError> {
        let bad = |error: &dyn std::fmt::Display| HarnessError(format!("{}: {error}", path.display()));
        let yaml = std::fs::read_to_string(path).map_err(|error| bad(&error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = RealConfig::parse(&yaml, folder).map_err(|error| bad(&error))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| bad(&error))?;
        runtime.block_on(Self::look(config)).map_err(|error| bad(&error))
    }

    async fn look(config: RealConfig) -> Result<Self, Box<dyn std::error::Error>> {
        // What follows the first line shows the file's own, which may be a secret.
        let unread = |error: &dyn std::fmt::Display| error.to_string().lines().next().map(str::to_owned);
        let kubeconfig =
            Kubeconfig::read_from(&config.kubeconfig).map_err(|error| unread(&error).unwrap_or_default())?;
        let options = KubeConfigOptions { context: config.context.clone(), ..KubeConfigOptions::default() };
        let context = config.context.clone().or_else(|| kubeconfig.current_context.clone());
        let named = kubeconfig.contexts.iter().find(|named| Some(&named.name) == context.as_ref());
        let named = named.and_then(|named| named.context.as_ref()).map(|context| &context.cluster);
        let cluster = kubeconfig.clusters.iter().find(|cluster| Some(&cluster.name) == named);
        let cluster = serde_json::to_value(cluster.and_then(|named| named.cluster.as_ref()))?;
        let mut admin = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        admin.connect_timeout = Some(Duration::from_secs(10));
        admin.read_timeout = Some(Duration::from_secs(30));
        let trial = Admin::new(admin.clone())?;
        let version = trial.get("/version").await?;
        // Who may make no namespace is to hear it once, and not from every rule.
        let namespace = json!({"metadata": {"name": "conformance-trial"}});
        trial.make("/api/v1/namespaces?dryRun=All", namespace).await?;
        let version = format!("kube-apiserver {}", version["gitVersion"].as_str().unwrap_or("unknown"));
        Ok(Self { config, admin, cluster, version })
    }
}

#[async_trait]
impl Harness for RealClusters {
    fn provider(&self) -> &'static str {
        provider_kubernetes::TYPE
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn setups(&self) -> Vec<Setup> {
        vec![Setup {
            name: "real",
            profile: provider_kubernetes::profile(),
            catalogue: provider_kubernetes::CATALOGUE,
            backend_version: self.version.clone(),
        }]
    }

    async fn open(&self, _: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
        let admin = Admin::new(self.admin.clone()).map_err(HarnessError)?;
        let namespace = format!("conformance-{}", case.tag);
        let labels = json!({TAG: case.tag, "pod-security.kubernetes.io/enforce": "privileged"});
        let object = json!({"metadata": {"name": namespace, "labels": labels}});
        if let Err(refused) = admin.make("/api/v1/namespaces", object).await {
            // An answer that was lost may have been a yes.
            if refused.status().is_none() {
                let _ = admin.delete(&format!("/api/v1/namespaces/{namespace}"), json!({})).await;
            }
            return Err(said(refused));
        }
        let played = Arc::default();
        let place = RealCluster {
            over: kubelet::start(self.admin.clone(), &namespace, &played),
            controllers: self.config.controllers,
            cluster: self.cluster.clone(),
            folder: case.folder.path()?.to_owned(),
            admin,
            namespace,
            played,
        };
        if let Err(refused) = place.let_in().await {
            // Nobody else cleans up after a case that did not begin; why it did not is the better news.
            let _ = place.remove().await;
            return Err(said(refused));
        }
        Ok(Box::new(place))
    }
}

fn said(refused: Refused) -> HarnessError {
    HarnessError(refused.to_string())
}

impl RealCluster {
    pub(crate) fn played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path of a kind of things in the namespace.
    pub(crate) fn of(&self, kind: &str) -> String {
        format!("/api/v1/namespaces/{}/{kind}", self.namespace)
    }

    pub(crate) fn pod_path(&self, name: &str) -> String {
        format!("{}/{name}", self.of("pods"))
    }

    /// Remembers what must end the case as an error: a power that is there and failed is no power that lacks.
    pub(crate) fn troubled(&self, refused: &Refused) {
        self.played().trouble.get_or_insert_with(|| refused.to_string());
    }

    /// Removes one Pod at once, whatever holds it.
    pub(crate) async fn uproot(&self, name: &str) -> Result<(), Refused> {
        let path = self.pod_path(name);
        match self.admin.lay(&path, json!({"metadata": {"finalizers": null}})).await {
            Err(refused) if !refused.is_absent() => return Err(refused),
            _ => {}
        }
        self.admin.delete(&path, json!({"gracePeriodSeconds": 0})).await
    }

    /// Removes the namespace with all that is in it.
    async fn remove(&self) -> Result<(), HarnessError> {
        self.over.store(true, Ordering::Relaxed);
        for pod in self.admin.list(&self.of("pods")).await.map_err(said)? {
            self.uproot(pod["metadata"]["name"].as_str().unwrap_or_default()).await.map_err(said)?;
        }
        let path = format!("/api/v1/namespaces/{}", self.namespace);
        if !self.controllers {
            // Nobody else empties a namespace here.
            for kind in ["resourcequotas", "serviceaccounts", "secrets"] {
                self.admin.delete(&self.of(kind), json!({})).await.map_err(said)?;
            }
            for kind in ["rolebindings", "roles"] {
                self.admin.delete(&self.rbac(kind), json!({})).await.map_err(said)?;
            }
        }
        self.admin.delete(&path, json!({})).await.map_err(said)?;
        if !self.controllers {
            let end = json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": self.namespace}, "spec": {"finalizers": []}
            });
            self.admin.put(&format!("{path}/finalize"), end).await.map_err(said)?;
        }
        match self.admin.goes(&path, PATIENCE).await.map_err(said)? {
            true => Ok(()),
            false => Err(HarnessError(format!("the namespace {} does not go", self.namespace))),
        }
    }
}

#[async_trait]
impl Backend for RealCluster {
    fn provider_type(&self) -> ProviderType {
        // As a program has it: its own transport, with credentials from files.
        let mut registry = Registry::default();
        provider_kubernetes::register(&mut registry);
        registry.types()[0].clone()
    }

    fn block(&self, shape: &[Shape]) -> Result<Value, Unable> {
        let mut block = asked::block(&self.kubeconfig(), self.played().page_size, shape)?;
        block["namespaces"] = json!([self.namespace]);
        block["forceDeleteAfter"] = json!(FORCE_AFTER);
        block["nodeSelector"] = nowhere();
        Ok(block)
    }

    async fn everything(&self) -> Result<Vec<Thing>, HarnessError> {
        let found = self.admin.list(&self.of("pods")).await.map_err(said)?;
        let things = found.iter().map(pods::thing).collect();
        self.played().seen = found;
        Ok(things)
    }

    fn admits(&self, instance: &Thing, credentials: &Credentials) -> Option<bool> {
        let played = self.played();
        let pod = played.seen.iter().find(|pod| pod["metadata"]["uid"] == instance.key.as_str())?;
        pods::admits(pod, credentials)
    }

    fn request(&self, uid: &Uid) -> CreateRequest {
        asked::request(&self.namespace, uid)
    }

    fn placements(&self) -> Vec<Placement> {
        asked::placements()
    }

    fn targets(&self) -> Vec<String> {
        vec![TARGET.into()]
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![Secret::new(self.played().token.clone())]
    }

    fn unsatisfiable(&self) -> Vec<(Placement, &'static str)> {
        asked::unsatisfiable()
    }

    async fn clean(&self) -> Result<(), HarnessError> {
        self.remove().await?;
        match self.played().trouble.take() {
            Some(trouble) => Err(HarnessError(format!("the API server refused the harness: {trouble}"))),
            None => Ok(()),
        }
    }

    fn hand(&self) -> &dyn Hand {
        self
    }
}

/// No node carries it: a scheduler, where there is one, leaves these Pods to the hand.
pub(crate) fn nowhere() -> Value {
    json!({"provider-conformance/node": "none"})
}

impl Drop for RealCluster {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
