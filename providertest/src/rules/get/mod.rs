//! The rules of the group `get`, one theme a file. The sweep is in `sweeps/get.rs`.

mod address;
mod cost;
mod deletion;
mod identity;
mod malformed;
mod states;
mod stranger;

use crate::rule::Rule;

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    deletion::NOT_FOUND_AFTER_DELETE,
    deletion::VISIBLE_WHILE_DELETING,
    deletion::DELETING_IS_NOT_RUNNING,
    address::RUNNING_HAS_ADDRESS,
    states::NO_ADDRESS_IS_PROVISIONING,
    states::NATIVE_STATE_TABLE,
    states::UNKNOWN_STATE_IS_STOPPED,
    states::REASONS_REACH_THE_CALLER,
    identity::READS_BACK_UID_AND_CREATED_AT,
    identity::UNREADABLE_CREATED_AT_IS_NONE,
    identity::UNKNOWN_AGE_IS_OLD,
    malformed::MALFORMED_ID_IS_PERMANENT,
    identity::NEVER_ANOTHERS_DATA,
    identity::INHERITED_MARK_IS_NOT_OURS,
    address::OWN_ADDRESS_ONLY,
    address::ADDRESS_FAMILY_AND_RANGES,
    identity::FINDS_MOVED_INSTANCE,
    cost::READ_ONLY,
    cost::CALL_BUDGET,
    deletion::FRESH_AFTER_OWN_WRITE,
    cost::CANCEL_DOES_NOT_DISTURB,
];
