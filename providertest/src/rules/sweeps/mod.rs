//! The rules that sweep: what must hold whatever becomes of any one call. The plans come from `sweep.rs`.

mod create;
mod delete;
mod get;
mod list;
pub(super) mod verbs;

use crate::rule::Rule;

/// The sweeps, operation by operation.
pub const RULES: [&[Rule]; 4] = [create::RULES, get::RULES, delete::RULES, list::RULES];
