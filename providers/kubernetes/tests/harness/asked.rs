//! What the provider is configured with and asked for, on a fake cluster as on a real one.

use std::path::Path;

use provider_api::{CreateRequest, Owner, Placement, Secret, Uid};
use providertest::harness::{Shape, Unable};
use serde_json::{Value, json};

/// The entry's own block.
pub(crate) fn block(kubeconfig: &Path, page_size: Option<usize>, shape: &[Shape]) -> Result<Value, Unable> {
    let mut block = json!({
        "kubeconfig": kubeconfig,
        "defaultAllowedSources": ["10.0.0.0/8"],
        "image": "registry.example/squid:6",
        "images": {"five": "registry.example/squid:5"},
        "machineTypes": {"small": {"cpu": "50m", "memory": "64Mi"}},
        "regions": ["eu"],
        "zones": ["eu-1", "eu-2"]
    });
    if let Some(size) = page_size {
        block["pageSize"] = json!(size);
    }
    for shape in shape {
        match shape {
            Shape::Broken => {
                block["defaultAllowedSources"] = json!(["10.0.0.0/99"]);
                block["imege"] = json!("registry.example/squid:6");
            }
            Shape::Without(_) => return Err(Unable("leave out the one API server")),
            Shape::Decommissioned(_) => return Err(Unable("decommission the one API server")),
            #[allow(unreachable_patterns)]
            _ => return Err(Unable("shape the config like that")),
        }
    }
    Ok(block)
}

/// A request for `uid` by a Proxy in that namespace.
pub(crate) fn request(namespace: &str, uid: &Uid) -> CreateRequest {
    let owner = Owner {
        namespace: namespace.into(),
        name: format!("proxy-of-{uid}"),
        api_version: "crawl.example.com/v1alpha1".into(),
        kind: "Proxy".into(),
    };
    let payload = format!("#cloud-config\n# nobody else has {uid}\n");
    let mut request = CreateRequest::new(uid.clone(), owner, Secret::new(payload));
    request.placement.zone = Some("eu-1".into());
    request
}

/// One for each zone that the block knows.
pub(crate) fn placements() -> Vec<Placement> {
    let zone = |zone: &str| Placement { zone: Some(zone.into()), ..Placement::default() };
    vec![zone("eu-1"), zone("eu-2")]
}

/// What the block tells to be unsatisfiable.
pub(crate) fn unsatisfiable() -> Vec<(Placement, &'static str)> {
    let plain = Placement::default;
    vec![
        (Placement { region: Some("mars".into()), ..plain() }, "placement.region"),
        (Placement { zone: Some("mars-1".into()), ..plain() }, "placement.zone"),
        (Placement { machine_type: Some("huge".into()), ..plain() }, "placement.machineType"),
        (Placement { image: Some("registry.evil/squid".into()), ..plain() }, "placement.image"),
    ]
}
