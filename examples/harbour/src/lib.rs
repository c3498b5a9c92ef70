#![doc = include_str!("../README.md")]
//!
//! What lives here: the provider, its config and its profile. The contract is `provider-api`.
//!
//! The code has the words of all providers. Here
//! - the target is the whole API, and a place is a location,
//! - a machine is a server,
//!
//! and what leaves the crate says so: config, ids, texts.

mod answer;
mod backend;
mod catalogue;
mod check;
mod client;
mod config;
mod create;
mod delete;
mod error;
mod get;
mod hint;
mod id;
mod list;
mod mark;
mod placement;
mod profile;
mod provider;
mod state;
mod tasks;
mod view;

use std::sync::Arc;

pub use catalogue::CATALOGUE;
pub use config::{Config, Endpoint, TARGET};
pub use profile::{TYPE, profile};
pub use provider::Harbour;
use provider_api::{ProviderType, Registry};

/// Makes the type known.
pub fn register(registry: &mut Registry) {
    registry.register(provider_type());
}

/// The type.
pub fn provider_type() -> ProviderType {
    ProviderType {
        name: TYPE,
        profile,
        build: Arc::new(|shared, fields, context| {
            let config = Config::read(fields)?;
            Some(Harbour::new(shared, config, context).built())
        }),
    }
}
