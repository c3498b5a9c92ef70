//! The provider: what it holds, how it is made, and the trait that hands each operation to its own file.

use std::{fmt, future::Future, sync::Arc};

use async_trait::async_trait;
use provider_api::{
    AddressPolicy, BoundedWait, Budgets, Built, Context, CreateRequest, Deleted, Error, Gate, GetError,
    Identity, ImageRules, Instance, LeftBehind, Listing, Operation, Profile, Provider, ProviderId,
    ProviderName, Seam, config::Shared,
};

use crate::{
    backend::Backend,
    client::Client,
    config::Config,
    id::MachineId,
    placement,
    profile::{TYPE, profile},
};

/// Instances of Pond. It holds nothing that a restart would lose.
pub struct Pond {
    pub(crate) name: ProviderName,
    pub(crate) profile: Profile,
    pub(crate) identity: Identity,
    pub(crate) config: Config,
    pub(crate) addresses: AddressPolicy,
    pub(crate) images: ImageRules,
    pub(crate) max_instances: Option<usize>,
    pub(crate) budgets: Budgets,
    pub(crate) seam: Seam,
    pub(crate) gate: Arc<Gate>,
    pub(crate) backend: Backend,
}

impl Pond {
    /// A provider for what the config names. It dials nothing and reads nothing yet.
    pub fn new(shared: &Shared, config: Config, context: Context) -> Self {
        let mut profile = profile();
        let budgets = shared.budgets.over(profile.budgets);
        profile.budgets = budgets;
        let seam = context.seam(TYPE, budgets.call);
        let gate = Arc::new(context.gate(shared.max_concurrent_per_target));
        let client = Client::new(&config, context.tracker.is_some());
        Self {
            backend: Backend::new(client, seam.clone(), Arc::clone(&gate)),
            name: context.name,
            identity: context.identity,
            addresses: shared.addresses.clone(),
            images: ImageRules { allowed_prefixes: shared.allowed_image_prefixes.clone() },
            max_instances: shared.max_instances,
            profile,
            config,
            budgets,
            seam,
            gate,
        }
    }

    /// The provider with everything it can do.
    pub fn built(self) -> Built {
        let provider = Arc::new(self);
        let mut built = Built::new(Arc::clone(&provider) as Arc<dyn Provider>);
        built.checker = Some(provider);
        built
    }

    /// Runs one operation within its budget and says in its error who did what to what (`create.bounded`,
    /// `errors.configured-name`, `errors.operation-and-id`).
    async fn bounded<T>(
        &self,
        operation: Operation,
        subject: &str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let budget = self.budgets.of(operation).unwrap_or(self.budgets.call);
        let result = self.seam.bounded(budget, work).await;
        let result = result.unwrap_or_else(|overlong| Err(Error::transient(overlong.to_string())));
        result.map_err(|error| error.at(&self.name, operation, subject))
    }

    /// Repeats a step until it gives a result, for as long as the wait may last. No step is dropped half-way.
    pub(crate) async fn until<T, F>(&self, wait: BoundedWait, step: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<Option<T>, Error>>,
    {
        let clock = self.seam.clock();
        let began = clock.monotonic();
        loop {
            if let Some(result) = step().await? {
                return Ok(result);
            }
            if clock.monotonic().saturating_sub(began) >= wait.at_most {
                let text = format!("it is not {} within {:?}", wait.for_what, wait.at_most);
                return Err(Error::transient(text).coded("StillWaiting"));
            }
            self.seam.pause(wait.every).await;
        }
    }
}

#[async_trait]
impl Provider for Pond {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        let work = async {
            let placed = placement::place(request, &self.config, &self.images)?;
            let _turn = self.gate.name(request.name.as_str()).await; // create.concurrent-same-name
            let _room = self.gate.admit(self.max_instances, &request.name, self.list_all()).await?;
            self.create_machine(request, &placed).await
        };
        self.bounded(Operation::Create, request.name.as_str(), work).await
    }

    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        let work = async {
            let machine = MachineId::parse(id)?;
            if self.config.target(&machine.target).is_none() {
                let target = &machine.target;
                let text = format!("region {target} is not configured, so nothing can be said about it");
                return Err(Error::permanent(text).leaving(LeftBehind::Unknown));
            }
            self.get_machine(&machine).await
        };
        self.bounded(Operation::Get, id.as_str(), work).await?.ok_or(GetError::NotFound)
    }

    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        let work = async {
            let machine = MachineId::parse(id)?;
            if self.config.target(&machine.target).is_none() {
                // delete.abandoned-is-said
                let MachineId { target, name } = machine;
                let what = format!("machine {name} at region {target}, which is not configured");
                return Ok(Deleted::Abandoned(what));
            }
            let _turn = self.gate.name(machine.name.as_str()).await;
            self.delete_machine(&machine).await
        };
        self.bounded(Operation::Delete, id.as_str(), work).await
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.bounded(Operation::List, "every instance", self.list_all()).await
    }
}

impl fmt::Debug for Pond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pond")
            .field("name", &self.name)
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}
