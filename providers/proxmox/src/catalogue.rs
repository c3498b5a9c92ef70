//! The native errors of Proxmox VE 8 and 9, as they answer them at once. Those that show in a task are in `late.rs`.
//!
//! Texts stand in the body's `message`, or only in the reason phrase (`where` is `reason`): always for 401, for refused
//! uploads and for 59x, and everywhere on servers older than pve-http-server 5.2.

use provider_api::{
    Catalogue, Class, NativeError,
    Operation::{Create, Delete, Get, Leftovers, List},
};

use crate::late;

/// Every way in which Proxmox VE refuses, and what it means.
pub const CATALOGUE: Catalogue = Catalogue(&[ANY, ABOUT_VMS, STORAGE, late::TASKS]);

/// Read in these sources.
pub(crate) const PVE9: &str = "qemu-server 9.2.6, pve-manager 9.2.11, pve-http-server 6.0.5";
/// Read in these sources, and different there.
const PVE8: &str = "qemu-server 8.4.10, pve-manager 8.4.21, pve-http-server 5.2.2";

/// Every call.
const ALL: &[&str] = &[
    "version",
    "permissions",
    "cluster_resources",
    "node_status",
    "storage_status",
    "storage_content",
    "vm_config",
    "vm_status",
    "agent_interfaces",
    "clone",
    "set_config",
    "resize",
    "start",
    "resume",
    "stop",
    "destroy",
    "upload_seed",
    "delete_volume",
    "task_status",
    "task_log",
];

/// The calls that one node answers: another has to pass them on, and each needs a right.
const ON_A_NODE: &[&str] = &[
    "node_status",
    "storage_status",
    "storage_content",
    "vm_config",
    "vm_status",
    "agent_interfaces",
    "clone",
    "set_config",
    "resize",
    "start",
    "resume",
    "stop",
    "destroy",
    "delete_volume",
    "task_status",
    "task_log",
];

/// The calls that start a task.
const TASKED: &[&str] =
    &["clone", "set_config", "resize", "start", "resume", "stop", "destroy", "upload_seed", "delete_volume"];

const IN_THE_REASON: &[(&str, &str)] = &[("where", "reason")];

const ANY: &[NativeError] = &[
    NativeError::new("no-ticket", ALL, Class::Permanent, PVE9)
        .status(401)
        .fields(IN_THE_REASON)
        .text("No ticket"),
    NativeError::new("authentication-failed", ALL, Class::Permanent, PVE9)
        .status(401)
        .fields(IN_THE_REASON)
        .text("Authentication failed!"),
    NativeError::new("token-wrong", ALL, Class::Permanent, "pve-access-control of PVE 8, before pve-manager 8.4.17")
        .status(401)
        .fields(IN_THE_REASON)
        .text("invalid token value!"),
    NativeError::new("certificate-invalid", ALL, Class::Permanent, "RFC 5280, section 6")
        .code("CertificateInvalid"),
    NativeError::new("forbidden", ON_A_NODE, Class::Permanent, PVE9)
        .status(403)
        .text("Permission check failed ({path}, {privilege})\n"),
    NativeError::new("forbidden-without-detail", &["clone"], Class::Permanent, PVE9)
        .status(403)
        .text("Permission check failed\n"),
    NativeError::new("bad-parameter", ALL, Class::Permanent, PVE9)
        .status(400)
        .fields(&[("errors.vmid", "invalid format - value does not look like a valid VM ID\n")])
        .text("Parameter verification failed.\n"),
    NativeError::new("node-unknown", ON_A_NODE, Class::Transient, PVE9)
        .status(500)
        .text("hostname lookup '{node}' failed - failed to get address info for: {node}: Name or service not known\n"),
    NativeError::new("no-worker", TASKED, Class::Transient, PVE9)
        .status(500)
        .text("got no worker upid - start worker failed\n"),
    NativeError::new("no-quorum", &["clone", "start"], Class::Transient, PVE9)
        .status(500)
        .text("cluster not ready - no quorum?\n"),
    NativeError::new("server-died", ALL, Class::Transient, "RFC 9110, section 15.6.1").status(500),
    NativeError::new("chunked-refused", &["upload_seed"], Class::Permanent, PVE9)
        .status(501)
        .text("chunked transfer encoding not supported"),
    // The call may have been run: the outcome is unknown.
    NativeError::new("node-away", ON_A_NODE, Class::Transient, "kasmtech/workspaces-issues#858: a node is off")
        .status(595)
        .fields(IN_THE_REASON)
        .text("No route to host"),
    NativeError::new("node-slow", ON_A_NODE, Class::Transient, PVE9)
        .status(596)
        .fields(IN_THE_REASON)
        .text("Connection timed out"),
    NativeError::new("node-body-lost", ON_A_NODE, Class::Transient, PVE9).status(597).fields(IN_THE_REASON),
    NativeError::new("node-redirects", ON_A_NODE, Class::Transient, PVE9)
        .status(599)
        .fields(IN_THE_REASON)
        .text("Too many redirections"),
];

