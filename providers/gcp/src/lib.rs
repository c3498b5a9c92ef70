//! Egress proxies as Compute Engine VMs.
//!
//! So far this crate holds what can be said as data: the [`profile()`] that the provider will keep, and the [`CATALOGUE`]
//! of what Compute Engine answers when it refuses. The provider itself is not here yet.

mod catalogue;
mod late;
mod profile;

pub use catalogue::CATALOGUE;
pub use profile::profile;
