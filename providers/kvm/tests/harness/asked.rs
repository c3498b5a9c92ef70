//! What is asked of the provider: its config, requests that can be satisfied, and those that cannot.

use std::path::Path;

use provider_api::{CreateRequest, Owner, Placement, Secret, Uid};
use providertest::harness::Shape;
use serde_json::{Value, json};

use super::{HOSTS, images};

/// The image that the config's catalogue names.
pub(crate) const URL: &str = "http://images.example/squid.qcow2";
/// The memory of an instance.
pub(crate) const MEMORY_MIB: u64 = 1024;

/// The block of an entry.
pub(crate) fn block(folder: &Path, bios: bool, shape: &[Shape]) -> Value {
    let without = |host: &str| shape.iter().any(|s| matches!(s, Shape::Without(other) if other == host));
    let retired = |host: &str| shape.iter().any(|s| matches!(s, Shape::Decommissioned(z) if z == host));
    let hosts = HOSTS.into_iter().filter(|host| !without(host)).map(|host| {
        let uplink = if bios { "bridge" } else { "network" };
        let plugged = if bios { "br0" } else { "default" };
        json!({
            "name": host, "address": format!("{host}.example"), "user": "libvirt", uplink: plugged,
            "decommissioned": retired(host),
        })
    });
    let mut block = json!({
        "sshKeyFile": folder.join("key"),
        "knownHostsFile": folder.join("known_hosts"),
        "allowEmulation": bios,
        "images": {"squid": {
            "url": URL, "sha256": images::sha256(), "firmware": if bios { "bios" } else { "uefi" },
        }},
        "machineTypes": {"small": {"vcpus": 1, "memoryMiB": MEMORY_MIB}},
        "hosts": hosts.collect::<Vec<_>>(),
    });
    if shape.contains(&Shape::Broken) {
        spoil(&mut block);
    }
    block
}

/// Puts an unknown key and a malformed value into a block.
pub(crate) fn spoil(block: &mut Value) {
    block["colour"] = json!("red");
    block["diskSizeGb"] = json!("large");
}

/// A request that every host can satisfy.
pub(crate) fn request(uid: &Uid) -> CreateRequest {
    let owner = Owner {
        namespace: "team-a".to_owned(),
        name: format!("proxy-of-{uid}"),
        api_version: "proxies.example/v1".to_owned(),
        kind: "Proxy".to_owned(),
    };
    // Not even text, so that it is clear whether it arrives byte for byte.
    let mut cloud_init = format!("#cloud-config\nfinal_message: this is for {uid} alone\n").into_bytes();
    cloud_init.extend([0, 0xfe, 0xff, b'\n']);
    let mut request = CreateRequest::new(uid.clone(), owner, Secret::new(cloud_init));
    request.placement = placement(HOSTS[0]);
    request
}

pub(crate) fn placement(host: &str) -> Placement {
    Placement {
        region: None,
        zone: Some(host.to_owned()),
        machine_type: Some("small".to_owned()),
        image: Some("squid".to_owned()),
    }
}

pub(crate) fn unsatisfiable() -> Vec<(Placement, &'static str)> {
    let (good, nowhere) = (placement(HOSTS[0]), Some("nowhere".to_owned()));
    vec![
        (Placement { zone: nowhere.clone(), ..good.clone() }, "placement.zone"),
        (Placement { zone: None, ..good.clone() }, "placement.zone"),
        (Placement { machine_type: nowhere.clone(), ..good.clone() }, "placement.machineType"),
        (Placement { image: nowhere, ..good }, "placement.image"),
    ]
}

/// An image that no catalogue names.
pub(crate) fn uncatalogued() -> String {
    format!("http://images.example/other.qcow2#sha256={}", images::sha256())
}
