//! The rules of the group `errors`: what an error says, and that it is true. What provokes them is in `acts.rs`; the
//! wider sweep over every fault of a create is in `sweeps/`.

mod acts;
mod classes;
mod left;
mod secrecy;
mod table;
mod words;

use futures::FutureExt;

use crate::rule::{Caller, Check, Level, Rule, always, when};

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    Rule {
        id: "errors.one-class",
        level: Level::Must,
        says: "Every error has exactly one class.",
        caller: Caller::Everybody,
        applies: always,
        check: Check::ByType("provider_api::Error"),
        absent: None,
        mend: "Build errors from a class; there is no other way.",
    },
    Rule {
        id: "errors.configured-name",
        level: Level::Must,
        says: "Every error carries the name under which the provider is configured.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| words::configured_name(w).boxed()),
        absent: None,
        mend: "Take the name from the context and put it on every error where the operation ends.",
    },
    Rule {
        id: "errors.operation-and-id",
        level: Level::Must,
        says: "Every error says which operation failed, and for which id or name.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| words::operation_and_id(w).boxed()),
        absent: None,
        mend: "Say operation and subject in one place, where each of the four operations ends.",
    },
    Rule {
        id: "errors.source-chain",
        level: Level::Should,
        says: "An error that the backend gave rise to has the backend's own words, or its code, as its source.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| words::source_chain(w).boxed()),
        absent: None,
        mend: "Keep the client's error as the scrubbed cause instead of only quoting it.",
    },
    Rule {
        id: "errors.table",
        level: Level::Must,
        says: "Every native error of the catalogue, on every call that can be answered with it, has the class it means.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Sweep {
            plans: |w| table::plans(w).boxed(),
            run: |w, plan| table::judge(w, plan).boxed(),
        },
        absent: None,
        mend: "Map the backend's codes to classes in one function, and test that function against the catalogue.",
    },
    Rule {
        id: "errors.every-class-reachable",
        level: Level::Must,
        says: "Each class that the profile speaks of is answered when its cause is there.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Case(|w| classes::every_class_reachable(w).boxed()),
        absent: None,
        mend: "Tell the causes apart: absent, out of quota, may pass, will not pass.",
    },
    Rule {
        id: "errors.unknown-is-transient",
        level: Level::Must,
        says: "What nobody has heard of is Transient: an unlisted answer, a broken connection, silence.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Sweep {
            plans: |w| classes::unknown_plans(w).boxed(),
            run: |w, plan| classes::unknown_is_transient(w, plan).boxed(),
        },
        absent: None,
        mend: "Let the last arm of the classify function be Transient.",
    },
    Rule {
        id: "errors.hides-secrets",
        level: Level::Must,
        says: "No error of any operation shows user data, passwords or the provider's own credentials.",
        caller: Caller::Everybody,
        applies: always,
        check: Check::Sweep {
            plans: |w| secrecy::plans(w).boxed(),
            run: |w, plan| secrecy::hides_secrets(w, plan).boxed(),
        },
        absent: None,
        mend: "Pass backend text on only through a scrubber that knows the request's secrets and the credentials.",
    },
    Rule {
        id: "errors.retry-after-kept",
        level: Level::Must,
        says: "When the backend says how long to wait the error says so, and no error makes a time up.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Case(|w| words::retry_after_kept(w).boxed()),
        absent: None,
        mend: "Read the backend's hint where the answer is read, and hand it on with the error.",
    },
    Rule {
        id: "errors.failure-id-kept",
        level: Level::Must,
        says: "A failure that the backend reports late has one id, the same each time and after a restart.",
        caller: Caller::Reconciler,
        applies: |profile| when(profile.late_failures),
        check: Check::Case(|w| words::failure_id_kept(w).boxed()),
        absent: Some(|w| words::no_failure_id(w).boxed()),
        mend: "Take the id from the backend's own record of the failure, never from memory or the clock.",
    },
    Rule {
        id: "errors.left-behind-is-true",
        level: Level::Must,
        says: "An error that says nothing is left, or that a delete by id takes it, is right.",
        caller: Caller::Collector,
        applies: always,
        check: Check::Sweep {
            plans: |w| left::plans(w).boxed(),
            run: |w, plan| left::is_true(w, plan).boxed(),
        },
        absent: None,
        mend: "Say `unknown` unless it is certain: a call whose answer was lost may have taken effect.",
    },
];
