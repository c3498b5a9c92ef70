//! The reference: a cloud in memory, and a provider over it that can take on any profile.
//!
//! Read the provider as you would read any provider's crate: `config.rs`, `provider.rs`, then one file per operation.
//! `backend.rs` is the seam, `error.rs` classifies. Only `cloud/` (the backend) and `harness/` (what the kit needs to
//! test it) have no counterpart in a provider's own crate; there they are a fixture.

mod backend;
mod check;
pub mod cloud;
mod config;
mod create;
mod delete;
mod error;
mod get;
mod harness;
mod id;
mod leftovers;
mod list;
mod mark;
mod order;
mod pages;
mod profile;
mod provider;
mod setups;
mod shared;
mod state;
mod tasks;
mod wait;
mod watch;

use std::sync::Arc;

use provider_api::{Profile, ProviderType};

pub use cloud::{Answer, At, Cloud, MemoryCloud};
pub use harness::{MemoryBackend, MemoryHarness, Standing};
pub use profile::complete;
pub use setups::{blocking, pairwise, plain, profile};

/// The provider type over a cloud, with any profile.
pub fn provider_type(cloud: Arc<dyn Cloud>, profile: Profile) -> ProviderType {
    ProviderType {
        name: "memory",
        profile: setups::profile,
        build: Arc::new(move |shared, fields, context| {
            let config = config::Config::read(fields)?;
            Some(provider::build(Arc::clone(&cloud), profile.clone(), config, shared, context))
        }),
    }
}
