//! The provider: what it holds, how it is made, and the trait that hands each operation to its own file.

use std::{
    collections::BTreeSet,
    fmt,
    future::Future,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use libvirt_model::{Config, DomainId, Host, ImageCopy, place};
use provider_api::{
    AddressPolicy, Budgets, Built, Checker, Context, CreateRequest, Deadline, Deleted, Error, Gate, GetError,
    Identity, ImageRules, Instance, LeftBehind, Listing, Operation, Profile, Provider, ProviderId,
    ProviderName, Seam, TargetStatus, config::Shared,
};

use crate::{
    Ways,
    client::Hosts,
    dial,
    download::Images,
    profile::{TYPE, profile},
    seed::seed,
};

/// Egress proxies as libvirt domains. It holds nothing that a restart would lose.
pub struct Kvm {
    pub(crate) name: ProviderName,
    pub(crate) profile: Profile,
    pub(crate) identity: Identity,
    pub(crate) config: Config,
    pub(crate) addresses: AddressPolicy,
    pub(crate) image_rules: ImageRules,
    pub(crate) max_instances: Option<usize>,
    pub(crate) budgets: Budgets,
    pub(crate) seam: Seam,
    pub(crate) gate: Gate,
    /// Who may bring images to a host.
    pub(crate) transfers: Gate,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) images: Images,
    /// Copies of images that were begun, and not yet brought to an end.
    pub(crate) begun: Mutex<BTreeSet<ImageCopy>>,
    /// Something that no other process has, for names that nobody else may make up.
    nonce: u64,
    tries: AtomicU64,
}

impl Kvm {
    /// A provider for what the config names. It dials nothing and reads nothing yet
    /// (`runtime.constructor-does-not-dial`).
    pub(crate) fn new(ways: &Ways, shared: &Shared, config: Config, context: Context) -> Self {
        let mut profile = profile();
        let budgets = shared.budgets.over(profile.budgets);
        profile.budgets = budgets;
        let dial = match &ways.dial {
            Some(dial) => Arc::clone(dial),
            None => Arc::new(dial::BySsh::new(&config, &context, budgets.connect)),
        };
        Self {
            seam: context.seam(TYPE, budgets.call),
            gate: context.gate(shared.max_concurrent_per_target),
            transfers: context.gate(shared.max_concurrent_per_target.saturating_sub(1)),
            hosts: Arc::new(Hosts::new(config.clone(), context.clone(), dial, budgets)),
            images: Images::new(ways.images.clone(), context.tracker.is_some(), config.images.clone()),
            name: context.name,
            identity: context.identity,
            addresses: shared.addresses.clone(),
            image_rules: ImageRules { allowed_prefixes: shared.allowed_image_prefixes.clone() },
            max_instances: shared.max_instances,
            profile,
            config,
            budgets,
            begun: Mutex::default(),
            nonce: RandomState::new().hash_one(()),
            tries: AtomicU64::new(0),
        }
    }

    /// The provider with everything it can do.
    pub(crate) fn built(self) -> Built {
        let provider = Arc::new(self);
        let mut built = Built::new(Arc::clone(&provider) as Arc<dyn Provider>);
        built.checker = Some(Arc::clone(&provider) as _);
        built.leftovers = Some(provider);
        built
    }

    /// The host that an id names.
    pub(crate) fn host(&self, name: &str) -> Option<&Host> {
        self.config.host(name)
    }

    /// A word that nobody has used before, and nobody else will.
    pub(crate) fn unique(&self) -> String {
        format!("{:x}-{}", self.nonce, self.tries.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs one operation within its budget and says in its error who did what to what (`create.bounded`,
    /// `errors.configured-name`, `errors.operation-and-id`).
    pub(crate) async fn bounded<T>(
        &self,
        operation: Operation,
        subject: &str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let budget = self.budgets.of(operation).unwrap_or(self.budgets.call);
        let result = self.seam.bounded(budget, work).await;
        let result = result.unwrap_or_else(|late| Err(crate::error::overlong("the operation", late)));
        result.map_err(|error| error.at(&self.name, operation, subject))
    }
}

#[async_trait]
impl Provider for Kvm {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        let work = async {
            let placed = place(request, &self.config, &self.image_rules)?;
            seed(request, &self.config, self.seam.clock().now()).check()?;
            let _turn = self.gate.name(request.name.as_str()).await; // create.concurrent-same-name
            let _room = self.gate.admit(self.max_instances, &request.name, self.list_all()).await?;
            self.create_domain(request, &placed).await
        };
        self.bounded(Operation::Create, request.name.as_str(), work).await
    }

    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        let work = async {
            let domain = DomainId::parse(id)?;
            let Some(host) = self.host(&domain.host) else {
                let text = format!("host {} is not configured, so nothing can be said about it", domain.host);
                return Err(Error::permanent(text).coded("NotConfigured").leaving(LeftBehind::Unknown));
            };
            let _room = self.gate.target(&host.name).await;
            self.get_domain(host, &domain).await
        };
        self.bounded(Operation::Get, id.as_str(), work).await?.ok_or(GetError::NotFound)
    }

    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        let work = async {
            let domain = DomainId::parse(id)?;
            let Some(host) = self.host(&domain.host) else {
                // delete.abandoned-is-said
                let DomainId { host, name } = domain;
                let what = format!("domain {name} and its volumes on host {host}, which is not configured");
                return Ok(Deleted::Abandoned(what));
            };
            let _turn = self.gate.name(domain.name.as_str()).await;
            let _room = self.gate.target(&host.name).await;
            self.delete_domain(host, &domain.name).await
        };
        self.bounded(Operation::Delete, id.as_str(), work).await
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.bounded(Operation::List, "every instance", self.list_all()).await
    }
}

#[async_trait]
impl Checker for Kvm {
    async fn check(&self, by: Deadline) -> Vec<TargetStatus> {
        self.check_all(by).await
    }
}

impl fmt::Debug for Kvm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kvm").field("name", &self.name).field("hosts", &self.hosts).finish_non_exhaustive()
    }
}
