//! The saboteurs of the group `model`.

use crate::saboteur::Saboteur;

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[];
