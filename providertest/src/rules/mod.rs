//! The rule table: the single source of the contract's rules. One file per group.

mod budgets;
pub mod check;
pub mod create;
pub mod delete;
pub mod errors;
pub mod get;
mod ids;
pub mod list;
pub mod model;
mod native;
pub mod observability;
pub mod runtime;
mod secrets;
pub mod sweeps;
pub mod watch;

use crate::rule::Rule;

/// Every rule, group by group.
pub fn table() -> impl Iterator<Item = &'static Rule> {
    let [create_sweeps, get_sweeps, delete_sweeps, list_sweeps] = sweeps::RULES;
    [
        create::RULES,
        create_sweeps,
        get::RULES,
        get_sweeps,
        delete::RULES,
        delete_sweeps,
        list::RULES,
        list_sweeps,
        errors::RULES,
        check::RULES,
        watch::RULES,
        runtime::RULES,
        observability::RULES,
        model::RULES,
    ]
    .into_iter()
    .flatten()
}

/// The rule with that id.
pub fn find(id: &str) -> Option<&'static Rule> {
    table().find(|rule| rule.id == id)
}
