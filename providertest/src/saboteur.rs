//! Saboteurs: deliberately broken providers, each of which its own rule must catch. They stand over the memory
//! provider and break it from outside; the honest provider has no flags. The saboteurs themselves are in `saboteurs/`,
//! group by group like the rules.

use std::sync::Arc;

use async_trait::async_trait;
use provider_api::{
    Built, Context, CreateRequest, Deleted, Error, GetError, Instance, Listing, Profile, Provider,
    ProviderId, Registry,
};

use crate::memory::{self, Cloud};

/// One way to break a provider, as data. Whatever a saboteur does not name it takes from [`HONEST`].
#[derive(Clone, Copy)]
pub struct Saboteur {
    /// Its name in reports: `forgets-the-mark`.
    pub name: &'static str,
    /// What it does wrong, in one sentence.
    pub does: &'static str,
    /// The id of the rule that must catch it.
    pub breaks: &'static str,
    /// The profile that it is judged under.
    pub profile: fn() -> Profile,
    /// Breaks the registry or a constructor.
    pub types: fn(Registry) -> Registry,
    /// Breaks what the provider sees of the cloud.
    pub cloud: fn(Arc<dyn Cloud>) -> Arc<dyn Cloud>,
    /// Breaks the provider or one of its abilities.
    pub provider: fn(Built, &Context) -> Built,
    /// Breaks the decorator: it is given what the provider layer made, and decorates it.
    pub decorate: fn(Built, &Context) -> Built,
}

/// The saboteur that breaks nothing; the others are written over it.
pub const HONEST: Saboteur = Saboteur {
    name: "honest",
    does: "keeps every rule",
    breaks: "",
    profile: memory::profile,
    types: |registry| registry,
    cloud: |cloud| cloud,
    provider: |built, _| built,
    decorate: provider_api::decorate,
};

impl std::fmt::Debug for Saboteur {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Saboteur")
            .field("name", &self.name)
            .field("breaks", &self.breaks)
            .finish_non_exhaustive()
    }
}

/// Changes what a provider does; whatever it does not name goes to the honest provider.
#[async_trait]
pub trait Meddler: Send + Sync + 'static {
    /// Instead of [`Provider::create`].
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        honest.create(request).await
    }
    /// Instead of [`Provider::get`].
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        honest.get(id).await
    }
    /// Instead of [`Provider::delete`].
    async fn delete(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Deleted, Error> {
        honest.delete(id).await
    }
    /// Instead of [`Provider::list_by_tag`].
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        honest.list_by_tag().await
    }
}

/// Puts a meddler over a provider.
pub fn meddle(built: Built, meddler: impl Meddler) -> Built {
    let provider = Arc::new(Meddled { honest: built.provider, meddler });
    Built { provider, ..built }
}

struct Meddled<M> {
    honest: Arc<dyn Provider>,
    meddler: M,
}

#[async_trait]
impl<M: Meddler> Provider for Meddled<M> {
    fn profile(&self) -> &Profile {
        self.honest.profile()
    }
    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        self.meddler.create(&*self.honest, request).await
    }
    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        self.meddler.get(&*self.honest, id).await
    }
    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        self.meddler.delete(&*self.honest, id).await
    }
    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.meddler.list_by_tag(&*self.honest).await
    }
}
