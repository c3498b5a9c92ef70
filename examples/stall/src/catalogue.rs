//! Every native error of the backend that the provider knows, with the class it means. It is data: the fake answers
//! from it, sweeps put each of them on each call that it can answer, and `errors.table` walks it. Where an id is one that
//! the kit's store refuses with, the fake's handlers pass it on by `?`.

use provider_api::{Catalogue, Class, NativeError, Operation, Shows};

const ALL: &[&str] = &[
    "machine_create",
    "machine_find",
    "task_list",
    "machine_start",
    "machine_delete",
    "machine_list",
    "about",
];
/// All that need a right.
const RIGHTED: &[&str] =
    &["machine_create", "machine_find", "task_list", "machine_start", "machine_delete", "machine_list"];
const SEEN: &str = "the API reference, version 2";

/// An error of the API itself, always with the status 200.
const fn api(id: &'static str, on: &'static [&'static str], class: Class, code: &'static str) -> NativeError {
    NativeError::new(id, on, class, SEEN).status(200).code(code)
}

/// An answer of something in between, which says nothing about machines (get.not-found-only-with-proof).
const fn gateway(id: &'static str, status: u32) -> NativeError {
    NativeError::new(id, ALL, Class::Transient, SEEN).status(status)
}

const TABLE: &[NativeError] = &[
    api("not-found", &["machine_start", "machine_delete"], Class::NotFound, "E_NO_SUCH")
        .text("there is no machine {name}"),
    gateway("gateway-404", 404).text("404 page not found"),
    gateway("gateway-502", 502).text("bad gateway"),
    gateway("gateway-503", 503).text("no server is available"),
    api("already-exists", &["machine_create"], Class::Transient, "E_NAME_TAKEN")
        .text("the name {name} is taken")
        .tolerated_by(&[Operation::Create]),
    api("locked", &["machine_start", "machine_delete"], Class::Transient, "E_BUSY")
        .text("another task works on {name}")
        .tolerated_by(&[Operation::Delete]),
    api("bad-page", &["machine_list"], Class::Transient, "E_CURSOR").text("the cursor is too old"),
    api("invalid", &["machine_create", "machine_list"], Class::Permanent, "E_BAD")
        .text("a field is unusable"),
    api("unauthorized", ALL, Class::Permanent, "E_KEY").text("the key is not accepted"),
    api("forbidden", RIGHTED, Class::Permanent, "E_RIGHT").text("the key lacks a right"),
    api("quota", &["machine_create"], Class::QuotaExceeded, "E_LIMIT")
        .text("the limit of machines is reached"),
    api("out-of-capacity", &["machine_create"], Class::QuotaExceeded, "E_FULL")
        .text("the hall has no room for that size"),
    api("out-of-capacity-late", &["machine_create"], Class::QuotaExceeded, "E_FULL")
        .text("the hall has no room for that size")
        .shows(Shows::Task),
    // In seconds here, as the kit reads it; on the wire it is backoffMs.
    api("rate-limit", ALL, Class::QuotaExceeded, "E_SLOW_DOWN")
        .fields(&[("retry-after", "30")])
        .text("too many requests"),
    api("internal", ALL, Class::Transient, "E_INTERNAL").text("try again"),
];

/// The catalogue.
pub const CATALOGUE: Catalogue = Catalogue(&[TABLE]);
