//! What the provider declares about itself. Rules follow it: what is declared absent is tested to be absent.

use provider_api::{
    CallBudget, Profile, StateKind,
    profile::{
        AsyncOp, BackendTest, ClientKind, CredentialsFrom, DeleteReturn, Delivery, IpSource, ListPartial,
        PlacementField, Quota, Readiness,
    },
};

use crate::{backend::CALLS, delete::UNLOCKED, id::IDS, state::TABLE};

/// The type's name in the config.
pub const TYPE: &str = "pond";

/// The profile. What is not said here is the plainest value, see [`Profile::plain`].
pub fn profile() -> Profile {
    let mut profile = Profile::plain(TYPE);
    profile.readiness = Readiness::ProvisioningWindow;
    profile.ip_source = IpSource::AssignedAtCreate;
    profile.delete_return = DeleteReturn::ReturnsEarly;
    profile.late_failures = true;
    profile.async_ops.extend([AsyncOp::TaskHandle, AsyncOp::BackendLock]);
    profile.waits.push(UNLOCKED);
    profile.list_partial = ListPartial::OmitUnreachable;
    profile.quota = Quota::Detected;
    profile.credentials = CredentialsFrom::MountedFiles;
    profile.client_kind = ClientKind::ThinClient;
    profile.backend_test = BackendTest::ManualRunbook;
    profile.listing_pages = true;
    profile.placement = [PlacementField::Zone, PlacementField::MachineType, PlacementField::Image].into();
    profile.cloud_init = Delivery::Delivered;
    profile.states = [StateKind::Provisioning, StateKind::Running, StateKind::Stopped].into();
    profile.native_states = TABLE.to_vec();
    profile.check_target = "region";
    profile.calls = CALLS.to_vec();
    profile.call_budget = CallBudget { create: 3, get: 1, delete: 2, list: 1, list_each: 0, check: 1 };
    profile.id_pattern = IDS.pattern();
    profile.reachable_from = "the network of the region";
    profile.distinct_egress = "yes: each machine has an address of its own";
    profile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_and_catalogue_go_together() {
        assert_eq!(profile().contradictions(), Vec::<String>::new());
        assert_eq!(crate::CATALOGUE.contradictions(&profile()), Vec::<String>::new());
    }
}
