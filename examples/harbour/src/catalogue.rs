//! Every native error of the backend that the provider knows, with the class it means. It is data: the fake answers
//! from it, sweeps put each of them on each call that it can answer, and `errors.table` walks it. Where an id is one that
//! the kit's store refuses with, the fake's handlers pass it on by `?`.

use provider_api::{
    Catalogue,
    Class::{self, NotFound, Permanent, QuotaExceeded, Transient},
    NativeError, Operation, Shows,
};

use crate::backend::{CALLS, MACHINE_CREATE, MACHINE_DELETE, MACHINE_LIST, TASK_GET};

const SEEN: &str = "the API's documentation, version 2";

const ALL: &[&str] = &{
    let (mut names, mut at) = ([""; CALLS.len()], 0);
    while at < CALLS.len() {
        names[at] = CALLS[at].name;
        at += 1;
    }
    names
};
const CREATE: &[&str] = &[MACHINE_CREATE.name];
const DELETES: &[&str] = &[MACHINE_DELETE.name];
const LISTS: &[&str] = &[MACHINE_LIST.name];

const TASKS: &[&str] = &[TASK_GET.name];

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
    api("not-found", DELETES, NotFound, (404, "not_found"), "{name} was not found"),
    // Nor does it that an action is forgotten: the next create looks for the server.
    api("task-not-found", TASKS, Transient, (404, "not_found"), "action {name} was not found"),
    // A 404 that does not come from the API proves nothing (get.not-found-only-with-proof).
    NativeError::new("gateway-404", ALL, Transient, SEEN).status(404).text("404 page not found"),
    api("already-exists", CREATE, Transient, (409, "uniqueness_error"), "{name} exists")
        .tolerated_by(&[Operation::Create]),
    api("locked", DELETES, Transient, (423, "locked"), "an action works on {name}")
        .tolerated_by(&[Operation::Delete]),
    api("bad-page", LISTS, Permanent, (422, "invalid_input"), "there is no such page"),
    api("invalid", CREATE, Permanent, (422, "invalid_input"), "a field makes no sense"),
    api("unauthorized", ALL, Permanent, (401, "unauthorized"), "the token is not valid"),
    api("forbidden", ALL, Permanent, (403, "forbidden"), "the token lacks a right"),
    api("quota", CREATE, QuotaExceeded, (403, "resource_limit_exceeded"), "no more servers are allowed"),
    api("no-room-late", CREATE, QuotaExceeded, (202, "resource_unavailable"), "the location is full")
        .shows(Shows::Task),
    api("image-broken-late", CREATE, Permanent, (202, "image_broken"), "the image does not boot")
        .shows(Shows::Task),
    api("rate-limit", ALL, QuotaExceeded, (429, "rate_limit_exceeded"), "too many requests")
        .fields(&[("retry-after", "30")]),
    NativeError::new("internal", ALL, Transient, SEEN).status(500).text("internal error"),
    api("unavailable", ALL, Transient, (503, "unavailable"), "the API is being serviced"),
];

/// The catalogue.
pub const CATALOGUE: Catalogue = Catalogue(&[TABLE]);
