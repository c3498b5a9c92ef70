//! Every native error of the backend that the provider knows, with the class it means. It is data: the fake answers
//! from it, sweeps put each of them on each call that it can answer, and `errors.table` walks it. Where an id is one that
//! the kit's store refuses with, the fake's handlers pass it on by `?`.

use provider_api::{
    Catalogue,
    Class::{self, NotFound, Permanent, QuotaExceeded, Transient},
    NativeError, Operation,
};

use crate::backend::{
    CALLS, MACHINE_CREATE, MACHINE_DELETE, MACHINE_GET, MACHINE_START, PART_DELETE, SEED_CREATE,
    SYSTEM_CREATE,
};

const SEEN: &str = "the API of the host daemon, revision 7";

const ALL: &[&str] = &{
    let (mut names, mut at) = ([""; CALLS.len()], 0);
    while at < CALLS.len() {
        names[at] = CALLS[at].name;
        at += 1;
    }
    names
};
/// A valid token may ask for the rest without a scope.
const ALL_BUT_ABOUT: &[&str] = ALL.split_at(ALL.len() - 1).0;
const PART_CREATES: &[&str] = &[SYSTEM_CREATE.name, SEED_CREATE.name];
const CREATES: &[&str] = &[SYSTEM_CREATE.name, SEED_CREATE.name, MACHINE_CREATE.name];
const ONE: &[&str] = &[MACHINE_GET.name, MACHINE_START.name, MACHINE_DELETE.name, PART_DELETE.name];
const DELETES: &[&str] = &[MACHINE_DELETE.name, PART_DELETE.name];

/// An error of the API itself.
const fn api(
    id: &'static str,
    on: &'static [&'static str],
    class: Class,
    (status, code): (u32, &'static str),
    text: &'static str,
) -> NativeError {
    NativeError::new(id, on, class, SEEN).status(status).code(code).text(text)
}

const TABLE: &[NativeError] = &[
    api("not-found", ONE, NotFound, (404, "2"), "no {name}"),
    // A 404 that does not come from the daemon proves nothing (get.not-found-only-with-proof).
    NativeError::new("gateway-404", ALL, Transient, SEEN).status(404).text("404 page not found"),
    api("already-exists", CREATES, Transient, (409, "17"), "{name} is taken")
        .tolerated_by(&[Operation::Create]),
    api("in-use", DELETES, Transient, (409, "16"), "{name} is busy"),
    api("invalid", CREATES, Permanent, (400, "22"), "a field is unusable"),
    api("quota", PART_CREATES, QuotaExceeded, (507, "28"), "no space left in the pool"),
    api("unauthorized", ALL, Permanent, (401, "13"), "the token is not accepted"),
    api("forbidden", ALL_BUT_ABOUT, Permanent, (403, "1"), "the token lacks the scope {scope}"),
    api("rate-limit", ALL, QuotaExceeded, (429, "11"), "too many requests").fields(&[("retry-after", "30")]),
    api("unavailable", ALL, Transient, (503, "5"), "the daemon is starting"),
];

/// The catalogue.
pub const CATALOGUE: Catalogue = Catalogue(&[TABLE]);
