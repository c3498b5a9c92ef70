//! What the kit needs to judge the memory provider: a harness, a backend of one case, and the hand of others on it.

mod backend;
mod hand;

use std::sync::Arc;

use async_trait::async_trait;
use provider_api::Profile;

pub use backend::{MemoryBackend, Standing};

use super::{
    cloud::{Cloud, catalogue},
    profile::complete,
    setups,
};
use crate::{
    harness::{Backend, Case, Harness, HarnessError, Setup},
    saboteur::Saboteur,
};

/// The harness of the reference: makes clouds in memory, and the provider over them.
#[derive(Clone)]
pub struct MemoryHarness {
    setups: Vec<Setup>,
    /// What the provider sees of the cloud.
    cloud: fn(Arc<dyn Cloud>) -> Arc<dyn Cloud>,
}

impl Default for MemoryHarness {
    /// The three setups that together have every value of every behavioural axis.
    fn default() -> Self {
        let setups =
            [("submit", setups::profile()), ("blocking", setups::blocking()), ("plain", setups::plain())];
        Self { setups: setups.map(|(name, profile)| setup(name, profile)).into(), cloud: |cloud| cloud }
    }
}

impl MemoryHarness {
    /// The harness that `conformance memory` uses.
    pub fn new() -> Self {
        Self::default()
    }

    /// One setup with that profile; what follows from the axes is filled in.
    pub fn with(name: &'static str, profile: Profile) -> Self {
        Self { setups: vec![setup(name, profile)], cloud: |cloud| cloud }
    }

    /// One setup for a saboteur: its profile, and its cloud between provider and cloud.
    pub fn sabotaged(saboteur: &Saboteur) -> Self {
        Self { setups: vec![setup(saboteur.name, (saboteur.profile)())], cloud: saboteur.cloud }
    }
}

fn setup(name: &'static str, profile: Profile) -> Setup {
    let profile = complete(profile);
    let catalogue = catalogue(&profile);
    Setup { name, profile, catalogue, backend_version: "memory-1".to_owned() }
}

#[async_trait]
impl Harness for MemoryHarness {
    fn provider(&self) -> &'static str {
        "memory"
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn is_reference(&self) -> bool {
        true
    }

    fn setups(&self) -> Vec<Setup> {
        self.setups.clone()
    }

    async fn open(&self, setup: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
        Ok(Box::new(MemoryBackend::new(&setup.profile, case, self.cloud)?))
    }
}

impl std::fmt::Debug for MemoryHarness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let setups: Vec<_> = self.setups.iter().map(|setup| setup.name).collect();
        f.debug_struct("MemoryHarness").field("setups", &setups).finish_non_exhaustive()
    }
}
