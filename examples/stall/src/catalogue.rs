//! Every native error of the backend that the provider knows, with the class it means. It is data: the fake answers
//! from it, sweeps put each of them on each call that it can answer, and `errors.table` walks it. Where an id is one that
//! the kit's store refuses with, the fake's handlers pass it on by `?`.

use provider_api::{
    Catalogue,
    Class::{self, NotFound, Permanent, QuotaExceeded, Transient},
    NativeError, Operation, Shows,
};

use crate::backend::{CALLS, MACHINE_CREATE, MACHINE_DELETE, MACHINE_LIST, MACHINE_START};

const SEEN: &str = "the API reference, version 2";

const ALL: &[&str] = &{
    let (mut names, mut at) = ([""; CALLS.len()], 0);
    while at < CALLS.len() {
        names[at] = CALLS[at].name;
        at += 1;
    }
    names
};
const CREATE: &[&str] = &[MACHINE_CREATE.name];
const CHANGES: &[&str] = &[MACHINE_START.name, MACHINE_DELETE.name];
/// A valid key may ask for the rest without a right.
const ALL_BUT_ABOUT: &[&str] = ALL.split_at(ALL.len() - 1).0;
const INVALID: &[&str] = &[MACHINE_CREATE.name, MACHINE_LIST.name];
const LISTS: &[&str] = &[MACHINE_LIST.name];

/// An error of the API itself, always with the status 200.
const fn api(
    id: &'static str,
    on: &'static [&'static str],
    class: Class,
    code: &'static str,
    text: &'static str,
) -> NativeError {
    NativeError::new(id, on, class, SEEN).status(200).code(code).text(text)
}

/// An answer of something in between, which says nothing about machines (get.not-found-only-with-proof).
const fn gateway(id: &'static str, status: u32, text: &'static str) -> NativeError {
    NativeError::new(id, ALL, Transient, SEEN).status(status).text(text)
}

const TABLE: &[NativeError] = &[
    api("not-found", CHANGES, NotFound, "E_NO_SUCH", "there is no machine {name}"),
    gateway("gateway-404", 404, "404 page not found"),
    gateway("gateway-502", 502, "bad gateway"),
    gateway("gateway-503", 503, "no server is available"),
    api("already-exists", CREATE, Transient, "E_NAME_TAKEN", "the name {name} is taken")
        .tolerated_by(&[Operation::Create]),
    api("locked", CHANGES, Transient, "E_BUSY", "another task works on {name}")
        .tolerated_by(&[Operation::Delete]),
    api("bad-page", LISTS, Transient, "E_CURSOR", "the cursor is too old"),
    api("invalid", INVALID, Permanent, "E_BAD", "a field is unusable"),
    api("unauthorized", ALL, Permanent, "E_KEY", "the key is not accepted"),
    api("forbidden", ALL_BUT_ABOUT, Permanent, "E_RIGHT", "the key lacks a right"),
    api("quota", CREATE, QuotaExceeded, "E_LIMIT", "the limit of machines is reached"),
    api("out-of-capacity", CREATE, QuotaExceeded, "E_FULL", "the hall has no room for that size"),
    api("out-of-capacity-late", CREATE, QuotaExceeded, "E_FULL", "the hall has no room for that size")
        .shows(Shows::Task),
    // In seconds here, as the kit reads it; on the wire it is backoffMs.
    api("rate-limit", ALL, QuotaExceeded, "E_SLOW_DOWN", "too many requests")
        .fields(&[("retry-after", "30")]),
    api("internal", ALL, Transient, "E_INTERNAL", "try again"),
];

/// The catalogue.
pub const CATALOGUE: Catalogue = Catalogue(&[TABLE]);
