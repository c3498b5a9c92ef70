//! Egress proxies as libvirt domains, by libvirt's RPC protocol over an SSH channel.
//!
//! So far this crate holds what can be said as data: the [`profile()`] that the provider will keep, and the [`CATALOGUE`]
//! of what libvirt answers when it refuses. The provider itself is not here yet. What it shares with kvm stands in
//! `libvirt-model`.

mod catalogue;
mod profile;

pub use catalogue::CATALOGUE;
pub use profile::profile;
