//! The connection itself and the node behind it: authentication, opening, features, versions, capabilities, memory.

use crate::{
    calls::calls,
    xdr::{List, WideChars, structs},
};

/// The flags of [`ConnectOpen`].
pub mod open {
    /// Nothing can be changed.
    pub const READ_ONLY: u32 = 1;
    /// The URI is no alias.
    pub const NO_ALIASES: u32 = 2;
}

/// What [`AuthList`] answers with.
pub mod auth {
    /// Nobody has to say who they are.
    pub const NONE: i32 = 0;
    /// SASL.
    pub const SASL: i32 = 1;
    /// The daemon asks polkit.
    pub const POLKIT: i32 = 2;
}

/// What [`ConnectSupportsFeature`] asks about.
pub mod feature {
    /// Signs of life. Who asks for it is pinged from then on, and has to answer.
    pub const KEEPALIVE: i32 = 10;
    /// Events name the callback that they are for.
    pub const EVENT_CALLBACK: i32 = 14;
    /// The daemon says when it loses its own connection to the hypervisor.
    pub const CLOSE_CALLBACK: i32 = 15;
}

calls! {
    /// What authentication there is. It must come first, even where there is none.
    AuthList {} -> AuthTypes;
    /// Lets the daemon ask polkit.
    AuthPolkit {} -> Complete;
    /// Opens the hypervisor.
    ConnectOpen { name: Option<String>, flags: u32 } -> ();
    /// Closes it; the daemon then hangs up.
    ConnectClose {} -> ();
    /// The hypervisor's name.
    ConnectGetType {} -> Text;
    /// The hypervisor's version, as millions, thousands and ones.
    ConnectGetVersion {} -> Number;
    /// libvirt's version, counted likewise.
    ConnectGetLibVersion {} -> Number;
    /// The host's name.
    ConnectGetHostname {} -> Text;
    /// The URI that was opened.
    ConnectGetUri {} -> Text;
    /// What host and hypervisor can, as XML.
    ConnectGetCapabilities {} -> Text;
    /// Whether there is a [`feature`].
    ConnectSupportsFeature { feature: i32 } -> Flag;
    /// Asks to be told of a lost hypervisor.
    ConnectRegisterCloseCallback {} -> ();
    /// Asks no longer.
    ConnectUnregisterCloseCallback {} -> ();
    /// Processors and memory.
    NodeGetInfo {} -> NodeInfo;
    /// Free memory in bytes.
    NodeGetFreeMemory {} -> Number;
    /// Memory by its uses; with `nparams` 0 only their count.
    NodeGetMemoryStats { nparams: i32, cell: i32, flags: u32 } -> MemoryStats;
    /// The host's security model.
    NodeGetSecurityModel {} -> SecurityModel;
}

structs! {
    /// One text.
    pub struct Text {
        /// It.
        pub text: String,
    }

    /// One number.
    pub struct Number {
        /// It.
        pub number: u64,
    }

    /// Yes or no.
    pub struct Flag {
        /// 1 or 0.
        pub flag: i32,
    }

    /// The ways of authentication.
    pub struct AuthTypes {
        /// Each one of [`auth`].
        pub types: List<i32, 20>,
    }

    /// How far authentication is.
    pub struct Complete {
        /// 1 when it is done.
        pub complete: i32,
    }

    /// What a node is made of.
    pub struct NodeInfo {
        /// The processors' architecture.
        pub model: WideChars,
        /// Memory in KiB.
        pub memory: u64,
        /// How many processors are active.
        pub cpus: i32,
        /// Their frequency.
        pub mhz: i32,
        /// NUMA nodes.
        pub nodes: i32,
        /// Sockets for each.
        pub sockets: i32,
        /// Cores for each.
        pub cores: i32,
        /// Threads for each.
        pub threads: i32,
    }

    /// One use of memory.
    pub struct MemoryStat {
        /// Its name: `total`, `free`, `buffers`, `cached`.
        pub field: String,
        /// How much, in KiB.
        pub value: u64,
    }

    /// Memory by its uses.
    pub struct MemoryStats {
        /// The uses.
        pub stats: List<MemoryStat, 16>,
        /// How many there are, when only that was asked.
        pub count: i32,
    }

    /// A security model.
    pub struct SecurityModel {
        /// Its name, a byte for each number.
        pub model: List<i32, 257>,
        /// What holds for whom.
        pub doi: List<i32, 257>,
    }
}
