//! Every saboteur, group by group like the rules.

pub mod check;
pub mod create;
pub mod delete;
pub mod errors;
pub mod get;
pub mod list;
pub mod model;
pub mod observability;
pub mod runtime;
pub mod sweeps;
mod view;
pub mod watch;

use crate::saboteur::Saboteur;

/// Every saboteur.
pub fn all() -> impl Iterator<Item = &'static Saboteur> {
    [
        create::SABOTEURS,
        delete::SABOTEURS,
        errors::SABOTEURS,
        check::SABOTEURS,
        watch::SABOTEURS,
        runtime::SABOTEURS,
        observability::SABOTEURS,
        model::SABOTEURS,
        sweeps::SABOTEURS,
    ]
    .into_iter()
    .chain(get::SABOTEURS)
    .chain(list::SABOTEURS)
    .flatten()
}
