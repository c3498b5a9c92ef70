//! The sets of axes that the memory provider is judged under: three that together have every value, and pairwise ones
//! for the kit's check of itself.

use std::{collections::BTreeSet, time::Duration};

use provider_api::{
    Profile,
    profile::{
        AsyncOp, CreateReturn, CreatedAt, DeleteBinding, DeleteReturn, Delivery, GcMark, IpSource,
        ListPartial, Mobility, NotFound, PlacementField, PrimaryKey, ProvisioningState, Quota, Readiness,
        SecondaryResources, Targets, Timeouts, WatchSupport,
    },
};

use super::profile::complete;

const ALL_FIELDS: [PlacementField; 4] =
    [PlacementField::Region, PlacementField::Zone, PlacementField::MachineType, PlacementField::Image];

/// The richest cloud with labels and tasks: create and delete return early, and failures come late.
pub fn profile() -> Profile {
    let mut profile = Profile::plain("memory");
    profile.readiness = Readiness::ProvisioningWindow;
    profile.delete_return = DeleteReturn::ReturnsEarly;
    profile.list_partial = ListPartial::OmitUnreachable;
    profile.quota = Quota::Detected;
    profile.async_ops = [AsyncOp::TaskHandle].into();
    profile.secondary_resources = SecondaryResources::Cascade;
    profile.listing_max_age = Duration::from_secs(2);
    profile.watch = WatchSupport::Hints;
    profile.placement = ALL_FIELDS.into();
    profile.cloud_init = Delivery::Delivered;
    profile.access = Delivery::Delivered;
    profile.port = Delivery::Delivered;
    profile.late_failures = true;
    complete(profile)
}

/// A host with metadata and numbers: copies that show before they are marked, parts to clean up, instances that move.
pub fn blocking() -> Profile {
    let mut profile = Profile::plain("memory");
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
    profile.mobility = Mobility::Moves;
    profile.delete_binding = DeleteBinding::Name;
    profile.visible_placeholder = true;
    profile.placement = ALL_FIELDS.into();
    profile.cloud_init = Delivery::Delivered;
    profile.access = Delivery::Delivered;
    profile.port = Delivery::Delivered;
    complete(profile)
}

/// The plainest: one zone, nothing delivered, nothing detected, everything at once; its pages go by number.
pub fn plain() -> Profile {
    let mut profile = Profile::plain("memory");
    profile.targets = Targets::One;
    profile.numbered_pages = true;
    profile.timeouts = Timeouts::CtxOnly;
    complete(profile)
}

/// Profiles in which every two values that go together meet at least once; the same ones each time.
pub fn pairwise() -> Vec<(String, Profile)> {
    let mut dice = Dice(0x5eed);
    let mut met = BTreeSet::new();
    let mut rows = Vec::new();
    loop {
        // Of many random ones the one that brings the most new pairs, until none brings any.
        let candidates = (0..40).filter_map(|_| random(&mut dice, &[]));
        let Some((gain, row)) = candidates.map(|row| (gain(&row, &met), row)).max_by_key(|(gain, _)| *gain)
        else {
            break;
        };
        if gain == 0 {
            break;
        }
        met.extend(pairs(&row));
        rows.push(row);
    }
    // What chance left out is looked for.
    for pair in every_pair() {
        if met.contains(&pair) {
            continue;
        }
        let fixed = [pair.0, pair.1];
        if let Some(row) = random(&mut dice, &fixed) {
            met.extend(pairs(&row));
            rows.push(row);
        }
    }
    let name = |(number, row): (usize, Row)| (format!("pairwise-{:02}", number + 1), profile_of(&row));
    rows.into_iter().enumerate().map(name).collect()
}

/// The place of a value on each axis, in the order of [`AXES`].
type Row = Vec<usize>;
/// An axis and the place of a value on it.
type Choice = (usize, usize);
type Pair = (Choice, Choice);

/// An axis: how many values it has, and how one of them is set.
type AxisOf = (usize, fn(&mut Profile, usize));

