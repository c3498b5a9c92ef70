//! The Pod of one proxy: a pure function of what was asked for. What the API server answers is `view.rs`.
//!
//! The Squid configuration and the password file stand in annotations, and a downward-API volume makes files of them.
//! So a proxy is one object, nothing is left when it is gone, and the image needs no shell. The password file holds
//! hashes only.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Affinity, Capabilities, Container, ContainerPort, DownwardAPIVolumeFile, DownwardAPIVolumeSource,
        EmptyDirVolumeSource, LocalObjectReference, NodeAffinity, NodeSelector, NodeSelectorRequirement,
        NodeSelectorTerm, ObjectFieldSelector, Pod, PodSecurityContext, PodSpec, Probe, ResourceRequirements,
        SeccompProfile, SecurityContext, Sysctl, TCPSocketAction, Volume, VolumeMount,
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{ObjectMeta, OwnerReference},
        util::intstr::IntOrString,
    },
};
use provider_api::{CreateRequest, Identity};

use crate::{
    config::{Config, Resources},
    mark,
    placement::Placed,
    squid::{self, Squid},
};

const REGION: &str = "topology.kubernetes.io/region";
const ZONE: &str = "topology.kubernetes.io/zone";
const CONF_KEY: &str = "proxy-operator/squid.conf";
const PASSWORDS_KEY: &str = "proxy-operator/passwd";
const OWNER_KEY: &str = "proxy-operator/owner";
/// Long enough for `shutdown_lifetime`, short enough for a replacement not to wait.
const GRACE_SECONDS: i64 = 10;

/// Builds the Pod. It passes the Pod Security level `restricted`.
pub(crate) fn build(
    request: &CreateRequest,
    placed: &Placed,
    config: &Config,
    identity: &Identity,
    squid: &Squid,
) -> Pod {
    let mut labels = mark::labels(identity, &request.uid);
    labels.insert("app.kubernetes.io/name".into(), "egress-proxy".into());
    labels.insert("app.kubernetes.io/managed-by".into(), "proxy-operator".into());
    let owner = format!("{}/{}", request.owner.namespace, request.owner.name);
    let mut annotations: BTreeMap<String, String> =
        [(OWNER_KEY.into(), owner), (CONF_KEY.into(), squid.conf.clone())].into();
    annotations.extend(squid.passwords.clone().map(|passwords| (PASSWORDS_KEY.into(), passwords)));
    Pod {
        metadata: ObjectMeta {
            name: Some(placed.id.name.to_string()),
            namespace: Some(placed.id.namespace.clone()),
            labels: Some(labels),
            annotations: Some(annotations),
            owner_references: config.own_cluster.then(|| vec![owner_reference(request)]),
            ..ObjectMeta::default()
        },
        spec: Some(spec(request, placed, config, squid)),
        status: None,
    }
}

fn spec(request: &CreateRequest, placed: &Placed, config: &Config, squid: &Squid) -> PodSpec {
    let secrets = config.image_pull_secrets.iter();
    let secrets: Vec<_> = secrets.map(|name| LocalObjectReference { name: name.clone() }).collect();
    PodSpec {
        affinity: affinity(placed),
        automount_service_account_token: Some(false),
        containers: vec![container(request, placed, config)],
        enable_service_links: Some(false),
        image_pull_secrets: (!secrets.is_empty()).then_some(secrets),
        node_selector: (!config.node_selector.is_empty()).then(|| config.node_selector.clone()),
        restart_policy: Some("Always".into()),
        security_context: Some(pod_security(request, config)),
        termination_grace_period_seconds: Some(GRACE_SECONDS),
        volumes: Some(volumes(squid)),
        ..PodSpec::default()
    }
}

