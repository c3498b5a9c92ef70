//! The errors of libvirt's daemon and of its domains. Those of pools and volumes are in `storage.rs`.
//!
//! `status` is libvirt's error number; the message is in the daemon's language, so it decides nothing but where a row
//! says so. `domain` is the part of libvirt that complains, `int1` the errno of a system error.

use provider_api::{
    Class, NativeError,
    Operation::{Create, Delete, Get, List},
};

use crate::RPC;

/// Provoked on a real daemon.
pub(crate) const SEEN: &str = "libvirtd 9.0.0 (Debian 12) with QEMU 7.2";
/// Read in the header.
pub(crate) const HEADER: &str = "libvirt 9.0.0, virterror.h";

/// Every call but the question for addresses: what that is answered with means that this source knows none.
const ALL: &[&str] = RPC.split_at(RPC.len() - 1).0;

const ACCESS_DENIED: NativeError = NativeError::new("access-denied", ALL, Class::Permanent, HEADER)
    .status(88)
    .code("ACCESS_DENIED")
    .fields(&[("domain", "55")])
    .text("access denied: {detail}");
const TIMED_OUT: NativeError = NativeError::new("timed-out", ALL, Class::Transient, HEADER)
    .status(68)
    .code("OPERATION_TIMEOUT")
    .fields(&[("domain", "10")])
    .text("Timed out during operation: cannot acquire state change lock");

/// What any call can be answered with.
pub(crate) const DAEMON: &[NativeError] = &[
    NativeError::new("internal-error", ALL, Class::Transient, SEEN)
        .status(1)
        .code("INTERNAL_ERROR")
        .fields(&[("domain", "10")])
        .text("internal error: {detail}"),
    NativeError::new("no-memory", ALL, Class::Transient, HEADER).status(2).code("NO_MEMORY"),
    NativeError::new("no-support", ALL, Class::Permanent, SEEN)
        .status(3)
        .code("NO_SUPPORT")
        .fields(&[("domain", "20")])
        .text("this function is not supported by the connection driver: {call}"),
    NativeError::new("invalid-arg", ALL, Class::Permanent, SEEN)
        .status(8)
        .code("INVALID_ARG")
        .fields(&[("domain", "10")])
        .text("unsupported flags (0x20) in function {call}")
        .tolerated_by(&[Delete]),
    NativeError::new("operation-denied", ALL, Class::Permanent, SEEN)
        .status(29)
        .code("OPERATION_DENIED")
        .text("operation {call} forbidden for read only access"),
    NativeError::new("system-error", ALL, Class::Transient, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "10"), ("int1", "4")])
        .text("{detail}: Interrupted system call"),
    NativeError::new("unknown-procedure", ALL, Class::Permanent, SEEN)
        .status(39)
        .code("RPC")
        .fields(&[("domain", "7")])
        .text("unknown procedure: {procedure}"),
    NativeError::new("auth-failed", ALL, Class::Permanent, HEADER)
        .status(45)
        .code("AUTH_FAILED")
        .fields(&[("domain", "46")])
        .text("authentication failed: {detail}"),
    NativeError::new("auth-cancelled", &["connect_open"], Class::Permanent, HEADER)
        .status(79)
        .code("AUTH_CANCELLED")
        .fields(&[("domain", "60")]),
    NativeError::new("auth-unavailable", &["connect_open"], Class::Permanent, HEADER)
        .status(94)
        .code("AUTH_UNAVAILABLE")
        .fields(&[("domain", "60")]),
    ACCESS_DENIED,
    NativeError::new("authentication-required", ALL, Class::Permanent, SEEN)
        .status(39)
        .code("RPC")
        .fields(&[("domain", "7")])
        .text("authentication required"),
    NativeError::new("no-bus-for-polkit", &["connect_open"], Class::Transient, SEEN)
        .status(1)
        .code("INTERNAL_ERROR")
        .fields(&[("domain", "47")]),
    NativeError::new("no-driver", &["connect_open"], Class::Permanent, SEEN)
        .status(5)
        .code("NO_CONNECT")
        .text("no connection driver available for {uri}"),
    TIMED_OUT,
    NativeError::new("aborted", ALL, Class::Transient, HEADER).status(78).code("OPERATION_ABORTED"),
    NativeError::new("busy", ALL, Class::Transient, HEADER).status(87).code("RESOURCE_BUSY"),
];

