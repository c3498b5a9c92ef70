//! An API server in this process that counts what operators ask of it, and what people do there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use fixture_kube_api::{Answer, AnswerBody, Config, Effect, Exchange, Interceptor, Outcome, Server};
use futures::{StreamExt, stream};
use kube::Client;
use proxy_operator::{
    crd,
    resource::{GROUP, VERSION},
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

pub(crate) const NAMESPACE: &str = "bench";
/// How whoever is counted begins to introduce himself.
pub(crate) const AGENT: &str = "proxy-operator/";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// What is waited for comes within that.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct Place {
    pub(crate) server: Server,
    admin: Client,
    pub(crate) seen: Arc<Seen>,
    ticking: JoinHandle<()>,
}

/// A Proxy that was just made.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) version: String,
}

impl Place {
    pub(crate) async fn new() -> Self {
        let server = Server::new(Config::default());
        let ticks = server.clone();
        let ticking = tokio::spawn(async move { ticks.run_ticker().await });
        let seen = Arc::new(Seen::default());
        server.set_interceptor(Some(Arc::clone(&seen) as Arc<dyn Interceptor>));
        let admin = Client::new(server.router(), "default");
        let place = Self { server, admin, seen, ticking };
        for yaml in crd::ALL {
            let definition: Value = serde_saphyr::from_str(yaml).unwrap();
            let plural = definition["spec"]["names"]["plural"].as_str().unwrap().to_owned();
            place.ask("POST", DEFINITIONS, Some(definition)).await.unwrap();
            let path = format!("/apis/{GROUP}/{VERSION}/{plural}");
            until("the kind is served", async || place.ask("GET", &path, None).await.is_ok()).await;
        }
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        place.ask("POST", "/api/v1/namespaces", Some(namespace)).await.unwrap();
        place
    }

    /// A client without a socket.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.server.router(), "default")
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> kube::Result<Value> {
        let request =
            http::Request::builder().method(method).uri(path).header("content-type", "application/json");
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        self.admin.request(request.body(body).unwrap()).await
    }

    /// Makes so many Proxies.
    pub(crate) async fn make(&self, count: usize) -> Vec<Made> {
        let made = stream::iter(0..count).map(|number| async move {
            let name = format!("proxy-{number:05}");
            let spec = json!({
                "provider": super::operator::PROVIDER,
                "placement": {"zone": "zone-1", "machineType": "small"},
                "cloudInit": {"inline": "#cloud-config\npackages: [squid]\n"},
            });
            let body = json!({
                "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Proxy", "metadata": {"name": name}, "spec": spec
            });
            let made = self.ask("POST", &collection(), Some(body)).await.unwrap();
            let meta = |key: &str| made["metadata"][key].as_str().unwrap().to_owned();
            Made { uid: meta("uid"), version: meta("resourceVersion"), name }
        });
        made.buffered(16).collect().await
    }

    /// Asks for the deletion of all.
    pub(crate) async fn delete(&self, made: &[Made]) {
        let deleted = stream::iter(made).map(|one| async move {
            self.ask("DELETE", &format!("{}/{}", collection(), one.name), None).await
        });
        deleted.buffered(16).for_each(|answer| async move { drop(answer.unwrap()) }).await;
    }

    /// How many there are of which that is so.
    pub(crate) async fn count(&self, is_so: impl Fn(&Value) -> bool) -> usize {
        let all = self.ask("GET", &collection(), None).await.unwrap();
        all["items"].as_array().unwrap().iter().filter(|proxy| is_so(proxy)).count()
    }

    /// Waits until so many are Ready, by what the operator writes.
    pub(crate) async fn until_ready(&self, count: usize) {
        until("all are Ready", async || self.seen.ready() == count).await;
    }

    /// Waits until there is none.
    pub(crate) async fn until_gone(&self) {
        let path = format!("{}?limit=1", collection());
        until("all are gone", async || {
            let page = self.ask("GET", &path, None).await.unwrap();
            page["items"].as_array().unwrap().is_empty()
        })
        .await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.ticking.abort();
    }
}

pub(crate) fn collection() -> String {
    format!("/apis/{GROUP}/{VERSION}/namespaces/{NAMESPACE}/proxies")
}

pub(crate) fn is_ready(proxy: &Value) -> bool {
    let ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    proxy["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(ready))
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let since = Instant::now();
    while !is_so().await {
        assert!(since.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What operators have asked of the server.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    counts: Counts,
    /// The Proxies that were written to be Ready.
    ready: BTreeSet<String>,
    /// The writes of the first of all Proxies.
    script: Vec<Write>,
}

/// How many requests there were, by verb and resource.
pub(crate) type Counts = BTreeMap<String, usize>;

/// A write as it was sent.
#[derive(Clone)]
pub(crate) struct Write {
    pub(crate) method: http::Method,
    pub(crate) path: String,
    pub(crate) media: http::HeaderValue,
    pub(crate) body: Value,
}

/// The Proxy whose writes are kept.
pub(crate) const FIRST: &str = "proxy-00000";
/// How a GET is counted whose answer shows a Proxy that is being deleted.
pub(crate) const GET_DELETING: &str = "get proxies (being deleted)";

impl Seen {
    /// What was counted since the last time.
    pub(crate) fn take(&self) -> Counts {
        std::mem::take(&mut self.0.lock().unwrap().counts)
    }

    /// How many there were of one kind since then.
    pub(crate) fn count(&self, kind: &str) -> usize {
        self.0.lock().unwrap().counts.get(kind).copied().unwrap_or_default()
    }

    /// How many Proxies were written to be Ready.
    pub(crate) fn ready(&self) -> usize {
        self.0.lock().unwrap().ready.len()
    }

    pub(crate) fn script(&self) -> Vec<Write> {
        self.0.lock().unwrap().script.clone()
    }

    fn note(&self, request: &Exchange, answer: &Answer) {
        let target = &request.target;
        let mut kind = format!("{} {}", target.verb, target.resource);
        if !target.subresource.is_empty() {
            kind = format!("{kind}/{}", target.subresource);
        }
        if kind == "get proxies" && has(answer, "\"deletionTimestamp\"") {
            kind = GET_DELETING.to_owned();
        }
        let is_write = ["update", "patch"].contains(&target.verb) && target.resource == "proxies";
        let is_ready = is_write && has(answer, r#"{"type":"Ready","status":"True""#);
        let mut inner = self.0.lock().unwrap();
        *inner.counts.entry(kind).or_default() += 1;
        if is_ready {
            inner.ready.insert(target.name.clone());
        }
        if is_write && target.name == FIRST && answer.status.is_success() {
            inner.script.push(Write {
                method: request.method.clone(),
                path: request.path_and_query.clone(),
                media: request.headers[http::header::CONTENT_TYPE].clone(),
                body: serde_json::from_slice(&request.body).unwrap(),
            });
        }
    }
}

fn has(answer: &Answer, text: &str) -> bool {
    let AnswerBody::Full(body) = &answer.body else { return false };
    std::str::from_utf8(body).is_ok_and(|body| body.contains(text))
}

#[async_trait]
impl Interceptor for Seen {
    async fn around(&self, request: Exchange, effect: Effect) -> Outcome {
        let answer = effect.run();
        let agent = request.headers.get(http::header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        if agent.is_some_and(|agent| agent.starts_with(AGENT)) {
            self.note(&request, &answer);
        }
        Outcome::Answer(answer)
    }
}
