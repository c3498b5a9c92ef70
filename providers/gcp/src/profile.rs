//! The profile of the provider: its axes, its calls, its native states.

use std::time::Duration;

use provider_api::{
    Budgets, CallBudget, CallKind, NativeState, Profile, StateKind,
    profile::{
        AsyncOp, BackendTest, ClientKind, CreateReturn, CreatedAt, CredentialsFrom, DeleteBinding,
        DeleteReturn, Delivery, GcMark, IpSource, ListPartial, NotFound, PlacementField, PrimaryKey,
        ProvisioningState, Quota, Readiness, SecondaryResources,
    },
};

/// What the provider declares about itself.
pub fn profile() -> Profile {
    let mut profile = Profile::plain("gcp");
    profile.readiness = Readiness::ProvisioningWindow;
    profile.create_return = CreateReturn::Submit;
    profile.delete_return = DeleteReturn::ReturnsEarly;
    profile.ip_source = IpSource::AssignedAtCreate;
    profile.gc_mark = GcMark::NativeLabels;
    profile.created_at = CreatedAt::BackendTimestamp;
    profile.list_partial = ListPartial::OmitUnreachable;
    profile.quota = Quota::Detected;
    profile.not_found = NotFound::Status404;
    profile.primary_key = PrimaryKey::NameIsKey;
    profile.provisioning_state = ProvisioningState::Native;
    profile.async_ops = [AsyncOp::TaskHandle].into();
    profile.secondary_resources = SecondaryResources::Cascade;
    profile.credentials = CredentialsFrom::Environment;
    profile.client_kind = ClientKind::ThinClient;
    profile.backend_test = BackendTest::ManualRunbook;

    profile.delete_binding = DeleteBinding::Incarnation;
    profile.late_failures = true;
    profile.listing_max_age = Duration::from_secs(2);
    profile.listing_pages = true;
    profile.placement =
        [PlacementField::Region, PlacementField::Zone, PlacementField::MachineType, PlacementField::Image]
            .into();
    profile.cloud_init = Delivery::Delivered;
    profile.states =
        [StateKind::Provisioning, StateKind::Running, StateKind::Stopped, StateKind::Terminated].into();
    profile.native_states = NATIVE_STATES.to_vec();
    profile.check_target = "project";
    profile.check_details = vec![
        "apiVersion",
        "region",
        "quotaCpus",
        "quotaInstances",
        "quotaInUseAddresses",
        "quotaDisksTotalGb",
        "quotaStatusWarning",
    ];
    profile.calls = CALLS.to_vec();
    profile.call_budget = CallBudget {
        // A token, the zones of the region, the name in all of them, the newest insert there, the firewall rule
        // looked up and made, the insert.
        create: 7,
        // A token, the instance, and after a 404 the newest insert of that name.
        get: 3,
        // A token, the instance, its pending operations, the delete.
        delete: 4,
        list: 2,
        list_each: 0,
        // A token, one page of the listing, the quotas of the region and of the project.
        check: 4,
    };
    profile.budgets = Budgets {
        create: Duration::from_secs(120),
        get: Duration::from_secs(60),
        delete: Duration::from_secs(60),
        list: Duration::from_secs(120),
        connect: Duration::from_secs(10),
        call: Duration::from_secs(30),
    };
    profile.id_pattern = "zones/{zone}/instances/{name}";
    profile.reachable_from = "wherever the VPC's firewall lets in, by the external address; with addressMode \
                              internal, from inside the VPC only";
    profile.distinct_egress = "yes: an ephemeral external address per instance; with addressMode internal it is \
                               whatever the VPC's NAT gives";
    profile
}

/// Compute v1 as of revision 20261106, by method; `token` is the way to the credentials.
const CALLS: &[CallKind] = &[
    CallKind::read("token"),
    CallKind::upload("instances_insert"),
    CallKind::read("instances_get"),
    CallKind::write("instances_delete"),
    CallKind::write("instances_start"),
    CallKind::write("instances_resume"),
    CallKind::read("instances_aggregated_list"),
    CallKind::read("zone_operations_list"),
    CallKind::read("regions_get"),
    CallKind::read("projects_get"),
    CallKind::read("firewalls_get"),
    CallKind::write("firewalls_insert"),
    CallKind::write("firewalls_delete"),
    CallKind::read("global_operations_get"),
];

/// Every status of the API; whatever else it may come to say is Stopped. What has come to rest is started or resumed by a
/// create; what is on its way there is not yet.
const NATIVE_STATES: &[NativeState] = &[
    NativeState::reasoned("PENDING", StateKind::Provisioning),
    NativeState::reasoned("PROVISIONING", StateKind::Provisioning),
    NativeState::reasoned("STAGING", StateKind::Provisioning),
    NativeState::reasoned("REPAIRING", StateKind::Provisioning),
    NativeState::new("RUNNING", StateKind::Running),
    NativeState::reasoned("PENDING_STOP", StateKind::Stopped),
    NativeState::reasoned("STOPPING", StateKind::Stopped),
    NativeState::reasoned("STOPPED", StateKind::Stopped).started(),
    NativeState::reasoned("SUSPENDING", StateKind::Stopped),
    NativeState::reasoned("SUSPENDED", StateKind::Stopped).started(),
    NativeState::reasoned("DEPROVISIONING", StateKind::Stopped),
    NativeState::reasoned("TERMINATED", StateKind::Terminated).started(),
];
