//! A real cluster for tests: where it is, a namespace of a test's own, and a provider as a program would load it.
#![allow(clippy::unwrap_used)]

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use provider_api::{
    Built, Context, CreateRequest, Identity, InstallationId, Owner, ProviderName, Registry, Secret,
    SystemClock, TokioSpawner, Uid,
};
use serde_json::{Value, json};

/// What the environment must say of the cluster.
pub(crate) fn said(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: this test runs against a real cluster; `cargo xtask e2e` brings one")
    })
}

/// A namespace of one test's own.
pub(crate) struct Place {
    pub(crate) admin: Client,
    pub(crate) namespace: String,
    tag: String,
}

impl Place {
    /// Makes it, with labels.
    pub(crate) async fn new(labels: Value) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let tag = format!("t{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let namespace = format!("provider-{tag}");
        let kubeconfig = Kubeconfig::read_from(said("KUBERNETES_TEST_KUBECONFIG")).unwrap();
        let options = KubeConfigOptions { context: Some("admin".into()), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        let admin = Client::try_from(config).unwrap();
        let object = json!({"metadata": {"name": namespace, "labels": labels}});
        let object: Namespace = serde_json::from_value(object).unwrap();
        Api::<Namespace>::all(admin.clone()).create(&PostParams::default(), &object).await.unwrap();
        Self { admin, namespace, tag }
    }

    /// The provider, as that user, with further fields of its block.
    pub(crate) fn provider(&self, context: &str, fields: Value) -> Built {
        let mut block = json!({
            "kubeconfig": said("KUBERNETES_TEST_KUBECONFIG"),
            "context": context,
            "namespaces": [self.namespace],
            "defaultAllowedSources": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]
        });
        block.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let entry = json!({"name": "real", "type": "kubernetes", "kubernetes": block});
        let yaml = json!({"providers": [entry]}).to_string();
        let mut registry = Registry::default();
        provider_kubernetes::register(&mut registry);
        let surroundings = |name: &ProviderName| {
            let installation = InstallationId::parse(&format!("installation-{}", self.tag)).unwrap();
            Context::new(
                name.clone(),
                Identity::new(installation),
                Arc::new(SystemClock::default()),
                Arc::new(TokioSpawner),
            )
        };
        let providers = registry.load(&yaml, |_| {}, surroundings).unwrap();
        providers.iter().next().unwrap().1.built.clone()
    }

    pub(crate) fn request(&self, uid: &str) -> CreateRequest {
        let owner = Owner {
            namespace: self.namespace.clone(),
            name: uid.into(),
            api_version: "crawl.example.com/v1alpha1".into(),
            kind: "Proxy".into(),
        };
        let uid = Uid::parse(&format!("{}-{uid}", self.tag)).unwrap();
        CreateRequest::new(uid, owner, Secret::new("#cloud-config\n"))
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.admin.clone(), &self.namespace)
    }

    /// Nothing but the namespace is left; then that goes too.
    pub(crate) async fn end(self) {
        let left = self.pods().list(&ListParams::default()).await.unwrap().items;
        let left: Vec<_> = left.into_iter().map(|pod| pod.metadata.name.unwrap_or_default()).collect();
        assert!(left.is_empty(), "these Pods are left: {left:?}");
        let namespaces = Api::<Namespace>::all(self.admin);
        namespaces.delete(&self.namespace, &DeleteParams::default()).await.unwrap();
    }
}
