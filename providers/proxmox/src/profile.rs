//! The profile of the provider: its axes, its calls, its native states.

use std::time::Duration;

use provider_api::{
    BoundedWait, Budgets, CallBudget, CallKind, FailureClass, NativeState, Profile, StateKind,
    profile::{
        AsyncOp, BackendTest, ClientKind, CreateReturn, CreatedAt, CredentialsFrom, DeleteBinding,
        DeleteReturn, Delivery, GcMark, IpSource, ListPartial, Mobility, NotFound, PlacementField,
        PrimaryKey, ProvisioningState, Quota, Readiness, SecondaryResources,
    },
};

/// What the provider declares about itself.
pub fn profile() -> Profile {
    let mut profile = Profile::plain("proxmox");
    profile.readiness = Readiness::ProvisioningWindow;
    profile.create_return = CreateReturn::Blocking;
    profile.delete_return = DeleteReturn::Waits;
    profile.ip_source = IpSource::Discovered;
    profile.gc_mark = GcMark::WrittenMetadata;
    profile.created_at = CreatedAt::WrittenAtCreate;
    profile.list_partial = ListPartial::FailWhole;
    profile.quota = Quota::Detected;
    profile.not_found = NotFound::ErrorCode;
    profile.primary_key = PrimaryKey::AllocatedId;
    profile.provisioning_state = ProvisioningState::CreateBlocks;
    profile.async_ops = [AsyncOp::TaskHandle, AsyncOp::BackendLock].into();
    profile.secondary_resources = SecondaryResources::Explicit;
    profile.credentials = CredentialsFrom::MountedFiles;
    profile.client_kind = ClientKind::ThinClient;
    profile.backend_test = BackendTest::IntegrationTag;

    profile.mobility = Mobility::Moves;
    // A VMID is re-used, and a destroy takes nothing else to bind it to.
    profile.delete_binding = DeleteBinding::Name;
    // A clone in progress has a VMID and a lock, and neither name nor description.
    profile.visible_placeholder = true;
    profile.listing_max_age = Duration::from_secs(2);
    profile.placement = [PlacementField::Zone, PlacementField::MachineType, PlacementField::Image].into();
    profile.cloud_init = Delivery::Delivered;
    profile.states = [StateKind::Provisioning, StateKind::Running, StateKind::Stopped].into();
    profile.native_states = NATIVE_STATES.to_vec();
    profile.check_target = "node";
    profile.check_details = vec![
        "isoStorage",
        "tokenID",
        "pveVersion",
        "kernel",
        "isoStorageAvailGiB",
        "diskStorageAvailGiB",
        "templates",
        "missingPrivileges",
    ];
    profile.calls = CALLS.to_vec();
    profile.call_budget = CallBudget {
        // The cluster, the template, its node's two storages; the clone and the clone's config; seed uploaded, config
        // set, disk resized, started, its status. Each of the five tasks is asked for at least once.
        create: 16,
        // The cluster, the config, the status, the agent.
        get: 4,
        // The cluster, the config, the status; stopped, destroyed, the seed deleted; three tasks.
        delete: 9,
        list: 2,
        // The config of each candidate: its mark stands there.
        list_each: 1,
        // Version, rights, node, two storages, the cluster for its templates, and one config each of those.
        check: 6,
    };
    profile.budgets = Budgets {
        create: Duration::from_secs(20 * 60),
        get: Duration::from_secs(60),
        delete: Duration::from_secs(5 * 60),
        list: Duration::from_secs(120),
        connect: Duration::from_secs(10),
        call: Duration::from_secs(30),
    };
    let second = Duration::from_secs(1);
    let wait = |for_what, minutes: u64| BoundedWait {
        for_what,
        every: second,
        at_most: Duration::from_secs(minutes * 60),
    };
    profile.waits = vec![
        wait("the clone task", 10),
        wait("the upload task", 2),
        wait("the config task", 1),
        wait("the resize task", 2),
        wait("the start task", 2),
        wait("the stop task", 2),
        wait("the destroy task", 2),
        wait("the deletion of the seed", 1),
        wait("running", 1),
        wait("a lock to clear", 1),
    ];
    profile.id_pattern = "vms/{vmid}/{name}";
    profile.reachable_from =
        "wherever there is a route to the proxy network: the bridge or VLAN of the config";
    profile.distinct_egress = "no: whatever the proxy network routes through";
    profile
}

/// One kind for each endpoint and method.
const CALLS: &[CallKind] = &[
    CallKind::read("version"),
    CallKind::read("permissions"),
    CallKind::read("cluster_resources"),
    CallKind::read("node_status"),
    CallKind::read("storage_status"),
    CallKind::read("storage_content"),
    CallKind::read("vm_config"),
    CallKind::read("vm_status"),
    CallKind::read("agent_interfaces"),
    CallKind::write("clone"),
    CallKind::write("set_config"),
    CallKind::write("resize"),
    CallKind::write("start"),
    CallKind::write("resume"),
    CallKind::write("stop"),
    CallKind::write("destroy"),
    CallKind::upload("upload_seed"),
    CallKind::write("delete_volume"),
    CallKind::read("task_status"),
    CallKind::read("task_log"),
];

const fn stays(name: &'static str) -> NativeState {
    NativeState::reasoned(name, StateKind::Stopped)
}

const fn locked(name: &'static str) -> NativeState {
    NativeState::fails(name, FailureClass::Transient)
}

/// `status/qmpstatus`, and `lock/…` for a VM under that lock, whatever it does.
const NATIVE_STATES: &[NativeState] = &[
    NativeState::new("running/running", StateKind::Running),
    NativeState::reasoned("running/prelaunch", StateKind::Provisioning),
    // The guest is on its way to another node, or from a state file: it goes on by itself.
    NativeState::reasoned("running/inmigrate", StateKind::Provisioning),
    NativeState::reasoned("running/finish-migrate", StateKind::Provisioning),
    NativeState::reasoned("running/restore-vm", StateKind::Provisioning),
    NativeState::reasoned("running/save-vm", StateKind::Provisioning),
    stays("running/paused").started(),
    stays("running/suspended").started(),
    stays("running/io-error"),
    stays("running/internal-error"),
    stays("running/guest-panicked"),
    stays("running/watchdog"),
    stays("running/shutdown"),
    stays("running/postmigrate"),
    stays("running/debug"),
    stays("running/colo"),
    stays("stopped/stopped").started(),
    // A hibernated VM; the lock never clears by itself, and a start takes the VM up where it was.
    stays("lock/suspended").started(),
    // A destroy that was cut short: the disks are gone, the config is not.
    stays("lock/destroyed"),
    locked("lock/backup"),
    locked("lock/clone"),
    locked("lock/create"),
    locked("lock/migrate"),
    locked("lock/rollback"),
    locked("lock/snapshot"),
    locked("lock/snapshot-delete"),
    locked("lock/suspending"),
];
