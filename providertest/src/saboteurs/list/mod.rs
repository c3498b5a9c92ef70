//! The saboteurs of the group `list`, file by file like its rules.

mod change;
mod content;
mod leftovers;
mod scope;
mod whose;

use crate::saboteur::Saboteur;

/// The group's saboteurs, theme by theme.
pub const SABOTEURS: [&[Saboteur]; 5] =
    [whose::SABOTEURS, content::SABOTEURS, scope::SABOTEURS, change::SABOTEURS, leftovers::SABOTEURS];
