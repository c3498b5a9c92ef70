//! The saboteurs of the group `check`.

use crate::saboteur::Saboteur;

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[];
