//! Every saboteur, group by group like the rules.

mod check;
mod create;
mod delete;
mod errors;
mod get;
mod list;
mod model;
mod observability;
mod runtime;
mod watch;

use crate::saboteur::Saboteur;

/// Every saboteur.
pub fn all() -> impl Iterator<Item = &'static Saboteur> {
    [
        create::SABOTEURS,
        get::SABOTEURS,
        delete::SABOTEURS,
        list::SABOTEURS,
        errors::SABOTEURS,
        check::SABOTEURS,
        watch::SABOTEURS,
        runtime::SABOTEURS,
        observability::SABOTEURS,
        model::SABOTEURS,
    ]
    .into_iter()
    .flatten()
}
