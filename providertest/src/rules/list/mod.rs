//! The rules of the group `list`, one theme a file. The sweep is in `sweeps/list.rs`.

mod change;
mod content;
mod leftovers;
mod pages;
mod scope;
mod whose;

use crate::rule::Rule;

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    whose::ONLY_MANAGED,
    whose::ONLY_THIS_INSTALLATION,
    whose::INHERITED_MARK_IS_NOT_LISTED,
    content::IDS_ARE_DELETABLE,
    content::UID_AND_CREATED_AT,
    scope::WHOLE_SCOPE,
    pages::ALL_PAGES,
    content::EVERY_STATE,
    scope::PARTIAL_AS_DECLARED,
    change::ONE_UNREADABLE_IS_REPORTED,
    change::VANISHING_DURING_LIST,
    whose::PLACEHOLDER_NOT_LISTED,
    change::READ_ONLY,
    content::NO_STATE_IN_A_LISTING,
    leftovers::LEFTOVERS_LISTED,
    leftovers::LEFTOVERS_DELETABLE,
    leftovers::LEFTOVERS_SPARE_THE_LIVING,
];

/// The names of a listing, in order.
fn names(listing: &provider_api::Listing) -> Vec<String> {
    let mut names: Vec<_> = listing.items.iter().map(|listed| listed.name.to_string()).collect();
    names.sort();
    names
}
