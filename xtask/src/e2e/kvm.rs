//! `xtask e2e kvm`: a hypervisor of one's own — libvirtd with QEMU under emulation behind a real SSH server, in namespaces
//! of its own — and the tests that judge the fake by it, the conformance suite of the kvm provider on it, and whole lives
//! of real guests.
//!
//! Needs root on x86-64. Leaves no trace: one SIGKILL ends all inside, guests too.

use super::inside::Inside;
use super::libvirtd::{self, GATEWAY, NETWORK, NVRAM, POOL, SOCKET, new_folder};
use super::process::Server;
use super::reaper::Reaper;
use super::sshd::{self, Access};
use super::suite::{self, Environment};
use super::{container, guest, kube};
use crate::cache::cannot_write;
use crate::conformance::{self, Beside};
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use crate::workspace::{Kind, Workspace};
use crate::{flags, setup};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many cases of the suite run at once: on a real daemon a case waits more than it works.
const JOBS: &str = "8";

/// True if the workspace has tests for a hypervisor.
pub(crate) fn has_tests(workspace: &Workspace) -> bool {
    suite::exist(workspace, suite::KVM)
}

/// Where a suite has a harness for a real backend it is called so in every provider.
fn has_suite(workspace: &Workspace) -> bool {
    workspace.has("provider-kvm", Kind::Test, conformance::SUITE)
        && workspace.root.join("providers/kvm/tests/harness/real.rs").is_file()
}

/// Why this machine cannot run a hypervisor, if it cannot.
pub(crate) fn impossible() -> Option<&'static str> {
    if !setup::is_root() {
        return Some("it needs root, for namespaces and mounts; run it as root");
    }
    if std::env::consts::ARCH != "x86_64" {
        return Some("the guest is an x86-64 one, and is made of the machine's own packages");
    }
    None
}

pub(crate) fn command(flags: &flags::Kvm) -> Outcome {
    let progress = Progress::new();
    let workspace = Workspace::read()?;
    if let Some(why) = impossible() {
        return Err(Stop::cannot(format!("a hypervisor cannot run here: {why}")));
    }
    setup::require(flags.install, &[setup::LIBVIRT, setup::KVM].concat(), "a hypervisor")?;
    let image = guest::image(&progress)?;
    progress.say(&format!("the guest image is {}", image.display()));
    let wants_suite = flags.suite && flags.instead.is_empty() && !flags.container && has_suite(&workspace);
    let root = match flags.container {
        true => {
            setup::require(flags.install, setup::DOCKER, "a container")?;
            Some(container::root(&progress)?)
        }
        false => None,
    };
    let small = match flags.build_only || wants_suite {
        true => Some(guest::small::image(&progress)?),
        false => None,
    };
    if flags.build_only {
        return Ok(());
    }
    // In a container, too, guests live; all else is the same there.
    let targets = if flags.container { suite::KVM_CONTAINER } else { suite::KVM };
    let tests = suite::wanted(&workspace, targets, &flags.instead)?;
    tests.build(&workspace, &progress)?;
    let suite = match wants_suite {
        true => Some(conformance::build(&workspace, "provider-kvm", Beside::Everything)?),
        false => None,
    };
    let host = Host::start(&workspace, root.as_deref())?;
    progress.say(&format!(
        "libvirtd {} is ready inside, at {SOCKET} and by SSH at {}",
        libvirtd::version(&host.inside)?,
        sshd::ADDRESS
    ));
    let enter = |command| host.inside.enter(&command);
    let mut environment = host.environment();
    environment.set("KVM_TEST_IMAGE_FILE", &image);
    let outcome = tests.run(&workspace, &progress, &environment, enter);
    let outcome = match suite {
        Some(suite) => kube::both(outcome, host.conformance(&suite, small.as_deref(), &progress)),
        None => outcome,
    };
    let outcome = if flags.instead.is_empty() { outcome.and_then(|()| host.is_clean()) } else { outcome };
    host.end(outcome)
}

/// Runs a command on a hypervisor that is there for it alone, with the environment of tests but for the guest image.
pub(crate) fn beside(workspace: &Workspace, install: flags::Install, mut command: Command) -> Outcome {
    if let Some(why) = impossible() {
        return Err(Stop::cannot(format!("a hypervisor cannot run here: {why}")));
    }
    setup::require(install, &[setup::LIBVIRT, setup::KVM].concat(), "a hypervisor")?;
    let host = Host::start(workspace, None)?;
    host.environment().give(&mut command);
    let outcome = run::check(&mut host.inside.enter(&command));
    host.end(outcome)
}

