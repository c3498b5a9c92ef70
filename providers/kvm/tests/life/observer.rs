//! The host as others see it: OpenSSH's own client and virsh, with the provider's rights and none of its code.

use std::{env, fs, net::IpAddr, path::PathBuf, process::Command};

use provider_api::Name;

use crate::{
    host::{offered, pool, socket},
    outside::tunnel::{Far, Tunnel},
};

/// A way to the daemon that ends with it.
pub(crate) struct Observer(Tunnel);

impl Observer {
    pub(crate) fn dial() -> Self {
        let far = Far {
            address: offered("KVM_TEST_ADDRESS"),
            user: offered("KVM_TEST_USER"),
            key_file: offered("KVM_TEST_SSH_KEY_FILE").into(),
            known_hosts_file: offered("KVM_TEST_KNOWN_HOSTS_FILE").into(),
            socket: socket(),
        };
        Self(Tunnel::open(&far).unwrap())
    }

    /// What virsh prints; it must end well.
    pub(crate) fn virsh(&self, words: &[&str]) -> String {
        let uri = format!("qemu+unix:///system?socket={}", self.0.socket().display());
        let output = Command::new("virsh").args(["-q", "-c", &uri]).args(words).output();
        let output = output.expect("virsh is installed");
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "virsh {words:?}: {complained}");
        said.into_owned()
    }

    /// The names of all domains.
    pub(crate) fn domains(&self) -> Vec<String> {
        self.virsh(&["list", "--all", "--name"]).split_whitespace().map(str::to_owned).collect()
    }

    /// The addresses of a domain: those that its network has leased to it, on a bridge those that its agent knows.
    pub(crate) fn addresses(&self, domain: &str) -> Vec<IpAddr> {
        let source = if env::var("KVM_TEST_BRIDGE").is_ok() { "agent" } else { "lease" };
        let lines = self.virsh(&["domifaddr", domain, "--source", source]);
        let words = lines.split_whitespace().filter_map(|word| word.split_once('/'));
        words.filter_map(|(address, _)| address.parse().ok()).collect()
    }

    /// What is called after this instance: domains, volumes, and NVRAM where it can be looked at.
    pub(crate) fn left_of(&self, name: &Name) -> Vec<String> {
        let volumes = self.virsh(&["vol-list", "--pool", &pool()]);
        let volumes = volumes.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
        let all = self.domains().into_iter().chain(volumes).chain(nvram());
        all.filter(|found| found.contains(name.as_str())).collect()
    }
}

/// The files of UEFI's variables, on a host whose folder this process can read.
fn nvram() -> Vec<String> {
    let Ok(folder) = env::var("KVM_TEST_NVRAM_FOLDER").map(PathBuf::from) else { return Vec::new() };
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
