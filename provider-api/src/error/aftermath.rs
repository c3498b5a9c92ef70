//! What a failed operation leaves: what may stand on the backend, and the id of a failure that was reported late.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a failed operation may have left on the backend (`errors.left-behind-is-true`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftBehind {
    /// Nothing.
    Nothing,
    /// Something that `delete` by the instance's id removes.
    DeletableById,
    /// It is not known.
    Unknown,
}

/// The id of a failure that a backend reported late (contract 2.1).
///
/// The caller passes it back as [`acknowledged_failure`](crate::CreateRequest::acknowledged_failure).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FailureId(String);

impl FailureId {
    /// Takes the text as it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FailureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
