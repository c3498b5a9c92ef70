//! The small guest: a network boot loader that gets itself an address by DHCP and does nothing else, with a fraction of the
//! work of a kernel, which counts where many are emulated beside one another. It boots by BIOS. For tests that want an
//! instance to be running, and nothing of it.

use super::IMAGE;
use super::disk::Bench;
use crate::cache;
use crate::outcome::Outcome;
use crate::run::Progress;
use std::path::PathBuf;

/// Changes when what is in the image changes.
const NAME: &str = "kvm-small-guest-2";

const BUILD_NEEDS_MIB: u64 = 100;
const BOOT_MIB: u64 = 2;

const PACKAGES: &str = "ipxe";

/// What the loader is told: an address, and then to wait for somebody to type.
const SCRIPT: &str = "#!ipxe\n:again\ndhcp || goto again\nshell\n";

/// The image, built once.
pub(crate) fn image(progress: &Progress) -> Outcome<PathBuf> {
    if let Some(entry) = cache::existing(NAME)? {
        return Ok(entry.join(IMAGE));
    }
    let entry = cache::entry(NAME, BUILD_NEEDS_MIB, |result, work| {
        progress.say(&format!(
            "building the small guest image, once, into {} (about 10 seconds)",
            cache::folder()?.join(NAME).display()
        ));
        let bench = Bench { work };
        // Only unpacked: nothing of it runs.
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
        bench.write("script", SCRIPT)?;
        let files = [("root/boot/ipxe.lkrn", "::/loader.krn"), ("script", "::/script")];
        bench.bios_partition(BOOT_MIB, " KERNEL /loader.krn\n INITRD /script\n", &files)?;
        bench.disk(&result.join(IMAGE), BOOT_MIB, None)
    })?;
    Ok(entry.join(IMAGE))
}
