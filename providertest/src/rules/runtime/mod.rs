//! The rules of the group `runtime`: what holds between operations, and between a provider and its program.

mod config;
mod hang;
mod life;

use futures::FutureExt;
use provider_api::profile::CredentialsFrom;

use crate::rule::{Caller, Check, Level, Rule, always, when};

pub use config::UNKNOWN_KEY;

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    Rule {
        id: "runtime.shareable",
        level: Level::Must,
        says: "A provider can be shared by tasks.",
        caller: Caller::Everybody,
        applies: always,
        check: Check::ByType("provider_api::Provider"),
        absent: None,
        mend: "Keep what is shared behind `Arc` and locks that are held for no longer than a poll.",
    },
    Rule {
        id: "runtime.constructor-does-not-dial",
        level: Level::Must,
        says: "Building a provider makes no backend call, then or by itself later, and works while the backend is away.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| life::constructor_does_not_dial(w).boxed()),
        absent: None,
        mend: "Connect in the first operation that needs it, inside the seam call.",
    },
    Rule {
        id: "runtime.no-work-after-drop",
        level: Level::Must,
        says: "Once a caller is gone and the one call in flight is over, nothing goes on changing the backend.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Case(|w| life::no_work_after_drop(w).boxed()),
        absent: None,
        mend: "Do the work in the future that the caller holds; what is spawned must end with it.",
    },
    Rule {
        id: "runtime.one-hang-does-not-block-others",
        level: Level::Must,
        says: "A call that hangs delays no other instance, and a target that hangs no other target.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Case(|w| hang::one_hang_does_not_block_others(w).boxed()),
        absent: None,
        mend: "Hold no lock across a backend call but the turn at the name; keep one connection a target.",
    },
    Rule {
        id: "runtime.per-target-limit",
        level: Level::Must,
        says: "No more operations work on one target at once than the entry allows, and so many do.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| hang::per_target_limit(w).boxed()),
        absent: None,
        mend: "Take room at the gate for each target before its call, with the limit of the entry.",
    },
    Rule {
        id: "runtime.credentials-rotate",
        level: Level::Must,
        says: "New credentials count from the next operation on, without a restart.",
        caller: Caller::Operator,
        applies: |profile| when(profile.credentials != CredentialsFrom::None),
        check: Check::Case(|w| life::credentials_rotate(w).boxed()),
        absent: Some(|w| life::no_credentials(w).boxed()),
        mend: "Read credentials when they are used; where a connection carries them, make a new one when they change.",
    },
    Rule {
        id: "runtime.reload-keeps-old-on-error",
        level: Level::Must,
        says: "A config that does not load changes nothing: the provider in force is the same one, and works.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| config::reload_keeps_old_on_error(w).boxed()),
        absent: None,
        mend: "Let the constructor touch nothing outside the provider that it builds.",
    },
    Rule {
        id: "runtime.strict-config",
        level: Level::Must,
        says: "An unknown key is an error at every level of the block, with its path.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| config::strict_config(w).boxed()),
        absent: None,
        mend: "Read the block through `Fields`, nested mappings too.",
    },
    Rule {
        id: "runtime.all-config-errors-at-once",
        level: Level::Must,
        says: "Everything that is wrong with a config is reported at once, each thing with its path.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| config::all_config_errors_at_once(w).boxed()),
        absent: None,
        mend: "Read every field before giving up: no `?` between two of them.",
    },
];
