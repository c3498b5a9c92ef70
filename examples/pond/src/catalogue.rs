//! Every native error of the backend that the provider knows, with the class it means. It is data: the fake answers
//! from it, sweeps put each of them on each call that it can answer, and `errors.table` walks it. Where an id is one that
//! the kit's store refuses with, the fake's handlers pass it on by `?`.

use provider_api::{
    Catalogue,
    Class::{self, NotFound, Permanent, QuotaExceeded, Transient},
    NativeError, Operation, Shows,
};

use crate::backend::{CALLS, MACHINE_CREATE, MACHINE_DELETE, MACHINE_GET, MACHINE_LIST, MACHINE_START};

const SEEN: &str = "the API's documentation, version 1";

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
const ONE: &[&str] = &[MACHINE_GET.name, MACHINE_START.name, MACHINE_DELETE.name];
const DELETES: &[&str] = &[MACHINE_DELETE.name];
const LISTS: &[&str] = &[MACHINE_LIST.name];

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
    api("not-found", ONE, NotFound, (404, "notFound"), "{name} was not found"),
    // What does not come from the API proves nothing (get.not-found-only-with-proof).
    NativeError::new("gateway-404", ALL, Transient, SEEN)
        .status(404)
        .text("<html><h1>404 Not Found</h1></html>"),
    NativeError::new("gateway-502", ALL, Transient, SEEN)
        .status(502)
        .text("<html><h1>502 Bad Gateway</h1></html>"),
    api("already-exists", CREATE, Transient, (409, "alreadyExists"), "{name} exists")
        .tolerated_by(&[Operation::Create]),
    api("locked", CHANGES, Transient, (409, "busy"), "{name} is being made or started")
        .tolerated_by(&[Operation::Delete]),
    api("changed", DELETES, Transient, (412, "uidMismatch"), "{name} has another uid"),
    api("bad-page", LISTS, Transient, (400, "badPageToken"), "the page token has expired"),
    api("invalid", CREATE, Permanent, (400, "invalid"), "a field makes no sense"),
    api("unauthorized", ALL, Permanent, (401, "unauthorized"), "the token is not valid"),
    api("quota", CREATE, QuotaExceeded, (403, "quotaExceeded"), "no more machines are allowed"),
    api("out-of-capacity-late", CREATE, QuotaExceeded, (200, "outOfCapacity"), "the region is full")
        .shows(Shows::Task),
    api("rate-limit", ALL, QuotaExceeded, (429, "slowDown"), "too many requests")
        .fields(&[("retry-after", "30")]),
    api("unavailable", ALL, Transient, (503, "unavailable"), "the region is away"),
];

/// The catalogue.
pub const CATALOGUE: Catalogue = Catalogue(&[TABLE]);
