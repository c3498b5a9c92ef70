//! The errors of the server that images come from.

use provider_api::{Class, NativeError, Operation::Create, Shows::Stream};

const BOTH: &[&str] = &["download_head", "download"];

/// The answers' meanings are HTTP's.
const HTTP: &str = "RFC 9110, section 15";

const FORBIDDEN: NativeError =
    NativeError::new("image-forbidden", &["download"], Class::Permanent, HTTP).status(403);

pub(crate) const DOWNLOAD: &[NativeError] = &[
    NativeError::new("image-not-found", BOTH, Class::Permanent, HTTP).status(404),
    FORBIDDEN,
    // A URL that is signed for one method is forbidden to all others.
    FORBIDDEN.id("head-forbidden").on(&["download_head"]).tolerated_by(&[Create]),
    // A server that cannot tell the size beforehand may still give the image.
    NativeError::new("no-head", &["download_head"], Class::Permanent, HTTP)
        .status(405)
        .tolerated_by(&[Create]),
    NativeError::new("image-server-limits", BOTH, Class::Transient, HTTP).status(429),
    NativeError::new("image-server-broken", BOTH, Class::Transient, HTTP).status(500),
    NativeError::new("image-server-away", BOTH, Class::Transient, HTTP).status(503),
    NativeError::new("image-cut-off", &["download"], Class::Transient, "RFC 9112, section 8")
        .shows(Stream)
        .code("incomplete message"),
    NativeError::new("image-not-as-promised", &["download"], Class::Permanent, "the entry's sha256")
        .shows(Stream)
        .code("ChecksumMismatch"),
];
