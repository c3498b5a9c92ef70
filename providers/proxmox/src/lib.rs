//! Egress proxies as VMs of a Proxmox VE cluster.
//!
//! So far this crate holds what can be said as data: the [`profile()`] that the provider will keep, and the [`CATALOGUE`]
//! of what Proxmox VE 8 and 9 answer when they refuse. The provider itself is not here yet.

mod catalogue;
mod late;
mod profile;

pub use catalogue::CATALOGUE;
pub use profile::profile;
