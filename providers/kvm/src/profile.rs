//! The profile of the provider: what differs from the one that kvm2 starts from too.

use provider_api::Profile;

use crate::{create::RUNNING, image::REFRESHED};

/// The type's name in the config.
pub const TYPE: &str = "kvm";

/// What the provider declares about itself.
///
/// A call here is one closure on a thread; libvirt's library gives no hints of changes without an event loop, and none is
/// run.
pub fn profile() -> Profile {
    let mut profile = libvirt_model::base_profile(TYPE);
    profile.waits = vec![RUNNING, REFRESHED];
    profile
}
