//! Saboteurs: deliberately broken providers, each of which its own rule must catch. They stand over the memory
//! provider and break it from outside; the honest provider has no flags. The saboteurs themselves are in `saboteurs/`,
//! group by group like the rules.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use provider_api::{
    Built, Checker, Context, CreateRequest, Deadline, Deleted, Error, GetError, Hint, Instance, LeftoverId,
    LeftoverListing, Leftovers, Listing, Profile, Provider, ProviderId, Registry, TargetStatus, Watch,
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

/// Changes what a check does.
#[async_trait]
pub trait CheckMeddler: Send + Sync + 'static {
    /// Instead of [`Checker::check`].
    async fn check(&self, honest: &dyn Checker, by: Deadline) -> Vec<TargetStatus>;
}

/// Puts a meddler over a provider's check, where it has one.
pub fn meddle_check(built: Built, meddler: impl CheckMeddler) -> Built {
    let checker = built.checker.map(|honest| Arc::new(MeddledCheck { honest, meddler }) as Arc<dyn Checker>);
    Built { checker, ..built }
}

struct MeddledCheck<M> {
    honest: Arc<dyn Checker>,
    meddler: M,
}

#[async_trait]
impl<M: CheckMeddler> Checker for MeddledCheck<M> {
    async fn check(&self, by: Deadline) -> Vec<TargetStatus> {
        self.meddler.check(&*self.honest, by).await
    }
}

/// Changes what becomes of leftovers; whatever it does not name goes to the honest provider.
#[async_trait]
pub trait LeftoverMeddler: Send + Sync + 'static {
    /// Instead of [`Leftovers::list`].
    async fn list(&self, honest: &dyn Leftovers) -> Result<LeftoverListing, Error> {
        honest.list().await
    }
    /// Instead of [`Leftovers::delete`].
    async fn delete(&self, honest: &dyn Leftovers, id: &LeftoverId) -> Result<(), Error> {
        honest.delete(id).await
    }
}

/// Puts a meddler over a provider's leftovers, where it has any.
pub fn meddle_leftovers(built: Built, meddler: impl LeftoverMeddler) -> Built {
    let over = |honest| Arc::new(MeddledLeftovers { honest, meddler }) as Arc<dyn Leftovers>;
    let leftovers = built.leftovers.map(over);
    Built { leftovers, ..built }
}

struct MeddledLeftovers<M> {
    honest: Arc<dyn Leftovers>,
    meddler: M,
}

#[async_trait]
impl<M: LeftoverMeddler> Leftovers for MeddledLeftovers<M> {
    async fn list(&self) -> Result<LeftoverListing, Error> {
        self.meddler.list(&*self.honest).await
    }
    async fn delete(&self, id: &LeftoverId) -> Result<(), Error> {
        self.meddler.delete(&*self.honest, id).await
    }
}

/// Puts something over each stream of a provider's hints, where it has any.
pub fn meddle_watch(
    built: Built,
    meddle: impl Fn(BoxStream<'static, Hint>) -> BoxStream<'static, Hint> + Send + Sync + 'static,
) -> Built {
    let over = |honest| Arc::new(MeddledWatch { honest, meddle }) as Arc<dyn Watch>;
    let watch = built.watch.map(over);
    Built { watch, ..built }
}

struct MeddledWatch<F> {
    honest: Arc<dyn Watch>,
    meddle: F,
}

impl<F> Watch for MeddledWatch<F>
where
    F: Fn(BoxStream<'static, Hint>) -> BoxStream<'static, Hint> + Send + Sync + 'static,
{
    fn hints(&self) -> BoxStream<'static, Hint> {
        (self.meddle)(self.honest.hints())
    }
}
