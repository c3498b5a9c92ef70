//! What the two libvirt providers share, as data: the rows of their profiles, the calls they make, what a domain's
//! state and reason mean, and what libvirt, the way to it and the image server answer when they refuse.
//!
//! Domains and volumes themselves, their XML and the image rules are not here yet.

mod base;
mod calls;
mod dial;
mod download;
mod errors;
mod state;
mod volumes;

use provider_api::NativeError;

pub use base::base_profile;
pub use calls::{CALLS, RPC};
pub use dial::DIAL;
pub use state::{DOMAIN_STATES, DomainState, domain_state, native_states};

/// Every shared error, table by table: libvirt's own of the daemon, of domains and of storage, then those of the way
/// there and of the image server.
pub const ERRORS: [&[NativeError]; 5] =
    [errors::DAEMON, errors::DOMAINS, volumes::STORAGE, DIAL, download::DOWNLOAD];
