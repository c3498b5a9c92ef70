//! The catalogue of native errors: what a backend can answer to which call, and the class it means.
//!
//! It is data. Fakes answer from it, `errors.table` walks it, sweeps take their native errors from it.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{Class, Operation, Profile};

/// One way in which a backend refuses.
///
/// Entries are built in a chain, so that a table states only what its backend has:
///
/// ```
/// use provider_api::{Catalogue, Class, NativeError, Operation};
/// const TABLE: &[NativeError] = &[
///     NativeError::new("already-exists", &["insert"], Class::Transient, "Compute v1, revision 20261106")
///         .status(409)
///         .code("alreadyExists")
///         .text("The resource '{target}' already exists")
///         .tolerated_by(&[Operation::Create]),
/// ];
/// const CATALOGUE: Catalogue = Catalogue(&[TABLE]);
/// assert_eq!(CATALOGUE.on("insert").count(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NativeError {
    /// A name for plans and reports: `quota-exceeded`.
    pub id: &'static str,
    /// The call kinds that can be answered so.
    pub on: &'static [&'static str],
    /// Where it shows.
    pub shows: Shows,
    /// The HTTP status, or the number of the error, where the backend has one.
    pub status: Option<u32>,
    /// The backend's code or reason.
    pub code: &'static str,
    /// What else the answer carries, by the backend's own names: a domain, an errno, a header.
    pub fields: &'static [(&'static str, &'static str)],
    /// The text, as the backend words it; `{name}` and other fields in braces stand for what the call was about.
    /// Empty where none was captured: nothing can then be decided by it.
    pub text: &'static str,
    /// The class of an operation that cannot go on after it. NotFound says that what the call was about is proven
    /// absent: `get` of that instance is NotFound, `delete` succeeds, and `create` is Transient.
    pub class: Class,
    /// The operations that go on in spite of it, where the backend bears out what it says: `already running`.
    pub tolerated_by: &'static [Operation],
    /// Where it was seen: a document with its version, a capture, a report.
    pub source: &'static str,
}

/// Where a native error shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// In the answer to the call.
    Answer,
    /// Later, in the task or operation that the accepted call started.
    Task,
    /// In the middle of a transfer that was accepted.
    Stream,
}

impl NativeError {
    /// An error with a name, the kinds it answers, its class and its source.
    pub const fn new(
        id: &'static str,
        on: &'static [&'static str],
        class: Class,
        source: &'static str,
    ) -> Self {
        Self {
            id,
            on,
            shows: Shows::Answer,
            status: None,
            code: "",
            fields: &[],
            text: "",
            class,
            tolerated_by: &[],
            source,
        }
    }

    /// With a status or number.
    #[must_use]
    pub const fn status(self, status: u32) -> Self {
        Self { status: Some(status), ..self }
    }

    /// With a code or reason.
    #[must_use]
    pub const fn code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    /// With further fields.
    #[must_use]
    pub const fn fields(self, fields: &'static [(&'static str, &'static str)]) -> Self {
        Self { fields, ..self }
    }

    /// With a text.
    #[must_use]
    pub const fn text(self, text: &'static str) -> Self {
        Self { text, ..self }
    }

    /// Showing elsewhere than in the answer.
    #[must_use]
    pub const fn shows(self, shows: Shows) -> Self {
        Self { shows, ..self }
    }

    /// Tolerated by these operations.
    #[must_use]
    pub const fn tolerated_by(self, operations: &'static [Operation]) -> Self {
        Self { tolerated_by: operations, ..self }
    }

    /// The value of a further field.
    pub fn field(&self, name: &str) -> Option<&'static str> {
        self.fields.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

/// Every native error of one backend, in the tables it is made of: what several providers share stands once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Catalogue(pub &'static [&'static [NativeError]]);

impl Catalogue {
    /// All errors, table by table.
    pub fn iter(&self) -> impl Iterator<Item = &'static NativeError> + use<> {
        self.0.iter().copied().flatten()
    }

    /// The errors that a kind of call can be answered with.
    pub fn on<'k>(&self, kind: &'k str) -> impl Iterator<Item = &'static NativeError> + use<'k> {
        self.iter().filter(move |error| error.on.contains(&kind))
    }

    /// The error with that id.
    pub fn get(&self, id: &str) -> Option<&'static NativeError> {
        self.iter().find(|error| error.id == id)
    }

    /// What is wrong between the catalogue and the profile it belongs to.
    pub fn contradictions(&self, profile: &Profile) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut ids = BTreeSet::new();
        for error in self.iter() {
            let id = error.id;
            if !ids.insert(id) {
                wrong.push(format!("{id} is listed twice"));
            }
            if error.on.is_empty() {
                wrong.push(format!("{id} answers no kind of call"));
            }
            if error.source.is_empty() {
                wrong.push(format!("{id} has no source"));
            }
            for kind in error.on.iter().filter(|kind| profile.call(kind).is_none()) {
                wrong.push(format!("{id} answers {kind}, a call that the profile does not have"));
            }
            if error.class == Class::QuotaExceeded && profile.quota == crate::profile::Quota::Absent {
                wrong.push(format!("{id} is QuotaExceeded, and the profile says quota absent"));
            }
        }
        for call in &profile.calls {
            if self.on(call.name).next().is_none() {
                wrong.push(format!("no error is listed for {}", call.name));
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CallKind;

    const GONE: NativeError = NativeError::new("gone", &["read"], Class::NotFound, "seen").status(404);

    #[test]
    fn tables_are_read_as_one() {
        const OTHER: &[NativeError] = &[NativeError::new("full", &["read"], Class::QuotaExceeded, "seen")];
        const BOTH: Catalogue = Catalogue(&[&[GONE], OTHER]);
        assert_eq!(BOTH.on("read").map(|error| error.id).collect::<Vec<_>>(), ["gone", "full"]);
        assert_eq!(BOTH.get("full").map(|error| error.class), Some(Class::QuotaExceeded));
        assert_eq!(BOTH.on("write").count(), 0);
    }

    #[test]
    fn contradictions_are_named() {
        const TABLE: &[NativeError] = &[
            GONE,
            GONE,
            NativeError::new("full", &["other"], Class::QuotaExceeded, ""),
            NativeError::new("idle", &[], Class::Transient, "seen"),
        ];
        let mut profile = Profile::plain("x");
        profile.calls = vec![CallKind::read("read"), CallKind::write("write")];
        let wrong = Catalogue(&[TABLE]).contradictions(&profile);
        let expected = [
            "gone is listed twice",
            "full has no source",
            "full answers other, a call that the profile does not have",
            "full is QuotaExceeded, and the profile says quota absent",
            "idle answers no kind of call",
            "no error is listed for write",
        ];
        assert_eq!(wrong, expected);
        profile.calls.truncate(1);
        assert_eq!(Catalogue(&[&[GONE]]).contradictions(&profile), Vec::<String>::new());
    }
}
