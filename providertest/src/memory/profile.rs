//! The profile: the axes that are chosen, and everything that follows from them. The chosen sets are in `setups.rs`.

use std::time::Duration;

use provider_api::{
    BoundedWait, CallBudget, CallKind, Profile, StateKind,
    profile::{
        AsyncOp, ClientKind, CreateReturn, CredentialsFrom, DeleteReturn, GcMark, IpSource, ListPartial,
        Mobility, PlacementField, PrimaryKey, SecondaryResources, WatchSupport,
    },
};

use super::{backend, id, state};

/// Fills in what follows from the axes: calls, budgets, waits, states and the shape of ids.
#[must_use]
pub fn complete(mut profile: Profile) -> Profile {
    profile.credentials = CredentialsFrom::MountedFiles;
    profile.client_kind = ClientKind::InProcess;
    profile.states =
        [StateKind::Provisioning, StateKind::Running, StateKind::Stopped, StateKind::Terminated].into();
    profile.native_states = state::table(&profile);
    profile.listing_pages = true;
    profile.check_target = "zone";
    profile.check_details = vec!["version", "instances", "quota"];
    profile.calls = calls(&profile);
    profile.call_budget = call_budget(&profile);
    profile.waits = waits(&profile);
    profile.id_pattern = id::pattern(&profile).pattern();
    profile.reachable_from = "nowhere: the addresses are made up";
    profile.distinct_egress = "no: nothing is sent";
    profile
}

/// Whether the provider waits for tasks by their handle.
pub(super) fn waits_for_tasks(profile: &Profile) -> bool {
    profile.async_ops.contains(&AsyncOp::TaskHandle) && profile.create_return == CreateReturn::Blocking
}

/// Whether the cloud has to be asked where something stands.
pub(super) fn locates(profile: &Profile) -> bool {
    profile.mobility == Mobility::Moves || profile.primary_key == PrimaryKey::AllocatedId
}

/// Whether instances have parts of their own.
pub(super) fn has_parts(profile: &Profile) -> bool {
    profile.secondary_resources != SecondaryResources::None
}

/// How many zones there are: several only where a request can name one.
pub(super) fn zone_count(profile: &Profile) -> usize {
    let one = profile.list_partial == ListPartial::NotApplicable
        || !profile.placement.contains(&PlacementField::Zone);
    if one { 1 } else { 3 }
}

/// The kinds of calls that a provider of this profile makes, and no others.
fn calls(profile: &Profile) -> Vec<CallKind> {
    let explicit = profile.secondary_resources == SecondaryResources::Explicit;
    let makes: &[CallKind] = match profile.visible_placeholder {
        true => &[backend::CLONE, backend::CONFIGURE],
        false => &[backend::INSERT],
    };
    let mut calls = vec![backend::DESCRIBE, backend::LIST, backend::START, backend::REMOVE, backend::ABOUT];
    calls.extend(makes);
    let optional = [
        (locates(profile), backend::LOCATE),
        (profile.ip_source == IpSource::Discovered, backend::ADDRESSES),
        (waits_for_tasks(profile), backend::TASK),
        (profile.late_failures, backend::TASKS),
        (explicit, backend::PUT_PART),
        (has_parts(profile), backend::LIST_PARTS),
        (has_parts(profile), backend::REMOVE_PART),
        (profile.watch == WatchSupport::Hints, backend::WATCH),
    ];
    calls.extend(optional.into_iter().filter(|(made, _)| *made).map(|(_, call)| call));
    calls
}

/// The most calls of each operation, polls apart.
fn call_budget(profile: &Profile) -> CallBudget {
    let yes = u32::from;
    let explicit = profile.secondary_resources == SecondaryResources::Explicit;
    let blocking = profile.create_return == CreateReturn::Blocking;
    let discovered = profile.ip_source == IpSource::Discovered;
    let locates = locates(profile);
    let zones = zone_count(profile) as u32;
    let moves = profile.mobility == Mobility::Moves;
    // Look, and make; with a placeholder copy, look, configure and start.
    let makes = if profile.visible_placeholder { 5 } else { 2 };
    CallBudget {
        create: makes
            + yes(locates)
            + yes(profile.late_failures)
            + 2 * yes(explicit)
            + yes(waits_for_tasks(profile))
            + yes(blocking) * (1 + yes(discovered)),
        // The shared listing, and a look of one's own where that does not do.
        get: 1 + yes(moves) + yes(discovered) + yes(!profile.listing_max_age.is_zero()),
        // Look, remove, look again; then list the parts and remove each.
        delete: 3 + yes(moves) + 2 * yes(explicit) + yes(has_parts(profile)) * if moves { zones } else { 1 },
        list: 1,
        list_each: yes(profile.gc_mark == GcMark::WrittenMetadata),
        check: 1,
    }
}

/// The waits that a create or delete of this profile can come to.
fn waits(profile: &Profile) -> Vec<BoundedWait> {
    let blocking = profile.create_return == CreateReturn::Blocking;
    let locks = profile.async_ops.contains(&AsyncOp::BackendLock);
    let all = [
        (blocking, RUNNING),
        (waits_for_tasks(profile), TASK),
        (locks, UNLOCKED),
        (profile.delete_return == DeleteReturn::Waits, GONE),
    ];
    all.into_iter().filter(|(is, _)| *is).map(|(_, wait)| wait).collect()
}

/// Until an instance runs and has its address.
pub(super) const RUNNING: BoundedWait = wait("running", 2, 180);
/// Until a task is over.
pub(super) const TASK: BoundedWait = wait("task", 1, 120);
/// Until a lock is off.
pub(super) const UNLOCKED: BoundedWait = wait("unlocked", 1, 60);
/// Until an instance is gone.
pub(super) const GONE: BoundedWait = wait("gone", 1, 120);

const fn wait(for_what: &'static str, every: u64, at_most: u64) -> BoundedWait {
    BoundedWait { for_what, every: Duration::from_secs(every), at_most: Duration::from_secs(at_most) }
}
