//! `xtask setup`, and the same for every command that needs a system package: installs it through apt where that
//! needs no password, and says so; otherwise prints the one line to run.

use crate::flags;
use crate::outcome::{Outcome, Stop};
use crate::run;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that a step runs, and the Debian package that brings it.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    /// A name to be found on `PATH`, or an absolute path.
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
}

const fn need(program: &'static str, package: &'static str) -> Need {
    Need { program, package }
}

/// For an API server on loopback: keys, and the question whether it is ready.
pub(crate) const KUBE: &[Need] = &[need("openssl", "openssl"), need("curl", "curl")];

/// For reading the Squid configurations that we write with Squid itself.
pub(crate) const SQUID: &[Need] = &[need("squid", "squid")];

/// For dialling a real SSH server, and for comparing our judgement of host keys with that of OpenSSH's own client.
pub(crate) const OPENSSH: &[Need] = &[
    need("sshd", "openssh-server"),
    need("ssh", "openssh-client"),
    need("ssh-keygen", "openssh-client"),
    need("ssh-keyscan", "openssh-client"),
];

/// For libvirt's own command line, which takes the fake for a daemon.
pub(crate) const VIRSH: &[Need] = &[need("virsh", "libvirt-clients")];

/// For reading the seed images that we write.
pub(crate) const SEED_READERS: &[Need] =
    &[need("mtype", "mtools"), need("fsck.fat", "dosfstools"), need("blkid", "util-linux")];

/// For linking libvirt's library.
pub(crate) const LIBVIRT: &[Need] =
    &[need("/usr/include/libvirt/libvirt.h", "libvirt-dev"), need("pkg-config", "pkg-config")];

/// The members that cannot be compiled without a system package: no default members, so a plain `cargo test` wants none.
pub(crate) const TO_COMPILE: &[(&str, &[Need])] = &[("provider-kvm", LIBVIRT)];

/// What has to be there for a member to be compiled.
pub(crate) fn to_compile(member: &str) -> &'static [Need] {
    TO_COMPILE.iter().find(|(name, _)| *name == member).map_or(&[], |(_, needs)| needs)
}

/// What a benchmark compares with.
pub(crate) const GENISOIMAGE: &[Need] = &[need("genisoimage", "genisoimage")];

/// For building the servers of Kubernetes 1.20 from Debian's source package: the last Go that compiles them.
pub(crate) const OLD_KUBE: &[Need] = &[need("/usr/lib/go-1.19/bin/go", "golang-1.19-go")];

/// For etcd where it is not built with Go.
pub(crate) const ETCD: &[Need] = &[need("etcd", "etcd-server")];

/// For the one-node cluster, beside [`KUBE`] and [`OLD_KUBE`].
pub(crate) const NODE: &[Need] = &[
    need("dockerd", "docker.io"),
    need("mmdebstrap", "mmdebstrap"),
    need("ip", "iproute2"),
    need("nsenter", "util-linux"),
];

/// For a hypervisor and the guest that it runs, beside [`LIBVIRT`].
pub(crate) const KVM: &[Need] = &[
    need("libvirtd", "libvirt-daemon-system"),
    need("virsh", "libvirt-clients"),
    need("/usr/lib/polkit-1/polkitd", "polkitd"),
    need("dbus-daemon", "dbus-daemon"),
    need("qemu-system-x86_64", "qemu-system-x86"),
    need("qemu-img", "qemu-utils"),
    need("/usr/share/OVMF/OVMF_CODE_4M.fd", "ovmf"),
    need("/usr/share/seabios/bios-256k.bin", "seabios"),
    need("dnsmasq", "dnsmasq-base"),
    need("iptables", "iptables"),
    need("ip", "iproute2"),
    need("nsenter", "util-linux"),
    need("sshd", "openssh-server"),
    need("ssh-keygen", "openssh-client"),
    need("mmdebstrap", "mmdebstrap"),
    need("syslinux", "syslinux"),
    need("/usr/lib/syslinux/mbr/mbr.bin", "syslinux-common"),
    need("mcopy", "mtools"),
    need("mkfs.vfat", "dosfstools"),
    need("mke2fs", "e2fsprogs"),
    need("sfdisk", "fdisk"),
];

/// For the same in a container, beside [`KVM`].
pub(crate) const DOCKER: &[Need] = &[need("docker", "docker.io"), need("dockerd", "docker.io")];

pub(crate) fn command(flags: &flags::Setup) -> Outcome {
    let needs = all();
    let missing = ensure(flags.install, &needs)?;
    if missing.is_empty() {
        println!("every system package that xtask needs is installed");
        return Ok(());
    }
    let mut without = Vec::new();
    for (step, needs) in crate::test::needs_of_steps() {
        if needs.iter().any(|need| missing.contains(need.package)) {
            without.push(step);
        }
    }
    println!("left out without them: {}", without.join(", "));
    Err(Stop::left_out(""))
}

