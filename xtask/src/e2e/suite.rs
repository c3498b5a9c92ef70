//! Which tests run against a real backend, and how they learn where it is: by environment variables that begin with
//! `KUBERNETES_TEST_` or `KVM_TEST_`. A test that is asked for and has no such variable fails; it never passes by doing nothing.
//! So that a plain `cargo test` does not ask for it, its target is declared with `test = false`.

use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use crate::setup::{self, Need};
use crate::workspace::{Kind, Workspace};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A test target that wants a real backend: its package, its name, which no other package has, and its flags. It is
/// built with the features of the whole workspace, so that nothing is compiled twice.
pub(crate) struct Target {
    pub(crate) package: &'static str,
    pub(crate) name: &'static str,
    flags: &'static [&'static str],
}

/// Against a bare API server, and what needs the kubectl that comes with it.
pub(super) const KUBE: &[Target] = &[
    Target { package: "fixture-kube-api", name: "kubectl", flags: &[] },
    Target { package: "fixture-kube-api", name: "parity", flags: &[] },
    Target { package: "provider-kubernetes", name: "real", flags: &[] },
    // An operator works on the Proxies of the whole cluster.
    Target { package: "proxy-operator", name: "apiserver-real", flags: &["--test-threads=1"] },
];

/// Inside the one-node cluster.
pub(super) const NODE: &[Target] = &[Target { package: "provider-kubernetes", name: "node", flags: &[] }];

/// On a hypervisor: libvirtd with QEMU, behind an SSH server.
pub(super) const KVM: &[Target] = &[
    // It compares what the daemon says of all that it has.
    Target { package: "fixture-libvirt", name: "libvirt-parity", flags: &["--test-threads=1"] },
    Target { package: "provider-kvm", name: "kvm-life", flags: &[] },
];

/// On a hypervisor in a container.
pub(super) const KVM_CONTAINER: &[Target] =
    &[Target { package: "provider-kvm", name: "kvm-life", flags: &[] }];

/// Beside programs of a system package, with no cluster: each is a step of `cargo xtask test` by the target's name.
pub(crate) const PROGRAMS: &[(Target, &[Need])] = &[
    (Target { package: "provider-kubernetes", name: "squid", flags: &[] }, setup::SQUID),
    (Target { package: "fixture-libvirt", name: "virsh", flags: &[] }, setup::VIRSH),
    (Target { package: "ssh", name: "openssh", flags: &[] }, setup::OPENSSH),
    (Target { package: "nocloud", name: "seed-readers", flags: &[] }, setup::SEED_READERS),
];

/// What runs: the tests that the workspace has, or the command that was given instead.
pub(super) struct Wanted<'a> {
    targets: Vec<&'static Target>,
    instead: &'a [String],
}

/// Fails where there is nothing to run.
pub(super) fn wanted<'a>(
    workspace: &Workspace,
    targets: &'static [Target],
    instead: &'a [String],
) -> Outcome<Wanted<'a>> {
    let targets: Vec<_> =
        targets.iter().filter(|target| workspace.has(target.package, Kind::Test, target.name)).collect();
    if targets.is_empty() && instead.is_empty() {
        return Err(Stop::cannot(
            "no package has tests for this backend yet; `-- COMMAND` runs a command of yours with it",
        ));
    }
    Ok(Wanted { targets, instead })
}

/// True if the workspace has tests for it.
pub(super) fn exist(workspace: &Workspace, targets: &[Target]) -> bool {
    targets.iter().any(|target| workspace.has(target.package, Kind::Test, target.name))
}

/// The package and name of every such test target that the workspace has.
pub(crate) fn existing(workspace: &Workspace) -> impl Iterator<Item = (&'static str, &'static str)> {
    let programs = PROGRAMS.iter().map(|(target, _)| target);
    let all = KUBE.iter().chain(NODE).chain(KVM).chain(programs);
    all.filter(|target| workspace.has(target.package, Kind::Test, target.name))
        .map(|target| (target.package, target.name))
}

impl Wanted<'_> {
    /// Compiles before a server starts: a compile error then costs no server, and no server idles meanwhile.
    pub(super) fn build(&self, workspace: &Workspace, progress: &Progress) -> Outcome {
        if !self.instead.is_empty() {
            return Ok(());
        }
        for target in &self.targets {
            let mut command = workspace.cargo();
            command.args(["test", "--no-run"]).args(workspace.whole()).args(["--test", target.name]);
            progress.say(&run::line(&command));
            run::check(&mut command)?;
        }
        Ok(())
    }

    /// Runs all of them, also after one has failed. `enter` puts a command where the backend is.
    pub(super) fn run(
        &self,
        workspace: &Workspace,
        progress: &Progress,
        environment: &Environment,
        enter: impl Fn(Command) -> Command,
    ) -> Outcome {
        if let Some((program, arguments)) = self.instead.split_first() {
            let mut command = Command::new(program);
            command.args(arguments);
            environment.give(&mut command);
            return run::hand_on(&mut enter(command));
        }
        let mut failed = Vec::new();
        for target in &self.targets {
            let mut command = workspace.cargo();
            command
                .arg("test")
                .args(workspace.whole())
                .args(["--test", target.name, "--"])
                .args(target.flags);
            progress.say(&run::line(&command));
            environment.give(&mut command);
            match run::check(&mut enter(command)) {
                Err(stop) if stop.code != 1 => return Err(stop),
                Err(stop) => failed.push(stop.says),
                Ok(()) => {}
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(Stop::failed(failed.join("; "))) }
    }
}

/// The variables that tests read.
#[derive(Default)]
pub(super) struct Environment(Vec<(&'static str, OsString)>);

impl Environment {
    pub(super) fn of_kubernetes(kubeconfig: &Path, version: &str) -> Self {
        let mut environment = Self::default();
        environment.set("KUBERNETES_TEST_KUBECONFIG", kubeconfig);
        environment.set("KUBERNETES_TEST_SERVER_VERSION", version);
        environment
    }

    pub(super) fn set(&mut self, name: &'static str, value: impl AsRef<OsStr>) {
        self.0.push((name, value.as_ref().to_owned()));
    }

    pub(super) fn give(&self, command: &mut Command) {
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
    }
}

/// Removes a run's folder where all went well, and says where the logs are where not.
pub(super) fn keep_logs_of_failure(folder: &Path, outcome: Outcome) -> Outcome {
    if outcome.is_err() {
        println!("the servers' logs are in {}", folder.display());
        return outcome;
    }
    // The folder lies under target/: what cannot be removed now goes with it.
    let _ = fs::remove_dir_all(folder);
    outcome
}
