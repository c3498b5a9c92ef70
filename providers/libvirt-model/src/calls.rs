//! The calls that both providers make, named after libvirt's procedures; `dial` is the way there, the downloads go to
//! the image server.

use std::time::Duration;

use provider_api::CallKind;

/// How long making a connection may take: TCP, SSH, and the channel to the daemon's socket.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an image may take, one way. It is gigabytes, and a host may be far away.
const IMAGE: Duration = Duration::from_secs(20 * 60);

macro_rules! calls {
    ($( $(#[$doc:meta])* $name:ident = $kind:expr; )*) => {
        $( $(#[$doc])* pub const $name: CallKind = $kind; )*

        /// Every kind of call.
        pub const CALLS: &[CallKind] = &[$($name),*];
    };
}

calls! {
    /// The way to a host, up to the channel to its daemon.
    DIAL = CallKind::read("dial").within(CONNECT);
    /// Opens a connection of libvirt's on it: several questions and answers, so that it has the time of a call.
    CONNECT_OPEN = CallKind::read("connect_open");
    /// Says goodbye on it.
    CONNECT_CLOSE = CallKind::read("connect_close").within(CONNECT);
    /// Asks for libvirt's version.
    CONNECT_GET_LIB_VERSION = CallKind::read("connect_get_lib_version");
    /// Asks for the host's own name.
    CONNECT_GET_HOSTNAME = CallKind::read("connect_get_hostname");
    /// Asks what the host can run.
    CONNECT_GET_CAPABILITIES = CallKind::read("connect_get_capabilities");
    /// Lists the domains.
    CONNECT_LIST_ALL_DOMAINS = CallKind::read("connect_list_all_domains");
    /// Asks for the host's memory.
    NODE_GET_MEMORY_STATS = CallKind::read("node_get_memory_stats");
    /// Looks a domain up.
    DOMAIN_LOOKUP_BY_NAME = CallKind::read("domain_lookup_by_name");
    /// Reads a domain's mark.
    DOMAIN_GET_METADATA = CallKind::read("domain_get_metadata");
    /// Asks for a domain's state and reason.
    DOMAIN_GET_STATE = CallKind::read("domain_get_state");
    /// Reads a whole domain.
    DOMAIN_GET_XML_DESC = CallKind::read("domain_get_xml_desc");
    /// Defines a domain.
    DOMAIN_DEFINE_XML = CallKind::write("domain_define_xml");
    /// Starts a domain.
    DOMAIN_CREATE = CallKind::write("domain_create");
    /// Resumes a domain; of one that sleeps it is the wake-up.
    DOMAIN_RESUME = CallKind::write("domain_resume");
    /// Ends a running domain.
    DOMAIN_DESTROY = CallKind::write("domain_destroy");
    /// Takes a domain away.
    DOMAIN_UNDEFINE_FLAGS = CallKind::write("domain_undefine_flags");
    /// Looks the pool up.
    STORAGE_POOL_LOOKUP_BY_NAME = CallKind::read("storage_pool_lookup_by_name");
    /// Asks for the pool's state and room.
    STORAGE_POOL_GET_INFO = CallKind::read("storage_pool_get_info");
    /// Has the pool look at its volumes anew.
    STORAGE_POOL_REFRESH = CallKind::write("storage_pool_refresh");
    /// Lists the volumes.
    STORAGE_POOL_LIST_ALL_VOLUMES = CallKind::read("storage_pool_list_all_volumes");
    /// Reads a volume.
    STORAGE_VOL_GET_XML_DESC = CallKind::read("storage_vol_get_xml_desc");
    /// Asks where a volume is.
    STORAGE_VOL_GET_PATH = CallKind::read("storage_vol_get_path");
    /// Makes a volume.
    STORAGE_VOL_CREATE_XML = CallKind::write("storage_vol_create_xml");
    /// Fills a volume. It carries images too, but a seed is the same call.
    STORAGE_VOL_UPLOAD = CallKind::upload("storage_vol_upload").within(IMAGE);
    /// Deletes a volume.
    STORAGE_VOL_DELETE = CallKind::write("storage_vol_delete");
    /// Asks one source for addresses. An error here means that it knows none.
    DOMAIN_INTERFACE_ADDRESSES = CallKind::read("domain_interface_addresses");
    /// Asks the image server how large an image is.
    DOWNLOAD_HEAD = CallKind::read("download_head");
    /// Asks for an image, up to its first byte; the rest is the upload's.
    DOWNLOAD = CallKind::read("download");
}

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
