//! The profile that both providers start from; each sets what only it has.

use std::time::Duration;

use provider_api::{
    BoundedWait, Budgets, CallBudget, Profile, StateKind,
    profile::{
        BackendTest, ClientKind, CreateReturn, CreatedAt, CredentialsFrom, DeleteBinding, DeleteReturn,
        Delivery, GcMark, IpSource, ListPartial, NotFound, PlacementField, PrimaryKey, ProvisioningState,
        Quota, Readiness, SecondaryResources,
    },
};

use crate::{CALLS, native_states};

/// The rows that are the same whatever speaks to libvirt.
pub fn base_profile(provider: &'static str) -> Profile {
    let mut profile = Profile::plain(provider);
    profile.readiness = Readiness::ProvisioningWindow;
    profile.create_return = CreateReturn::Blocking;
    profile.delete_return = DeleteReturn::Waits;
    profile.ip_source = IpSource::Discovered;
    profile.gc_mark = GcMark::WrittenMetadata;
    profile.created_at = CreatedAt::WrittenAtCreate;
    profile.list_partial = ListPartial::OmitUnreachable;
    profile.quota = Quota::Detected;
    profile.not_found = NotFound::ErrorCode;
    profile.primary_key = PrimaryKey::NameIsKey;
    profile.provisioning_state = ProvisioningState::CreateBlocks;
    profile.secondary_resources = SecondaryResources::Explicit;
    profile.credentials = CredentialsFrom::MountedFiles;
    profile.client_kind = ClientKind::RpcOverSsh;
    profile.backend_test = BackendTest::IntegrationTag;

    profile.delete_binding = DeleteBinding::Incarnation;
    profile.placement = [PlacementField::Zone, PlacementField::MachineType, PlacementField::Image].into();
    profile.cloud_init = Delivery::Delivered;
    profile.states = [StateKind::Provisioning, StateKind::Running, StateKind::Stopped].into();
    profile.native_states = native_states();
    profile.check_target = "host";
    profile.check_details = vec![
        "user",
        "pool",
        "hostname",
        "libvirtVersion",
        "acceleration",
        "memoryAvailableMiB",
        "poolState",
        "poolCapacityGiB",
        "poolAvailableGiB",
    ];
    profile.calls = CALLS.to_vec();
    profile.call_budget = CallBudget {
        // A connection (2). The name, the pool, its room, the host's acceleration and memory, its volumes (6). The
        // image: its size, download, volume, upload, refresh, marker (6), and what it is (1). Overlay and seed: made,
        // filled, their paths (5). Defined, started, its state (3).
        create: 23,
        // A connection, the domain, what it is, its state, and three sources of an address.
        get: 8,
        // A connection, the domain, its mark, destroyed and undefined, the pool, its volumes, who else is there, two
        // volumes deleted; one more for each domain of somebody else's.
        delete: 11,
        // A connection and the domains of the host.
        list: 3,
        // The mark of each.
        list_each: 1,
        // A connection and its end, version, host name, capabilities, memory, the pool and its room.
        check: 9,
    };
    profile.budgets = Budgets {
        // The first create with an image moves gigabytes twice.
        create: Duration::from_secs(45 * 60),
        get: Duration::from_secs(60),
        delete: Duration::from_secs(5 * 60),
        list: Duration::from_secs(120),
        connect: Duration::from_secs(10),
        call: Duration::from_secs(30),
    };
    profile.waits = vec![BoundedWait {
        for_what: "running",
        every: Duration::from_millis(500),
        at_most: Duration::from_secs(15),
    }];
    profile.id_pattern = "hosts/{host}/domains/{name}";
    profile.reachable_from = "wherever there is a route to the LAN of the host's bridge";
    profile.distinct_egress = "no: whatever the host's LAN routes through";
    profile
}