fn container(request: &CreateRequest, placed: &Placed, config: &Config) -> Container {
    let port = i32::from(request.port.get());
    let mount = |name: &str, path: &str, read_only| VolumeMount {
        name: name.into(),
        mount_path: path.into(),
        read_only: Some(read_only),
        ..VolumeMount::default()
    };
    Container {
        name: "squid".into(),
        image: Some(placed.image.clone()),
        image_pull_policy: Some("IfNotPresent".into()),
        // In the foreground, without a shell; the image's own start script would want to be root.
        command: Some(["squid", "-N", "-f"].map(str::to_owned).to_vec()),
        args: Some(vec![format!("{}/{}", squid::DIR, squid::CONF)]),
        ports: Some(vec![ContainerPort {
            name: Some("proxy".into()),
            container_port: port,
            protocol: Some("TCP".into()),
            ..ContainerPort::default()
        }]),
        readiness_probe: Some(Probe {
            tcp_socket: Some(TCPSocketAction { port: IntOrString::Int(port), host: None }),
            period_seconds: Some(5),
            timeout_seconds: Some(2),
            failure_threshold: Some(3),
            ..Probe::default()
        }),
        resources: Some(requirements(&placed.resources)),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), add: None }),
            privileged: Some(false),
            read_only_root_filesystem: Some(true),
            run_as_non_root: Some(true),
            run_as_user: Some(i64::from(config.run_as_user)),
            run_as_group: Some(i64::from(config.run_as_user)),
            seccomp_profile: Some(runtime_default()),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(vec![mount("config", squid::DIR, true), mount("scratch", "/tmp", false)]),
        ..Container::default()
    }
}

fn pod_security(request: &CreateRequest, config: &Config) -> PodSecurityContext {
    // A port below 1024 needs no privilege where the kernel is told so; this sysctl is one of the safe ones.
    let low_port = request.port.get() < 1024;
    let sysctl = || Sysctl { name: "net.ipv4.ip_unprivileged_port_start".into(), value: "0".into() };
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(i64::from(config.run_as_user)),
        run_as_group: Some(i64::from(config.run_as_user)),
        seccomp_profile: Some(runtime_default()),
        sysctls: low_port.then(|| vec![sysctl()]),
        ..PodSecurityContext::default()
    }
}

fn runtime_default() -> SeccompProfile {
    SeccompProfile { type_: "RuntimeDefault".into(), localhost_profile: None }
}

fn volumes(squid: &Squid) -> Vec<Volume> {
    let file = |path: &str, key: &str| DownwardAPIVolumeFile {
        path: path.into(),
        field_ref: Some(ObjectFieldSelector {
            api_version: Some("v1".into()),
            field_path: format!("metadata.annotations['{key}']"),
        }),
        ..DownwardAPIVolumeFile::default()
    };
    let mut items = vec![file(squid::CONF, CONF_KEY)];
    items.extend(squid.passwords.as_ref().map(|_| file(squid::PASSWORDS, PASSWORDS_KEY)));
    vec![
        Volume {
            name: "config".into(),
            downward_api: Some(DownwardAPIVolumeSource { items: Some(items), default_mode: Some(0o444) }),
            ..Volume::default()
        },
        Volume {
            name: "scratch".into(),
            empty_dir: Some(EmptyDirVolumeSource { size_limit: Some(Quantity("16Mi".into())), medium: None }),
            ..Volume::default()
        },
    ]
}

fn requirements(resources: &Resources) -> ResourceRequirements {
    let both: BTreeMap<_, _> = [
        ("cpu".to_owned(), Quantity(resources.cpu.clone())),
        ("memory".to_owned(), Quantity(resources.memory.clone())),
    ]
    .into();
    ResourceRequirements { requests: Some(both.clone()), limits: Some(both), claims: None }
}

fn affinity(placed: &Placed) -> Option<Affinity> {
    let requirement = |key: &str, value: &Option<String>| {
        value.as_ref().map(|value| NodeSelectorRequirement {
            key: key.into(),
            operator: "In".into(),
            values: Some(vec![value.clone()]),
        })
    };
    let wanted: Vec<_> = [requirement(REGION, &placed.region), requirement(ZONE, &placed.zone)]
        .into_iter()
        .flatten()
        .collect();
    (!wanted.is_empty()).then(|| Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![NodeSelectorTerm {
                    match_expressions: Some(wanted),
                    match_fields: None,
                }],
            }),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    })
}

/// The Proxy as owner. It stands in the Pod's namespace, always. It does not block the owner's deletion: that would
/// need a right on the Proxy's finalizers, and the operator's own finalizer already does it.
fn owner_reference(request: &CreateRequest) -> OwnerReference {
    OwnerReference {
        api_version: request.owner.api_version.clone(),
        kind: request.owner.kind.clone(),
        name: request.owner.name.clone(),
        uid: request.uid.to_string(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }
}
