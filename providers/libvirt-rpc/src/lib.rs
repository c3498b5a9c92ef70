//! libvirt's remote protocol as bytes and types, for clients and servers alike. There is no I/O here and no state of a
//! connection.
//!
//! A connection is a stream of [`packet`]s. A client makes a [`Call`]: its arguments are a struct of the name of the
//! procedure, and its answer a type that goes with it. Errors are [`RemoteError`]s, events come as [`event`]s, and who
//! lives says so by [`keepalive`]. Nothing that decodes panics, or makes more room than what was received warrants.
//!
//! ```
//! use libvirt_rpc::{Call as _, Procedure, domain, packet, xdr};
//!
//! // A client asks for a domain.
//! let asked = domain::DomainLookupByName { name: "proxy-1".into() }.packet(7)?;
//! // A server takes the packet apart, and answers.
//! let (header, payload) = packet::parts(&asked)?;
//! assert_eq!(Procedure::find(header.program, header.procedure), Some(Procedure::DomainLookupByName));
//! let args: domain::DomainLookupByName = xdr::from_bytes(payload)?;
//! assert_eq!(args.name, "proxy-1");
//! let error = libvirt_rpc::RemoteError::new(libvirt_rpc::code::NO_DOMAIN, libvirt_rpc::origin::QEMU, "Domain not found");
//! let answer = header.with(packet::Kind::Reply, packet::Status::Error).packet(&error)?;
//! // The client knows its call by the serial.
//! let (header, payload) = packet::parts(&answer)?;
//! assert_eq!((header.serial, header.status), (7, packet::Status::Error));
//! assert_eq!(xdr::from_bytes::<libvirt_rpc::RemoteError>(payload)?.code, 42);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Bytes of a transfer follow the answer to [`storage::StorageVolUpload`] as packets of kind
//! [`Stream`](packet::Kind::Stream) with the call's procedure and serial: pieces with status
//! [`Continue`](packet::Status::Continue) and nothing but their bytes, then one with [`Ok`](packet::Status::Ok) and
//! without any, which the daemon answers likewise. An empty piece is not the end of an upload but breaks it, and what is
//! sent before the answer is lost.

mod calls;
pub mod connect;
pub mod domain;
mod error;
pub mod event;
pub mod keepalive;
pub mod network;
pub mod packet;
mod procedure;
pub mod storage;
pub mod xdr;

pub use error::{Domain, Network, RemoteError, code, origin};
pub use procedure::{Call, Procedure};
pub use xdr::Uuid;