/// A running hypervisor. Dropping it ends it.
struct Host {
    folder: PathBuf,
    access: Access,
    // Its drop ends all inside, so it comes before them.
    _reaper: Reaper,
    inside: Inside,
    servers: Vec<Server>,
}

impl Host {
    /// In namespaces, or in a container with this root.
    fn start(workspace: &Workspace, root: Option<&Path>) -> Outcome<Self> {
        let name = format!("egress-kvm-{}", std::process::id());
        let folder = workspace.target.join(format!("e2e/kvm-{}", std::process::id()));
        let data = new_folder(&folder.join("data"), 0o755)?;
        let mut reaper = Reaper::start()?;
        reaper.folder(&data)?;
        let mut servers = Vec::new();
        let inside = match root {
            None => Inside::make(&mut reaper, &name)?,
            Some(root) => {
                let made = container::start(&mut reaper, workspace, &name, &folder, root)?;
                servers.extend(made.engine);
                made.inside
            }
        };
        libvirtd::furnish(&inside, &data)?;
        servers.extend(libvirtd::start(&inside, &mut reaper, &folder)?);
        let (access, server) = sshd::start(&inside, &mut reaper, &folder, &data)?;
        servers.push(server);
        Ok(Self { folder, access, inside, servers, _reaper: reaper })
    }

    /// What tests are told; whoever has a host of their own sets the same by hand (docs/kvm.md).
    fn environment(&self) -> Environment {
        let mut environment = Environment::default();
        environment.set("KVM_TEST_ADDRESS", sshd::ADDRESS);
        environment.set("KVM_TEST_USER", sshd::USER);
        environment.set("KVM_TEST_SSH_KEY_FILE", self.access.key());
        environment.set("KVM_TEST_KNOWN_HOSTS_FILE", self.access.known_hosts());
        environment.set("KVM_TEST_SOCKET", SOCKET);
        environment.set("KVM_TEST_LIBVIRT_SOCKET", SOCKET);
        environment.set("KVM_TEST_POOL", POOL);
        environment.set("KVM_TEST_NETWORK", NETWORK);
        environment.set("KVM_TEST_NVRAM_FOLDER", NVRAM);
        environment.set("KVM_TEST_ALLOW_EMULATION", "true");
        environment.set("KVM_TEST_SERVER_ADDRESS", GATEWAY);
        // Everything was compiled outside, and inside there is no way out.
        environment.set("CARGO_NET_OFFLINE", "true");
        environment
    }

    /// Runs the conformance suite on this host; it prints its report and verdict.
    fn conformance(&self, suite: &Command, image: Option<&Path>, progress: &Progress) -> Outcome {
        let config = self.folder.join("conformance.yaml");
        // JSON is YAML, whatever is in a path.
        let text = serde_json::json!({
            "address": sshd::ADDRESS,
            "user": sshd::USER,
            "sshKeyFile": self.access.key(),
            "knownHostsFile": self.access.known_hosts(),
            "socket": SOCKET,
            "pool": POOL,
            "network": NETWORK,
            "allowEmulation": true,
            "image": image,
        });
        fs::write(&config, text.to_string()).map_err(|error| cannot_write(&config, &error))?;
        let mut suite = self.inside.enter(suite);
        suite.args(["--backend", "real", "--jobs", JOBS, "--config"]).arg(&config);
        progress.say(&run::line(&suite));
        run::hand_on(&mut suite).map_err(|stop| match stop.says.is_empty() {
            true => Stop {
                says: format!(
                    "the conformance suite on the real libvirtd ended with exit code {}",
                    stop.code
                ),
                ..stop
            },
            false => stop,
        })
    }

    /// Fails where tests left something on the host.
    fn is_clean(&self) -> Outcome {
        let left = libvirtd::left(&self.inside)?;
        if left.is_empty() {
            Ok(())
        } else {
            Err(Stop::failed(format!("left on the host: {}", left.join(", "))))
        }
    }

    /// Ends everything. The daemons' logs stay where something failed.
    fn end(mut self, outcome: Outcome) -> Outcome {
        let outcome = outcome.and_then(|()| self.servers.iter_mut().try_for_each(Server::still_runs));
        let folder = self.folder.clone();
        drop(self);
        suite::keep_logs_of_failure(&folder, outcome)
    }
}
