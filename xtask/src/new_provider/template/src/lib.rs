#![doc = include_str!("../README.md")]
//!
//! What lives here: the provider, its config and its profile. The contract is `provider-api`.
//!
//! The code has the words of all providers. Here
//@if places
//! - the target is the whole API, and a place is a newzone,
//@else
//! - a target is a newzone,
//@end
//@if instance
//! - a machine is a newmachine,
//@end
//@if parts
//! - a part of a machine is a newdisk,
//@end
//!
//! and what leaves the crate says so: config, ids, texts.
#![expect(dead_code, reason = "for what is still to be written; then the compiler asks to remove it")]

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
//@if parts
mod leftovers;
//@end
mod list;
mod mark;
//@if parts
mod parts;
//@end
mod placement;
mod profile;
mod provider;
mod state;
//@if tasks
mod tasks;
//@end
mod view;

use std::sync::Arc;

pub use catalogue::CATALOGUE;
//@if places
pub use config::{Config, Endpoint, TARGET};
//@else
pub use config::{Config, Endpoint, Target};
//@end
pub use profile::{TYPE, profile};
pub use provider::Newcloud;
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
            Some(Newcloud::new(shared, config, context).built())
        }),
    }
}
