#![doc = include_str!("../README.md")]
//!
//! What lives here: the provider, its config and its profile. The contract is `provider-api`; the operator's own
//! resources and its own use of Kubernetes are not here.

mod backend;
mod catalogue;
mod check;
mod client;
mod config;
mod create;
mod credentials;
mod delete;
mod error;
mod get;
mod id;
mod list;
mod mark;
mod placement;
mod pod;
mod profile;
mod provider;
mod squid;
mod state;
mod transport;
mod view;

use std::sync::Arc;

pub use catalogue::CATALOGUE;
pub use client::Dial;
pub use config::{Config, Resources, Target};
pub use profile::{NATIVE_STATES, TYPE, profile};
pub use provider::Kubernetes;
use provider_api::{Context, ProviderType, Registry, config::Shared};
pub use transport::Transport;

/// Makes the type known.
pub fn register(registry: &mut Registry) {
    registry.register(provider_type(Kubernetes::new));
}

/// The type, over a transport that is ready instead of the cluster that its config names; the block of the config is
/// read all the same.
pub fn over(transport: Transport) -> ProviderType {
    provider_type(move |shared, config, context| Kubernetes::over(transport.clone(), shared, config, context))
}

/// The type, with transports made by `dial` from the config's own credentials.
pub fn through(dial: Dial) -> ProviderType {
    provider_type(move |shared, config, context| {
        Kubernetes::through(Arc::clone(&dial), shared, config, context)
    })
}

fn provider_type(
    make: impl Fn(&Shared, Config, Context) -> Kubernetes + Send + Sync + 'static,
) -> ProviderType {
    ProviderType {
        name: TYPE,
        profile,
        build: Arc::new(move |shared, fields, context| {
            let config = Config::read(fields)?;
            Some(make(shared, config, context).built())
        }),
    }
}
