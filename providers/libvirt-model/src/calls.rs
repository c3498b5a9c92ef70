//! The calls that both providers make, named after libvirt's procedures; `dial` is the way there, the downloads go to
//! the image server.

use std::time::Duration;

use provider_api::CallKind;

/// How long making a connection may take: TCP, SSH, and the channel to the daemon's socket.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an image may take, one way. It is gigabytes, and a host may be far away.
const IMAGE: Duration = Duration::from_secs(20 * 60);

/// Every kind of call.
pub const CALLS: &[CallKind] = &[
    CallKind::read("dial").within(CONNECT),
    CallKind::read("connect_open").within(CONNECT),
    CallKind::read("connect_close").within(CONNECT),
    CallKind::read("connect_get_lib_version"),
    CallKind::read("connect_get_hostname"),
    CallKind::read("connect_get_capabilities"),
    CallKind::read("connect_list_all_domains"),
    CallKind::read("node_get_memory_stats"),
    CallKind::read("domain_lookup_by_name"),
    CallKind::read("domain_get_metadata"),
    CallKind::read("domain_get_state"),
    CallKind::read("domain_get_xml_desc"),
    CallKind::write("domain_define_xml"),
    CallKind::write("domain_create"),
    // Of one that sleeps it is the wake-up.
    CallKind::write("domain_resume"),
    CallKind::write("domain_destroy"),
    CallKind::write("domain_undefine_flags"),
    CallKind::read("storage_pool_lookup_by_name"),
    CallKind::read("storage_pool_get_info"),
    CallKind::write("storage_pool_refresh"),
    CallKind::read("storage_pool_list_all_volumes"),
    CallKind::read("storage_vol_get_xml_desc"),
    CallKind::read("storage_vol_get_path"),
    CallKind::write("storage_vol_create_xml"),
    // It carries images too, but a seed is the same call.
    CallKind::upload("storage_vol_upload").within(IMAGE),
    CallKind::write("storage_vol_delete"),
    // An error here means that this source knows no address.
    CallKind::read("domain_interface_addresses"),
    CallKind::read("download_head"),
    // Up to its first byte; the rest is the upload's.
    CallKind::read("download"),
];

/// The calls that libvirt itself answers; the one whose errors mean no more than "not from here" is the last.
pub const RPC: &[&str] = &[
    "connect_open",
    "connect_close",
    "connect_get_lib_version",
    "connect_get_hostname",
    "connect_get_capabilities",
    "connect_list_all_domains",
    "node_get_memory_stats",
    "domain_lookup_by_name",
    "domain_get_metadata",
    "domain_get_state",
    "domain_get_xml_desc",
    "domain_define_xml",
    "domain_create",
    "domain_resume",
    "domain_destroy",
    "domain_undefine_flags",
    "storage_pool_lookup_by_name",
    "storage_pool_get_info",
    "storage_pool_refresh",
    "storage_pool_list_all_volumes",
    "storage_vol_get_xml_desc",
    "storage_vol_get_path",
    "storage_vol_create_xml",
    "storage_vol_upload",
    "storage_vol_delete",
    "domain_interface_addresses",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libvirt_answers_every_call_but_those_to_others() {
        let others = ["dial", "download_head", "download"];
        let answered = CALLS.iter().map(|call| call.name).filter(|name| !others.contains(name));
        assert_eq!(answered.collect::<Vec<_>>(), RPC);
    }
}
