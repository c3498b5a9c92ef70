//! A whole operator, with the memory provider, on the Proxies of a cluster.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::FutureExt;
use provider_api::{
    Context, Identity, InstallationId, Live, ProviderName, Registry, SystemClock, TokioSpawner,
};
use providertest::{
    harness::{Backend, Case, Harness, ThingKind},
    ledger::Ledger,
    memory::{self, MemoryHarness},
    wire::Wire,
};
use proxy_operator::{
    backoff::Backoff,
    cluster::Cluster,
    collector,
    election::{self, Terms},
    health::{provider, proxy},
    resource::{FINALIZER, Key},
    shell::Brakes,
    step,
    work::Operator,
};
use serde_json::{Value, json};

use super::{
    Place,
    meddle::Trick,
    place::{code, encoded, inline},
};

const TERMS: Terms = Terms {
    lease: Duration::from_secs(4),
    deadline: Duration::from_secs(3),
    retry: Duration::from_millis(500),
};

/// A backend that outlives operators.
struct Cloud {
    backend: Box<dyn Backend>,
    _case: Case,
}

impl Cloud {
    async fn new(tag: &str) -> Self {
        let harness = MemoryHarness::with("memory", memory::plain());
        let setup = harness.setups().remove(0);
        let case = Case {
            clock: Arc::new(SystemClock::default()),
            wire: Wire::new(Ledger::default()),
            seed: 1,
            tag: tag.to_owned(),
            folder: Arc::default(),
        };
        let Ok(backend) = harness.open(&setup, &case).await else { panic!("a cloud in memory is there") };
        Self { backend, _case: case }
    }

    /// How many instances there are.
    async fn instances(&self) -> usize {
        let all = self.backend.everything().await;
        let Ok(all) = all else { panic!("a store can be looked at") };
        all.iter().filter(|thing| thing.kind == ThingKind::Instance).count()
    }

    fn providers(&self) -> Arc<Live> {
        let mut registry = Registry::default();
        let made = self.backend.provider_type();
        let name = made.name;
        registry.register(made);
        let Ok(block) = self.backend.block(&[]) else { panic!("the plain block can be had") };
        let config = json!({"providers": [{"name": "memory", "type": name, "probe": "off", name: block}]});
        let surroundings = |name: &ProviderName| {
            let identity = Identity::new(InstallationId::parse("life").unwrap());
            Context::new(name.clone(), identity, Arc::new(SystemClock::default()), Arc::new(TokioSpawner))
        };
        Arc::new(Live::new(registry.load(&config.to_string(), |_| {}, surroundings).unwrap()))
    }
}

struct NoProber;

#[async_trait]
impl proxy::Prober for NoProber {
    async fn probe(&self, _: &str) -> Result<(), proxy::Fault> {
        Err(proxy::Fault::Here("nothing is probed here".to_owned()))
    }
}

/// A process: it stands for election, works while it leads, and sends its events.
fn operator(place: &Place, cloud: &Cloud, name: &'static str) -> tokio::task::JoinHandle<()> {
    let server = place.cluster();
    let cluster: Arc<dyn Cluster> = server.clone();
    let seconds = Duration::from_secs;
    let operator = Operator {
        cluster: Arc::clone(&cluster),
        providers: cloud.providers(),
        clock: Arc::new(SystemClock::default()),
        spawner: Arc::new(TokioSpawner),
        prober: Arc::new(NoProber),
        reconcile: step::Settings {
            polls: vec![Duration::from_millis(200)],
            running_poll: seconds(1),
            backoff: Backoff { first: Duration::from_millis(200), most: seconds(2) },
            ..step::Settings::default()
        },
        brakes: Brakes::default(),
        collector: collector::Settings::default(),
        provider_health: provider::Settings::default(),
        probe: proxy::Settings::default(),
        inputs_every: seconds(10),
        default_sources: vec!["10.0.0.0/8".parse().unwrap()],
        step: step::step,
        seed: 1,
    };
    let elected = election::elect(
        cluster,
        Arc::new(SystemClock::default()),
        name.to_owned(),
        TERMS,
        move |term| operator.clone().work(term).boxed(),
        std::future::pending(),
    );
    tokio::spawn(async move {
        tokio::join!(elected, server.send_events());
    })
}

fn is_ready(proxy: &Value) -> bool {
    let conditions = proxy["status"]["conditions"].as_array();
    let ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    proxy["status"]["phase"] == "Running" && conditions.is_some_and(|all| all.iter().any(ready))
}

async fn ready(place: &Place, what: &str, also: impl Fn(&Value) -> bool) -> Value {
    place
        .until(what, || async {
            let proxy = place.get("one").await.unwrap();
            (is_ready(&proxy) && also(&proxy)).then_some(proxy)
        })
        .await
}

/// Waits until a Proxy's events have these reasons.
async fn told(place: &Place, reasons: &[&str]) {
    let events = format!("/apis/events.k8s.io/v1/namespaces/{}/events", place.namespace);
    place
        .until("the events", || async {
            let found = place.ask("GET", &events, None).await.unwrap();
            let found: Vec<_> =
                found["items"].as_array().unwrap().iter().map(|event| event["reason"].clone()).collect();
            reasons.iter().all(|reason| found.contains(&json!(reason))).then_some(())
        })
        .await;
}

