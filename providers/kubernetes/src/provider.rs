//! The provider: what it holds, how it is made, and the trait that hands each operation to its own file.

use std::{fmt, future::Future, sync::Arc};

use async_trait::async_trait;
use provider_api::{
    Budgets, Built, CallError, CallKind, Checker, Context, CreateRequest, Deadline, Deleted, Error, Gate,
    GetError, Instance, LeftBehind, Listing, Operation, Profile, Provider, ProviderId, Scrubber, Seam,
    TargetStatus, config::Shared,
};

use crate::{
    backend::Backend,
    client::{Connection, Dial, dial},
    config::Config,
    error::{ApiError, failure},
    id::PodId,
    profile::{TYPE, profile},
    state::{self, Bounds},
    transport::Transport,
    view::PodView,
};

/// The name by which the gate knows the one target.
const TARGET: &str = "apiserver";

/// Egress proxies as Pods of one cluster.
pub struct Kubernetes {
    pub(crate) profile: Profile,
    pub(crate) budgets: Budgets,
    pub(crate) config: Config,
    pub(crate) shared: Shared,
    pub(crate) context: Context,
    pub(crate) seam: Seam,
    pub(crate) gate: Gate,
    pub(crate) backend: Backend,
}

impl Kubernetes {
    /// A provider for the cluster that the config names. It dials nothing and reads nothing yet.
    pub fn new(shared: &Shared, config: Config, context: Context) -> Self {
        Self::through(dial(), shared, config, context)
    }

    /// As [`Kubernetes::new`], but its transports are made by `dial`: the credentials are read and kept up to date all the
    /// same.
    pub fn through(dial: Dial, shared: &Shared, config: Config, context: Context) -> Self {
        let connection = Connection::to(config.target.clone(), dial, context.tracker.is_some());
        Self::with(connection, shared, config, context)
    }

    /// A provider over a transport that is ready; what the config says of the target counts for nothing.
    pub fn over(transport: Transport, shared: &Shared, config: Config, context: Context) -> Self {
        let connection = Connection::given(transport, context.tracker.is_some());
        Self::with(connection, shared, config, context)
    }

    /// The provider with everything it can do.
    pub fn built(self) -> Built {
        let provider = Arc::new(self);
        let mut built = Built::new(Arc::clone(&provider) as Arc<dyn Provider>);
        built.checker = Some(provider);
        built
    }

    fn with(connection: Connection, shared: &Shared, config: Config, context: Context) -> Self {
        let mut profile = profile();
        let budgets = shared.budgets.over(profile.budgets);
        profile.budgets = budgets;
        Self {
            seam: context.seam(TYPE, budgets.call),
            gate: context.gate(shared.max_concurrent_per_target),
            backend: Backend::new(connection),
            shared: shared.clone(),
            profile,
            budgets,
            config,
            context,
        }
    }

    /// Runs one operation within its budget and says in its error who did what to what
    /// (`errors.configured-name`, `errors.operation-and-id`).
    async fn bounded<T>(
        &self,
        operation: Operation,
        subject: &str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let budget = self.budgets.of(operation).unwrap_or(self.budgets.get);
        let result = self.seam.bounded(budget, work).await.unwrap_or_else(|overlong| {
            Err(Error::transient(format!("the operation was {overlong}")).coded("Timeout"))
        });
        result.map_err(|error| error.at(&self.context.name, operation, subject))
    }

    /// Runs work on one Pod: alone on that name, and within the target's limit.
    async fn in_turn<T>(&self, id: &PodId, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let _name = self.gate.name(id.to_id().as_str()).await;
        let _room = self.gate.target(TARGET).await;
        work.await
    }

    /// The error of a call that carries no payload.
    pub(crate) fn failed(&self, kind: CallKind, doing: &str, error: &CallError<ApiError>) -> Error {
        failure(kind, &Scrubber::default(), doing, error)
    }

    /// The state of a Pod as of now.
    pub(crate) fn state(&self, pod: &PodView) -> provider_api::State {
        state::state(
            pod,
            &Bounds {
                now: self.context.clock.now(),
                addresses: &self.shared.addresses,
                image_pull: self.config.image_pull_timeout,
                node_lost: self.config.node_lost_timeout,
            },
        )
    }
}

#[async_trait]
impl Provider for Kubernetes {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        let work = async {
            let placed = self.placed(request)?;
            let id = placed.id.clone();
            self.in_turn(&id, self.create_pod(request, &placed)).await
        };
        self.bounded(Operation::Create, request.name.as_str(), work).await
    }

    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        let work = async {
            let pod = PodId::parse(id)?;
            self.in_turn(&pod, self.get_pod(&pod)).await
        };
        match self.bounded(Operation::Get, id.as_str(), work).await {
            Ok(Some(instance)) => Ok(instance),
            Ok(None) => Err(GetError::NotFound),
            Err(error) => Err(GetError::Failed(error)),
        }
    }

    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        let work = async {
            let pod = PodId::parse(id)?;
            self.in_turn(&pod, self.delete_pod(&pod)).await
        };
        self.bounded(Operation::Delete, id.as_str(), work).await
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        let work = async {
            let _room = self.gate.target(TARGET).await;
            self.list_all().await
        };
        self.bounded(Operation::List, "every instance", work).await
    }
}

#[async_trait]
impl Checker for Kubernetes {
    async fn check(&self, by: Deadline) -> Vec<TargetStatus> {
        vec![self.check_server(by).await]
    }
}

/// The error of something that was found out before any call.
pub(crate) fn untouched(error: Error) -> Error {
    error.leaving(LeftBehind::Nothing)
}

impl fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubernetes")
            .field("name", &self.context.name)
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}
