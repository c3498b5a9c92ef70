//! The saboteurs of the group `get`, file by file like its rules.

mod address;
mod cost;
mod deletion;
mod identity;
mod malformed;
mod states;

use crate::saboteur::Saboteur;

/// The group's saboteurs, theme by theme.
pub const SABOTEURS: [&[Saboteur]; 6] = [
    deletion::SABOTEURS,
    states::SABOTEURS,
    identity::SABOTEURS,
    malformed::SABOTEURS,
    address::SABOTEURS,
    cost::SABOTEURS,
];
