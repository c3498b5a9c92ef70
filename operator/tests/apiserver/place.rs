//! A namespace of one test's own on either server, and what tests do there as people.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use fixture_kube_api::{Config, Server};
use futures::{FutureExt, StreamExt, stream::BoxStream};
use kube::{
    Client,
    client::ClientBuilder,
    config::{KubeConfigOptions, Kubeconfig},
};
use provider_api::SystemClock;
use proxy_operator::{
    apiserver::{ApiServer, Parts, Settings},
    backoff::Backoff,
    cluster::{Change, Cluster},
    crd,
    resource::{GROUP, Key, VERSION},
};
use serde_json::{Value, json};

use super::meddle::Meddle;

/// What is waited for comes within that.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Place {
    admin: Client,
    pub namespace: String,
    pub meddle: Meddle,
    connect: Box<dyn Fn(&Meddle) -> Client + Send + Sync>,
    pub tag: String,
    /// Whether the server holds objects to their schema.
    pub is_strict: bool,
}

/// What the environment must say of the cluster.
fn said(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!(
            "{variable} is not set: this test runs against a real cluster; `cargo xtask e2e kube` brings one"
        )
    })
}

impl Place {
    /// On a server in this process, of its own.
    pub async fn in_process() -> Self {
        let server = Server::new(Config::default());
        let ticking = server.clone();
        tokio::spawn(async move { ticking.run_ticker().await });
        let connect =
            move |meddle: &Meddle| ClientBuilder::new(server.router(), "default").with_layer(meddle).build();
        let admin = connect(&Meddle::default());
        Self::new(admin, Box::new(connect), false).await
    }

    /// On the real one that the environment names.
    pub async fn real() -> Self {
        let config = async |context: &str| {
            let kubeconfig = Kubeconfig::read_from(said("KUBERNETES_TEST_KUBECONFIG")).unwrap();
            let options = KubeConfigOptions { context: Some(context.into()), ..KubeConfigOptions::default() };
            let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
            config.default_retry = false;
            config
        };
        let admin = Client::try_from(config("admin").await).unwrap();
        // She has no rights but those that she is granted.
        let operator = config("alice").await;
        let connect = move |meddle: &Meddle| {
            ClientBuilder::try_from(operator.clone()).unwrap().with_layer(meddle).build()
        };
        let place = Self::new(admin, Box::new(connect), true).await;
        place.grant().await;
        place
    }

    async fn new(
        admin: Client,
        connect: Box<dyn Fn(&Meddle) -> Client + Send + Sync>,
        is_strict: bool,
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let tag = format!("t{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let place = Self {
            admin,
            namespace: format!("operator-{tag}"),
            meddle: Meddle::default(),
            connect,
            tag,
            is_strict,
        };
        place.install().await;
        let namespace = json!({"metadata": {"name": place.namespace}});
        place.ask("POST", "/api/v1/namespaces", Some(namespace)).await.unwrap();
        place
    }

    /// Installs the definitions, and waits until they are served.
    async fn install(&self) {
        for yaml in crd::ALL {
            let definition: Value = serde_saphyr::from_str(yaml).unwrap();
            let made = self.ask("POST", DEFINITIONS, Some(definition.clone())).await;
            assert!(made.is_ok() || code(&made) == 409, "{made:?}");
            let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
            let path = format!("/apis/{GROUP}/{VERSION}/{plural}");
            self.until("the kind is served", || async { self.ask("GET", &path, None).await.ok() }).await;
        }
    }

    /// Gives the operator the rights that `apiserver` says it needs, and waits until they are in force.
    async fn grant(&self) {
        const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
        let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        let role = json!({"metadata": {"name": "proxy-operator"}, "rules": [
            rule(GROUP, &["proxies"], &["get", "list", "watch", "patch"]),
            rule(GROUP, &["proxies/status", "providerhealths/status"], &["update"]),
            rule(GROUP, &["providerhealths"], &["get", "list", "create", "delete"]),
            rule("", &["secrets"], &["get", "list", "watch", "create", "patch", "delete"]),
            rule("coordination.k8s.io", &["leases"], &["list", "watch", "create", "patch"]),
            rule("events.k8s.io", &["events"], &["create", "patch"]),
            // A kind that is not there, for the test that asks for it.
            rule(GROUP, &["praxies"], &["get", "list"]),
        ]});
        let binding = json!({
            "metadata": {"name": "proxy-operator"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "proxy-operator"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
        });
        for (kind, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
            let made = self.ask("POST", &format!("{RBAC}/{kind}"), Some(object)).await;
            assert!(made.is_ok() || code(&made) == 409, "{made:?}");
        }
        let cluster = self.cluster();
        self.until("the rights", || async { cluster.list().await.ok() }).await;
        self.meddle.forget();
    }

    /// An operator's way to the cluster, through the meddler.
    pub fn cluster(&self) -> Arc<ApiServer> {
        self.cluster_with(|_| ())
    }

    pub fn cluster_with(&self, change: impl FnOnce(&mut Settings)) -> Arc<ApiServer> {
        let mut settings = Settings {
            page: 2,
            pause: Backoff { first: Duration::from_millis(200), most: Duration::from_secs(2) },
            ..Settings::default()
        };
        change(&mut settings);
        Arc::new(ApiServer::new(Parts {
            client: (self.connect)(&self.meddle),
            clock: Arc::new(SystemClock::default()),
            lease: Key { namespace: self.namespace.clone(), name: "proxy-operator".to_owned() },
            instance: format!("operator-{}", self.tag),
            settings,
            seed: 7,
        }))
    }

    pub fn key(&self, name: &str) -> Key {
        Key { namespace: self.namespace.clone(), name: name.to_owned() }
    }

    /// One request as an administrator.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> kube::Result<Value> {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", media);
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        self.admin.request(request.body(body).unwrap()).await
    }

