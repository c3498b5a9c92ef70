//! Every native error of the backend that the provider knows, with the class it means. It is data: the fake answers
//! from it, sweeps put each of them on each call that it can answer, and `errors.table` walks it. Where an id is one that
//! the kit's store refuses with, the fake's handlers pass it on by `?`.
//!
//! TO ADAPT: the rows, each with where it was seen.

use provider_api::{Catalogue, Class, NativeError, Operation};

const ALL: &[&str] =
    &["machine_create", "machine_get", "machine_start", "machine_delete", "machine_list", "about"];
const ONE: &[&str] = &["machine_get", "machine_start", "machine_delete"];
const SEEN: &str = "the API's documentation, version 1";

const TABLE: &[NativeError] = &[
    NativeError::new("not-found", ONE, Class::NotFound, SEEN)
        .status(404)
        .code("notFound")
        .text("machine {name} was not found"),
    // A 404 that does not come from the API proves nothing (get.not-found-only-with-proof).
    NativeError::new("gateway-404", ALL, Class::Transient, SEEN).status(404).text("404 page not found"),
    NativeError::new("already-exists", &["machine_create"], Class::Transient, SEEN)
        .status(409)
        .code("alreadyExists")
        .text("machine {name} exists")
        .tolerated_by(&[Operation::Create]),
    NativeError::new("locked", &["machine_start", "machine_delete"], Class::Transient, SEEN)
        .status(423)
        .code("locked")
        .text("another action on {name} is in progress"),
    NativeError::new("changed", &["machine_delete"], Class::Transient, SEEN)
        .status(412)
        .code("otherMachine")
        .text("{name} is another machine"),
    NativeError::new("bad-page", &["machine_list"], Class::Transient, SEEN)
        .status(410)
        .code("badPage")
        .text("the page token has expired"),
    NativeError::new("invalid", &["machine_create"], Class::Permanent, SEEN)
        .status(400)
        .code("invalid")
        .text("the machine type does not exist"),
    NativeError::new("unauthorized", ALL, Class::Permanent, SEEN)
        .status(401)
        .code("unauthorized")
        .text("the token is not valid"),
    NativeError::new("forbidden", ALL, Class::Permanent, SEEN)
        .status(403)
        .code("forbidden")
        .text("the token lacks a right"),
    NativeError::new("quota", &["machine_create"], Class::QuotaExceeded, SEEN)
        .status(403)
        .code("quotaExceeded")
        .text("the quota of machines is used up"),
    NativeError::new("out-of-capacity", &["machine_create"], Class::QuotaExceeded, SEEN)
        .status(503)
        .code("outOfCapacity")
        .text("the zone has no room for that machine type"),
    NativeError::new("rate-limit", ALL, Class::QuotaExceeded, SEEN)
        .status(429)
        .code("rateLimit")
        .fields(&[("retry-after", "30")])
        .text("too many requests"),
    NativeError::new("unavailable", ALL, Class::Transient, SEEN)
        .status(503)
        .code("unavailable")
        .text("the zone is being serviced"),
];

/// The catalogue.
pub const CATALOGUE: Catalogue = Catalogue(&[TABLE]);