const READS_VM: &[&str] = &["vm_config", "vm_status", "agent_interfaces"];
const AGENT: &[&str] = &["agent_interfaces"];

const ABOUT_VMS: &[NativeError] = &[
    // It says so too when the VM is on another node: only a listing under the right to see all proves it gone.
    NativeError::new("no-config", READS_VM, Class::NotFound, "ionos-cloud/cluster-api-provider-proxmox#265")
        .status(500)
        .text("Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist\n")
        .tolerated_by(&[List]),
    NativeError::new("no-config-on-older", READS_VM, Class::NotFound, PVE8)
        .status(500)
        .fields(IN_THE_REASON)
        .text("Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist")
        .tolerated_by(&[List]),
    NativeError::new("no-config-to-change", &["set_config", "destroy"], Class::NotFound, PVE9)
        .status(500)
        .text("Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist\n"),
    NativeError::new("agent-not-configured", AGENT, Class::Transient, PVE9)
        .status(500)
        .text("No QEMU guest agent configured\n")
        .tolerated_by(&[Get]),
    NativeError::new("agent-of-stopped", AGENT, Class::Transient, PVE9)
        .status(500)
        .text("VM {vmid} is not running\n"),
    NativeError::new(
        "agent-not-running",
        AGENT,
        Class::Transient,
        "bpg/terraform-provider-proxmox#669, PVE 9",
    )
    .status(500)
    .text("QEMU guest agent is not running\n")
    .tolerated_by(&[Get]),
    NativeError::new("agent-too-slow", AGENT, Class::Transient, PVE9)
        .status(500)
        .text("VM {vmid} qga command 'guest-network-get-interfaces' failed - got timeout\n")
        .tolerated_by(&[Get]),
    // An error inside a success: the body's result is an object, not a list.
    NativeError::new(
        "agent-command-disabled",
        AGENT,
        Class::Transient,
        "qemu qga/qapi-schema.json; seen on PVE 9",
    )
    .status(200)
    .code("CommandDisabled")
    .text("The command guest-network-get-interfaces has been disabled for this instance")
    .tolerated_by(&[Get]),
    NativeError::new("template-missing", &["clone"], Class::Permanent, PVE9)
        .status(500)
        .text("unable to find configuration file for VM {template} on node '{node}'\n"),
    NativeError::new("template-locked", &["clone"], Class::Transient, PVE9)
        .status(500)
        .text("VM is locked (backup)\n"),
    NativeError::new("pool-missing", &["clone"], Class::Permanent, PVE9)
        .status(403)
        .text("Permission check failed (pool '{pool}' does not exist)\n"),
    NativeError::new("no-such-node", &["clone"], Class::Permanent, PVE9)
        .status(500)
        .text("no such cluster node '{node}'\n"),
    NativeError::new(
        "template-on-local-storage",
        &["clone"],
        Class::Permanent,
        "ionos-cloud/cluster-api-provider-proxmox#107",
    )
    .status(500)
    .text("can't clone to non-shared storage '{storage}'\n"),
    NativeError::new("linked-clone-unsupported", &["clone"], Class::Permanent, PVE9)
        .status(500)
        .text("Linked clone feature is not supported for '{volume}' (scsi0)\n"),
    // Whose VM has the number now, only its config tells; it may be our own of an earlier attempt.
    NativeError::new("vmid-taken", &["clone"], Class::Transient, PVE9)
        .status(500)
        .text("unable to create VM {vmid}: config file already exists\n")
        .tolerated_by(&[Create]),
    NativeError::new("vm-locked", &["set_config"], Class::Transient, PVE9)
        .status(500)
        .text("VM is locked (clone)\n"),
    NativeError::new("vm-busy-on-older", &["set_config"], Class::Transient, PVE8)
        .status(500)
        .text("can't lock file '/var/lock/qemu-server/lock-{vmid}.conf' - got timeout\n"),
    NativeError::new("config-changed", &["set_config"], Class::Transient, PVE9)
        .status(500)
        .text("checksum mismatch (file change by other user?)\n"),
    NativeError::new("name-not-dns", &["clone", "set_config"], Class::Permanent, "bpg#1582: a name with _")
        .status(400)
        .fields(&[("errors.name", "invalid format - value does not look like a valid DNS name\n")])
        .text("Parameter verification failed.\n"),
    NativeError::new("tag-forbidden", &["set_config"], Class::Permanent, PVE9)
        .status(403)
        .text("Permission check failed (/, Sys.Modify for modifying tag '{tag}')\n"),
    NativeError::new("protected", &["destroy"], Class::Permanent, "Telmate/terraform-provider-proxmox#350")
        .status(500)
        .text("can't remove VM {vmid} - protection mode enabled\n"),
    NativeError::new("still-running", &["destroy"], Class::Transient, "projectbeskar/virtrigaud#262")
        .status(500)
        .text("VM {vmid} is running - destroy failed\n"),
    NativeError::new(
        "in-ha",
        &["destroy"],
        Class::Permanent,
        "ionos-cloud/cluster-api-provider-proxmox#212: without purge",
    )
    .status(500)
    .text("unable to remove VM {vmid} - used in HA resources and purge parameter not set.\n"),
    NativeError::new("task-unknown", &["task_status"], Class::Transient, PVE9)
        .status(400)
        .fields(&[("errors.upid", "no such task")])
        .text("Parameter verification failed.\n"),
];