async fn secret(place: &Place, name: &str) -> kube::Result<Value> {
    place.ask("GET", &format!("{}/{name}", place.secrets()), None).await
}

pub async fn a_proxy_lives_from_its_creation_to_its_deletion(place: &Place) {
    let cloud = Cloud::new(&place.tag).await;
    place.secret("users", json!({"username": "alice", "password": "p@ss"})).await;
    let Some(placement) = cloud.backend.placements().into_iter().next() else {
        panic!("there is a placement")
    };
    let spec = json!({
        "provider": "memory",
        "placement": serde_json::to_value(placement).unwrap(),
        "cloudInit": {"inline": "#cloud-config\n"},
        "access": {"credentialsSecretRef": "users"},
        "connectionSecret": "first",
    });
    place.make("one", spec).await;
    place.patch("one", json!({"metadata": {"finalizers": ["example.com/other"]}})).await.unwrap();
    let first = operator(place, &cloud, "first");
    let made = ready(place, "it runs", |_| true).await;
    assert_eq!(made["metadata"]["finalizers"], json!(["example.com/other", FINALIZER]));
    let instance = |proxy: &Value| proxy["status"]["instance"].clone();
    let published = place.until("the endpoint", || async { secret(place, "first").await.ok() }).await;
    let (host, port) = (made["status"]["address"].as_str().unwrap(), "3128");
    assert_eq!(
        published["data"],
        encoded(&json!({
            "host": host, "password": "p@ss", "port": port, "url": format!("http://alice:p%40ss@{host}:{port}"),
            "username": "alice",
        }))
    );
    assert_eq!(published["metadata"]["ownerReferences"][0]["uid"], made["metadata"]["uid"]);
    // At rest nothing is written: three polls and more.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let still = place.get("one").await.unwrap();
    assert_eq!(still["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    assert_eq!(secret(place, "first").await.unwrap(), published);

    // A second writer writes all the time, so that the operator's own writes meet conflicts.
    let writes = Arc::new(AtomicBool::new(true));
    let meddling = async {
        let mut count = 0;
        while writes.load(Ordering::SeqCst) {
            count += 1;
            let note = json!({"metadata": {"annotations": {"example.com/count": count.to_string()}}});
            place.patch("one", note).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        count
    };
    let editing = async {
        place.patch("one", json!({"spec": {"cloudInit": {"inline": "another"}}})).await.unwrap();
        let hash = instance(&made)["specHash"].clone();
        let replaced = ready(place, "it is replaced", |proxy| instance(proxy)["specHash"] != hash).await;
        writes.store(false, Ordering::SeqCst);
        replaced
    };
    let (replaced, count) = tokio::join!(editing, meddling);
    assert!(count > 10, "only {count} writes of others");
    assert_eq!(replaced["status"]["observedGeneration"], 2);
    assert_eq!(cloud.instances().await, 1);

    // The process dies, another takes over, and goes on from what stands in the cluster.
    first.abort();
    let _ = first.await;
    place.patch("one", json!({"spec": {"connectionSecret": "second"}})).await.unwrap();
    let second = operator(place, &cloud, "second");
    place.until("the other Secret", || async { secret(place, "second").await.ok() }).await;
    assert_eq!(code(&secret(place, "first").await), 404);
    let renamed = ready(place, "it says so", |proxy| proxy["status"]["connectionSecret"] == "second").await;
    assert_eq!(instance(&renamed), instance(&replaced), "the instance was left alone");

    place.delete("one").await;
    let released = place
        .until("our finalizer goes", || async {
            let proxy = place.get("one").await.unwrap();
            (proxy["metadata"]["finalizers"] == json!(["example.com/other"])).then_some(proxy)
        })
        .await;
    assert_eq!(released["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(cloud.instances().await, 0);
    place.patch("one", json!({"metadata": {"finalizers": []}})).await.unwrap();
    assert_eq!(code(&place.get("one").await), 404);
    let cluster = place.cluster();
    let key: Key = place.key("one");
    assert_eq!(cluster.read(&key).await.unwrap(), None);
    told(place, &["Created", "Replacing"]).await;
    second.abort();
}

/// Nothing is made of it, and people learn why.
pub async fn a_write_that_the_server_refuses_is_told(place: &Place) {
    let cloud = Cloud::new(&place.tag).await;
    let refusal = json!({
        "kind": "Status", "code": 403, "reason": "Forbidden", "message": "admission webhook \"w\" denied the request: no",
        "details": {"name": "one", "kind": "proxies"},
    });
    place.meddle.with(&["PATCH", "/proxies/one"], 1000, Trick::Answer(403, None, refusal.to_string()));
    place.make("one", inline("a")).await;
    let operator = operator(place, &cloud, "only");
    told(place, &["WriteRefused"]).await;
    assert_eq!(cloud.instances().await, 0);
    let proxy = place.get("one").await.unwrap();
    assert_eq!(
        (proxy.get("status"), proxy["metadata"].get("finalizers")),
        (None, None),
        "nothing was written"
    );
    operator.abort();
    let _ = operator.await;
}