/// Installs what is missing of `needs` if that can be done without asking; returns the packages still missing, after
/// having printed the line that installs them.
pub(crate) fn ensure(install: flags::Install, needs: &[Need]) -> Outcome<BTreeSet<&'static str>> {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(missing);
    }
    let packages = pinned(&missing, codename().as_deref());
    let downgrades: &[_] = if packages.iter().any(|name| name.contains('/')) { &[DOWNGRADES] } else { &[] };
    let words = [&["install", "-y", "--no-install-recommends"], downgrades].concat();
    let line = format!("apt-get {} {}", words.join(" "), packages.join(" "));
    let Some(prefix) = without_password().filter(|_| !install.no_install) else {
        let names: Vec<_> = missing.iter().copied().collect();
        println!("not installed: {}. To install them, run: sudo {line}", names.join(", "));
        return Ok(missing);
    };
    println!(
        "installing system packages: {}{line}",
        prefix.iter().map(|word| format!("{word} ")).collect::<String>()
    );
    let apt = |words: &[&str]| {
        let mut all = prefix.to_vec();
        all.extend(["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"]);
        all.extend(words);
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        command.stdout(Stdio::null());
        run::check(&mut command)
    };
    let words: Vec<_> = words.into_iter().chain(packages.iter().map(String::as_str)).collect();
    apt(&["update"]).and_then(|()| apt(&words)).map_err(|stop| {
        Stop::cannot(format!(
            "the system packages could not be installed ({}); run `{line}` by hand",
            stop.says
        ))
    })?;
    Ok(self::missing(needs))
}

/// What apt is asked for. QEMU's packages must be of one release, and a newer `qemu-utils` of the backports would conflict:
/// where one is missing, both are named with the release.
fn pinned(missing: &BTreeSet<&str>, codename: Option<&str>) -> Vec<String> {
    let of_qemu = |package: &str| QEMU.contains(&package);
    let others = missing.iter().filter(|package| !of_qemu(package)).map(|package| (*package).to_owned());
    let qemu: &[_] = if missing.iter().any(|package| of_qemu(package)) { &QEMU } else { &[] };
    let release = codename.map(|name| format!("/{name}")).unwrap_or_default();
    others.chain(qemu.iter().map(|package| format!("{package}{release}"))).collect()
}

const QEMU: [&str; 2] = ["qemu-system-x86", "qemu-utils"];
const DOWNGRADES: &str = "--allow-downgrades";

/// The release of Debian that runs here, if it is Debian.
fn codename() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    of("ID=").filter(|id| *id == "debian")?;
    of("VERSION_CODENAME=").map(str::to_owned)
}

/// As [`ensure`], for a command that is of no use without them.
pub(crate) fn require(install: flags::Install, needs: &[Need], what: &str) -> Outcome {
    let missing = ensure(install, needs)?;
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<_> = missing.into_iter().collect();
    Err(Stop::cannot(format!("{what} needs {}: run the line above", missing.join(", "))))
}

/// What `needs` asks for and the machine does not have.
pub(crate) fn missing(needs: &[Need]) -> BTreeSet<&'static str> {
    needs.iter().filter(|need| !present(need.program)).map(|need| need.package).collect()
}

/// Everything any step needs.
fn all() -> Vec<Need> {
    crate::test::needs_of_steps().into_iter().flat_map(|(_, needs)| needs).collect()
}

fn present(program: &str) -> bool {
    if program.starts_with('/') {
        return Path::new(program).is_file();
    }
    // An ordinary user's PATH often lacks sbin, where dockerd's and ip's relatives live.
    run::exists(program)
        || ["/usr/sbin", "/sbin"].iter().any(|folder| Path::new(folder).join(program).is_file())
}

/// The words to put before apt-get, or nothing where it would ask for a password or is not there.
fn without_password() -> Option<&'static [&'static str]> {
    if !run::exists("apt-get") {
        return None;
    }
    if is_root() {
        return Some(&[]);
    }
    let sudo = Command::new("sudo").args(["-n", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    sudo.is_ok_and(|status| status.success()).then_some(&["sudo", "-n"])
}

/// True for the superuser.
pub(crate) fn is_root() -> bool {
    run::read(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qemu_comes_whole_and_of_one_release() {
        let missing = BTreeSet::from(["mtools", "qemu-system-x86"]);
        let both = ["mtools", "qemu-system-x86/bookworm", "qemu-utils/bookworm"];
        assert_eq!(pinned(&missing, Some("bookworm")), both);
        assert_eq!(pinned(&missing, None), ["mtools", "qemu-system-x86", "qemu-utils"]);
        assert_eq!(pinned(&BTreeSet::from(["mtools"]), Some("bookworm")), ["mtools"]);
    }
}
