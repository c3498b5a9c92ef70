//! The rules of the group `delete`. Those that sweep over every fault are in `sweeps/delete.rs`.

mod absence;
mod incarnation;
mod ownership;
mod progress;
mod race;
mod removal;
mod targets;

use crate::rule::Rule;

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    absence::IDEMPOTENT,
    absence::ABSENT_IS_OK,
    removal::REMOVES_EVERYTHING,
    absence::MALFORMED_ID,
    ownership::LEAVES_FOREIGN_ALONE,
    ownership::KEEPS_SHARED,
    ownership::KEEPS_REFERENCED,
    incarnation::BOUND_TO_INCARNATION,
    removal::EVERY_NATIVE_STATE,
    progress::REPEAT_WHILE_DELETING,
    progress::GONE_MEANS_GONE,
    progress::ACCEPTED_STAYS_VISIBLE,
    targets::ABANDONED_IS_SAID,
    targets::DECOMMISSIONED_TARGET,
    race::RACES_CREATE,
];
