#![doc = include_str!("../README.md")]
//!
//! What lives here: the provider, its config and its profile. The contract is `provider-api`.
//!
//! The code has the words of all providers. Here
//! - a target is a region,
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
pub use config::{Config, Endpoint, Target};
pub use profile::{TYPE, profile};
pub use provider::Pond;
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
            Some(Pond::new(shared, config, context).built())
        }),
    }
}
