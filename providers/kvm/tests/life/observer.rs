//! The host as others see it: OpenSSH's own client and virsh, with the provider's rights and none of its code.

use std::{
    env, fs,
    net::IpAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use provider_api::Name;
use tempfile::TempDir;

use crate::host::{offered, pool, socket};

/// A way to the daemon that ends with it.
pub(crate) struct Observer {
    folder: TempDir,
    tunnel: Child,
}

impl Observer {
    pub(crate) fn dial() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let near = folder.path().join("socket");
        let address = offered("KVM_TEST_ADDRESS");
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port),
            _ => (address.as_str(), "22"),
        };
        let mut command = Command::new("ssh");
        command.args(["-F", "none", "-N", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes"]);
        command.args(["-o", "StrictHostKeyChecking=yes", "-o", "GlobalKnownHostsFile=none"]);
        command.arg("-o").arg(format!("UserKnownHostsFile={}", offered("KVM_TEST_KNOWN_HOSTS_FILE")));
        command.args(["-i", &offered("KVM_TEST_SSH_KEY_FILE"), "-l", &offered("KVM_TEST_USER"), "-p", port]);
        command.arg("-L").arg(format!("{}:{}", near.display(), socket()));
        command.arg(host.trim_matches(['[', ']'])).stdin(Stdio::null()).stdout(Stdio::null());
        let mut tunnel = command.spawn().expect("OpenSSH's client is installed");
        let begun = Instant::now();
        while !near.exists() {
            assert!(tunnel.try_wait().unwrap().is_none(), "ssh has ended; it says above why");
            assert!(begun.elapsed() < Duration::from_secs(60), "ssh has made no socket");
            thread::sleep(Duration::from_millis(20));
        }
        Self { folder, tunnel }
    }

    /// What virsh prints; it must end well.
    pub(crate) fn virsh(&self, words: &[&str]) -> String {
        let uri = format!("qemu+unix:///system?socket={}", self.folder.path().join("socket").display());
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

impl Drop for Observer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.tunnel.kill();
        let _ = self.tunnel.wait();
    }
}
