//! The rules of the group `watch`: hints of changes, where a provider gives any.

mod hints;

use crate::rule::Rule;

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[hints::HINTS_ARE_NOT_TRUTH, hints::RECONNECTS_AND_RESYNCS, hints::NEVER_ENDS];
