//! The catalogue of native errors: what a backend can answer to which call, and the class it means.
//!
//! It is data. Fakes answer from it, `errors.table` walks it, sweeps take their native errors from it.

use serde::Serialize;

use crate::Class;

/// One way in which a backend refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NativeError {
    /// A name for plans and reports: `quota-exceeded`.
    pub id: &'static str,
    /// The call kinds that can be answered so.
    pub on: &'static [&'static str],
    /// The HTTP status, or the number of the error, where the backend has one.
    pub status: Option<u32>,
    /// The backend's code or reason.
    pub code: &'static str,
    /// The text, as the backend words it; `{name}` and other fields in braces stand for what the call was about.
    pub text: &'static str,
    /// What it means.
    pub class: Class,
    /// Where it was seen: a document with its version, a capture, a report.
    pub source: &'static str,
}

/// Every native error of one backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Catalogue(pub &'static [NativeError]);

impl Catalogue {
    /// The errors that a kind of call can be answered with.
    pub fn on<'k>(&self, kind: &'k str) -> impl Iterator<Item = &'static NativeError> + use<'k> {
        self.0.iter().filter(move |error| error.on.contains(&kind))
    }

    /// The error with that id.
    pub fn get(&self, id: &str) -> Option<&'static NativeError> {
        self.0.iter().find(|error| error.id == id)
    }
}