const LOOKUPS: &[&str] = &["domain_lookup_by_name"];
const ON_A_DOMAIN: &[&str] = &[
    "domain_get_metadata",
    "domain_get_state",
    "domain_get_xml_desc",
    "domain_create",
    "domain_resume",
    "domain_destroy",
    "domain_undefine_flags",
];
const STARTS: &[&str] = &["domain_create"];
const ADDRESSES: &[&str] = &["domain_interface_addresses"];

/// What calls about domains can be answered with.
pub(crate) const DOMAINS: &[NativeError] = &[
    NativeError::new("no-domain", LOOKUPS, Class::NotFound, SEEN)
        .status(42)
        .code("NO_DOMAIN")
        .fields(&[("domain", "10")])
        .text("Domain not found: no domain with matching name '{name}'")
        .tolerated_by(&[Create]),
    NativeError::new("domain-vanished", ON_A_DOMAIN, Class::NotFound, SEEN)
        .status(42)
        .code("NO_DOMAIN")
        .fields(&[("domain", "10")])
        .text("Domain not found: no domain with matching uuid '{uuid}' ({name})")
        .tolerated_by(&[List]),
    // Nobody's mark is on it: not ours, whatever its name.
    NativeError::new("no-metadata", &["domain_get_metadata"], Class::NotFound, SEEN)
        .status(80)
        .code("NO_DOMAIN_METADATA")
        .fields(&[("domain", "20")])
        .text("metadata not found: Requested metadata element is not present")
        .tolerated_by(&[Create, Delete, List]),
    NativeError::new("name-taken", &["domain_define_xml"], Class::Transient, SEEN)
        .status(9)
        .code("OPERATION_FAILED")
        .fields(&[("domain", "20")])
        .text("operation failed: domain '{name}' already exists with uuid {uuid}")
        .tolerated_by(&[Create]),
    NativeError::new("xml-error", &["domain_define_xml", "domain_create"], Class::Permanent, SEEN)
        .status(27)
        .code("XML_ERROR")
        .fields(&[("domain", "20")])
        .text("XML error: {detail}"),
    NativeError::new("xml-detail", &["domain_define_xml"], Class::Permanent, SEEN)
        .status(35)
        .code("XML_DETAIL")
        .fields(&[("domain", "20")]),
    NativeError::new("xml-invalid-schema", &["domain_define_xml"], Class::Permanent, SEEN)
        .status(92)
        .code("XML_INVALID_SCHEMA")
        .fields(&[("domain", "20")]),
    NativeError::new("config-unsupported", &["domain_define_xml", "domain_create"], Class::Permanent, SEEN)
        .status(67)
        .code("CONFIG_UNSUPPORTED")
        .fields(&[("domain", "10")])
        .text("unsupported configuration: UEFI requires ACPI on this architecture"),
    NativeError::new("no-kvm", &["domain_define_xml"], Class::Permanent, SEEN)
        .status(8)
        .code("INVALID_ARG")
        .fields(&[("domain", "10")])
        .text("invalid argument: could not get preferred machine for {emulator} type=kvm"),
    NativeError::new("cpu-incompatible", STARTS, Class::Permanent, HEADER)
        .status(91)
        .code("CPU_INCOMPATIBLE"),
    NativeError::new("operation-unsupported", STARTS, Class::Permanent, HEADER)
        .status(84)
        .code("OPERATION_UNSUPPORTED"),
    NativeError::new("already-running", STARTS, Class::Transient, SEEN)
        .status(55)
        .code("OPERATION_INVALID")
        .fields(&[("domain", "10")])
        .text("Requested operation is not valid: domain is already running")
        .tolerated_by(&[Create]),
    NativeError::new("no-network", STARTS, Class::Permanent, SEEN)
        .status(43)
        .code("NO_NETWORK")
        .fields(&[("domain", "19")])
        .text("Network not found: no network with matching name '{network}'"),
    NativeError::new("disk-volume-missing", STARTS, Class::Transient, SEEN)
        .status(50)
        .code("NO_STORAGE_VOL")
        .fields(&[("domain", "18")])
        .text("Storage volume not found: no storage vol with matching name '{volume}'"),
    NativeError::new("disk-file-missing", STARTS, Class::Transient, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "18"), ("int1", "2")])
        .text("Cannot access storage file '{path}': No such file or directory"),
    NativeError::new("disk-forbidden", STARTS, Class::Permanent, "crc-org/crc#533: code 38, domain 18")
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "18"), ("int1", "13")])
        .text("Cannot access storage file '{path}' (as uid:64055, gid:108): Permission denied"),
    // Of QEMU's own words nothing but the text tells what they mean; they are never translated.
    NativeError::new(
        "disk-forbidden-to-qemu",
        STARTS,
        Class::Permanent,
        "dmacvicar/terraform-provider-libvirt#126: AppArmor, or the folder's mode",
    )
    .status(1)
    .code("INTERNAL_ERROR")
    .fields(&[("domain", "10")])
    .text("internal error: process exited while connecting to monitor: Could not open '{path}': Permission denied"),
    NativeError::new("not-paused", &["domain_resume"], Class::Transient, SEEN)
        .status(55)
        .code("OPERATION_INVALID")
        .fields(&[("domain", "10")])
        .text("Requested operation is not valid: domain is not running")
        .tolerated_by(&[Create]),
    NativeError::new(
        "not-running",
        &["domain_destroy"],
        Class::Transient,
        "openshift/installer#656: a destroy of a domain that is shut off",
    )
    .status(55)
    .code("OPERATION_INVALID")
    .fields(&[("domain", "10")])
    .text("Requested operation is not valid: domain is not running")
    .tolerated_by(&[Delete]),
    NativeError::new(
        "nvram-in-the-way",
        &["domain_undefine_flags"],
        Class::Transient,
        "ansible-collections/community.libvirt#40",
    )
    .status(55)
    .code("OPERATION_INVALID")
    .fields(&[("domain", "10")])
    .text("Requested operation is not valid: cannot undefine domain with nvram"),
    NativeError::new(
        "snapshots-in-the-way",
        &["domain_undefine_flags"],
        Class::Transient,
        "vagrant-libvirt/vagrant-libvirt#78",
    )
    .status(55)
    .code("OPERATION_INVALID")
    .fields(&[("domain", "10")])
    .text("Requested operation is not valid: cannot delete inactive domain with 1 snapshots"),
    NativeError::new("addresses-when-off", ADDRESSES, Class::Transient, SEEN)
        .status(55)
        .code("OPERATION_INVALID")
        .fields(&[("domain", "10")])
        .text("Requested operation is not valid: domain is not running")
        .tolerated_by(&[Get]),
    NativeError::new("no-agent-channel", ADDRESSES, Class::Transient, SEEN)
        .status(74)
        .code("ARGUMENT_UNSUPPORTED")
        .fields(&[("domain", "10")])
        .text("argument unsupported: QEMU guest agent is not configured")
        .tolerated_by(&[Get]),
    NativeError::new("agent-silent", ADDRESSES, Class::Transient, SEEN)
        .status(86)
        .code("AGENT_UNRESPONSIVE")
        .fields(&[("domain", "10")])
        .text("Guest agent is not responding: QEMU guest agent is not connected")
        .tolerated_by(&[Get]),
    NativeError::new("agent-too-slow", ADDRESSES, Class::Transient, "go-libvirt's tables of libvirt 10")
        .status(112)
        .code("AGENT_COMMAND_TIMEOUT")
        .tolerated_by(&[Get]),
    NativeError::new("addresses-unsupported", ADDRESSES, Class::Permanent, SEEN)
        .status(3)
        .code("NO_SUPPORT")
        .fields(&[("domain", "20")])
        .text("this function is not supported by the connection driver: virDomainInterfaceAddresses")
        .tolerated_by(&[Get]),
    ACCESS_DENIED.id("addresses-refused").on(ADDRESSES).tolerated_by(&[Get]),
    TIMED_OUT.id("addresses-locked").on(ADDRESSES).tolerated_by(&[Get]),
    // Libvirt 9.0 cannot read the table of newer kernels, though the entry is there.
    NativeError::new("neighbours-unreadable", ADDRESSES, Class::Transient, SEEN)
        .status(1)
        .code("INTERNAL_ERROR")
        .fields(&[("domain", "10")])
        .tolerated_by(&[Get]),
];
