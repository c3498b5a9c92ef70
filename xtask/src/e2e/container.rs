//! The inside as a Docker container: the same hypervisor on a machine of its own making, Debian 12 and nothing of the
//! machine around it but the workspace, the toolchain and the cache. An engine that answers is used; where none does, one
//! is started for the run, without networks and with folders of its own.

use super::cgroups;
use super::inside::Inside;
use super::kube::answers;
use super::libvirtd::new_folder;
use super::process::Server;
use super::reaper::Reaper;
use crate::cache;
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use crate::workspace::Workspace;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Changes when what is in the image changes.
const NAME: &str = "kvm-container-1";
/// What an engine knows it as.
const IMAGE: &str = "localhost/egress-kvm:1";

const BUILD_NEEDS_MIB: u64 = 1_500;

const PACKAGES: &str = "libvirt-daemon-system,libvirt-daemon-driver-qemu,libvirt-clients,qemu-system-x86,qemu-utils,ovmf,\
                        seabios,dnsmasq-base,iptables,iproute2,openssh-server,openssh-client,ca-certificates";

/// A running container, and the engine where it is ours. The reaper ends both.
pub(super) struct Container {
    pub(super) inside: Inside,
    pub(super) engine: Option<Server>,
}

/// The root file system, built once.
pub(super) fn root(progress: &Progress) -> Outcome<PathBuf> {
    let file = |entry: PathBuf| entry.join("root.tar");
    if let Some(entry) = cache::existing(NAME)? {
        return Ok(file(entry));
    }
    let entry = cache::entry(NAME, BUILD_NEEDS_MIB, |result, _| {
        progress.say(&format!(
            "building the container's image, once, into {} (about 80 seconds)",
            cache::folder()?.join(NAME).display()
        ));
        run::read(
            Command::new("mmdebstrap")
                .args(["--quiet", "--variant=minbase", &format!("--include={PACKAGES}")])
                .args(["--aptopt=APT::Install-Recommends \"false\"", "--dpkgopt=force-unsafe-io"])
                // The run makes its own keys.
                .args(["--customize-hook=rm -f \"$1\"/etc/ssh/ssh_host_*", "bookworm", "root.tar"])
                .current_dir(result),
        )
        .map(drop)
    })?;
    Ok(file(entry))
}

/// Starts a container called `name`; `logs` gets the log of an engine of ours.
pub(super) fn start(
    reaper: &mut Reaper,
    workspace: &Workspace,
    name: &str,
    logs: &Path,
    root: &Path,
) -> Outcome<Container> {
    let theirs = answers(Command::new("docker").arg("version"));
    let (engine, host) = match theirs {
        true => (None, None),
        false => {
            let (server, host) = own_engine(reaper, name, logs)?;
            (Some(server), Some(host))
        }
    };
    let docker = || {
        let mut command = Command::new("docker");
        if let Some(host) = &host {
            command.args(["-H", host]);
        }
        command
    };
    if !answers(docker().args(["image", "inspect", IMAGE])) {
        run::read(docker().arg("import").arg(root).arg(IMAGE))?;
    }
    reaper.container(host.as_deref(), name)?;
    let mut command = docker();
    command
        .args(["run", "--detach", "--rm", "--network=none", "--name", name, "--device=/dev/net/tun"])
        // Not privileged: what runs inside is entered by root from outside, and needs what that has.
        .arg("--security-opt=systempaths=unconfined");
    for folder in shared(workspace)? {
        let folder = folder.display();
        command.arg(format!("--volume={folder}:{folder}"));
    }
    // A shell as first process collects the dead.
    run::read(command.args([IMAGE, "sh", "-c", "while :; do sleep 3600 & wait $!; done"]))?;
    let pid = run::read(docker().args(["inspect", "--format", "{{.State.Pid}}", name]))?;
    let pid =
        pid.trim().parse().map_err(|_| Stop::cannot(format!("docker says that {pid:?} is a process")))?;
    let inside = Inside::of_container(pid);
    inside.run("ip", &["link", "set", "lo", "up"])?;
    Ok(Container { inside, engine })
}

/// What the tests need of the machine: each at the path that it has outside.
fn shared(workspace: &Workspace) -> Outcome<Vec<PathBuf>> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let toolchain = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")].map(|(variable, below)| {
        env::var_os(variable).map(PathBuf::from).or_else(|| home.as_ref().map(|home| home.join(below)))
    });
    let mut folders = vec![workspace.root.clone(), workspace.target.clone(), cache::folder()?];
    folders.extend(toolchain.into_iter().flatten().filter(|folder| folder.is_dir()));
    Ok(folders)
}

/// An engine for this run; returns where it listens.
fn own_engine(reaper: &mut Reaper, name: &str, logs: &Path) -> Outcome<(Server, String)> {
    // Sockets must have short paths.
    let run_folder = PathBuf::from("/run").join(name);
    reaper.folder(&run_folder)?;
    let host = format!("unix://{}/docker.sock", run_folder.display());
    cgroups::make(reaper, name)?;
    // In mounts of its own, which end with it. What it keeps is in memory: a few hundred MiB, in thousands of files whose
    // removal from a disk would take longer than the tests.
    let images = new_folder(&run_folder.join("docker"), 0o711)?;
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation=private", "sh", "-c"])
        .args(["mount -t tmpfs tmpfs \"$0\" && exec \"$@\" --data-root=\"$0\""])
        .arg(&images)
        .args(["dockerd", "-H", &host, "--log-level=warn"])
        .args(["--exec-opt=native.cgroupdriver=cgroupfs", &format!("--cgroup-parent=/{name}")])
        .arg(format!("--exec-root={}/exec", run_folder.display()))
        .arg(format!("--pidfile={}/docker.pid", run_folder.display()))
        // The machine's network is left alone.
        .args(["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]);
    let mut server = Server::start(reaper, logs, "dockerd", &mut command)?;
    server.wait_until(|| answers(Command::new("docker").args(["-H", &host, "version"])))?;
    Ok((server, host))
}
