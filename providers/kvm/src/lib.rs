#![doc = include_str!("../README.md")]
//!
//! What lives here: the provider, its client over libvirt's C library and its profile. What it shares with kvm2 stands in
//! `libvirt-model`, the way by SSH in `ssh`, seeds in `nocloud`.

mod backend;
mod catalogue;
mod check;
mod client;
mod config;
mod create;
mod delete;
mod dial;
mod download;
mod error;
mod get;
mod image;
mod leftovers;
mod list;
mod parts;
mod profile;
mod provider;
mod seed;
mod survey;
mod upload;

use std::{path::PathBuf, sync::Arc};

pub use catalogue::CATALOGUE;
pub use client::Stream;
pub use dial::{Dial, Fingerprint};
pub use error::WayError;
pub use profile::{TYPE, profile};
pub use provider::Kvm;
use provider_api::{ProviderType, Registry};
#[doc(hidden)]
pub use upload::upload;

/// The ways out of the process; a test has its own.
#[derive(Clone, Default)]
pub struct Ways {
    /// To hosts; by SSH and to sockets of this machine where none is given.
    pub dial: Option<Arc<dyn Dial>>,
    /// The unix socket of a server that serves every image; the servers that the URLs name where none is given.
    pub images: Option<PathBuf>,
}

/// Makes the type known.
pub fn register(registry: &mut Registry) {
    registry.register(provider_type(Ways::default()));
}

/// The type, over those ways.
pub fn provider_type(ways: Ways) -> ProviderType {
    ProviderType {
        name: TYPE,
        profile,
        build: Arc::new(move |shared, fields, context| {
            let config = config::read(fields)?;
            Some(Kvm::new(&ways, shared, config, context).built())
        }),
    }
}

impl std::fmt::Debug for Ways {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ways").field("dial", &self.dial.is_some()).field("images", &self.images).finish()
    }
}
