//! The saboteurs of the group `watch`.

use crate::saboteur::Saboteur;

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[];
