//! The native errors of the provider: libvirt's, which it shares, and those of the calls that only it makes.

use provider_api::{Catalogue, Class, NativeError};

/// Every way in which libvirt, the way to a host and the image server refuse, and what it means.
pub const CATALOGUE: Catalogue = {
    let [daemon, domains, storage, dial, download] = libvirt_model::ERRORS;
    Catalogue(&[daemon, domains, storage, dial, download, PROTOCOL])
};

/// Provoked on a real daemon.
const SEEN: &str = "libvirtd 9.0.0 (Debian 12), remote protocol 1";

const EVENTS: &[&str] =
    &["domain_event_register", "domain_event_deregister", "connect_register_close_callback"];

const PROTOCOL: &[NativeError] = &[
    NativeError::new("events-unknown", EVENTS, Class::Transient, SEEN)
        .status(39)
        .code("RPC")
        .fields(&[("domain", "7")])
        .text("unknown procedure: {procedure}"),
    NativeError::new("event-registered-twice", &["domain_event_register"], Class::Transient, SEEN)
        .status(8)
        .code("INVALID_ARG")
        .fields(&[("domain", "0")])
        .text("invalid argument: event callback already tracked"),
    NativeError::new("event-not-registered", &["domain_event_deregister"], Class::Transient, SEEN)
        .status(1)
        .code("INTERNAL_ERROR")
        .fields(&[("domain", "7")])
        .text("internal error: domain event callback {id} not registered"),
    NativeError::new("connection-not-open", EVENTS, Class::Transient, SEEN)
        .status(1)
        .code("INTERNAL_ERROR")
        .fields(&[("domain", "7")])
        .text("internal error: hypervisor connection not open"),
    NativeError::new("program-unknown", &["auth_list"], Class::Permanent, SEEN)
        .status(39)
        .code("RPC")
        .fields(&[("domain", "7")])
        .text("Cannot find program {program} version {version}"),
    NativeError::new("cannot-decode", &["auth_list", "domain_define_xml"], Class::Permanent, SEEN)
        .status(39)
        .code("RPC")
        .fields(&[("domain", "7")])
        .text("Unable to decode message payload"),
];
