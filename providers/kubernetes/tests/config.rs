//! The config block: what is wrong with it is said at once, and the shipped samples load and run.
#![allow(clippy::unwrap_used)]

mod bench;
#[path = "harness/real_config.rs"]
mod real_config;

use std::{path::Path, sync::Arc};

use bench::{Bench, Hands};
use provider_api::{
    ConfigReport, Context, CreateRequest, Identity, InstallationId, Owner, Placement, ProviderName,
    Providers, Registry, Secret, TokioSpawner, Uid,
};
use serde_json::Value;

fn load(registry: &Registry, yaml: &str) -> Result<Providers, ConfigReport> {
    registry.load(yaml, |_| {}, context)
}

fn context(name: &ProviderName) -> Context {
    let identity = Identity::new(InstallationId::parse("installation-1").unwrap());
    Context::new(name.clone(), identity, Arc::new(Hands::default()), Arc::new(TokioSpawner))
}

fn plain() -> Registry {
    let mut registry = Registry::default();
    provider_kubernetes::register(&mut registry);
    registry
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let report = load(
        &plain(),
        "providers:\n\
         - name: a\n  type: kubernetes\n  kubernetes:\n    defaultAllowedSources: [0.0.0.0/1, 128.0.0.0/1]\n    \
         context: x\n    namespaces: [Team_A]\n    runAsUser: 0\n    pageSize: 0\n    machineType: huge\n    \
         machineTypes: {small: {cpu: lots}}\n    zones: ['a b']\n    image: 'a b'\n    images: {x: ' '}\n    \
         basicAuthHelper: helper\n    imege: x\n\
         - name: b\n  type: kubernetes\n  kubernetes: {}\n\
         - name: c\n  type: kubernetes\n  kubernetes: {defaultAllowedSources: []}\n",
    )
    .unwrap_err();
    insta::assert_snapshot!(report.to_string());
}

#[test]
fn a_constructor_needs_no_cluster() {
    let yaml = "providers:\n- name: a\n  type: kubernetes\n  kubernetes:\n    kubeconfig: /nowhere/at/all\n    \
                context: x\n    defaultAllowedSources: [10.0.0.0/8]\n";
    let providers = load(&plain(), yaml).unwrap();
    assert_eq!(providers.iter().count(), 1);
}

/// The file that says where a real cluster is.
#[test]
fn the_sample_of_a_real_cluster_loads_and_a_wrong_one_is_told_whole() {
    let folder = Path::new("/etc/suite");
    let sample = include_str!("../samples/real.yaml");
    let config = real_config::RealConfig::parse(sample, folder).unwrap();
    assert_eq!(config.kubeconfig, folder.join("kubeconfig"));
    assert_eq!((config.context.as_deref(), config.controllers), (Some("admin"), true));
    let yaml = "context: 7\ncontrollers: perhaps\nkubeconfg: x\n";
    let report = real_config::RealConfig::parse(yaml, folder).unwrap_err();
    let paths: Vec<_> = report.0.iter().map(|problem| problem.path.as_str()).collect();
    for path in ["kubeconfig", "context", "controllers", "kubeconfg"] {
        assert!(paths.contains(&path), "{path} is not reported: {report}");
    }
    assert_eq!(paths.len(), 4, "{report}");
}

/// The sample entry and the sample Proxy, run on the fake as they are shipped.
#[tokio::test]
async fn the_samples_load_and_run() {
    let bench = Bench::new();
    let mut registry = Registry::default();
    registry.register(provider_kubernetes::over(provider_kubernetes::Transport::new(bench.server.service())));
    let providers = load(&registry, include_str!("../samples/providers.yaml")).unwrap();
    let proxy: Value = serde_saphyr::from_str(include_str!("../samples/proxy.yaml")).unwrap();
    let text = |pointer: &str| proxy.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    let name = ProviderName::parse(&text("/spec/provider")).unwrap();
    let entry = providers.get(&name).expect("the sample Proxy names the sample entry");
    let owner = Owner {
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
        api_version: text("/apiVersion"),
        kind: text("/kind"),
    };
    let payload = Secret::new(text("/spec/cloudInit/inline"));
    let mut request = CreateRequest::new(Uid::parse("uid-of-the-sample").unwrap(), owner, payload);
    request.placement = serde_json::from_value::<Placement>(proxy["spec"]["placement"].clone()).unwrap();
    request.access.allowed_sources =
        serde_json::from_value(proxy["spec"]["access"]["allowedSources"].clone()).unwrap();
    let id = entry.built.provider.create(&request).await.unwrap();
    assert!(entry.built.provider.get(&id).await.is_ok());
}
