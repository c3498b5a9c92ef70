//! The small guest: a kernel that gets itself an address by DHCP and does nothing else, in seconds even where it is emulated
//! and others beside it. For tests that want an instance to be running, and nothing of it.

use super::IMAGE;
use super::disk::Bench;
use crate::cache::{self, cannot_write};
use crate::outcome::Outcome;
use crate::run::Progress;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Changes when what is in the image changes.
const NAME: &str = "kvm-small-guest-1";

const BUILD_NEEDS_MIB: u64 = 600;
const BOOT_MIB: u64 = 24;

const PACKAGES: &str = "linux-image-cloud-amd64,busybox-static,systemd-boot-efi";

const KERNEL_LINE: &str = "console=ttyS0 quiet net.ifnames=0 mitigations=off audit=0";

/// In the order in which they need each other.
const DRIVERS: [&str; 8] = [
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci",
    "net/core/failover",
    "drivers/net/net_failover",
    "drivers/net/virtio_net",
];

/// The image, built once.
pub(crate) fn image(progress: &Progress) -> Outcome<PathBuf> {
    if let Some(entry) = cache::existing(NAME)? {
        return Ok(entry.join(IMAGE));
    }
    let entry = cache::entry(NAME, BUILD_NEEDS_MIB, |result, work| {
        progress.say(&format!(
            "building the small guest image, once, into {} (about 15 seconds)",
            cache::folder()?.join(NAME).display()
        ));
        let bench = Bench { work };
        // Only unpacked: nothing of it runs but busybox, to pack again.
        bench.run(
            "mmdebstrap",
            [
                "--quiet",
                "--variant=extract",
                &format!("--include={PACKAGES}"),
                "--aptopt=APT::Install-Recommends \"false\"",
                "bookworm",
                "root",
            ],
        )?;
        let kernel = bench.kernel()?;
        make_initrd(&bench, &kernel)?;
        bench.boot_partition(BOOT_MIB, &kernel, "initrd.img", KERNEL_LINE)?;
        bench.disk(&result.join(IMAGE), BOOT_MIB, None)
    })?;
    Ok(entry.join(IMAGE))
}

/// The file system that is all that the guest has.
fn make_initrd(bench: &Bench<'_>, kernel: &str) -> Outcome {
    let folder = bench.work.join("initrd");
    for below in ["bin", "dev", "proc", "sys", "drivers"] {
        let below = folder.join(below);
        fs::create_dir_all(&below).map_err(|error| cannot_write(&below, &error))?;
    }
    for (name, text) in
        [("init", include_str!("small-init.sh")), ("address", include_str!("small-address.sh"))]
    {
        let script = folder.join(name);
        fs::write(&script, text)
            .and_then(|()| fs::set_permissions(&script, Permissions::from_mode(0o755)))
            .map_err(|error| cannot_write(&script, &error))?;
    }
    bench.run("cp", ["root/bin/busybox", "initrd/bin/"])?;
    let modules = kernel.replacen("root/boot/vmlinuz-", "root/lib/modules/", 1);
    for (number, driver) in DRIVERS.iter().enumerate() {
        let to = format!("initrd/drivers/{number}.ko");
        bench.run("cp", [format!("{modules}/kernel/{driver}.ko"), to])?;
    }
    let pack =
        "cd initrd && find . | LC_ALL=C sort | ../root/bin/busybox cpio -o -H newc | gzip -n >../initrd.img";
    bench.run("sh", ["-c", pack])
}