fn of<T: Copy>(values: &[T], index: usize) -> T {
    values[index]
}

fn delivery(index: usize) -> Delivery {
    of(&[Delivery::Delivered, Delivery::Ignored], index)
}

const AXES: &[AxisOf] = &[
    (2, |p, i| p.readiness = of(&[Readiness::Immediate, Readiness::ProvisioningWindow], i)),
    (2, |p, i| p.create_return = of(&[CreateReturn::Submit, CreateReturn::Blocking], i)),
    (2, |p, i| p.delete_return = of(&[DeleteReturn::ReturnsEarly, DeleteReturn::Waits], i)),
    (2, |p, i| p.ip_source = of(&[IpSource::AssignedAtCreate, IpSource::Discovered], i)),
    (2, |p, i| p.gc_mark = of(&[GcMark::NativeLabels, GcMark::WrittenMetadata], i)),
    (2, |p, i| p.created_at = of(&[CreatedAt::BackendTimestamp, CreatedAt::WrittenAtCreate], i)),
    (3, |p, i| {
        let values = [ListPartial::NotApplicable, ListPartial::OmitUnreachable, ListPartial::FailWhole];
        p.list_partial = values[i];
    }),
    (2, |p, i| p.quota = of(&[Quota::Absent, Quota::Detected], i)),
    (2, |p, i| p.not_found = of(&[NotFound::Status404, NotFound::ErrorCode], i)),
    (2, |p, i| p.primary_key = of(&[PrimaryKey::NameIsKey, PrimaryKey::AllocatedId], i)),
    (2, |p, i| p.provisioning_state = of(&[ProvisioningState::Native, ProvisioningState::CreateBlocks], i)),
    (4, |p, i| {
        let ops = [(1, AsyncOp::TaskHandle), (2, AsyncOp::BackendLock)];
        p.async_ops = ops.into_iter().filter(|(bit, _)| i & bit != 0).map(|(_, op)| op).collect();
    }),
    (3, |p, i| {
        let values = [SecondaryResources::None, SecondaryResources::Cascade, SecondaryResources::Explicit];
        p.secondary_resources = values[i];
    }),
    (2, |p, i| p.timeouts = of(&[Timeouts::CtxOnly, Timeouts::PerCall], i)),
    (2, |p, i| p.mobility = of(&[Mobility::Fixed, Mobility::Moves], i)),
    (2, |p, i| p.targets = of(&[Targets::Several, Targets::One], i)),
    (2, |p, i| p.delete_binding = of(&[DeleteBinding::Incarnation, DeleteBinding::Name], i)),
    (2, |p, i| p.visible_placeholder = i == 1),
    (2, |p, i| p.listing_max_age = Duration::from_secs(2 * i as u64)),
    (2, |p, i| p.numbered_pages = i == 1),
    (2, |p, i| p.watch = of(&[WatchSupport::None, WatchSupport::Hints], i)),
    (2, |p, i| p.late_failures = i == 1),
    (2, |p, i| p.placement = if i == 1 { ALL_FIELDS.into() } else { BTreeSet::new() }),
    (2, |p, i| p.cloud_init = delivery(i)),
    (2, |p, i| p.access = delivery(i)),
    (2, |p, i| p.port = delivery(i)),
];

fn profile_of(row: &[usize]) -> Profile {
    complete(axes_of(row))
}

fn axes_of(row: &[usize]) -> Profile {
    let mut profile = Profile::plain("memory");
    for ((_, set), index) in AXES.iter().zip(row) {
        set(&mut profile, *index);
    }
    profile
}

