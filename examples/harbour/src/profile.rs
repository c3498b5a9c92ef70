//! What the provider declares about itself. Rules follow it: what is declared absent is tested to be absent.

use provider_api::{
    CallBudget, Profile, StateKind,
    profile::{
        AsyncOp, BackendTest, ClientKind, CreateReturn, CredentialsFrom, DeleteReturn, Delivery, IpSource,
        ListPartial, NotFound, PlacementField, Quota, Readiness, Targets,
    },
};

use crate::{
    backend::CALLS,
    config::TARGET,
    delete::UNLOCKED,
    id::IDS,
    state::TABLE,
    tasks::{MADE, TAKEN_BACK},
};

/// The type's name in the config.
pub const TYPE: &str = "harbour";

/// The profile. What is not said here is the plainest value, see [`Profile::plain`].
pub fn profile() -> Profile {
    let mut profile = Profile::plain(TYPE);
    profile.readiness = Readiness::ProvisioningWindow;
    profile.ip_source = IpSource::AssignedAtCreate;
    // A look by the name answers an empty list.
    profile.not_found = NotFound::ErrorCode;
    profile.delete_return = DeleteReturn::ReturnsEarly;
    // Nobody finds a task again who has not its number, so a create answers once its task is over.
    profile.create_return = CreateReturn::Blocking;
    profile.waits.extend([MADE, TAKEN_BACK]);
    profile.async_ops.extend([AsyncOp::TaskHandle, AsyncOp::BackendLock]);
    profile.waits.push(UNLOCKED);
    profile.list_partial = ListPartial::NotApplicable;
    profile.targets = Targets::One;
    profile.quota = Quota::Detected;
    profile.credentials = CredentialsFrom::MountedFiles;
    profile.client_kind = ClientKind::ThinClient;
    profile.backend_test = BackendTest::ManualRunbook;
    profile.listing_pages = true;
    profile.numbered_pages = true;
    profile.placement = [PlacementField::Zone, PlacementField::MachineType, PlacementField::Image].into();
    profile.cloud_init = Delivery::Delivered;
    profile.states = [StateKind::Provisioning, StateKind::Running, StateKind::Stopped].into();
    profile.native_states = TABLE.to_vec();
    profile.check_target = TARGET;
    profile.check_details = vec!["servers"];
    profile.calls = CALLS.to_vec();
    profile.call_budget = CallBudget { create: 3, get: 1, delete: 2, list: 1, list_each: 0, check: 1 };
    profile.id_pattern = IDS.pattern();
    profile.reachable_from = "the network of the location";
    profile.distinct_egress = "yes: each server has an address of its own";
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
