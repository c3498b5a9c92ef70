//! A hypervisor's daemons inside: virtlogd, libvirtd with QEMU, what lets users in, a NAT network and a storage pool. All that they read and
//! write lies in folders of the run that cover the machine's, so a libvirtd that runs beside it is not touched and not
//! seen.
//!
//! Guests are emulated, on every machine alike: a `/dev/kvm` that cannot run a guest, as in many VMs, would make each
//! definition of a domain take minutes, so it is hidden.

use super::inside::Inside;
use super::kube::answers;
use super::process::Server;
use super::reaper::Reaper;
use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use crate::run;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whoever may use the daemon's socket is in this group, and no more is asked of them.
pub(super) const GROUP: &str = "libvirt";
/// Where the daemon listens.
pub(super) const SOCKET: &str = "/run/libvirt/libvirt-sock";
/// Where it keeps UEFI's variables of each domain.
pub(super) const NVRAM: &str = "/var/lib/libvirt/qemu/nvram";
/// The pool.
pub(super) const POOL: &str = "egress";
/// The network, which is as Debian's packages have it, with room for more leases than the tests have guests.
pub(super) const NETWORK: &str = "default";
/// The host's address on the network, where guests find DNS and DHCP.
pub(super) const GATEWAY: &str = "192.168.122.1";

/// What libvirt keeps, each covered by a folder of the run.
const FOLDERS: [&str; 4] = ["/etc/libvirt", "/var/lib/libvirt", "/var/cache/libvirt", "/var/log/libvirt"];

/// What the daemons are told; the rest is as Debian has it.
const CONFIG: [(&str, &str); 4] = [
    ("libvirtd.conf", include_str!("libvirtd.conf")),
    ("qemu.conf", include_str!("qemu.conf")),
    ("network.xml", include_str!("network.xml")),
    ("pool.xml", include_str!("pool.xml")),
];

/// Covers what is the machine's own; `folder` takes what is written.
pub(super) fn furnish(inside: &Inside, folder: &Path) -> Outcome {
    inside.run("mount", &["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"])?;
    // That of the namespace, in which libvirt finds its bridge. It has no cgroups, and libvirt does without.
    inside.run("umount", &["--lazy", "/sys"])?;
    inside.run("mount", &["-t", "sysfs", "sysfs", "/sys"])?;
    for covered in FOLDERS {
        let own = new_folder(&folder.join(covered.trim_start_matches('/').replace('/', "-")), 0o755)?;
        inside.run("mount", &["--bind", &own.display().to_string(), covered])?;
    }
    for (name, text) in CONFIG {
        write(&folder.join("etc-libvirt").join(name), text)?;
    }
    new_folder(&folder.join("var-lib-libvirt/images"), 0o711)?;
    if inside.run("test", &["-e", "/dev/kvm"]).is_ok() {
        // What nobody may open does not exist for libvirt, which looks as the user that QEMU runs as.
        let hidden = folder.join("no-kvm");
        write(&hidden, "")?;
        fs::set_permissions(&hidden, Permissions::from_mode(0o000))
            .map_err(|error| cannot_write(&hidden, &error))?;
        inside.run("mount", &["--bind", &hidden.display().to_string(), "/dev/kvm"])?;
    }
    Ok(())
}

/// Starts the daemons, the network and the pool, and waits until each is there.
pub(super) fn start(inside: &Inside, reaper: &mut Reaper, folder: &Path) -> Outcome<Vec<Server>> {
    let mut start = |name, words: &[&str]| {
        let mut command = inside.command(words[0]);
        Server::start(reaper, folder, name, command.args(&words[1..]))
    };
    // libvirtd asks polkit about whoever is not root, over the system's bus.
    inside.run("mkdir", &["-p", "/run/dbus"])?;
    let mut bus = start("dbus-daemon", &["dbus-daemon", "--system", "--nofork", "--nopidfile"])?;
    let socket = ["-S", "/run/dbus/system_bus_socket"];
    bus.wait_until(|| answers(inside.command("test").args(socket)))?;
    let polkit = start("polkitd", &["/usr/lib/polkit-1/polkitd", "--no-debug"])?;
    let log = start("virtlogd", &["virtlogd"])?;
    let mut daemon = start("libvirtd", &["libvirtd", "--config", "/etc/libvirt/libvirtd.conf"])?;
    daemon.wait_until(|| answers(virsh(inside).arg("version")))?;
    for words in [
        ["net-define", "/etc/libvirt/network.xml"],
        ["net-start", NETWORK],
        ["pool-define", "/etc/libvirt/pool.xml"],
        ["pool-start", POOL],
    ] {
        run::read(virsh(inside).args(words))?;
    }
    Ok(vec![bus, polkit, log, daemon])
}

/// The version that the daemon says of itself, `9.0.0` say.
pub(super) fn version(inside: &Inside) -> Outcome<String> {
    let says = run::read(virsh(inside).args(["version", "--daemon"]))?;
    let line = says.lines().rev().find_map(|line| line.strip_prefix("Running against daemon: "));
    line.map(|version| version.trim().to_owned())
        .ok_or_else(|| Stop::cannot(format!("virsh says {says:?} when asked for the daemon's version")))
}

/// What stands on the host that the tests should have removed: domains, UEFI's variables, and volumes that are no copies of
/// images, which are meant to stay.
pub(super) fn left(inside: &Inside) -> Outcome<Vec<String>> {
    let domains = run::read(virsh(inside).args(["list", "--all", "--name"]))?;
    let variables = run::read(inside.command("find").args([NVRAM, "-type", "f"]))?;
    let volumes = run::read(virsh(inside).args(["vol-list", "--pool", POOL]))?;
    let volumes = volumes.lines().filter_map(|line| line.split_whitespace().next());
    let volumes = volumes.filter(|volume| !volume.starts_with("proxy-image-"));
    Ok(domains.split_whitespace().chain(variables.lines()).chain(volumes).map(str::to_owned).collect())
}

fn virsh(inside: &Inside) -> Command {
    let mut command = inside.command("virsh");
    command.args(["-q", "-c", &format!("qemu+unix:///system?socket={SOCKET}")]);
    command
}

pub(super) fn new_folder(folder: &Path, mode: u32) -> Outcome<PathBuf> {
    fs::create_dir_all(folder)
        .and_then(|()| fs::set_permissions(folder, Permissions::from_mode(mode)))
        .map_err(|error| cannot_write(folder, &error))?;
    Ok(folder.to_owned())
}

pub(super) fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_name_what_tests_are_told() {
        let text = |name: &str| CONFIG.iter().find(|(found, _)| *found == name).unwrap().1;
        assert!(text("network.xml").contains(&format!("<name>{NETWORK}</name>")));
        assert!(text("network.xml").contains(&format!("<ip address='{GATEWAY}'")));
        assert!(text("pool.xml").contains(&format!("<name>{POOL}</name>")));
    }
}
