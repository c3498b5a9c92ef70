//! The NoCloud seed of an instance: what of a request and of the config goes into it.

use libvirt_model::Config;
use nocloud::{GUEST_AGENT, Seed};
use provider_api::{CreateRequest, Secret, Timestamp};

/// The seed of the instance that is made now. Its instance id has never been before, so that cloud-init sets the guest up
/// even where a disk was used already (`bug-l18`).
pub(crate) fn seed(request: &CreateRequest, config: &Config, now: Timestamp) -> Seed {
    let moment = now.to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "");
    let instance = format!("{}-{moment}", request.name);
    let seed = Seed::new(instance, request.name.as_str(), request.cloud_init.clone());
    match (&config.vendor_data, config.install_guest_agent) {
        (Some(own), _) => seed.vendor_data(own.clone()),
        (None, true) => seed.vendor_data(Secret::new(GUEST_AGENT)),
        (None, false) => seed,
    }
}
