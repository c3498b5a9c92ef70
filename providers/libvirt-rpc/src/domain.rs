//! Domains: what is asked and answered, with the flags and the numbers of states.

use crate::{
    calls::calls,
    connect::{Flag, Text},
    error::Domain,
    xdr::{List, structs},
};

/// The most domains that one listing names.
pub const MOST_DOMAINS: usize = 16_384;
/// The most interfaces of a domain, and addresses of an interface.
pub const MOST_ADDRESSES: usize = 2_048;

/// What a domain is doing.
pub mod state {
    macro_rules! states {
        ($($name:ident = $number:literal),*) => {$(
            #[doc = concat!("`", stringify!($name), "`")]
            pub const $name: i32 = $number;
        )*};
    }
    states!(
        NOSTATE = 0,
        RUNNING = 1,
        BLOCKED = 2,
        PAUSED = 3,
        SHUTDOWN = 4,
        SHUTOFF = 5,
        CRASHED = 6,
        PMSUSPENDED = 7
    );
}

/// The flags of [`DomainUndefineFlags`].
pub mod undefine {
    /// With its managed save image.
    pub const MANAGED_SAVE: u32 = 1;
    /// With what is known of its snapshots.
    pub const SNAPSHOTS_METADATA: u32 = 2;
    /// With its file of UEFI variables.
    pub const NVRAM: u32 = 4;
    /// Without that file.
    pub const KEEP_NVRAM: u32 = 8;
    /// With what is known of its checkpoints.
    pub const CHECKPOINTS_METADATA: u32 = 16;
    /// With its TPM's state. Since 8.9.
    pub const TPM: u32 = 32;
    /// Without that state. Since 8.9.
    pub const KEEP_TPM: u32 = 64;
}

/// The flags of [`ConnectListAllDomains`]; none means all.
pub mod list {
    /// Running, in whatever way.
    pub const ACTIVE: u32 = 1;
    /// Not running.
    pub const INACTIVE: u32 = 2;
    /// With a definition that stays.
    pub const PERSISTENT: u32 = 4;
    /// Without one.
    pub const TRANSIENT: u32 = 8;
}

/// The sources of [`DomainInterfaceAddresses`].
pub mod source {
    /// Leases of libvirt's own DHCP.
    pub const LEASE: u32 = 0;
    /// The guest's agent.
    pub const AGENT: u32 = 1;
    /// The host's neighbour table.
    pub const ARP: u32 = 2;
}

/// The kinds of metadata, and what a change is to affect.
pub mod metadata {
    /// The description.
    pub const DESCRIPTION: i32 = 0;
    /// The title.
    pub const TITLE: i32 = 1;
    /// An element under a namespace of one's own.
    pub const ELEMENT: i32 = 2;
    /// Whatever is current.
    pub const CURRENT: u32 = 0;
    /// The running domain.
    pub const LIVE: u32 = 1;
    /// The definition.
    pub const CONFIG: u32 = 2;
}

