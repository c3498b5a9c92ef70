//! Where the host is, as the environment says it, and the provider over it. Looking at it past the provider is
//! `observer.rs`.

use std::{
    env,
    net::IpAddr,
    process::{self, Command},
    sync::Arc,
};

use provider_api::{
    Built, Context, CreateRequest, Identity, InstallationId, Owner, Placement, ProviderName, Registry,
    Secret, SystemClock, TokioSpawner, Tracker, Uid,
};
use serde_json::json;

use crate::{TYPE, guest, image::Image, register};

/// One test's part of the host: an instance of an installation of its own, and the image that it boots from.
pub(crate) struct Host {
    name: String,
    firmware: &'static str,
    pub(crate) image: Image,
}

/// A variable that must be there. A test that is asked for and has no host fails.
pub(crate) fn offered(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| {
        panic!(
            "{variable} is not set; `cargo xtask e2e kvm` runs this test, docs/kvm.md has it for other hosts"
        )
    })
}

/// The socket of the daemon, on that host.
pub(crate) fn socket() -> String {
    env::var("KVM_TEST_SOCKET").unwrap_or_else(|_| "/var/run/libvirt/libvirt-sock".to_owned())
}

/// Where the test's own server is, as guests reach it.
pub(crate) fn server() -> IpAddr {
    offered("KVM_TEST_SERVER_ADDRESS").parse().expect("KVM_TEST_SERVER_ADDRESS is an address")
}

impl Host {
    /// For one test, by its name.
    pub(crate) fn offered(test: &str, firmware: &'static str) -> Self {
        // Two runs on one host must not meet.
        Self { name: format!("{test}-{}", process::id()), firmware, image: Image::offered() }
    }

    /// What a child of a test is told of it, and what it makes of that.
    pub(crate) fn give<'c>(&self, child: &'c mut Command) -> &'c mut Command {
        self.image.give(child.env(NAME, &self.name).env(FIRMWARE, self.firmware))
    }

    pub(crate) fn given() -> Self {
        let firmware = if offered(FIRMWARE) == "uefi" { "uefi" } else { "bios" };
        Self { name: offered(NAME), firmware, image: Image::offered() }
    }

    /// A request for an instance that runs Squid.
    pub(crate) fn request(&self) -> CreateRequest {
        let uid = Uid::parse(&self.name).unwrap();
        let owner = Owner {
            namespace: "life".into(),
            name: self.name.clone(),
            api_version: "crawl.example.com/v1alpha1".into(),
            kind: "Proxy".into(),
        };
        let mut request = CreateRequest::new(uid, owner, Secret::new(guest::USER_DATA));
        request.placement = Placement {
            image: Some("squid".to_owned()),
            machine_type: Some("small".to_owned()),
            ..Placement::default()
        };
        request
    }

    /// The provider, as an operator has it.
    pub(crate) fn provider(&self) -> Built {
        self.watched(None)
    }

    /// The provider, with somebody who hears of every backend call.
    pub(crate) fn watched(&self, tracker: Option<Arc<dyn Tracker>>) -> Built {
        let mut host = json!({
            "name": "h1",
            "address": offered("KVM_TEST_ADDRESS"),
            "user": offered("KVM_TEST_USER"),
            "socket": socket(),
            "pool": pool(),
        });
        match (env::var("KVM_TEST_NETWORK"), env::var("KVM_TEST_BRIDGE")) {
            (Ok(network), Err(_)) => host["network"] = network.into(),
            (Err(_), Ok(bridge)) => host["bridge"] = bridge.into(),
            _ => panic!("one of KVM_TEST_NETWORK and KVM_TEST_BRIDGE is to be set"),
        }
        let mut image = json!({"url": self.image.url, "firmware": self.firmware});
        if let Some(sum) = &self.image.sha256 {
            image["sha256"] = sum.as_str().into();
        }
        let block = json!({
            "sshKeyFile": offered("KVM_TEST_SSH_KEY_FILE"),
            "knownHostsFile": offered("KVM_TEST_KNOWN_HOSTS_FILE"),
            "allowEmulation": env::var("KVM_TEST_ALLOW_EMULATION").is_ok_and(|value| value == "true"),
            "diskSizeGb": 3,
            "images": {"squid": image},
            "machineTypes": {"small": {"vcpus": 1, "memoryMiB": 1024}},
            "hosts": [host],
        });
        let config = json!({"providers": [{"name": "host", "type": TYPE, TYPE: block}]});
        let mut registry = Registry::default();
        register(&mut registry);
        let surroundings = |name: &ProviderName| {
            let identity = Identity::new(InstallationId::parse(&format!("life-{}", self.name)).unwrap());
            let clock = Arc::new(SystemClock::default());
            let mut context = Context::new(name.clone(), identity, clock, Arc::new(TokioSpawner));
            context.tracker = tracker.clone();
            context
        };
        let providers = registry.load(&config.to_string(), |_| {}, surroundings).unwrap();
        let (_, entry) = providers.iter().next().unwrap();
        entry.built.clone()
    }
}

pub(crate) fn pool() -> String {
    env::var("KVM_TEST_POOL").unwrap_or_else(|_| "default".to_owned())
}

const NAME: &str = "KVM_LIFE_NAME";
const FIRMWARE: &str = "KVM_LIFE_FIRMWARE";
