//! Every saboteur, group by group like the rules.

pub mod aside;
pub mod budgets;
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
        aside::SABOTEURS,
        budgets::SABOTEURS,
        observability::SABOTEURS,
        model::SABOTEURS,
        sweeps::SABOTEURS,
    ]
    .into_iter()
    .chain(get::SABOTEURS)
    .chain(list::SABOTEURS)
    .flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rules;

    #[test]
    fn every_saboteur_has_a_name_of_its_own_and_breaks_a_rule_that_there_is() {
        let mut names = BTreeSet::new();
        for saboteur in all() {
            assert!(names.insert(saboteur.name), "{} stands twice", saboteur.name);
            assert!(rules::find(saboteur.breaks).is_some(), "{} breaks {}", saboteur.name, saboteur.breaks);
        }
    }

    #[test]
    fn every_rule_has_an_id_of_its_own() {
        let mut ids = BTreeSet::new();
        for rule in rules::table() {
            assert!(ids.insert(rule.id), "{} stands twice", rule.id);
        }
    }
}
