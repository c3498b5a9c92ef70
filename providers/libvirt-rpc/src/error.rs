//! What an error carries over the wire, and the numbers that libvirt has for errors and for the parts of it that
//! complain. What a number means for a provider is not decided here.

use crate::xdr::{Uuid, structs};

structs! {
    /// A domain, as errors, replies and arguments name it. A daemon goes by the UUID.
    pub struct Domain {
        /// Its name.
        pub name: String,
        /// Its UUID.
        pub uuid: Uuid,
        /// Its number while it runs, -1 otherwise.
        pub id: i32,
    }

    /// A network.
    pub struct Network {
        /// Its name.
        pub name: String,
        /// Its UUID.
        pub uuid: Uuid,
    }

    /// An error: the payload of a packet of status [`Status::Error`](crate::packet::Status::Error).
    ///
    /// The message is in the daemon's language.
    pub struct RemoteError {
        /// One of [`code`].
        pub code: i32,
        /// The part of libvirt that complains: one of [`origin`].
        pub domain: i32,
        /// The message; it may quote what was sent.
        pub message: Option<String>,
        /// How bad: 1 a warning, 2 an error.
        pub level: i32,
        /// No longer sent.
        pub dom: Option<Domain>,
        /// The message's format, as a rule.
        pub str1: Option<String>,
        /// What is put into it.
        pub str2: Option<String>,
        /// Something more.
        pub str3: Option<String>,
        /// The errno of a [`code::SYSTEM_ERROR`].
        pub int1: i32,
        /// Something more.
        pub int2: i32,
        /// No longer sent.
        pub net: Option<Network>,
    }
}

impl RemoteError {
    /// An error as daemons send it.
    pub fn new(code: i32, domain: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            domain,
            message: Some(message.into()),
            level: 2,
            dom: None,
            str1: None,
            str2: None,
            str3: None,
            int1: -1,
            int2: -1,
            net: None,
        }
    }

    /// The errno of a system error.
    pub fn errno(&self) -> Option<i32> {
        (self.code == code::SYSTEM_ERROR && self.int1 > 0).then_some(self.int1)
    }
}

macro_rules! numbers {
    ($($name:ident = $number:literal),* $(,)?) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        pub const $name: i32 = $number;
    )*};
}

/// Numbers of errors, by libvirt's names without `VIR_ERR_`.
pub mod code {
    numbers! {
        OK = 0,
        INTERNAL_ERROR = 1,
        NO_MEMORY = 2,
        NO_SUPPORT = 3,
        NO_CONNECT = 5,
        INVALID_CONN = 6,
        INVALID_DOMAIN = 7,
        INVALID_ARG = 8,
        OPERATION_FAILED = 9,
        OS_TYPE = 17,
        NO_DEVICE = 20,
        NO_NAME = 21,
        XML_ERROR = 27,
        DOM_EXIST = 28,
        OPERATION_DENIED = 29,
        XML_DETAIL = 35,
        SYSTEM_ERROR = 38,
        RPC = 39,
        NO_DOMAIN = 42,
        NO_NETWORK = 43,
        INVALID_MAC = 44,
        AUTH_FAILED = 45,
        NO_STORAGE_POOL = 49,
        NO_STORAGE_VOL = 50,
        OPERATION_INVALID = 55,
        CONFIG_UNSUPPORTED = 67,
        OPERATION_TIMEOUT = 68,
        ARGUMENT_UNSUPPORTED = 74,
        OPERATION_ABORTED = 78,
        AUTH_CANCELLED = 79,
        NO_DOMAIN_METADATA = 80,
        OVERFLOW = 82,
        OPERATION_UNSUPPORTED = 84,
        AGENT_UNRESPONSIVE = 86,
        RESOURCE_BUSY = 87,
        ACCESS_DENIED = 88,
        STORAGE_VOL_EXIST = 90,
        CPU_INCOMPATIBLE = 91,
        XML_INVALID_SCHEMA = 92,
        AUTH_UNAVAILABLE = 94,
        AGENT_COMMAND_TIMEOUT = 112,
        AGENT_COMMAND_FAILED = 113,
    }
}

/// Parts of libvirt that complain, by libvirt's names without `VIR_FROM_`.
pub mod origin {
    numbers! {
        NONE = 0,
        XML = 5,
        RPC = 7,
        CONF = 9,
        QEMU = 10,
        NET = 11,
        TEST = 12,
        REMOTE = 13,
        STORAGE = 18,
        NETWORK = 19,
        DOMAIN = 20,
        STREAMS = 38,
        URI = 45,
        AUTH = 46,
        DBUS = 47,
        ACCESS = 55,
        POLKIT = 60,
    }
}
