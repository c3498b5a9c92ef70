//! The errors of the way to a host: TCP, SSH, and the channel to the daemon's socket.

use provider_api::{Class, NativeError};

const DIALS: &[&str] = &["dial"];

/// What making a connection can end in.
pub const DIAL: &[NativeError] = &[
    NativeError::new("refused", DIALS, Class::Transient, "RFC 9293, section 3.5.2")
        .code("ECONNREFUSED")
        .text("Connection refused"),
    NativeError::new("no-route", DIALS, Class::Transient, "connect(2)")
        .code("EHOSTUNREACH")
        .text("No route to host"),
    NativeError::new("name-unknown", DIALS, Class::Transient, "getaddrinfo(3)").code("EAI_NONAME"),
    // A burst of handshakes runs into MaxStartups, or into a guard such as fail2ban.
    NativeError::new("closed-at-greeting", DIALS, Class::Transient, "virtrigaud#191: MaxStartups")
        .code("closed before the version exchange"),
    NativeError::new("too-many-connections", DIALS, Class::Transient, "RFC 4253, section 11.1")
        .status(12)
        .code("SSH_DISCONNECT_TOO_MANY_CONNECTIONS"),
    NativeError::new(
        "no-algorithm-in-both",
        DIALS,
        Class::Permanent,
        "dmacvicar/terraform-provider-libvirt#915: only sk- host keys were offered",
    )
    .status(3)
    .code("SSH_DISCONNECT_KEY_EXCHANGE_FAILED"),
    NativeError::new("host-key-unknown", DIALS, Class::Permanent, "dmacvicar/terraform-provider-libvirt#944")
        .status(9)
        .code("HostKeyMismatch"),
    NativeError::new("host-key-changed", DIALS, Class::Permanent, "RFC 4251, section 4.1")
        .status(9)
        .code("HostKeyMismatch"),
    NativeError::new("key-refused", DIALS, Class::Permanent, "RFC 4252, section 5.1")
        .status(51)
        .code("SSH_MSG_USERAUTH_FAILURE"),
    NativeError::new("forwarding-forbidden", DIALS, Class::Permanent, "RFC 4254, section 5.1")
        .status(1)
        .code("SSH_OPEN_ADMINISTRATIVELY_PROHIBITED"),
    NativeError::new(
        "socket-missing",
        DIALS,
        Class::Transient,
        "libvirt/libvirt#34: the daemon does not run, or its socket is elsewhere",
    )
    .status(2)
    .code("SSH_OPEN_CONNECT_FAILED"),
];
