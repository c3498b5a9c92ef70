//! The saboteurs of the group `delete`.

mod answering;
mod blind;
mod greedy;

use std::sync::Arc;

use provider_api::{Profile, profile::DeleteBinding};

use super::view::{NoCapitals, OnePageOfParts, seen_through};
use crate::{
    memory,
    saboteur::{HONEST, Saboteur, meddle},
};

/// The group's saboteurs, in the order of the rules.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "deletes-nothing-twice",
        does: "fails when it is asked to delete what it has deleted",
        breaks: "delete.idempotent",
        provider: |built, _| meddle(built, answering::NotTwice::default()),
        ..HONEST
    },
    Saboteur {
        name: "misses-what-others-removed",
        does: "fails when what it is asked to delete is gone without its doing",
        breaks: "delete.absent-is-ok",
        provider: |built, _| meddle(built, answering::Misses::default()),
        ..HONEST
    },
    Saboteur {
        name: "forgets-the-seed",
        does: "leaves one part of the instance behind",
        breaks: "delete.removes-everything",
        profile: memory::blocking,
        cloud: |below| Arc::new(greedy::ForgetsTheSeed(below)),
        ..HONEST
    },
    Saboteur {
        name: "removes-one-page-of-parts",
        does: "takes the first page of parts for all of them when it removes those of an instance",
        breaks: "delete.removes-everything",
        profile: memory::blocking,
        cloud: |below| Arc::new(OnePageOfParts(below)),
        ..HONEST
    },
    Saboteur {
        name: "takes-nonsense-for-gone",
        does: "answers Gone for an id that names nothing",
        breaks: "delete.malformed-id-is-permanent",
        provider: |built, _| meddle(built, answering::NonsenseIsGone),
        ..HONEST
    },
    Saboteur {
        name: "deletes-by-name-alone",
        does: "takes whatever stands under the name for its own",
        breaks: "delete.leaves-foreign-alone",
        cloud: |below| Arc::new(blind::RemembersMarks::new(below)),
        ..HONEST
    },
    Saboteur {
        name: "deletes-an-identity-in-any-case",
        does: "deletes what an installation made whose identity differs from its own in case only",
        breaks: "delete.leaves-foreign-alone",
        cloud: |below| seen_through(below, NoCapitals),
        ..HONEST
    },
    Saboteur {
        name: "takes-an-empty-owner-for-any",
        does: "takes an instance whose mark has an empty uid for that of whoever asks",
        breaks: "delete.leaves-foreign-alone",
        cloud: |below| seen_through(below, blind::EmptyIsAny::default()),
        ..HONEST
    },
    Saboteur {
        name: "takes-its-neighbours-along",
        does: "removes everything in the zone with the instance",
        breaks: "delete.keeps-shared",
        cloud: |below| Arc::new(greedy::TakesNeighbours(below)),
        ..HONEST
    },
    Saboteur {
        name: "frees-parts-by-force",
        does: "removes the instance that still needs a part, and then the part",
        breaks: "delete.keeps-referenced",
        profile: memory::blocking,
        cloud: |below| Arc::new(greedy::ByForce(below)),
        ..HONEST
    },
    Saboteur {
        name: "does-not-see-who-else-needs-a-part",
        does: "removes every part of a deleted instance, also one that the backend shows in use",
        breaks: "delete.keeps-referenced",
        profile: bound_to_incarnations,
        cloud: |below| Arc::new(greedy::SeesNoUse(below)),
        ..HONEST
    },
    Saboteur {
        name: "waits-for-successors-to-go",
        does: "waits for whatever stands at the id to go when it deletes, and for a successor too",
        breaks: "delete.bound-to-incarnation",
        profile: memory::plain,
        provider: |built, context| {
            let seam = context.seam("memory", std::time::Duration::from_secs(30));
            meddle(built, answering::WaitsForAnybody(seam))
        },
        ..HONEST
    },
    Saboteur {
        name: "deletes-whatever-life-it-is",
        does: "sends no incarnation with the call that removes",
        breaks: "delete.bound-to-incarnation",
        cloud: |below| Arc::new(blind::AnyLife(below)),
        ..HONEST
    },
    Saboteur {
        name: "looks-long-before-it-removes",
        does: "believes a look from the time of the create when it removes",
        breaks: "delete.bound-to-incarnation",
        profile: memory::blocking,
        cloud: |below| Arc::new(blind::RemembersMarks::new(below)),
        ..HONEST
    },
    Saboteur {
        name: "deletes-only-what-runs",
        does: "refuses to delete what is stopped",
        breaks: "delete.every-native-state",
        provider: |built, _| meddle(built, answering::OnlyRunning),
        ..HONEST
    },
    Saboteur {
        name: "does-not-see-deletions",
        does: "submits a removal for every delete while one is in progress",
        breaks: "delete.repeat-while-deleting",
        cloud: |below| Arc::new(blind::SeesNoDeletion(below)),
        ..HONEST
    },
    Saboteur {
        name: "says-gone-when-it-takes-too-long",
        does: "answers Gone once a deletion has been in progress for ten minutes",
        breaks: "delete.gone-means-gone",
        provider: |built, context| meddle(built, answering::LosesPatience::new(&context.clock)),
        ..HONEST
    },
    Saboteur {
        name: "says-gone-too-soon",
        does: "answers Gone as soon as the removal is submitted",
        breaks: "delete.gone-means-gone",
        provider: |built, _| meddle(built, answering::TooSoon),
        ..HONEST
    },
    Saboteur {
        name: "takes-accepted-for-gone",
        does: "answers NotFound for what it has begun to delete",
        breaks: "delete.accepted-stays-visible",
        provider: |built, _| meddle(built, answering::Forgets::default()),
        ..HONEST
    },
    Saboteur {
        name: "accepts-what-it-has-done",
        does: "answers Accepted though it has waited for the end",
        breaks: "delete.accepted-stays-visible",
        profile: memory::plain,
        provider: |built, _| meddle(built, answering::NeverSure),
        ..HONEST
    },
    Saboteur {
        name: "abandons-in-silence",
        does: "answers Gone for what stands on a target that is no longer configured",
        breaks: "delete.abandoned-is-said",
        provider: |built, _| meddle(built, answering::Silent),
        ..HONEST
    },
    Saboteur {
        name: "takes-what-it-cannot-ask-for-gone",
        does: "answers get with NotFound for what stands on a target that is no longer configured",
        breaks: "delete.abandoned-is-said",
        provider: |built, _| meddle(built, answering::OutOfSight),
        ..HONEST
    },
    Saboteur {
        name: "abandons-what-is-gone",
        does: "answers Abandoned for what is gone from the one target that there is",
        breaks: "delete.abandoned-is-said",
        profile: memory::plain,
        provider: |built, _| meddle(built, answering::NeverKnew),
        ..HONEST
    },
    Saboteur {
        name: "waits-for-the-decommissioned",
        does: "answers Transient for a create on a decommissioned target, as if that would pass",
        breaks: "delete.decommissioned-target",
        provider: |built, _| meddle(built, answering::Hopes),
        ..HONEST
    },
    Saboteur {
        name: "keeps-a-farewell-to-itself",
        does: "does not say of an instance that its target is decommissioned",
        breaks: "delete.decommissioned-target",
        provider: |built, _| meddle(built, answering::NothingLeaves),
        ..HONEST
    },
    Saboteur {
        name: "quarrels-with-itself",
        does: "fails for good when it is asked to delete what it is creating",
        breaks: "delete.races-create",
        provider: |built, _| meddle(built, answering::Quarrels::default()),
        ..HONEST
    },
];

/// A cloud that removes a part though somebody else's machine has come to need it.
fn bound_to_incarnations() -> Profile {
    let mut profile = memory::blocking();
    profile.delete_binding = DeleteBinding::Incarnation;
    memory::complete(profile)
}
