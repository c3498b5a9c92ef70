//! Networks and their leases.

use crate::{
    calls::calls,
    connect::{Flag, Text},
    error::Network,
    xdr::{List, structs},
};

calls! {
    /// By its name.
    NetworkLookupByName { name: String } -> OneNetwork;
    /// Starts it.
    NetworkCreate { net: Network } -> ();
    /// Stops it.
    NetworkDestroy { net: Network } -> ();
    /// Its XML.
    NetworkGetXmlDesc { net: Network, flags: u32 } -> Text;
    /// Its bridge.
    NetworkGetBridgeName { net: Network } -> Text;
    /// Whether it starts with the host.
    NetworkGetAutostart { net: Network } -> Flag;
    /// Whether it runs.
    NetworkIsActive { net: Network } -> Flag;
    /// Whether it has a definition.
    NetworkIsPersistent { net: Network } -> Flag;
    /// The networks of the host, or their count alone.
    ConnectListAllNetworks { need_results: i32, flags: u32 } -> Networks;
    /// The leases that its DHCP has given, all or those of one MAC.
    NetworkGetDhcpLeases { net: Network, mac: Option<String>, need_results: i32, flags: u32 } -> Leases;
}

structs! {
    /// One network.
    pub struct OneNetwork {
        /// It.
        pub net: Network,
    }

    /// Several networks.
    pub struct Networks {
        /// They, if they were asked for.
        pub networks: List<Network, 16_384>,
        /// How many.
        pub count: u32,
    }

    /// A lease.
    pub struct Lease {
        /// The network's bridge.
        pub interface: String,
        /// When it ends, in seconds since 1970.
        pub expires: i64,
        /// 0 for IPv4, 1 for IPv6.
        pub kind: i32,
        /// Whose it is.
        pub mac: Option<String>,
        /// The association, for IPv6.
        pub iaid: Option<String>,
        /// The address.
        pub address: String,
        /// The length of its network's prefix.
        pub prefix: u32,
        /// What the guest calls itself.
        pub hostname: Option<String>,
        /// How the guest names itself to DHCP.
        pub client: Option<String>,
    }

    /// Several leases.
    pub struct Leases {
        /// They, if they were asked for.
        pub leases: List<Lease, 65_536>,
        /// How many.
        pub count: u32,
    }
}
