//! A disk that boots by BIOS and by UEFI, made without mounting anything: a FAT file system with syslinux, systemd-boot,
//! kernel and initial file system, behind a boot record, and perhaps a file system after it.

use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use crate::run;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The time that everything in an image was made: 1 January 2026.
pub(super) const MADE_AT: &str = "1767225600";

/// Where a disk is made.
pub(super) struct Bench<'a> {
    pub(super) work: &'a Path,
}

impl Bench<'_> {
    /// Makes `boot.img` of the kernel in the folder `root` and of this initial file system.
    pub(super) fn boot_partition(&self, mib: u64, kernel: &str, initrd: &str, line: &str) -> Outcome {
        let boots = format!(" KERNEL /vmlinuz\n INITRD /initrd.img\n APPEND {line}\n");
        self.bios_partition(mib, &boots, &[(kernel, "::/vmlinuz"), (initrd, "::/initrd.img")])?;
        self.run("mmd", ["-i", "boot.img", "::/EFI", "::/EFI/BOOT", "::/loader", "::/loader/entries"])?;
        self.write("loader.conf", "timeout 0\ndefault d.conf\n")?;
        self.write("d.conf", &format!("title d\nlinux /vmlinuz\ninitrd /initrd.img\noptions {line}\n"))?;
        for (from, to) in [
            ("root/usr/lib/systemd/boot/efi/systemd-bootx64.efi", "::/EFI/BOOT/BOOTX64.EFI"),
            ("loader.conf", "::/loader/loader.conf"),
            ("d.conf", "::/loader/entries/d.conf"),
        ] {
            self.copy_in(from, to)?;
        }
        Ok(())
    }

    /// Makes `boot.img` of these files, for BIOS alone; `boots` is what syslinux's config says of what it boots.
    pub(super) fn bios_partition(&self, mib: u64, boots: &str, files: &[(&str, &str)]) -> Outcome {
        self.hole("boot.img", mib)?;
        // A fixed serial number, where the clock would be one.
        self.run("mkfs.vfat", ["-n", "BOOT", "-i", "e92e5501", "boot.img"])?;
        self.write("syslinux.cfg", &format!("DEFAULT d\nPROMPT 0\nTIMEOUT 0\nLABEL d\n{boots}"))?;
        for (from, to) in files.iter().chain(&[("syslinux.cfg", "::/syslinux.cfg")]) {
            self.copy_in(from, to)?;
        }
        self.run("syslinux", ["--install", "boot.img"])
    }

    fn copy_in(&self, from: &str, to: &str) -> Outcome {
        self.run("mcopy", ["-i", "boot.img", from, to])
    }

    /// Puts `boot.img` and what follows it on one disk, compressed: it is uploaded more often than it is read whole.
    pub(super) fn disk(&self, image: &Path, boot_mib: u64, after: Option<(&str, u64)>) -> Outcome {
        let sectors = |mib: u64| mib * 2_048;
        let mut table = format!(
            "label: dos\nlabel-id: 0xe92e5501\nstart={}, size={}, type=ef, bootable\n",
            sectors(1),
            sectors(boot_mib)
        );
        let after_mib = after.map_or(0, |(_, mib)| mib);
        if after.is_some() {
            table += &format!("start={}, size={}, type=83\n", sectors(1 + boot_mib), sectors(after_mib));
        }
        self.hole("disk.img", 1 + boot_mib + after_mib)?;
        self.write("table", &table)?;
        self.run("sh", ["-c", "sfdisk -q disk.img <table"])?;
        let copy = |from: &str, words: &[&str]| {
            let from = format!("if={from}");
            let common = [&*from, "of=disk.img", "conv=notrunc,sparse", "status=none"];
            self.run("dd", common.iter().chain(words))
        };
        copy("/usr/lib/syslinux/mbr/mbr.bin", &["bs=440", "count=1"])?;
        copy("boot.img", &["bs=1M", "seek=1"])?;
        if let Some((after, _)) = after {
            copy(after, &["bs=1M", &format!("seek={}", 1 + boot_mib)])?;
        }
        let convert = ["convert", "-c", "-O", "qcow2", "-o", "compression_type=zstd", "disk.img"];
        self.run("qemu-img", convert.iter().map(OsStr::new).chain([image.as_os_str()]))
    }

    /// The kernel's file.
    pub(super) fn kernel(&self) -> Outcome<String> {
        let folder = self.work.join("root/boot");
        let names = fs::read_dir(&folder)
            .map_err(|error| Stop::cannot(format!("cannot read {}: {error}", folder.display())))?;
        names
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .find(|name| name.starts_with("vmlinuz-"))
            .map(|name| format!("root/boot/{name}"))
            .ok_or_else(|| Stop::cannot("the guest's packages brought no kernel"))
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Outcome<PathBuf> {
        let path = self.work.join(name);
        fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
        Ok(path)
    }

    pub(super) fn hole(&self, name: &str, mib: u64) -> Outcome {
        let path = self.work.join(name);
        File::create(&path)
            .and_then(|file| file.set_len(mib << 20))
            .map_err(|error| cannot_write(&path, &error))
    }

    pub(super) fn run(&self, program: &str, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Outcome {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.work).stdin(Stdio::null());
        command.env("SOURCE_DATE_EPOCH", MADE_AT).env("E2FSPROGS_FAKE_TIME", MADE_AT);
        // The last two, which an ordinary PATH may lack, are where file systems are made.
        let path = env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        run::read(&mut command).map(drop)
    }
}
