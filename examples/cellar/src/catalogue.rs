//! Every native error of the backend that the provider knows, with the class it means. It is data: the fake answers
//! from it, sweeps put each of them on each call that it can answer, and `errors.table` walks it. Where an id is one that
//! the kit's store refuses with, the fake's handlers pass it on by `?`.

use provider_api::{Catalogue, Class, NativeError, Operation};

const ALL: &[&str] = &[
    "box_put",
    "box_get",
    "box_power",
    "box_delete",
    "box_list",
    "disk_put",
    "seed_put",
    "disk_delete",
    "disk_list",
    "info",
];
/// A valid token may ask for that without a scope.
const ALL_BUT_INFO: &[&str] = ALL.split_at(ALL.len() - 1).0;
const PUTS: &[&str] = &["disk_put", "seed_put", "box_put"];
const SEEN: &str = "the API of the host daemon, revision 7";

const TABLE: &[NativeError] = &[
    NativeError::new(
        "not-found",
        &["box_get", "box_power", "box_delete", "disk_delete"],
        Class::NotFound,
        SEEN,
    )
    .status(404)
    .code("2")
    .text("no {name}"),
    // A 404 that does not come from the daemon proves nothing (get.not-found-only-with-proof).
    NativeError::new("gateway-404", ALL, Class::Transient, SEEN).status(404).text("404 page not found"),
    NativeError::new("already-exists", PUTS, Class::Transient, SEEN)
        .status(409)
        .code("17")
        .text("{name} is taken")
        .tolerated_by(&[Operation::Create]),
    NativeError::new("in-use", &["box_delete", "disk_delete"], Class::Transient, SEEN)
        .status(409)
        .code("16")
        .text("{name} is busy"),
    NativeError::new("invalid", PUTS, Class::Permanent, SEEN)
        .status(400)
        .code("22")
        .text("a field is unusable"),
    NativeError::new("quota", &["disk_put", "seed_put"], Class::QuotaExceeded, SEEN)
        .status(507)
        .code("28")
        .text("no space left in the pool"),
    NativeError::new("unauthorized", ALL, Class::Permanent, SEEN)
        .status(401)
        .code("13")
        .text("the token is not accepted"),
    NativeError::new("forbidden", ALL_BUT_INFO, Class::Permanent, SEEN)
        .status(403)
        .code("1")
        .text("the token lacks the scope {scope}"),
    NativeError::new("rate-limit", ALL, Class::QuotaExceeded, SEEN)
        .status(429)
        .code("11")
        .fields(&[("retry-after", "30")])
        .text("too many requests"),
    NativeError::new("unavailable", ALL, Class::Transient, SEEN)
        .status(503)
        .code("5")
        .text("the daemon is starting"),
];

/// The catalogue.
pub const CATALOGUE: Catalogue = Catalogue(&[TABLE]);