calls! {
    /// The domains of the host, or their count alone.
    ConnectListAllDomains { need_results: i32, flags: u32 } -> Domains;
    /// By its number while it runs.
    DomainLookupById { id: i32 } -> OneDomain;
    /// By its name.
    DomainLookupByName { name: String } -> OneDomain;
    /// By its UUID.
    DomainLookupByUuid { uuid: crate::xdr::Uuid } -> OneDomain;
    /// Defines it, or defines it anew.
    DomainDefineXml { xml: String } -> OneDomain;
    /// The same with flags.
    DomainDefineXmlFlags { xml: String, flags: u32 } -> OneDomain;
    /// Starts one that has no definition beside its running.
    DomainCreateXml { xml: String, flags: u32 } -> OneDomain;
    /// Starts it.
    DomainCreate { dom: Domain } -> ();
    /// Starts it, and answers with its new number.
    DomainCreateWithFlags { dom: Domain, flags: u32 } -> OneDomain;
    /// Ends it at once.
    DomainDestroy { dom: Domain } -> ();
    /// The same with flags.
    DomainDestroyFlags { dom: Domain, flags: u32 } -> ();
    /// Asks the guest to end.
    DomainShutdown { dom: Domain } -> ();
    /// The same with flags.
    DomainShutdownFlags { dom: Domain, flags: u32 } -> ();
    /// Stops its processors.
    DomainSuspend { dom: Domain } -> ();
    /// Lets them go on.
    DomainResume { dom: Domain } -> ();
    /// Wakes a guest that sleeps.
    DomainPmWakeup { dom: Domain, flags: u32 } -> ();
    /// Takes its definition away.
    DomainUndefine { dom: Domain } -> ();
    /// The same, with what belongs to it.
    DomainUndefineFlags { dom: Domain, flags: u32 } -> ();
    /// Its [`state`] and why.
    DomainGetState { dom: Domain, flags: u32 } -> DomainState;
    /// Its state, memory and processors.
    DomainGetInfo { dom: Domain } -> DomainInfo;
    /// Its XML.
    DomainGetXmlDesc { dom: Domain, flags: u32 } -> Text;
    /// What it runs.
    DomainGetOsType { dom: Domain } -> Text;
    /// Whether it starts with the host.
    DomainGetAutostart { dom: Domain } -> Flag;
    /// Whether it runs.
    DomainIsActive { dom: Domain } -> Flag;
    /// Whether it has a definition.
    DomainIsPersistent { dom: Domain } -> Flag;
    /// Saves it to an image from which its next start continues.
    DomainManagedSave { dom: Domain, flags: u32 } -> ();
    /// Whether its next start continues from a saved image.
    DomainHasManagedSaveImage { dom: Domain, flags: u32 } -> Flag;
    /// How many snapshots it has.
    DomainSnapshotNum { dom: Domain, flags: u32 } -> Flag;
    /// Its security label.
    DomainGetSecurityLabel { dom: Domain } -> SecurityLabel;
    /// What libvirt has to say about it.
    DomainGetMessages { dom: Domain, flags: u32 } -> Messages;
    /// One of its [`metadata`].
    DomainGetMetadata { dom: Domain, kind: i32, uri: Option<String>, flags: u32 } -> Text;
    /// Sets one, or takes it away.
    DomainSetMetadata {
        dom: Domain, kind: i32, metadata: Option<String>, key: Option<String>, uri: Option<String>, flags: u32,
    } -> ();
    /// Its addresses, from one [`source`].
    DomainInterfaceAddresses { dom: Domain, source: u32, flags: u32 } -> Interfaces;
    /// A command for its agent, as JSON; waits so many seconds, -1 for the usual time, -2 without end.
    QemuDomainAgentCommand { dom: Domain, command: String, timeout: i32, flags: u32 } -> AgentResult;
}

structs! {
    /// One domain.
    pub struct OneDomain {
        /// It.
        pub dom: Domain,
    }

    /// Several domains.
    pub struct Domains {
        /// They, if they were asked for.
        pub domains: List<Domain, MOST_DOMAINS>,
        /// How many.
        pub count: u32,
    }

    /// What a domain is doing.
    pub struct DomainState {
        /// One of [`state`].
        pub state: i32,
        /// Why, by a number within that state.
        pub reason: i32,
    }

    /// State, memory and processors of a domain.
    pub struct DomainInfo {
        /// One of [`state`].
        pub state: u32,
        /// The most memory, in KiB.
        pub max_memory: u64,
        /// Memory now, in KiB.
        pub memory: u64,
        /// Virtual processors.
        pub cpus: u32,
        /// Time they have run, in nanoseconds.
        pub cpu_time: u64,
    }

    /// The security label of a domain.
    pub struct SecurityLabel {
        /// Its text, a byte for each number.
        pub label: List<i32, 4_097>,
        /// Whether it is enforced.
        pub enforcing: i32,
    }

    /// What libvirt says of a domain.
    pub struct Messages {
        /// A sentence each.
        pub messages: List<String, 2_048>,
    }

    /// An address.
    pub struct Address {
        /// 0 for IPv4, 1 for IPv6.
        pub kind: i32,
        /// As text.
        pub address: String,
        /// The length of its network's prefix.
        pub prefix: u32,
    }

    /// An interface of a domain.
    pub struct Interface {
        /// Its name, on the host or in the guest.
        pub name: String,
        /// Its MAC.
        pub hwaddr: Option<String>,
        /// Its addresses.
        pub addresses: List<Address, MOST_ADDRESSES>,
    }

    /// Several interfaces.
    pub struct Interfaces {
        /// They.
        pub interfaces: List<Interface, MOST_ADDRESSES>,
    }

    /// What an agent answers.
    pub struct AgentResult {
        /// JSON.
        pub result: Option<String>,
    }
}