const STORES: &[&str] = &["storage_content", "upload_seed", "delete_volume"];

const STORAGE: &[NativeError] = &[
    NativeError::new("no-such-storage", &["storage_status", "storage_content"], Class::Permanent, PVE9)
        .status(400)
        .fields(&[("errors.storage", "No such storage.")])
        .text("Parameter verification failed.\n"),
    NativeError::new("storage-missing", STORES, Class::Permanent, PVE9)
        .status(500)
        .text("storage '{storage}' does not exist\n"),
    NativeError::new("clone-storage-missing", &["clone"], Class::Permanent, PVE9)
        .status(500)
        .text("storage '{storage}' is not available on node '{node}'\n"),
    NativeError::new("storage-disabled", STORES, Class::Transient, PVE9)
        .status(500)
        .text("storage '{storage}' is disabled\n"),
    NativeError::new("storage-not-on-node", STORES, Class::Permanent, PVE9)
        .status(500)
        .text("storage '{storage}' is not available on node '{node}'\n"),
    NativeError::new("storage-away", STORES, Class::Transient, PVE9).status(500).text(
        "unable to activate storage '{storage}' - directory '{path}' does not exist or is unreachable\n",
    ),
    // Refused before the body is read, so that the text is in the reason phrase alone.
    NativeError::new("upload-forbidden", &["upload_seed"], Class::Permanent, PVE9)
        .status(403)
        .fields(IN_THE_REASON)
        .text("Permission check failed (/storage/{storage}, Datastore.AllocateTemplate)"),
    NativeError::new("no-isos-here", &["upload_seed"], Class::Permanent, PVE9)
        .status(500)
        .text("storage '{storage}' does not support 'iso' content\n"),
    NativeError::new("upload-to-block-storage", &["upload_seed"], Class::Permanent, PVE9)
        .status(500)
        .text("can't upload to storage type 'lvmthin'\n"),
    NativeError::new("upload-cut-off", &["upload_seed"], Class::Transient, PVE9)
        .status(500)
        .text("upload failed at {file} line {line}.\n"),
    NativeError::new("volume-name-wrong", &["delete_volume"], Class::Permanent, PVE9)
        .status(500)
        .text("unable to parse directory volume name '{volume}'\n")
        .tolerated_by(&[Delete, Leftovers]),
];
