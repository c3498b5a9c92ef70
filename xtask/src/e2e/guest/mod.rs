//! The guest image: Debian 12 with cloud-init, the guest agent and Squid, which boots by BIOS and by UEFI from one
//! virtio disk. It is made of packages and without mounting anything, so neither loop devices nor a VM are needed.
//!
//! It holds no secret and nothing that tells one guest from another; a guest becomes one by its seed. Built again of the
//! same packages it has the same files and ids, and differs in some bytes of its file systems' own.

mod disk;
pub(crate) mod small;

use super::libvirtd::GATEWAY;
use crate::cache::{self, cannot_write};
use crate::outcome::Outcome;
use crate::run::Progress;
use disk::{Bench, MADE_AT};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Changes when what is in the image changes.
const NAME: &str = "kvm-guest-1";

const BUILD_NEEDS_MIB: u64 = 4_000;

/// What an image is called in its entry.
const IMAGE: &str = "guest.qcow2";

/// No recommended package comes along, so each of these is named.
const PACKAGES: &str = "linux-image-cloud-amd64,initramfs-tools,zstd,systemd-sysv,udev,dbus,iproute2,cloud-init,\
                        qemu-guest-agent,squid,systemd-boot-efi";

/// `net.ifnames=0` for a name that a seed can count on. No `ds=nocloud`: it would hide the seed.
const KERNEL_LINE: &str = "root=LABEL=rootfs ro console=ttyS0 quiet net.ifnames=0 mitigations=off audit=0";

/// The partition with the boot loaders.
const BOOT_MIB: u64 = 64;
/// The partition with everything else; what is free in it is a hole.
const ROOT_MIB: u64 = 1_200;

/// The image, built once.
pub(crate) fn image(progress: &Progress) -> Outcome<PathBuf> {
    if let Some(entry) = cache::existing(NAME)? {
        return Ok(entry.join(IMAGE));
    }
    let entry = cache::entry(NAME, BUILD_NEEDS_MIB, |result, work| {
        progress.say(&format!(
            "building the guest image, once, into {} (about 90 seconds on two cores)",
            cache::folder()?.join(NAME).display()
        ));
        let bench = Bench { work };
        make_root(&bench)?;
        let kernel = bench.kernel()?;
        let initrd = kernel.replacen("vmlinuz-", "initrd.img-", 1);
        bench.boot_partition(BOOT_MIB, &kernel, &initrd, KERNEL_LINE)?;
        make_root_partition(&bench)?;
        bench.disk(&result.join(IMAGE), BOOT_MIB, Some(("root.img", ROOT_MIB)))
    })?;
    Ok(entry.join(IMAGE))
}

/// The root folder, from Debian's packages.
fn make_root(bench: &Bench<'_>) -> Outcome {
    let hook = bench.write("customize.sh", include_str!("customize.sh"))?;
    fs::set_permissions(&hook, Permissions::from_mode(0o755)).map_err(|error| cannot_write(&hook, &error))?;
    let config = bench.write("cloud.cfg", include_str!("cloud.cfg"))?;
    let customize = format!("{} \"$1\" {}", quoted(&hook), quoted(&config));
    bench.run(
        "mmdebstrap",
        [
            "--quiet",
            "--mode=root",
            "--variant=minbase",
            &format!("--include={PACKAGES}"),
            "--aptopt=Acquire::Languages \"none\"",
            "--aptopt=APT::Install-Recommends \"false\"",
            // No sync after every file: what is cut off is built again anyway.
            "--dpkgopt=force-unsafe-io",
            "--dpkgopt=path-exclude=/usr/share/man/*",
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            &format!("--customize-hook={customize}"),
            "bookworm",
            "root",
        ],
    )?;
    // mmdebstrap copies the machine's own into its root.
    let resolver = bench.work.join("root/etc/resolv.conf");
    // It may be a link that leads nowhere, or not be there.
    let _ = fs::remove_file(&resolver);
    fs::write(&resolver, format!("nameserver {}\n", GATEWAY))
        .map_err(|error| cannot_write(&resolver, &error))?;
    let newer = format!("@{MADE_AT}");
    bench.run("find", ["root", "-newermt", &newer, "-exec", "touch", "-hd", &newer, "{}", "+"])
}

/// An ext4 file system, straight from the folder.
fn make_root_partition(bench: &Bench<'_>) -> Outcome {
    bench.hole("root.img", ROOT_MIB)?;
    let id = "e92e5501-0000-4000-8000-000000000001";
    let options = format!("hash_seed={id},lazy_itable_init=0");
    let words = ["-q", "-t", "ext4", "-L", "rootfs", "-U", id, "-E", &options, "-d", "root", "root.img"];
    bench.run("mke2fs", words)
}

/// A path as the shell takes it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
