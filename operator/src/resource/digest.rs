//! Digests: what a decision rested on, without keeping it.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The start of a SHA-256, in hexadecimal: enough to tell contents apart, and nothing of them can be read from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

/// How many bytes of the SHA-256 are kept.
const BYTES: usize = 10;

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::cut(Sha256::digest(bytes).as_slice())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn cut(whole: &[u8]) -> Self {
        Self(whole[..BYTES].iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Takes named texts in, each with its length, so that no two sequences look alike.
pub(crate) struct Digester(Sha256);

impl Digester {
    /// For one kind of digest; the name changes when what goes in does.
    pub(crate) fn new(kind: &str) -> Self {
        let mut digester = Self(Sha256::new());
        digester.text("kind", kind);
        digester
    }

    pub(crate) fn text(&mut self, key: &str, value: &str) {
        for part in [key, value] {
            self.0.update((part.len() as u64).to_be_bytes());
            self.0.update(part.as_bytes());
        }
    }

    pub(crate) fn digest(self) -> Digest {
        Digest::cut(self.0.finalize().as_slice())
    }
}
