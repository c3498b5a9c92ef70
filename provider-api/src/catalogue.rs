//! The catalogue of native errors: what a backend can answer to which call, and the class it means.
//!
//! It is data. Fakes answer from it, `errors.table` walks it, sweeps take their native errors from it. It stands in code, as
//! here, or in a file that the kit loads (`providertest::fake::catalogue`).

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{Class, Operation, Profile};

/// One way in which a backend refuses.
///
/// Entries are built in a chain, so that a table states only what its backend has. Each is put on each call of its `on`,
/// in every operation that makes such a call, and the class that the operation answers is compared with this one
/// (`errors.table`, `create.classifies-faults`). So is the time in a field `retry-after`, in whole seconds, with
/// [`Error::retry_hint`](crate::Error::retry_hint) (`errors.retry-after-kept`).
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
///
/// A rate limit with its hint, and a failure that comes to light in a task:
///
/// ```
/// use provider_api::{Class, NativeError, Shows};
/// const SLOW_DOWN: NativeError =
///     NativeError::new("rate-limit", &["insert", "describe"], Class::QuotaExceeded, "Acme API 3.2, Limits")
///         .status(429)
///         .fields(&[("retry-after", "30")]);
/// const LATE: NativeError = NativeError::new("stock-out", &["insert"], Class::QuotaExceeded, "seen in March")
///     .code("ZONE_RESOURCE_POOL_EXHAUSTED")
///     .shows(Shows::Task);
/// assert_eq!(SLOW_DOWN.field("retry-after"), Some("30"));
/// assert_eq!(LATE.shows, Shows::Task);
/// ```
///
/// An error that is tolerated on one kind of call and not on another is two rows; the second is made from the first:
///
/// ```
/// use provider_api::{Class, NativeError, Operation};
/// const GONE: NativeError =
///     NativeError::new("gone", &["describe"], Class::NotFound, "Acme API 3.2, Errors").status(404).code("gone");
/// const TABLE: &[NativeError] = &[
///     // It vanished since the listing named it.
///     GONE.tolerated_by(&[Operation::List]),
///     GONE.id("gone-to-change").on(&["start", "remove"]),
/// ];
/// assert_eq!((TABLE[1].code, TABLE[1].tolerated_by), ("gone", &[][..]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NativeError {
    /// A name for plans and reports, once in a catalogue: `quota-exceeded`. A fake refuses with it.
    pub id: &'static str,
    /// The kinds of calls that can be answered so, by the names in [`Profile::calls`]. A kind that no operation makes ends
    /// `errors.table` as an error.
    pub on: &'static [&'static str],
    /// Where it shows: in the answer, unless said otherwise.
    pub shows: Shows,
    /// The HTTP status, or the number of the error, where the backend has one.
    pub status: Option<u32>,
    /// The backend's code or reason; empty where it has none.
    pub code: &'static str,
    /// What else the answer carries, by the backend's own names: a domain, an errno, a header. `retry-after` is the time
    /// that the backend says to wait, in whole seconds, whatever the backend calls it.
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
    /// Later, in the task or operation that the accepted call started. The next create finds it there and answers it with a
    /// [`FailureId`](crate::FailureId), where [`Profile::late_failures`] says so
    /// (`create.late-failure-reported-until-acknowledged`). A fake answers the call as accepted, and keeps the failed task.
    Task,
    /// In the middle of a transfer that was accepted.
    Stream,
}

impl NativeError {
    /// An error with a name, the kinds of calls it answers, its class and where it was seen. It shows in the answer.
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

    /// The same error under another name, for other kinds of calls: [`NativeError::on`](method@NativeError::on).
    #[must_use]
    pub const fn id(self, id: &'static str) -> Self {
        Self { id, ..self }
    }

    /// The same error on these kinds of calls, in the place of those that it had.
    #[must_use]
    pub const fn on(self, calls: &'static [&'static str]) -> Self {
        Self { on: calls, ..self }
    }

    /// With an HTTP status, or the number of the error.
    #[must_use]
    pub const fn status(self, status: u32) -> Self {
        Self { status: Some(status), ..self }
    }

    /// With the backend's code or reason.
    #[must_use]
    pub const fn code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    /// With what else the answer carries, by name; see [`NativeError::fields`](field@NativeError::fields).
    #[must_use]
    pub const fn fields(self, fields: &'static [(&'static str, &'static str)]) -> Self {
        Self { fields, ..self }
    }

    /// With the backend's words, in which `{name}` and other names in braces stand for what the call was about.
    #[must_use]
    pub const fn text(self, text: &'static str) -> Self {
        Self { text, ..self }
    }

    /// Showing elsewhere than in the answer: in a task, in a transfer.
    #[must_use]
    pub const fn shows(self, shows: Shows) -> Self {
        Self { shows, ..self }
    }

    /// Tolerated by these operations: they go on, and succeed, where the backend bears out what the error says. On a kind
    /// of call where they do not, it is a row of its own: [`NativeError::on`](method@NativeError::on).
    #[must_use]
    pub const fn tolerated_by(self, operations: &'static [Operation]) -> Self {
        Self { tolerated_by: operations, ..self }
    }

    /// The value of one of the further fields.
    pub fn field(&self, name: &str) -> Option<&'static str> {
        self.fields.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

/// Every native error of one backend, in the tables it is made of: what several providers share stands once. Each call
/// kind of the profile has at least one error; [`Catalogue::contradictions`] says what does not go together, and a
/// provider's own tests hold it to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Catalogue(pub &'static [&'static [NativeError]]);

impl Catalogue {
    /// All errors, table by table, in their order.
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

    /// What is wrong between the catalogue and the profile it belongs to, a sentence each; nothing when they go together.
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
