//! The provider: what it is made of, and the trait that hands each operation to its own file.

use std::{future::Future, sync::Arc};

use async_trait::async_trait;
use provider_api::{
    AddressPolicy, Budgets, Built, Context, CreateRequest, Deleted, Error, Gate, GetError, Identity,
    ImageRules, Instance, LeftBehind, Listing, Name, Operation, Profile, Provider, ProviderId, ProviderName,
    Scrubber, Seam,
    config::Shared,
    profile::{Timeouts, WatchSupport},
};

use super::{
    backend::Backend, check::Check, cloud::Cloud, config::Config, id::Id, leftovers::MemoryLeftovers,
    profile, shared::SharedListing, watch::MemoryWatch,
};

/// The memory provider. It holds nothing that a restart would lose: a cache, and turns.
pub(super) struct MemoryProvider {
    pub(super) name: ProviderName,
    pub(super) profile: Profile,
    pub(super) identity: Identity,
    pub(super) config: Config,
    pub(super) addresses: AddressPolicy,
    pub(super) images: ImageRules,
    pub(super) max_instances: Option<usize>,
    pub(super) budgets: Budgets,
    pub(super) seam: Seam,
    pub(super) gate: Arc<Gate>,
    pub(super) backend: Backend,
    pub(super) shared: SharedListing,
}

/// Builds the provider and its abilities over a cloud. It dials nothing (`runtime.constructor-does-not-dial`).
pub(super) fn build(
    cloud: Arc<dyn Cloud>,
    profile: Profile,
    config: Config,
    shared: &Shared,
    context: Context,
) -> Built {
    let budgets = shared.budgets.over(profile.budgets);
    let call = match profile.timeouts {
        Timeouts::PerCall => budgets.call,
        // Nothing but the caller, or the operation's own budget, ends a call.
        Timeouts::CtxOnly => budgets.create.max(budgets.delete).max(budgets.list).max(budgets.get),
    };
    let seam = context.seam(profile.provider, call);
    let gate = Arc::new(context.gate(shared.max_concurrent_per_target));
    let backend = Backend {
        cloud,
        seam: seam.clone(),
        gate: Arc::clone(&gate),
        credentials: config.credentials.clone(),
        scrubber: Scrubber::default(),
        with_token: Arc::default(),
    };
    let provider = Arc::new(MemoryProvider {
        name: context.name,
        identity: context.identity,
        config,
        addresses: shared.addresses.clone(),
        images: ImageRules { allowed_prefixes: shared.allowed_image_prefixes.clone() },
        max_instances: shared.max_instances,
        budgets,
        seam,
        gate,
        backend,
        shared: SharedListing::new(profile.listing_max_age),
        profile,
    });
    let leaves = profile::has_parts(&provider.profile) || provider.profile.visible_placeholder;
    let hints = provider.profile.watch == WatchSupport::Hints;
    Built {
        checker: Some(Arc::new(Check(Arc::clone(&provider)))),
        leftovers: leaves.then(|| Arc::new(MemoryLeftovers(Arc::clone(&provider))) as _),
        watch: hints.then(|| Arc::new(MemoryWatch(Arc::clone(&provider))) as _),
        provider,
    }
}

#[async_trait]
impl Provider for MemoryProvider {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        self.run(Operation::Create, request.name.as_str(), self.create_instance(request)).await
    }

    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        let found = self.run(Operation::Get, id.as_str(), self.get_instance(id)).await?;
        found.ok_or(GetError::NotFound)
    }

    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        self.run(Operation::Delete, id.as_str(), self.delete_instance(id)).await
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.run(Operation::List, "instances", self.list_instances()).await
    }
}

impl MemoryProvider {
    /// Runs an operation within its budget, and says in its error what was done to what (`create.bounded`,
    /// `errors.operation-and-id`, `errors.configured-name`).
    pub(super) async fn run<T>(
        &self,
        operation: Operation,
        subject: &str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let budget = self.budgets.of(operation).unwrap_or(self.budgets.call);
        let result = match self.seam.bounded(budget, work).await {
            Ok(result) => result,
            Err(overlong) => Err(Error::transient(overlong.to_string())),
        };
        result.map_err(|error| error.at(&self.name, operation, subject))
    }

    /// Reads an id. One that nobody wrote is told from the text alone, without a call.
    pub(super) fn parse(&self, id: &ProviderId) -> Result<Id, Error> {
        Id::parse(&self.profile, id)
            .map_err(|malformed| Error::permanent(malformed.to_string()).leaving(LeftBehind::Nothing))
    }

    /// Writes the id of what stands in `zone` under `key`.
    pub(super) fn id(&self, zone: &str, key: &str, name: &Name) -> ProviderId {
        Id::write(&self.profile, zone, key, name)
            .expect("zones are read as usable segments, and keys are names and numbers")
    }
}
