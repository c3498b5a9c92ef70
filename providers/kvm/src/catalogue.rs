//! The native errors of the provider: libvirt's, which it shares, and those that only the C library makes up.

use provider_api::{Catalogue, Class, NativeError};

/// Every way in which libvirt, its library, the way to a host and the image server refuse, and what it means.
pub const CATALOGUE: Catalogue = {
    let [daemon, domains, storage, dial, download] = libvirt_model::ERRORS;
    Catalogue(&[daemon, domains, storage, dial, download, LIBRARY])
};

/// Seen with the C library when its connection was cut.
const SEEN: &str = "libvirt 9.0.0 (Debian 12) through virt 0.5";

/// What the library says when the daemon no longer answers. The instance may be in any state.
const LIBRARY: &[NativeError] = &[
    NativeError::new("cut-off-while-reading", libvirt_model::RPC, Class::Transient, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "7"), ("int1", "5")])
        .text("End of file while reading data: Input/output error"),
    NativeError::new("cut-off-while-writing", libvirt_model::RPC, Class::Transient, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "7"), ("int1", "32")])
        .text("Cannot write data: Broken pipe"),
    NativeError::new("reset", libvirt_model::RPC, Class::Transient, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "7"), ("int1", "104")])
        .text("Cannot recv data: Connection reset by peer"),
    NativeError::new("connection-dead", libvirt_model::RPC, Class::Transient, SEEN)
        .status(1)
        .code("INTERNAL_ERROR")
        .fields(&[("domain", "7"), ("int1", "-1")])
        .text("internal error: client socket is closed"),
    NativeError::new("relay-socket-missing", &["connect_open"], Class::Transient, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "7"), ("int1", "2")])
        .text("Failed to connect socket to '{path}': No such file or directory"),
    NativeError::new("relay-path-too-long", &["connect_open"], Class::Permanent, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "7"), ("int1", "12")])
        .text("Path {path} too long for unix socket: Cannot allocate memory"),
    // The library reads its own config file on every open, whatever the URI.
    NativeError::new("library-config-broken", &["connect_open"], Class::Permanent, SEEN)
        .status(33)
        .code("CONF_SYNTAX")
        .fields(&[("domain", "9")]),
];
