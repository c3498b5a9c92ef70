//! The profile of the provider: what differs from the one that kvm starts from too.

use provider_api::{CallKind, Profile, profile::WatchSupport};

/// What the provider declares about itself.
pub fn profile() -> Profile {
    let mut profile = libvirt_model::base_profile("kvm2");
    profile.watch = WatchSupport::Hints;
    // Lifecycle events, and news of a connection that the daemon closes.
    profile.calls.push(CallKind::read("domain_event_register"));
    profile.calls.push(CallKind::read("domain_event_deregister"));
    profile.calls.push(CallKind::read("connect_register_close_callback"));
    // Before it opens a connection the protocol's own handshake asks what authentication there is.
    profile.calls.push(CallKind::read("auth_list"));
    profile.call_budget.create += 2;
    profile.call_budget.get += 1;
    profile.call_budget.delete += 1;
    profile.call_budget.list += 1;
    profile.call_budget.check += 1;
    profile
}
