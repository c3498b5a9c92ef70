//! What the provider's own cases need: a cluster, a clock that the test moves, and a provider over both.
#![allow(dead_code, clippy::unwrap_used)]

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fixture_kube_api::{Config as ServerConfig, Server};
use provider_api::{
    Clock, Context, CreateRequest, Deleted, Identity, InstallationId, Owner, Provider, ProviderName, Secret,
    Timestamp, TokioSpawner, Uid, Wait, config::Shared,
};
use provider_kubernetes::{Config, Kubernetes};
use serde_json::json;

pub(crate) const NAMESPACE: &str = "team-a";

/// A clock that stands until it is moved; sleeps on it never end.
#[derive(Clone, Default)]
pub(crate) struct Hands(Arc<Mutex<Duration>>);

impl Hands {
    const START: i64 = 1_767_225_600;

    fn gone(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pass(&self, seconds: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += Duration::from_secs(seconds);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix(Self::START).after(self.gone())
    }

    fn monotonic(&self) -> Duration {
        self.gone()
    }

    fn sleep(&self, _: Duration, _: Wait) -> futures::future::BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) clock: Hands,
    pub(crate) shared: Shared,
    pub(crate) config: Config,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn with(change: impl FnOnce(&mut ServerConfig)) -> Self {
        let clock = Hands::default();
        let hands = clock.clone();
        let mut config =
            ServerConfig { clock: Arc::new(move || hands.now().into()), ..ServerConfig::default() };
        change(&mut config);
        let server = Server::new(config);
        server.create("namespaces", "", json!({"metadata": {"name": NAMESPACE}})).unwrap();
        let mut config = Config::new(vec!["10.0.0.0/8".parse().unwrap()]);
        // No Proxy stands on this cluster, so that its garbage collector would take what names one as its owner.
        config.own_cluster = false;
        let shared = Shared::placeholder(ProviderName::parse("pods-eu").unwrap());
        Self { server, clock, shared, config }
    }

    pub(crate) fn provider(&self) -> Kubernetes {
        let identity = Identity::new(InstallationId::parse("installation-1").unwrap());
        let context = Context::new(
            self.shared.name.clone(),
            identity,
            Arc::new(self.clock.clone()),
            Arc::new(TokioSpawner),
        );
        let transport = provider_kubernetes::Transport::new(self.server.service());
        Kubernetes::over(transport, &self.shared, self.config.clone(), context)
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.pass(seconds);
        self.server.advance();
    }

    /// Creates and lets it come up.
    pub(crate) async fn running(&self, uid: &str) -> (CreateRequest, provider_api::ProviderId) {
        let request = request(uid);
        let id = self.provider().create(&request).await.unwrap();
        self.pass(5);
        (request, id)
    }

    pub(crate) async fn delete(&self, id: &provider_api::ProviderId) -> Deleted {
        self.provider().delete(id).await.unwrap()
    }
}

pub(crate) fn request(uid: &str) -> CreateRequest {
    let owner = Owner {
        namespace: NAMESPACE.into(),
        name: format!("proxy-{uid}"),
        api_version: "crawl.example.com/v1alpha1".into(),
        kind: "Proxy".into(),
    };
    CreateRequest::new(Uid::parse(uid).unwrap(), owner, Secret::new("#cloud-config\n"))
}
