//! The saboteurs of the group `errors`.

use crate::saboteur::Saboteur;

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[];
