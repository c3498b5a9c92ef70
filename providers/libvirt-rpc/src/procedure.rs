//! The procedures by number and by name, and what ties a call to its arguments and its answer.

use crate::{
    packet::{Header, program},
    xdr::{EncodeError, Xdr},
};

/// A call: its arguments, which are the value itself, and its answer.
pub trait Call: Xdr {
    /// Its procedure.
    const PROCEDURE: Procedure;
    /// What answers it.
    type Reply: Xdr;

    /// The packet that makes the call.
    ///
    /// # Errors
    /// [`EncodeError`] for arguments that the daemon would refuse to decode.
    fn packet(&self, serial: u32) -> Result<Vec<u8>, EncodeError> {
        Self::PROCEDURE.header(serial).packet(self)
    }
}

macro_rules! procedures {
    ($($program:ident { $($(#[$about:meta])* $name:ident = $number:literal $text:literal,)* })*) => {
        /// A procedure of the daemon.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Procedure {
            $($($(#[$about])* #[doc = concat!("`", $text, "`")] $name,)*)*
        }

        impl Procedure {
            /// Every procedure that this crate knows.
            pub const ALL: &[Self] = &[$($(Self::$name,)*)*];

            /// Its program.
            pub fn program(self) -> u32 {
                match self { $($(Self::$name => program::$program,)*)* }
            }

            /// Its number within the program.
            pub fn number(self) -> i32 {
                match self { $($(Self::$name => $number,)*)* }
            }

            /// Its name in the protocol's definition, in lower case.
            pub fn name(self) -> &'static str {
                match self { $($(Self::$name => $text,)*)* }
            }
        }
    };
}

impl Procedure {
    /// The procedure of that number, if this crate knows it.
    pub fn find(program: u32, number: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.program() == program && known.number() == number)
    }

    /// The header of a call of it.
    pub fn header(self, serial: u32) -> Header {
        Header::call(self.program(), self.number(), serial)
    }
}

procedures! {
    REMOTE {
        ConnectOpen = 1 "connect_open",
        ConnectClose = 2 "connect_close",
        ConnectGetType = 3 "connect_get_type",
        ConnectGetVersion = 4 "connect_get_version",
        NodeGetInfo = 6 "node_get_info",
        ConnectGetCapabilities = 7 "connect_get_capabilities",
        DomainCreate = 9 "domain_create",
        DomainCreateXml = 10 "domain_create_xml",
        DomainDefineXml = 11 "domain_define_xml",
        DomainDestroy = 12 "domain_destroy",
        DomainGetXmlDesc = 14 "domain_get_xml_desc",
        DomainGetAutostart = 15 "domain_get_autostart",
        DomainGetInfo = 16 "domain_get_info",
        DomainGetOsType = 19 "domain_get_os_type",
        DomainLookupById = 22 "domain_lookup_by_id",
        DomainLookupByName = 23 "domain_lookup_by_name",
        DomainLookupByUuid = 24 "domain_lookup_by_uuid",
        DomainResume = 28 "domain_resume",
        DomainShutdown = 33 "domain_shutdown",
        DomainSuspend = 34 "domain_suspend",
        DomainUndefine = 35 "domain_undefine",
        NetworkCreate = 39 "network_create",
        NetworkDestroy = 42 "network_destroy",
        NetworkGetXmlDesc = 43 "network_get_xml_desc",
        NetworkGetAutostart = 44 "network_get_autostart",
        NetworkGetBridgeName = 45 "network_get_bridge_name",
        NetworkLookupByName = 46 "network_lookup_by_name",
        ConnectGetHostname = 59 "connect_get_hostname",
        ConnectSupportsFeature = 60 "connect_supports_feature",
        AuthList = 66 "auth_list",
        AuthPolkit = 70 "auth_polkit",
        StoragePoolCreateXml = 76 "storage_pool_create_xml",
        StoragePoolDefineXml = 77 "storage_pool_define_xml",
        StoragePoolCreate = 78 "storage_pool_create",
        StoragePoolBuild = 79 "storage_pool_build",
        StoragePoolDestroy = 80 "storage_pool_destroy",
        StoragePoolUndefine = 82 "storage_pool_undefine",
        StoragePoolRefresh = 83 "storage_pool_refresh",
        StoragePoolLookupByName = 84 "storage_pool_lookup_by_name",
        StoragePoolLookupByVolume = 86 "storage_pool_lookup_by_volume",
        StoragePoolGetInfo = 87 "storage_pool_get_info",
        StoragePoolGetXmlDesc = 88 "storage_pool_get_xml_desc",
        StoragePoolGetAutostart = 89 "storage_pool_get_autostart",
        StorageVolCreateXml = 93 "storage_vol_create_xml",
        StorageVolDelete = 94 "storage_vol_delete",
        StorageVolLookupByName = 95 "storage_vol_lookup_by_name",
        StorageVolLookupByKey = 96 "storage_vol_lookup_by_key",
        StorageVolLookupByPath = 97 "storage_vol_lookup_by_path",
        StorageVolGetInfo = 98 "storage_vol_get_info",
        StorageVolGetXmlDesc = 99 "storage_vol_get_xml_desc",
        StorageVolGetPath = 100 "storage_vol_get_path",
        NodeGetFreeMemory = 102 "node_get_free_memory",
        DomainEventLifecycle = 107 "domain_event_lifecycle",
        ConnectGetUri = 110 "connect_get_uri",
        DomainGetSecurityLabel = 121 "domain_get_security_label",
        NodeGetSecurityModel = 122 "node_get_security_model",
        StorageVolCreateXmlFrom = 125 "storage_vol_create_xml_from",
        DomainIsActive = 150 "domain_is_active",
        DomainIsPersistent = 151 "domain_is_persistent",
        NetworkIsActive = 152 "network_is_active",
        NetworkIsPersistent = 153 "network_is_persistent",
        StoragePoolIsActive = 154 "storage_pool_is_active",
        StoragePoolIsPersistent = 155 "storage_pool_is_persistent",
        ConnectGetLibVersion = 157 "connect_get_lib_version",
        DomainManagedSave = 182 "domain_managed_save",
        DomainHasManagedSaveImage = 183 "domain_has_managed_save_image",
        DomainSnapshotNum = 187 "domain_snapshot_num",
        DomainCreateWithFlags = 196 "domain_create_with_flags",
        StorageVolUpload = 208 "storage_vol_upload",
        StorageVolDownload = 209 "storage_vol_download",
        DomainGetState = 212 "domain_get_state",
        NodeGetMemoryStats = 228 "node_get_memory_stats",
        DomainUndefineFlags = 231 "domain_undefine_flags",
        DomainDestroyFlags = 234 "domain_destroy_flags",
        DomainShutdownFlags = 258 "domain_shutdown_flags",
        StorageVolResize = 260 "storage_vol_resize",
        DomainSetMetadata = 264 "domain_set_metadata",
        DomainGetMetadata = 265 "domain_get_metadata",
        DomainPmWakeup = 267 "domain_pm_wakeup",
        ConnectListAllDomains = 273 "connect_list_all_domains",
        ConnectListAllStoragePools = 281 "connect_list_all_storage_pools",
        StoragePoolListAllVolumes = 282 "storage_pool_list_all_volumes",
        ConnectListAllNetworks = 283 "connect_list_all_networks",
        ConnectDomainEventCallbackRegisterAny = 316 "connect_domain_event_callback_register_any",
        ConnectDomainEventCallbackDeregisterAny = 317 "connect_domain_event_callback_deregister_any",
        DomainEventCallbackLifecycle = 318 "domain_event_callback_lifecycle",
        DomainEventCallbackReboot = 319 "domain_event_callback_reboot",
        NetworkGetDhcpLeases = 341 "network_get_dhcp_leases",
        DomainEventCallbackAgentLifecycle = 348 "domain_event_callback_agent_lifecycle",
        DomainDefineXmlFlags = 350 "domain_define_xml_flags",
        DomainInterfaceAddresses = 353 "domain_interface_addresses",
        ConnectRegisterCloseCallback = 360 "connect_register_close_callback",
        ConnectUnregisterCloseCallback = 361 "connect_unregister_close_callback",
        ConnectEventConnectionClosed = 362 "connect_event_connection_closed",
        StorageVolGetInfoFlags = 378 "storage_vol_get_info_flags",
        DomainEventCallbackMetadataChange = 379 "domain_event_callback_metadata_change",
        DomainGetMessages = 426 "domain_get_messages",
    }
    QEMU {
        QemuDomainAgentCommand = 3 "qemu_domain_agent_command",
    }
}
