//! Egress proxies as libvirt domains, by libvirt's C library over a forwarded socket.
//!
//! So far this crate holds what can be said as data: the [`profile()`] that the provider will keep, and the [`CATALOGUE`]
//! of what libvirt and its library answer when they refuse. The provider itself is not here yet. What it shares with
//! kvm2 stands in `libvirt-model`.

mod catalogue;
mod profile;

pub use catalogue::CATALOGUE;
pub use profile::profile;
