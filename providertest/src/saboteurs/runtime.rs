//! The saboteurs of the group `runtime`.

use crate::saboteur::Saboteur;

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[];
