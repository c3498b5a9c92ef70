//! The config block: what is wrong with it is said at once, and the shipped samples load and run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use libvirt_model::Host;
use provider_api::{CreateRequest, Owner, Placement, Secret, SystemClock, Uid};
use provider_kvm::{Dial, Fingerprint, Stream, WayError, Ways};
use serde_json::Value;

use super::{
    bench::{Bench, load},
    real_config::RealConfig,
};

/// Goes to a socket, whatever the way of the host is.
struct Straight(PathBuf);

#[async_trait]
impl Dial for Straight {
    async fn dial(&self, _: &Host, _: Fingerprint) -> Result<Box<dyn Stream>, WayError> {
        let stream = tokio::net::UnixStream::connect(&self.0).await;
        Ok(Box::new(stream.map_err(|error| WayError::coded("ECONNREFUSED", error.to_string()))?))
    }
}

fn report(block: &str) -> String {
    let yaml = format!("providers:\n- name: a\n  type: kvm\n  kvm:\n{block}");
    load(Ways::default(), &Arc::<SystemClock>::default(), &yaml).unwrap_err().to_string()
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let block = "    diskSizeGb: 0\n    colour: red\n    images: {'a/b': {url: 'ftp://x'}, c: {url: 'http://x', sha256: zz}}\n    \
                 machineTypes: {none: {vcpus: 0, memoryMiB: 1}}\n    hosts:\n    - {name: a, address: 'x:99999', user: u, \
                 bridge: b}\n    - {name: 'b/c', user: u, bridge: b, network: net}\n    - {name: d, socket: run}\n";
    insta::assert_snapshot!(report(block));
}

#[test]
fn a_constructor_needs_no_host_and_no_file() {
    let yaml = include_str!("../../samples/providers.yaml");
    load(Ways::default(), &Arc::<SystemClock>::default(), yaml).unwrap();
}

/// The sample entry and the sample Proxy, run on the fake as they are shipped, but for the image's server and checksum.
#[tokio::test(flavor = "multi_thread")]
async fn the_samples_load_and_run() {
    let bench = Bench::new().await;
    let yaml = include_str!("../../samples/providers.yaml");
    let promised =
        yaml.lines().find(|line| line.contains("sha256:")).expect("the sample promises a checksum");
    let yaml = yaml.replace(promised, &format!("          sha256: {}", bench.images.sha256()));
    let yaml = yaml.replace("url: https:", "url: http:");
    for file in ["id_ed25519", "passphrase", "known_hosts"] {
        std::fs::write(bench.path(file), "something").unwrap();
    }
    let yaml = yaml.replace("/etc/proxy-operator/racks", bench.folder.path().to_str().unwrap());
    let ways = Ways {
        dial: Some(Arc::new(Straight(bench.daemons[0].socket.clone()))),
        images: Some(bench.images.socket.clone()),
    };
    let built = load(ways, &Arc::<SystemClock>::default(), &yaml).unwrap();
    let proxy: Value = serde_saphyr::from_str(include_str!("../../samples/proxy.yaml")).unwrap();
    let text = |pointer: &str| proxy.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    assert!(yaml.contains(&format!("name: {}\n", text("/spec/provider"))), "the Proxy names the entry");
    let owner = Owner {
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
        api_version: text("/apiVersion"),
        kind: text("/kind"),
    };
    let payload = Secret::new(text("/spec/cloudInit/inline"));
    let mut request = CreateRequest::new(Uid::parse("uid-of-the-sample").unwrap(), owner, payload);
    request.placement = serde_json::from_value::<Placement>(proxy["spec"]["placement"].clone()).unwrap();
    let id = built.provider.create(&request).await.unwrap();
    assert!(built.provider.get(&id).await.is_ok());
}

#[test]
fn the_file_of_a_real_host() {
    let folder = Path::new("/etc/suite");
    let config = RealConfig::parse(include_str!("../../samples/real.yaml"), folder).unwrap();
    let ssh = config.ssh.unwrap();
    assert_eq!((ssh.address.as_str(), ssh.user.as_str()), ("rack-1.example.com", "proxies"));
    assert_eq!(ssh.key_file, folder.join("id_ed25519"));
    assert_eq!(ssh.known_hosts_file, folder.join("known_hosts"));
    assert_eq!(config.image, folder.join("guest.qcow2"));
    assert_eq!(config.uplink, ("network", "default".to_owned()));
    assert_eq!((config.pool.as_str(), config.firmware.as_str()), ("default", "bios"));
    assert_eq!((config.socket.as_str(), config.memory_mib), ("/var/run/libvirt/libvirt-sock", 256));
    assert!(!config.allow_emulation);
    let report = RealConfig::parse("address: a\nbridge: b\nnetwork: n\ncolour: red\n", folder).unwrap_err();
    let paths: Vec<_> = report.0.iter().map(|problem| problem.path.as_str()).collect();
    for path in ["user", "sshKeyFile", "knownHostsFile", "network", "image", "colour"] {
        assert!(paths.contains(&path), "{report}");
    }
}