    pub fn proxies(&self) -> String {
        format!("/apis/{GROUP}/{VERSION}/namespaces/{}/proxies", self.namespace)
    }

    pub fn secrets(&self) -> String {
        format!("/api/v1/namespaces/{}/secrets", self.namespace)
    }

    /// Makes a Proxy.
    pub async fn make(&self, name: &str, spec: Value) -> Value {
        let body = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Proxy", "metadata": {"name": name}, "spec": spec
        });
        self.ask("POST", &self.proxies(), Some(body)).await.unwrap()
    }

    /// Changes one by hand.
    pub async fn patch(&self, name: &str, patch: Value) -> kube::Result<Value> {
        self.ask("PATCH", &format!("{}/{name}", self.proxies()), Some(patch)).await
    }

    pub async fn get(&self, name: &str) -> kube::Result<Value> {
        self.ask("GET", &format!("{}/{name}", self.proxies()), None).await
    }

    pub async fn delete(&self, name: &str) {
        self.ask("DELETE", &format!("{}/{name}", self.proxies()), None).await.unwrap();
    }

    /// Writes a Secret, whether it is there or not.
    pub async fn secret(&self, name: &str, data: Value) {
        let body = json!({"metadata": {"name": name}, "stringData": data, "data": encoded(&data)});
        let made = self.ask("POST", &self.secrets(), Some(body)).await;
        if code(&made) == 409 {
            let body = json!({"data": encoded(&data)});
            self.ask("PATCH", &format!("{}/{name}", self.secrets()), Some(body)).await.unwrap();
        } else {
            made.unwrap();
        }
    }

    /// Waits until something is there.
    pub async fn until<T, F: Future<Output = Option<T>>>(
        &self,
        what: &str,
        mut look: impl FnMut() -> F,
    ) -> T {
        let since = Instant::now();
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(since.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Nothing but the namespace is left; then that goes too.
    pub async fn end(self) {
        let all = self.ask("GET", &self.proxies(), None).await.unwrap();
        for proxy in all["items"].as_array().unwrap() {
            let name = proxy["metadata"]["name"].as_str().unwrap();
            let _ = self.patch(name, json!({"metadata": {"finalizers": null}})).await;
            let _ = self.ask("DELETE", &format!("{}/{name}", self.proxies()), None).await;
        }
        self.ask("DELETE", &format!("/api/v1/namespaces/{}", self.namespace), None).await.unwrap();
    }
}

pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The status code of a refusal; 0 of anything else.
pub fn code<T>(answer: &kube::Result<T>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        _ => 0,
    }
}

pub fn encoded(data: &Value) -> Value {
    use base64::{Engine, prelude::BASE64_STANDARD};
    let map = data.as_object().unwrap();
    map.iter()
        .map(|(key, text)| (key.clone(), json!(BASE64_STANDARD.encode(text.as_str().unwrap()))))
        .collect()
}

pub fn inline(text: &str) -> Value {
    json!({"provider": "memory", "cloudInit": {"inline": text}})
}

/// A watch, and what it tells of one namespace.
pub struct Told {
    stream: BoxStream<'static, Change>,
    namespace: String,
}

impl Told {
    pub fn of(stream: BoxStream<'static, Change>, place: &Place) -> Self {
        Self { stream, namespace: place.namespace.clone() }
    }

    /// The next change that is about this namespace, as text: `all a b`, `a`, `-a`, `secret s`.
    pub async fn next(&mut self) -> String {
        loop {
            let next =
                tokio::time::timeout(PATIENCE, self.stream.next()).await.expect("the watch tells nothing");
            if let Some(text) = self.text(&next.expect("a watch never ends")) {
                return text;
            }
        }
    }

    /// What is told without waiting for more than that.
    pub async fn within(&mut self, how_long: Duration) -> Vec<String> {
        let mut told = Vec::new();
        let mut end = Box::pin(tokio::time::sleep(how_long).fuse());
        loop {
            futures::select_biased! {
                () = end => return told,
                next = self.stream.next().fuse() => told.extend(self.text(&next.unwrap())),
            }
        }
    }

    fn text(&self, change: &Change) -> Option<String> {
        let is_here = |key: &Key| key.namespace == self.namespace;
        match change {
            Change::All(all) => {
                let here = all.iter().filter(|proxy| is_here(&proxy.key));
                Some(here.fold("all".to_owned(), |text, proxy| format!("{text} {}", proxy.key.name)))
            }
            Change::Changed(proxy) => is_here(&proxy.key).then(|| proxy.key.name.clone()),
            Change::Gone(key, _) => is_here(key).then(|| format!("-{}", key.name)),
            Change::Secret(key) => is_here(key).then(|| format!("secret {}", key.name)),
        }
    }
}
