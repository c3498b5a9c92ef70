//! One test's part of the one-node cluster: a namespace of its own, the provider over the real API server, and an
//! administrator's client beside it. What the proxies are asked is `traffic.rs`.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::{Namespace, Node, Pod, ServiceAccount};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use provider_api::{
    Built, Context, CreateRequest, GetError, Identity, InstallationId, Instance, Mark, Name, Owner,
    ProviderId, ProviderName, Registry, Secret, State, SystemClock, TokioSpawner, Uid,
};
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How long anything that is waited for may take.
const PATIENCE: Duration = Duration::from_secs(100);
const STEP: Duration = Duration::from_millis(300);

/// Whoever takes the node away from everybody is alone.
static NODE: RwLock<()> = RwLock::const_new(());

enum Share {
    Among(#[expect(dead_code, reason = "held, not read")] RwLockReadGuard<'static, ()>),
    Alone(#[expect(dead_code, reason = "held, not read")] RwLockWriteGuard<'static, ()>),
}

/// One test's part of the cluster.
pub(crate) struct Stage {
    pub(crate) namespace: String,
    pub(crate) client: Client,
    pub(crate) built: Built,
    installation: InstallationId,
    kubeconfig: PathBuf,
    _node: Share,
}

/// What xtask offers. A test that is asked for and has no cluster fails.
pub(crate) fn offered(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set; `cargo xtask e2e kube-node` runs this test"))
}

impl Stage {
    /// A namespace in which Pods can be made, and the provider with these fields in its block.
    pub(crate) async fn set(namespace: &str, fields: Value) -> Self {
        Self::share(Share::Among(NODE.read().await), namespace, fields).await
    }

    /// The same for a test that needs the node for itself: it waits for all others, and they for it.
    pub(crate) async fn alone(namespace: &str, fields: Value) -> Self {
        Self::share(Share::Alone(NODE.write().await), namespace, fields).await
    }

    async fn share(node: Share, namespace: &str, fields: Value) -> Self {
        let kubeconfig = PathBuf::from(offered("KUBERNETES_TEST_KUBECONFIG"));
        let read = Kubeconfig::read_from(&kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let made: Namespace = read_json(json!({"metadata": {"name": namespace}}));
        Api::all(client.clone()).create(&PostParams::default(), &made).await.unwrap();
        let installation = InstallationId::parse(&format!("installation-{namespace}")).unwrap();
        let built = provider(&kubeconfig, &installation, fields);
        let stage =
            Self { namespace: namespace.into(), client, built, installation, kubeconfig, _node: node };
        // Admission refuses Pods until the controller has made it.
        let accounts: Api<ServiceAccount> = Api::namespaced(stage.client.clone(), namespace);
        let accounts = &accounts;
        until("a service account", || async move {
            let account = accounts.get_opt("default").await.unwrap()?;
            account.secrets.filter(|secrets| !secrets.is_empty())
        })
        .await;
        stage
    }

    /// Another provider over the same cluster: a second process, with other fields.
    pub(crate) fn another(&self, fields: Value) -> Built {
        provider(&self.kubeconfig, &self.installation, fields)
    }

    pub(crate) fn request(&self, uid: &str) -> CreateRequest {
        let owner = Owner {
            namespace: self.namespace.clone(),
            name: uid.into(),
            api_version: "crawl.example.com/v1alpha1".into(),
            kind: "Proxy".into(),
        };
        CreateRequest::new(Uid::parse(uid).unwrap(), owner, Secret::new("#cloud-config\n"))
    }

    /// Makes a Pod past the provider that carries our marks, with what its own Pods cannot be made to do.
    pub(crate) async fn plant(&self, uid: &str, spec: Value) -> ProviderId {
        let uid = Uid::parse(uid).unwrap();
        let name = Name::from_uid(&uid);
        let mark = Mark { uid, installation: self.installation.clone(), created_at: None };
        let labels: std::collections::BTreeMap<_, _> = mark.pairs().into_iter().collect();
        let pod: Pod =
            read_json(json!({"metadata": {"name": name.as_str(), "labels": labels}, "spec": spec}));
        self.pods().create(&PostParams::default(), &pod).await.unwrap();
        ProviderId::new(format!("{}/{name}", self.namespace))
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The names of the Pods that stand in the namespace.
    pub(crate) async fn left(&self) -> Vec<String> {
        let pods = self.pods().list(&ListParams::default()).await.unwrap();
        pods.items.into_iter().filter_map(|pod| pod.metadata.name).collect()
    }

    /// The instance, or `None` once it is gone.
    pub(crate) async fn get(&self, id: &ProviderId) -> Option<Instance> {
        get(&self.built, id).await
    }

    /// Waits until the instance is in a state that `wanted` knows.
    pub(crate) async fn until(&self, id: &ProviderId, what: &str, wanted: impl Fn(&State) -> bool) -> State {
        let wanted = &wanted;
        let seen = until(what, || async move {
            let state = self.get(id).await.map(|instance| instance.state);
            state.filter(|state| wanted(state))
        });
        seen.await
    }

    /// Waits until nothing of the instance is left.
    pub(crate) async fn until_gone(&self, id: &ProviderId) {
        until("that the instance is gone", || async move { self.get(id).await.is_none().then_some(()) })
            .await;
    }

    /// Frees the node at once.
    pub(crate) async fn clear(self) {
        let at_once = DeleteParams::default().grace_period(0);
        self.pods().delete_collection(&at_once, &ListParams::default()).await.unwrap();
    }

    /// The node as it is now.
    pub(crate) async fn node(&self) -> Node {
        Api::all(self.client.clone()).get(&offered("KUBERNETES_TEST_NODE")).await.unwrap()
    }

    /// The address of the node.
    pub(crate) async fn node_address(&self) -> std::net::IpAddr {
        let node = self.node().await;
        let addresses = node.status.and_then(|status| status.addresses).unwrap_or_default();
        let own = addresses.iter().find(|address| address.type_ == "InternalIP").unwrap();
        own.address.parse().unwrap()
    }
}

/// What `get` says: an answer or a proof of absence; any failure is the test's.
pub(crate) async fn get(built: &Built, id: &ProviderId) -> Option<Instance> {
    match built.provider.get(id).await {
        Ok(instance) => Some(instance),
        Err(GetError::NotFound) => None,
        Err(error) => panic!("get {id} failed: {error}"),
    }
}

/// Looks until there is something to see.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} did not come about within {PATIENCE:?}");
        tokio::time::sleep(STEP).await;
    }
}

/// The reason's code, empty where there is no reason.
pub(crate) fn code(state: &State) -> &str {
    state.reason().map_or("", |reason| &reason.code)
}

/// The processes of one Pod's Squid; a cgroup's path tells whose it is.
pub(crate) fn squids_of(pod_uid: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    // Processes come and go.
    let read =
        |folder: &std::path::Path, file| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    let squids = processes.filter(|process| {
        let folder = process.path();
        read(&folder, "comm").trim() == "squid" && read(&folder, "cgroup").contains(pod_uid)
    });
    squids.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// The image on the node, with Squid in it.
pub(crate) fn image() -> String {
    offered("KUBERNETES_TEST_IMAGE")
}

/// Reads an object as a manifest would give it.
fn read_json<T: serde::de::DeserializeOwned>(manifest: Value) -> T {
    serde_json::from_value(manifest).unwrap()
}

/// The provider as the operator would build it, from a config file.
fn provider(kubeconfig: &std::path::Path, installation: &InstallationId, fields: Value) -> Built {
    let mut block = json!({
        "kubeconfig": kubeconfig,
        "image": image(),
        "defaultAllowedSources": ["10.78.0.0/16"],
        "machineType": "small",
        "machineTypes": {
            "small": {"cpu": "50m", "memory": "96Mi"},
            "huge": {"cpu": "1000", "memory": "64Mi"}
        }
    });
    if let (Some(block), Value::Object(fields)) = (block.as_object_mut(), fields) {
        block.extend(fields);
    }
    let config = json!({"providers": [{"name": "node", "type": "kubernetes", "kubernetes": block}]});
    let mut registry = Registry::default();
    provider_kubernetes::register(&mut registry);
    let surroundings = |name: &ProviderName| {
        let identity = Identity::new(installation.clone());
        Context::new(name.clone(), identity, Arc::new(SystemClock::default()), Arc::new(TokioSpawner))
    };
    let providers = registry.load(&config.to_string(), |_| {}, surroundings).unwrap();
    let (_, entry) = providers.iter().next().unwrap();
    entry.built.clone()
}
