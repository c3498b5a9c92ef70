//! The rules of the group `create`. Those that sweep over every fault are in `sweeps/create.rs`.

mod adoption;
mod budgets;
mod delivery;
mod foreign;
mod hostile;
mod identity;
mod late;
mod parallel;
mod quota;
mod refusals;
mod secrecy;
pub(super) mod verbs;

use crate::rule::{Caller, Check, Level, Rule, always};

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    identity::RETURNS_USABLE_ID,
    identity::IDEMPOTENT,
    parallel::CONCURRENT_SAME_NAME,
    parallel::DISTINCT_NAMES_IN_PARALLEL,
    identity::MARKS_FROM_FIRST_MOMENT,
    identity::ID_SELF_CONTAINED,
    refusals::REJECTS_UNSATISFIABLE,
    refusals::IMAGE_ALLOW_LIST,
    foreign::REFUSES_FOREIGN,
    foreign::REFUSES_UNMARKED,
    foreign::REFUSES_OTHER_INSTALLATION,
    foreign::ADOPTS_LISTED_INSTALLATION,
    adoption::NOT_WHILE_DELETING,
    adoption::ADOPTS_OWN_PARTIAL,
    delivery::CLOUD_INIT,
    delivery::ACCESS_AND_PORT,
    secrecy::HIDES_SECRETS,
    delivery::IGNORED_PLACEMENT,
    quota::QUOTA_REPORTED,
    quota::MAX_INSTANCES,
    late::REPORTED_UNTIL_ACKNOWLEDGED,
    late::THEN_RETRIED,
    budgets::BOUNDED,
    budgets::BUDGET_PER_CALL,
    NEVER_NOT_FOUND,
    hostile::HOSTILE_NAMES,
    refusals::NOTHING_LEFT_ON_PERMANENT_FAILURE,
];

const NEVER_NOT_FOUND: Rule = Rule {
    id: "create.never-not-found",
    level: Level::Must,
    says: "No create can answer NotFound, for the class of its error has no such value.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::ByType("provider_api::FailureClass"),
    absent: None,
    why: "For the reconciler NotFound is the proof that an instance is gone. A create that answered so \
          because an image is missing would make it forget the id of what stands.",
    tested: "The compiler holds it: `FailureClass` has no NotFound. A doctest that builds an error with it \
             must not compile, beside a twin with Transient that must.",
    mend: "Map what is absent to Permanent where the config names it, such as an image, a pool or a network, \
           and to Transient where it may come back by itself. Nothing else compiles.",
};
