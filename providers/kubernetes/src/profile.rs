//! What the provider declares about itself. The errors of the API server are `catalogue.rs`.

use std::{collections::BTreeSet, time::Duration};

use provider_api::{
    Budgets, CallBudget, NativeState, Profile, StateKind,
    profile::{
        BackendTest, ChildSpans, ClientKind, CredentialsFrom, DeleteBinding, DeleteReturn, Delivery, Logging,
        PlacementField, Quota, SecondaryResources, Targets, Timeouts,
    },
};

use crate::{backend, id::IDS};

/// The type's name in the config.
pub const TYPE: &str = "kubernetes";

/// The profile.
pub fn profile() -> Profile {
    let mut profile = Profile::plain(TYPE);
    profile.delete_return = DeleteReturn::ReturnsEarly;
    profile.quota = Quota::Detected;
    profile.secondary_resources = SecondaryResources::None;
    profile.credentials = CredentialsFrom::WorkloadIdentity;
    profile.client_kind = ClientKind::VendorSdk;
    profile.timeouts = Timeouts::PerCall;
    profile.logging = Logging::Tiered;
    profile.child_spans = ChildSpans::SpanDecorator;
    profile.backend_test = BackendTest::ClusterE2e;
    profile.targets = Targets::One;
    profile.delete_binding = DeleteBinding::Incarnation;
    // One Pod by name is the cheapest question that an API server knows; a listing that serves many gets would hold
    // every Pod's whole status for a saving that its watch cache gives already.
    profile.listing_max_age = Duration::ZERO;
    profile.listing_pages = true;
    profile.placement = BTreeSet::from([
        PlacementField::Region,
        PlacementField::Zone,
        PlacementField::MachineType,
        PlacementField::Image,
    ]);
    profile.cloud_init = Delivery::Ignored;
    profile.access = Delivery::Delivered;
    profile.port = Delivery::Delivered;
    profile.states =
        [StateKind::Provisioning, StateKind::Running, StateKind::Stopped, StateKind::Terminated].into();
    profile.native_states = NATIVE_STATES.to_vec();
    profile.check_target = "apiserver";
    profile.check_details = vec!["serverVersion", "rights", "quotaHeadroom"];
    profile.calls = backend::CALLS.to_vec();
    // A create lists first where maxInstances is set. A check asks for four rights, the version and the quotas; with
    // configured namespaces, for rights and quotas once in each.
    profile.call_budget = CallBudget { create: 2, get: 1, delete: 2, list: 1, list_each: 0, check: 6 };
    profile.budgets = Budgets {
        create: Duration::from_secs(120),
        get: Duration::from_secs(60),
        delete: Duration::from_secs(90),
        list: Duration::from_secs(120),
        // A connection is made inside the call that needs it first, and has no budget of its own.
        connect: Duration::from_secs(30),
        call: Duration::from_secs(30),
    };
    profile.id_pattern = IDS.pattern();
    profile.reachable_from = "the Pod network of the target cluster";
    profile.distinct_egress = "no: a proxy leaves by its node or the cluster's gateway";
    profile
}

/// The native-state table. A name is the phase, and after a slash what decides beside it.
pub const NATIVE_STATES: &[NativeState] = &[
    NativeState::new("Pending", StateKind::Provisioning),
    NativeState::reasoned("Pending/Unschedulable", StateKind::Provisioning),
    NativeState::reasoned("Pending/ContainerCreating", StateKind::Provisioning),
    NativeState::reasoned("Pending/CreateContainerConfigError", StateKind::Provisioning),
    NativeState::reasoned("Pending/ErrImagePull", StateKind::Provisioning),
    NativeState::reasoned("Pending/ImagePullBackOff", StateKind::Provisioning),
    NativeState::reasoned("Pending/ErrImageNeverPull", StateKind::Provisioning),
    NativeState::reasoned("Pending/InvalidImageName", StateKind::Provisioning),
    NativeState::reasoned("Pending/ErrImagePull, after imagePullTimeout", StateKind::Stopped),
    NativeState::reasoned("Pending/ImagePullBackOff, after imagePullTimeout", StateKind::Stopped),
    NativeState::reasoned("Pending/ErrImageNeverPull, after imagePullTimeout", StateKind::Stopped),
    NativeState::reasoned("Pending/InvalidImageName, after imagePullTimeout", StateKind::Stopped),
    NativeState::new("Running/Ready", StateKind::Running),
    NativeState::reasoned("Running/ContainersNotReady", StateKind::Provisioning),
    NativeState::reasoned("Running/CrashLoopBackOff", StateKind::Provisioning),
    NativeState::reasoned("Running/OOMKilled", StateKind::Provisioning),
    NativeState::reasoned("Running/NodeLost", StateKind::Provisioning),
    NativeState::reasoned("Running/NodeLost, after nodeLostTimeout", StateKind::Stopped),
    NativeState::reasoned("Running/deleting", StateKind::Stopped),
    NativeState::reasoned("Failed/deleting", StateKind::Stopped),
    NativeState::reasoned("Succeeded/deleting", StateKind::Stopped),
    NativeState::reasoned("Succeeded/Completed", StateKind::Terminated),
    NativeState::reasoned("Failed/Error", StateKind::Terminated),
    NativeState::reasoned("Failed/OOMKilled", StateKind::Terminated),
    NativeState::reasoned("Failed/Evicted", StateKind::Terminated),
    NativeState::reasoned("Failed/DeadlineExceeded", StateKind::Terminated),
    NativeState::reasoned("Failed/OutOfcpu", StateKind::Terminated),
    NativeState::reasoned("Unknown", StateKind::Stopped),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_holds_together() {
        assert_eq!(profile().contradictions(), Vec::<String>::new());
        assert_eq!(crate::catalogue::CATALOGUE.contradictions(&profile()), Vec::<String>::new());
    }

    #[test]
    fn golden() {
        insta::assert_snapshot!(profile().to_text());
    }
}
