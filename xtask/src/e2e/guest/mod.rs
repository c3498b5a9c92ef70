//! The guest image: Debian 12 with cloud-init, the guest agent and Squid, which boots by BIOS and by UEFI from one
//! virtio disk. It is made of packages and without mounting anything, so neither loop devices nor a VM are needed.
//!
//! It holds no secret and nothing that tells one guest from another; a guest becomes one by its seed. Built again of the
//! same packages it has the same files and ids, and differs in some bytes of its file systems' own.

use super::libvirtd::GATEWAY;
use crate::cache::{self, cannot_write};
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Changes when what is in the image changes.
const NAME: &str = "kvm-guest-1";

const BUILD_NEEDS_MIB: u64 = 4_000;

/// What the image is called in its entry.
const IMAGE: &str = "guest.qcow2";

/// No recommended package comes along, so each of these is named.
const PACKAGES: &str = "linux-image-cloud-amd64,initramfs-tools,zstd,systemd-sysv,udev,dbus,iproute2,cloud-init,\
                        qemu-guest-agent,squid,systemd-boot-efi";

/// The time that everything in the image was made: 1 January 2026.
const MADE_AT: &str = "1767225600";

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
        let build = Build { work };
        build.root()?;
        build.boot_partition()?;
        build.root_partition()?;
        build.disk(&result.join(IMAGE))
    })?;
    Ok(entry.join(IMAGE))
}

struct Build<'a> {
    work: &'a Path,
}

impl Build<'_> {
    /// The root folder, from Debian's packages.
    fn root(&self) -> Outcome {
        let hook = self.write("customize.sh", include_str!("customize.sh"))?;
        fs::set_permissions(&hook, Permissions::from_mode(0o755))
            .map_err(|error| cannot_write(&hook, &error))?;
        let config = self.write("cloud.cfg", include_str!("cloud.cfg"))?;
        let customize = format!("{} \"$1\" {}", quoted(&hook), quoted(&config));
        self.run(
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
        let resolver = self.root_file("etc/resolv.conf");
        // It may be a link that leads nowhere, or not be there.
        let _ = fs::remove_file(&resolver);
        fs::write(&resolver, format!("nameserver {}\n", GATEWAY))
            .map_err(|error| cannot_write(&resolver, &error))?;
        let newer = format!("@{MADE_AT}");
        self.run("find", ["root", "-newermt", &newer, "-exec", "touch", "-hd", &newer, "{}", "+"])
    }

    /// A FAT file system with the kernel, syslinux for BIOS and systemd-boot for UEFI.
    fn boot_partition(&self) -> Outcome {
        self.hole("boot.img", BOOT_MIB)?;
        // A fixed serial number, where the clock would be one.
        self.run("mkfs.vfat", ["-F", "32", "-n", "BOOT", "-i", "e92e5501", "boot.img"])?;
        self.run("mmd", ["-i", "boot.img", "::/EFI", "::/EFI/BOOT", "::/loader", "::/loader/entries"])?;
        let kernel = self.kernel()?;
        let initrd = kernel.replacen("vmlinuz-", "initrd.img-", 1);
        self.write(
            "syslinux.cfg",
            &format!(
                "DEFAULT d\nPROMPT 0\nTIMEOUT 0\nLABEL d\n KERNEL /vmlinuz\n INITRD /initrd.img\n APPEND {KERNEL_LINE}\n"
            ),
        )?;
        self.write("loader.conf", "timeout 0\ndefault d.conf\n")?;
        self.write(
            "d.conf",
            &format!("title d\nlinux /vmlinuz\ninitrd /initrd.img\noptions {KERNEL_LINE}\n"),
        )?;
        for (from, to) in [
            (&*format!("root/boot/{kernel}"), "::/vmlinuz"),
            (&*format!("root/boot/{initrd}"), "::/initrd.img"),
            ("root/usr/lib/systemd/boot/efi/systemd-bootx64.efi", "::/EFI/BOOT/BOOTX64.EFI"),
            ("syslinux.cfg", "::/syslinux.cfg"),
            ("loader.conf", "::/loader/loader.conf"),
            ("d.conf", "::/loader/entries/d.conf"),
        ] {
            self.run("mcopy", ["-i", "boot.img", from, to])?;
        }
        self.run("syslinux", ["--install", "boot.img"])
    }

    /// An ext4 file system, straight from the folder.
    fn root_partition(&self) -> Outcome {
        self.hole("root.img", ROOT_MIB)?;
        let id = "e92e5501-0000-4000-8000-000000000001";
        let options = format!("hash_seed={id},lazy_itable_init=0");
        let words = ["-q", "-t", "ext4", "-L", "rootfs", "-U", id, "-E", &options, "-d", "root", "root.img"];
        self.run("mke2fs", words)
    }

    /// Both partitions behind a boot record, compressed: it is uploaded more often than it is read whole.
    fn disk(&self, image: &Path) -> Outcome {
        self.hole("disk.img", 1 + BOOT_MIB + ROOT_MIB)?;
        let sectors = |mib: u64| mib * 2_048;
        let table = format!(
            "label: dos\nlabel-id: 0xe92e5501\n\
             start={}, size={}, type=ef, bootable\nstart={}, size={}, type=83\n",
            sectors(1),
            sectors(BOOT_MIB),
            sectors(1 + BOOT_MIB),
            sectors(ROOT_MIB)
        );
        self.write("table", &table)?;
        self.run("sh", ["-c", "sfdisk -q disk.img <table"])?;
        let copy = |from: &str, words: &[&str]| {
            let from = format!("if={from}");
            let common = [&*from, "of=disk.img", "conv=notrunc,sparse", "status=none"];
            self.run("dd", common.iter().chain(words))
        };
        copy("/usr/lib/syslinux/mbr/mbr.bin", &["bs=440", "count=1"])?;
        copy("boot.img", &["bs=1M", "seek=1"])?;
        copy("root.img", &["bs=1M", &format!("seek={}", 1 + BOOT_MIB)])?;
        let convert = ["convert", "-c", "-O", "qcow2", "-o", "compression_type=zstd", "disk.img"];
        self.run("qemu-img", convert.iter().map(OsStr::new).chain([image.as_os_str()]))
    }

    /// The name of the kernel's file.
    fn kernel(&self) -> Outcome<String> {
        let folder = self.root_file("boot");
        let names = fs::read_dir(&folder)
            .map_err(|error| Stop::cannot(format!("cannot read {}: {error}", folder.display())))?;
        names
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .find(|name| name.starts_with("vmlinuz-"))
            .ok_or_else(|| Stop::cannot("the guest's packages brought no kernel"))
    }

    fn root_file(&self, name: &str) -> PathBuf {
        self.work.join("root").join(name)
    }

    fn write(&self, name: &str, text: &str) -> Outcome<PathBuf> {
        let path = self.work.join(name);
        fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
        Ok(path)
    }

    fn hole(&self, name: &str, mib: u64) -> Outcome {
        let path = self.work.join(name);
        File::create(&path)
            .and_then(|file| file.set_len(mib << 20))
            .map_err(|error| cannot_write(&path, &error))
    }

    fn run(&self, program: &str, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Outcome {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.work).stdin(Stdio::null());
        command.env("SOURCE_DATE_EPOCH", MADE_AT).env("E2FSPROGS_FAKE_TIME", MADE_AT);
        // The last two, which an ordinary PATH may lack, are where file systems are made.
        let path = env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        run::read(&mut command).map(drop)
    }
}

/// A path as the shell takes it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
