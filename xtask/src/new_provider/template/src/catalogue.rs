//! Every native error of the backend that the provider knows, with the class it means. It is data: the fake answers
//! from it, sweeps put each of them on each call that it can answer, and `errors.table` walks it. Where an id is one that
//! the kit's store refuses with, the fake's handlers pass it on by `?`.
//!
//! TO ADAPT: the rows, each with where it was seen.

use provider_api::{
    Catalogue,
    Class::{self, NotFound, Permanent, QuotaExceeded, Transient},
    NativeError, Operation,
    //@if tasks
    Shows,
    //@end
};

use crate::backend::{
    CALLS, MACHINE_CREATE, MACHINE_DELETE, MACHINE_GET, MACHINE_START,
    //@if wait
    TASK_GET,
    //@end
    //@if not whole
    MACHINE_LIST,
    //@end
    //@if parts
    PART_CREATE, PART_DELETE,
    //@if not whole
    PART_LIST,
    //@end
    //@end
};

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
//@if parts
const PARTS: &[&str] = &[PART_CREATE.name, PART_DELETE.name];
const ONE: &[&str] = &[MACHINE_GET.name, MACHINE_START.name, MACHINE_DELETE.name, PART_DELETE.name];
const CREATES: &[&str] = &[MACHINE_CREATE.name, PART_CREATE.name];
const DELETES: &[&str] = &[MACHINE_DELETE.name, PART_DELETE.name];
//@if not whole
const LISTS: &[&str] = &[MACHINE_LIST.name, PART_LIST.name];
//@end
//@else
const ONE: &[&str] = &[MACHINE_GET.name, MACHINE_START.name, MACHINE_DELETE.name];
const DELETES: &[&str] = &[MACHINE_DELETE.name];
//@if not whole
const LISTS: &[&str] = &[MACHINE_LIST.name];
//@end
//@end

//@if wait
const TASKS: &[&str] = &[TASK_GET.name];
//@end

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
    //@if wait
    // Nor does it that a task is forgotten: the next create looks for the machine.
    api("task-not-found", TASKS, Transient, (404, "taskNotFound"), "task {name} was not found"),
    //@end
    // A 404 that does not come from the API proves nothing (get.not-found-only-with-proof).
    NativeError::new("gateway-404", ALL, Transient, SEEN).status(404).text("404 page not found"),
    api("already-exists", CREATE, Transient, (409, "alreadyExists"), "{name} exists")
        .tolerated_by(&[Operation::Create]),
    //@if parts
    api("in-use", PARTS, Transient, (409, "inUse"), "a newmachine uses {name}").tolerated_by(&[Operation::Create]),
    //@end
    //@if tasks
    api("locked", CHANGES, Transient, (423, "locked"), "a task works on {name}").tolerated_by(&[Operation::Delete]),
    //@else
    api("locked", CHANGES, Transient, (423, "locked"), "{name} is being worked on"),
    //@end
    api("changed", DELETES, Transient, (412, "changed"), "{name} is another one"),
    //@if tokens
    api("bad-page", LISTS, Transient, (410, "badPage"), "the page token has expired"),
    //@end
    //@if numbers
    api("bad-page", LISTS, Permanent, (400, "badPage"), "there is no such page"),
    //@end
    //@if parts
    api("invalid", CREATES, Permanent, (400, "invalid"), "a field makes no sense"),
    //@else
    api("invalid", CREATE, Permanent, (400, "invalid"), "a field makes no sense"),
    //@end
    api("unauthorized", ALL, Permanent, (401, "unauthorized"), "the token is not valid"),
    api("forbidden", ALL, Permanent, (403, "forbidden"), "the token lacks a right"),
    api("quota", CREATE, QuotaExceeded, (403, "quotaExceeded"), "no more newmachines are allowed"),
    api("out-of-capacity", CREATE, QuotaExceeded, (503, "outOfCapacity"), "the newzone is full"),
    //@if tasks
    api("out-of-capacity-late", CREATE, QuotaExceeded, (200, "outOfCapacity"), "the newzone is full")
        .shows(Shows::Task),
    //@end
    api("rate-limit", ALL, QuotaExceeded, (429, "rateLimit"), "too many requests")
        .fields(&[("retry-after", "30")]),
    //@if places
    api("unavailable", ALL, Transient, (503, "unavailable"), "the API is being serviced"),
    //@else
    api("unavailable", ALL, Transient, (503, "unavailable"), "the newzone is being serviced"),
    //@end
];

/// The catalogue.
pub const CATALOGUE: Catalogue = Catalogue(&[TABLE]);