/// Whether the values go together, for the contract and for this cloud.
fn fits(profile: &Profile) -> bool {
    let tasks = profile.async_ops.contains(&AsyncOp::TaskHandle);
    let submits = profile.create_return == CreateReturn::Submit;
    let labels = profile.gc_mark == GcMark::NativeLabels;
    let assigned = profile.ip_source == IpSource::AssignedAtCreate;
    let one_zone = profile.list_partial == ListPartial::NotApplicable;
    let implies = |given: bool, due: bool| !given || due;
    // The contract's own, looked at before the rest is filled in.
    implies(profile.provisioning_state == ProvisioningState::CreateBlocks, !submits)
        && implies(profile.late_failures, tasks)
        && implies(profile.visible_placeholder, profile.primary_key == PrimaryKey::AllocatedId)
        // A task that nobody waits for fails late.
        && implies(tasks && submits, profile.late_failures)
        // A copy is gone on with once it is done, and carries no marks that its task could show.
        && implies(profile.visible_placeholder, !submits && !profile.late_failures)
        // A listing can serve gets when it has all that they need.
        && implies(!profile.listing_max_age.is_zero(), labels && assigned)
        // Without a say in the zone there is one.
        && implies(!one_zone, !profile.placement.is_empty())
        && implies(profile.mobility == Mobility::Moves, !one_zone)
        && implies(profile.targets == Targets::One, one_zone)
}

fn random(dice: &mut Dice, fixed: &[Choice]) -> Option<Row> {
    (0..2_000).find_map(|_| {
        let mut row: Row = AXES.iter().map(|(values, _)| dice.below(*values)).collect();
        for (axis, value) in fixed {
            row[*axis] = *value;
        }
        fits(&axes_of(&row)).then_some(row)
    })
}

fn pairs(row: &[usize]) -> impl Iterator<Item = Pair> + use<'_> {
    let choice = |axis: usize| (axis, row[axis]);
    (0..row.len()).flat_map(move |a| (a + 1..row.len()).map(move |b| (choice(a), choice(b))))
}

fn every_pair() -> impl Iterator<Item = Pair> {
    let values = |axis: usize| (0..AXES[axis].0).map(move |value| (axis, value));
    (0..AXES.len()).flat_map(move |a| {
        (a + 1..AXES.len()).flat_map(move |b| values(a).flat_map(move |x| values(b).map(move |y| (x, y))))
    })
}

fn gain(row: &[usize], met: &BTreeSet<Pair>) -> usize {
    pairs(row).filter(|pair| !met.contains(pair)).count()
}

/// A linear congruential generator: the rows must be the same in every build.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::cloud::catalogue;

    #[test]
    fn every_profile_is_sound_and_every_value_is_met() {
        let rows = pairwise();
        for (name, profile) in rows.iter().map(|(name, profile)| (name.as_str(), profile)).chain([
            ("submit", &profile()),
            ("blocking", &blocking()),
            ("plain", &plain()),
        ]) {
            assert_eq!(profile.contradictions(), Vec::<String>::new(), "{name}");
            assert_eq!(catalogue(profile).contradictions(profile), Vec::<String>::new(), "{name}");
        }
        let three = [profile(), blocking(), plain()];
        for (key, kind, values) in provider_api::profile::AXES {
            let met = |profiles: &mut dyn Iterator<Item = &Profile>| -> BTreeSet<String> {
                let value =
                    |p: &Profile| p.axes().into_iter().find(|(k, _)| k == key).map(|(_, value)| value);
                profiles
                    .filter_map(value)
                    .flat_map(|v| v.split(", ").map(str::to_owned).collect::<Vec<_>>())
                    .collect()
            };
            let (by_setups, by_pairs) = (met(&mut three.iter()), met(&mut rows.iter().map(|(_, p)| p)));
            if *kind == provider_api::profile::AxisKind::Behavioural {
                for value in values() {
                    assert!(by_setups.contains(value), "no setup has {key} {value}");
                    assert!(by_pairs.contains(value), "no pairwise profile has {key} {value}");
                }
            }
        }
    }

    #[test]
    fn the_pairs_are_the_same_each_time() {
        assert_eq!(pairwise(), pairwise());
        assert!(pairwise().len() < 60, "{}", pairwise().len());
    }
}
