//! The saboteurs of the group `create`.

mod adopting;
mod answering;
mod delivering;
mod hurrying;
mod limits;

use std::sync::Arc;

use provider_api::FailureClass::{QuotaExceeded, Transient};

use super::budgets::with_shared;
use super::view::{NoCapitals, seen_through};
use crate::{
    memory,
    saboteur::{HONEST, Saboteur, meddle},
};

/// The group's saboteurs, in the order of the rules.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "answers-another-spelling-of-the-id",
        does: "answers create with an id that it understands itself, but that its listing does not have",
        breaks: "create.returns-usable-id",
        provider: |built, _| meddle(built, answering::Spelling),
        ..HONEST
    },
    Saboteur {
        name: "always-makes-a-new-one",
        does: "makes an instance under a new name for every create",
        breaks: "create.idempotent",
        provider: |built, _| meddle(built, answering::NewName::default()),
        ..HONEST
    },
    Saboteur {
        name: "takes-a-placement-for-an-order-to-move",
        does: "deletes the instance and makes it anew when a create asks for another zone than the one before",
        breaks: "create.idempotent",
        profile: memory::blocking,
        provider: |built, _| meddle(built, answering::MakesAnew::default()),
        ..HONEST
    },
    Saboteur {
        name: "does-not-wait-for-its-own",
        does: "makes a second instance while the first create for an owner is under way",
        breaks: "create.concurrent-same-name",
        provider: |built, _| meddle(built, hurrying::Twin::default()),
        ..HONEST
    },
    Saboteur {
        name: "one-create-at-a-time",
        does: "holds one lock over every create",
        breaks: "create.distinct-names-in-parallel",
        provider: |built, context| meddle(built, hurrying::OneAtATime(context.gate(1))),
        ..HONEST
    },
    Saboteur {
        name: "marks-in-a-second-call",
        does: "makes the instance first and marks it in the next call",
        breaks: "create.marks-from-first-moment",
        cloud: |below| Arc::new(hurrying::MarksLater(below)),
        ..HONEST
    },
    Saboteur {
        name: "knows-only-what-it-made-itself",
        does: "takes every id that its own process did not answer for gone",
        breaks: "create.id-self-contained",
        provider: |built, _| meddle(built, answering::OwnMemory::default()),
        ..HONEST
    },
    Saboteur {
        name: "asks-before-it-checks",
        does: "lists before it looks whether the request can be satisfied",
        breaks: "create.rejects-unsatisfiable-before-any-call",
        provider: |built, _| meddle(built, answering::AsksFirst),
        ..HONEST
    },
    Saboteur {
        name: "boots-any-image",
        does: "lets every image through that looks like an address",
        breaks: "create.image-allow-list",
        provider: |built, _| meddle(built, answering::AnyImage),
        ..HONEST
    },
    Saboteur {
        name: "adopts-other-owners-instances",
        does: "answers with the id of an instance of the right name that is marked for another owner",
        breaks: "create.refuses-foreign",
        provider: |built, _| meddle(built, adopting::Adopts("belongs to another name")),
        ..HONEST
    },
    Saboteur {
        name: "adopts-whoever-was-faster",
        does: "takes what stands there for its own when the cloud says that the name it saw free is taken",
        breaks: "create.refuses-foreign",
        cloud: |below| Arc::new(adopting::TakesTakenForMade(below)),
        ..HONEST
    },
    Saboteur {
        name: "adopts-unmarked-instances",
        does: "answers with the id of an instance of the right name without a mark",
        breaks: "create.refuses-unmarked",
        provider: |built, _| meddle(built, adopting::Adopts("does not carry our mark")),
        ..HONEST
    },
    Saboteur {
        name: "adopts-other-installations-instances",
        does: "answers with the id of an instance that another installation made",
        breaks: "create.refuses-other-installation",
        provider: |built, _| meddle(built, adopting::Adopts("belongs to another installation")),
        ..HONEST
    },
    Saboteur {
        name: "adopts-an-identity-in-any-case",
        does: "adopts what an installation made whose identity differs from its own in case only",
        breaks: "create.refuses-other-installation",
        cloud: |below| seen_through(below, NoCapitals),
        ..HONEST
    },
    Saboteur {
        name: "adopts-no-installation",
        does: "forgets which former installations its config lists",
        breaks: "create.adopts-listed-installation",
        types: adopting::adopt_none,
        ..HONEST
    },
    Saboteur {
        name: "adopts-the-dying",
        does: "answers with the id of the instance that is being deleted",
        breaks: "create.not-while-deleting",
        provider: |built, _| meddle(built, adopting::Adopts("being deleted")),
        ..HONEST
    },
    Saboteur {
        name: "leaves-its-own-stopped",
        does: "adopts its own stopped instance and does not start it",
        breaks: "create.adopts-own-partial",
        cloud: |below| Arc::new(adopting::NeverStarts(below)),
        ..HONEST
    },
    Saboteur {
        name: "trims-the-user-data",
        does: "takes white space off the end of the user data",
        breaks: "create.delivers-cloud-init",
        provider: |built, _| meddle(built, delivering::Trims),
        ..HONEST
    },
    Saboteur {
        name: "cuts-long-user-data",
        does: "delivers the first 16 KiB of the user data",
        breaks: "create.delivers-cloud-init",
        provider: |built, _| meddle(built, delivering::CutsShort),
        ..HONEST
    },
    Saboteur {
        name: "delivers-what-it-declares-ignored",
        does: "gives instances user data though its profile says that there is none",
        breaks: "create.delivers-cloud-init",
        profile: crate::memory::plain,
        cloud: |below| Arc::new(delivering::OwnUserData(below)),
        ..HONEST
    },
    Saboteur {
        name: "opens-the-default-port",
        does: "opens the default port whatever was asked for",
        breaks: "create.delivers-access-and-port",
        provider: |built, _| meddle(built, delivering::DefaultPort),
        ..HONEST
    },
    Saboteur {
        name: "lets-everybody-in",
        does: "drops the credentials of a request",
        breaks: "create.delivers-access-and-port",
        provider: |built, _| meddle(built, delivering::NoCredentials),
        ..HONEST
    },
    Saboteur {
        name: "quotes-the-payload-in-errors",
        does: "puts what was sent into the text of the error",
        breaks: "create.hides-secrets",
        provider: |built, _| meddle(built, delivering::QuotesInErrors),
        ..HONEST
    },
    Saboteur {
        name: "logs-the-payload-in-base64",
        does: "writes the encoded user data into a trace line",
        breaks: "create.hides-secrets",
        provider: |built, _| meddle(built, delivering::Logs),
        ..HONEST
    },
    Saboteur {
        name: "logs-the-payload-as-bytes",
        does: "writes the user data into a trace line as Debug shows bytes",
        breaks: "create.hides-secrets",
        provider: |built, _| meddle(built, delivering::LogsBytes),
        ..HONEST
    },
    Saboteur {
        name: "reads-a-field-it-declares-ignored",
        does: "refuses an unknown region though its profile does not use the region",
        breaks: "create.ignored-placement-has-no-effect",
        profile: crate::memory::plain,
        provider: |built, _| meddle(built, delivering::ReadsTheRegion),
        ..HONEST
    },
    Saboteur {
        name: "takes-quota-for-a-hiccup",
        does: "answers want of quota as Transient",
        breaks: "create.quota-reported",
        provider: |built, _| meddle(built, limits::Reclassifies(QuotaExceeded, Transient)),
        ..HONEST
    },
    Saboteur {
        name: "blames-quota-where-there-is-none",
        does: "answers QuotaExceeded for what may pass, though its profile says that quota is absent",
        breaks: "create.quota-reported",
        profile: crate::memory::plain,
        provider: |built, _| meddle(built, limits::Reclassifies(Transient, QuotaExceeded)),
        ..HONEST
    },
    Saboteur {
        name: "knows-no-limit",
        does: "does not keep maxInstances",
        breaks: "create.max-instances",
        types: |registry| with_shared(registry, |shared| shared.max_instances = None),
        ..HONEST
    },
    Saboteur {
        name: "counts-one-zone-alone",
        does: "counts against maxInstances what stands in the zone of the request, and nothing else",
        breaks: "create.max-instances",
        provider: |built, context| meddle(built, limits::Tells(context.identity.installation.clone())),
        cloud: |below| Arc::new(limits::OneZone(below)),
        ..HONEST
    },
    Saboteur {
        name: "tells-a-late-failure-once",
        does: "takes a late failure for acknowledged once it has told it",
        breaks: "create.late-failure-reported-until-acknowledged",
        provider: |built, _| meddle(built, limits::TellsOnce::default()),
        ..HONEST
    },
    Saboteur {
        name: "deaf-to-acknowledgements",
        does: "does not read which failure the caller has acknowledged",
        breaks: "create.late-failure-then-retried",
        provider: |built, _| meddle(built, limits::Deaf),
        ..HONEST
    },
    Saboteur {
        name: "goes-by-the-name-of-a-failure",
        does: "reports the late failure of whoever made an instance of that name",
        breaks: "create.late-failure-then-retried",
        provider: |built, context| meddle(built, limits::Tells(context.identity.installation.clone())),
        cloud: |below| Arc::new(limits::EveryTaskIsOurs(below)),
        ..HONEST
    },
    Saboteur {
        name: "never-forgives",
        does: "reports the newest task that failed, though a newer one went well",
        breaks: "create.late-failure-then-retried",
        cloud: |below| Arc::new(limits::FailuresAlone(below)),
        ..HONEST
    },
    Saboteur {
        name: "takes-its-time",
        does: "does not read the budget that the config gives a create",
        breaks: "create.bounded",
        types: |registry| with_shared(registry, |shared| shared.budgets.create = None),
        ..HONEST
    },
    Saboteur {
        name: "waits-for-every-call-to-the-end",
        does: "gives a single call nearly the whole operation's time",
        breaks: "create.budget-per-call",
        types: |registry| with_shared(registry, |shared| shared.budgets.call = Some(limits::LONG)),
        ..HONEST
    },
    Saboteur {
        name: "repeats-names-raw",
        does: "writes an unusable name into its error as it is",
        breaks: "create.hostile-names",
        provider: |built, _| meddle(built, answering::Echoes),
        ..HONEST
    },
    Saboteur {
        name: "goes-on-after-a-refusal",
        does: "makes the instance all the same when a create was refused for good",
        breaks: "create.nothing-left-on-permanent-failure",
        provider: |built, _| meddle(built, answering::GoesOn),
        ..HONEST
    },
];
