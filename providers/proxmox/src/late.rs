//! What Proxmox VE says late: the call was answered with a task, and the task ends with this exit status.
//!
//! `OK` and `WARNINGS: <n>` are success; every other exit status is one line of text, and so is what tells them apart.

use provider_api::{
    Class, NativeError,
    Operation::{Create, Delete, Leftovers},
    Shows::Task,
};

use crate::catalogue::PVE9;

const TASKED: &[&str] =
    &["clone", "set_config", "resize", "start", "resume", "stop", "destroy", "upload_seed", "delete_volume"];
/// The tasks that take a VM's own file lock.
const LOCKING: &[&str] = &["set_config", "resize", "start", "resume", "stop", "destroy"];

const fn late(
    id: &'static str,
    on: &'static [&'static str],
    class: Class,
    text: &'static str,
) -> NativeError {
    NativeError::new(id, on, class, PVE9).shows(Task).text(text)
}

pub(crate) const TASKS: &[NativeError] = &[
    NativeError::new(
        "late-warnings",
        TASKED,
        Class::Transient,
        "Telmate/proxmox-api-go#247: read as a failure",
    )
    .shows(Task)
    .text("WARNINGS: 1")
    .tolerated_by(&[Create, Delete, Leftovers]),
    late("late-killed", TASKED, Class::Transient, "unexpected status"),
    late("late-interrupted", TASKED, Class::Transient, "received interrupt"),
    late(
        "late-log-unreadable",
        TASKED,
        Class::Transient,
        "unable to get last line from task log - No such file or directory",
    ),
    late(
        "late-vm-busy",
        LOCKING,
        Class::Transient,
        "can't lock file '/var/lock/qemu-server/lock-{vmid}.conf' - got timeout",
    ),
    NativeError::new(
        "late-vm-locked",
        &["resize", "start", "stop", "destroy"],
        Class::Transient,
        "Corsinvest/cv4pve-autosnap#22: a lock in the task's result, taken for success",
    )
    .shows(Task)
    .text("VM is locked (backup)"),
    late(
        "late-gone",
        &["set_config", "resize", "start", "resume", "destroy"],
        Class::NotFound,
        "Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist",
    ),
    late(
        "late-gone-when-stopped",
        &["stop"],
        Class::NotFound,
        "unable to find configuration file for VM {vmid} on node '{node}'",
    ),
    late(
        "late-template-busy",
        &["clone"],
        Class::Transient,
        "can't lock file '/var/lock/qemu-server/lock-{template}.conf' - got timeout",
    ),
    late(
        "late-vmid-taken",
        &["clone"],
        Class::Transient,
        "unable to create VM {vmid}: config file already exists",
    )
    .tolerated_by(&[Create]),
    NativeError::new(
        "late-vmid-taken-elsewhere",
        &["clone"],
        Class::Transient,
        "composed from pmxcfs and the message of pve-common; not seen in a log",
    )
    .shows(Task)
    .text("close (rename) atomic file '/etc/pve/nodes/{node}/qemu-server/{vmid}.conf' failed: File exists")
    .tolerated_by(&[Create]),
    NativeError::new("late-storage-busy", &["clone"], Class::Transient, "bpg/terraform-provider-proxmox#995")
        .shows(Task)
        .text("clone failed: can't lock file '/var/lock/pve-manager/pve-storage-{storage}' - got timeout"),
    late(
        "late-shared-storage-busy",
        &["clone"],
        Class::Transient,
        "clone failed: cfs-lock 'storage-{storage}' error: got lock request timeout",
    ),
    late("late-clone-interrupted", &["clone"], Class::Transient, "clone failed: interrupted by signal"),
    NativeError::new(
        "late-storage-full",
        &["clone", "resize", "upload_seed"],
        Class::QuotaExceeded,
        "strerror(3), ENOSPC, as every storage's command ends",
    )
    .shows(Task)
    .text("{detail}: No space left on device"),
    late(
        "late-no-room-forbidden",
        &["resize", "set_config"],
        Class::Permanent,
        "403 Permission check failed (/storage/{storage}, Datastore.AllocateSpace)",
    ),
    late("late-disk-missing", &["resize"], Class::Permanent, "disk '{disk}' does not exist"),
    late("late-no-shrinking", &["resize"], Class::Permanent, "shrinking disks is not supported"),
    late("late-seed-missing", &["set_config", "start"], Class::Transient, "volume '{volume}' does not exist"),
    late("late-already-running", &["start"], Class::Transient, "VM {vmid} already running")
        .tolerated_by(&[Create]),
    late("late-template-start", &["start"], Class::Permanent, "you can't start a vm if it's a template"),
    late("late-start-failed", &["start"], Class::Transient, "start failed: QEMU exited with code 1"),
    late(
        "late-hookscript",
        &["start"],
        Class::Transient,
        "hookscript error for {vmid} on pre-start: command '{script} {vmid} pre-start' failed: exit code 1",
    ),
    late("late-still-running", &["destroy"], Class::Transient, "VM {vmid} is running - destroy failed"),
    late(
        "late-protected",
        &["destroy"],
        Class::Permanent,
        "can't remove VM {vmid} - protection mode enabled",
    ),
    // What is left of a destroy that was cut short; only root can clear the lock.
    late("late-destroyed", &["destroy"], Class::Permanent, "VM is locked (destroyed)"),
    late("late-import-failed", &["upload_seed"], Class::Transient, "import failed: {detail}"),
    late(
        "late-checksum",
        &["upload_seed"],
        Class::Transient,
        "checksum mismatch: got '{got}' != expect '{expected}'",
    ),
    late(
        "late-volume-protected",
        &["delete_volume"],
        Class::Permanent,
        "cannot remove protected volume '{volume}' on '{storage}'",
    ),
];
