#![doc = include_str!("../README.md")]
//!
//! Where things stand: `target.rs` has who is dialled, `access.rs` with what, `dial.rs` the stages, `auth.rs` the
//! last of them, `host_key.rs` the judgement of a host's key by `known_hosts.rs`, `ear.rs` our side of the protocol,
//! `session.rs` and `channel.rs` what a dial gives, `keepalive.rs` the beat, `wire.rs` the TCP connection under it all,
//! `refusal.rs` what a host's refusals mean and `error.rs` what all can end in. No libvirt is here.

mod access;
mod auth;
mod channel;
mod dial;
mod ear;
mod error;
mod host_key;
mod keepalive;
mod known_hosts;
mod refusal;
mod session;
mod target;
mod wire;

pub use access::{Access, HostKeys};
pub use channel::Channel;
pub use dial::{Budgets, Dialer};
pub use error::{DialError, Stage};
pub use keepalive::Keepalive;
pub use session::Session;
pub use target::{BadTarget, Target};
