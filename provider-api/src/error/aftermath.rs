//! What a failed operation leaves: what may stand on the backend, and the id of a failure that was reported late.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a failed operation may have left on the backend (`errors.left-behind-is-true`). Unknown is always right, and what
/// an error says until somebody knows better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftBehind {
    /// Nothing of this instance: before the first changing call, or after a clean-up that worked.
    Nothing,
    /// Something that `delete` by the instance's id removes, all of it.
    DeletableById,
    /// It is not known: after a lost answer, say.
    Unknown,
}

/// The id of a failure that a backend reported late (contract 2.1), made from the backend's own record: the same each
/// time and after a restart, another one for each failure (`errors.failure-id-kept`).
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

    /// The id as text, exactly as it was taken.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FailureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
