//! What the provider declares about itself. Rules follow it: what is declared absent is tested to be absent.
//!
//! TO ADAPT: every value that is not true of your backend.

use provider_api::{
    CallBudget, Profile, StateKind,
    profile::{
        //@if parts
        SecondaryResources,
        //@end
        //@if tasks parts
        AsyncOp,
        //@end
        //@if wait
        CreateReturn,
        //@end
        //@if not parts
        DeleteReturn,
        //@end
        //@if places
        Targets,
        //@end
        BackendTest, ClientKind, CredentialsFrom, Delivery, IpSource, ListPartial, PlacementField, Quota, Readiness,
    },
};

use crate::{
    backend::CALLS,
    //@if places
    config::TARGET,
    //@end
    //@if parts
    //@if tasks
    delete::{REMOVAL, UNLOCKED},
    //@else
    delete::REMOVAL,
    //@end
    //@else
    //@if tasks
    delete::UNLOCKED,
    //@end
    //@end
    id::IDS,
    state::TABLE,
    //@if wait
    tasks::{MADE, TAKEN_BACK},
    //@end
};

/// The type's name in the config.
pub const TYPE: &str = "newcloud";

/// The profile. What is not said here is the plainest value, see [`Profile::plain`].
pub fn profile() -> Profile {
    let mut profile = Profile::plain(TYPE);
    profile.readiness = Readiness::ProvisioningWindow;
    profile.ip_source = IpSource::AssignedAtCreate;
    //@if parts
    profile.secondary_resources = SecondaryResources::Explicit;
    // A deletion goes on after the answer, and keeps the parts in use.
    profile.async_ops.insert(AsyncOp::BackendLock);
    profile.waits.push(REMOVAL);
    //@else
    profile.delete_return = DeleteReturn::ReturnsEarly;
    //@end
    //@if wait
    // Nobody finds a task again who has not its number, so a create answers once its task is over.
    profile.create_return = CreateReturn::Blocking;
    profile.waits.extend([MADE, TAKEN_BACK]);
    //@end
    //@if late
    profile.late_failures = true;
    //@end
    //@if tasks
    profile.async_ops.extend([AsyncOp::TaskHandle, AsyncOp::BackendLock]);
    profile.waits.push(UNLOCKED);
    //@end
    //@if places
    profile.list_partial = ListPartial::NotApplicable;
    profile.targets = Targets::One;
    //@else
    profile.list_partial = ListPartial::OmitUnreachable;
    //@end
    profile.quota = Quota::Detected;
    profile.credentials = CredentialsFrom::MountedFiles;
    profile.client_kind = ClientKind::ThinClient;
    profile.backend_test = BackendTest::ManualRunbook;
    //@if not whole
    profile.listing_pages = true;
    //@end
    //@if numbers
    profile.numbered_pages = true;
    //@end
    profile.placement = [PlacementField::Zone, PlacementField::MachineType, PlacementField::Image].into();
    profile.cloud_init = Delivery::Delivered;
    profile.states =
        [StateKind::Provisioning, StateKind::Running, StateKind::Stopped, StateKind::Terminated].into();
    profile.native_states = TABLE.to_vec();
    //@if places
    profile.check_target = TARGET;
    //@else
    profile.check_target = "newzone";
    //@end
    profile.check_details = vec!["version", "newmachines", "quota"];
    profile.calls = CALLS.to_vec();
    //@if parts
    //@if tasks
    profile.call_budget = CallBudget { create: 5, get: 1, delete: 6, list: 1, list_each: 0, check: 1 };
    //@else
    profile.call_budget = CallBudget { create: 4, get: 1, delete: 5, list: 1, list_each: 0, check: 1 };
    //@end
    //@else
    //@if tasks
    profile.call_budget = CallBudget { create: 3, get: 1, delete: 2, list: 1, list_each: 0, check: 1 };
    //@else
    profile.call_budget = CallBudget { create: 2, get: 1, delete: 2, list: 1, list_each: 0, check: 1 };
    //@end
    //@end
    profile.id_pattern = IDS.pattern();
    profile.reachable_from = "the network of the newzone";
    profile.distinct_egress = "yes: each newmachine has an address of its own";
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
