//! The rules of the group `delete`.

use crate::rule::Rule;

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[];
