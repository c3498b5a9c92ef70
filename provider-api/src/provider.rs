//! The traits: a provider and its optional abilities.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::{
    CreateRequest, Deadline, Deleted, Error, GetError, Instance, LeftoverId, LeftoverListing, Listing,
    Profile, ProviderId, Reason,
};

/// Four operations on one VM-like instance.
///
/// # Guarantees
/// Dropping any of the futures is how a caller cancels: at most the one backend call in flight still takes
/// effect, and a later call of the same operation finds and finishes what was begun (`create.cancel-safe`,
/// `delete.cancel-safe`). A provider holds nothing that a restart would lose.
///
/// # Assumptions
/// Ids come from `create` or a listing, but may have been edited; config may have changed since.
///
/// A provider can be shared by tasks (`runtime.shareable`), so what it holds must be too:
///
/// ```
/// struct Local(std::sync::Arc<()>);
/// #[async_trait::async_trait]
/// impl provider_api::Provider for Local {
///     fn profile(&self) -> &provider_api::Profile { unreachable!() }
///     async fn create(&self, _: &provider_api::CreateRequest) -> Result<provider_api::ProviderId, provider_api::Error> { unreachable!() }
///     async fn get(&self, _: &provider_api::ProviderId) -> Result<provider_api::Instance, provider_api::GetError> { unreachable!() }
///     async fn delete(&self, _: &provider_api::ProviderId) -> Result<provider_api::Deleted, provider_api::Error> { unreachable!() }
///     async fn list_by_tag(&self) -> Result<provider_api::Listing, provider_api::Error> { unreachable!() }
/// }
/// ```
/// ```compile_fail,E0277
/// struct Local(std::rc::Rc<()>);
/// #[async_trait::async_trait]
/// impl provider_api::Provider for Local {
///     fn profile(&self) -> &provider_api::Profile { unreachable!() }
///     async fn create(&self, _: &provider_api::CreateRequest) -> Result<provider_api::ProviderId, provider_api::Error> { unreachable!() }
///     async fn get(&self, _: &provider_api::ProviderId) -> Result<provider_api::Instance, provider_api::GetError> { unreachable!() }
///     async fn delete(&self, _: &provider_api::ProviderId) -> Result<provider_api::Deleted, provider_api::Error> { unreachable!() }
///     async fn list_by_tag(&self) -> Result<provider_api::Listing, provider_api::Error> { unreachable!() }
/// }
/// ```
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// What the provider declares about itself.
    fn profile(&self) -> &Profile;

    /// Makes the instance of `request`, or finds and finishes the one that is there (contract 2.1).
    ///
    /// Idempotent by name. Never adopts what is not its own.
    ///
    /// # Errors
    /// QuotaExceeded for want of quota or capacity, Permanent for what config or catalogue can tell to be
    /// unsatisfiable and for foreign instances, Transient for all that may pass.
    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error>;

    /// The instance as the backend shows it (contract 2.2). Changes nothing.
    ///
    /// # Errors
    /// [`GetError::NotFound`] when, and only when, the instance is proven gone.
    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError>;

    /// Removes the instance and everything that `create` made for it (contract 2.3).
    ///
    /// Idempotent; deleting what is gone succeeds. What is not its own is left alone.
    ///
    /// # Errors
    /// What cannot be deleted is an error with the reason, never a false success.
    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error>;

    /// Every instance of this installation in the whole scope (contract 2.4). Changes nothing, is never silently
    /// short.
    ///
    /// # Errors
    /// Missing rights, a page token that does not heal, an answer that cannot be parsed.
    async fn list_by_tag(&self) -> Result<Listing, Error>;
}

/// Tells whether a provider's targets can be used (contract 6).
#[async_trait]
pub trait Checker: Send + Sync + 'static {
    /// One entry per target that can fail on its own, in a stable order, by the deadline. Never fails as a whole.
    async fn check(&self, by: Deadline) -> Vec<TargetStatus>;
}

/// One target as a check found it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetStatus {
    /// Its name: a host, a node, `apiserver`.
    pub name: String,
    /// Where it is, for readers.
    pub address: String,
    /// Whether it can be used.
    pub ready: bool,
    /// Why or why not; the code is one of [`reasons`] or the provider's own.
    pub reason: Reason,
    /// How long the answer took.
    pub latency: Duration,
    /// Facts for triage, filled in as far as the check got.
    pub details: BTreeMap<String, String>,
}

impl TargetStatus {
    /// A target without details.
    pub fn new(name: impl Into<String>, address: impl Into<String>, ready: bool, reason: Reason) -> Self {
        Self {
            name: name.into(),
            address: address.into(),
            ready,
            reason,
            latency: Duration::ZERO,
            details: BTreeMap::new(),
        }
    }
}

/// The reasons that all checks share.
pub mod reasons {
    /// The target answers and may be used.
    pub const REACHABLE: &str = "Reachable";
    /// It did not answer by the deadline.
    pub const TIMEOUT: &str = "Timeout";
    /// It could not be reached.
    pub const UNREACHABLE: &str = "Unreachable";
    /// It does not accept the credentials.
    pub const UNAUTHORIZED: &str = "Unauthorized";
    /// A right is missing; the message says which.
    pub const FORBIDDEN: &str = "Forbidden";
    /// It answered with an error of its own.
    pub const API_ERROR: &str = "APIError";
    /// The credentials cannot be read.
    pub const CREDENTIALS_UNAVAILABLE: &str = "CredentialsUnavailable";
    /// The certificate, or the CA to verify it by, is no good.
    pub const CERTIFICATE_INVALID: &str = "CertificateInvalid";
}

/// Lists and deletes secondary resources that outlived their instance.
#[async_trait]
pub trait Leftovers: Send + Sync + 'static {
    /// Every marked secondary resource whose instance is gone.
    ///
    /// # Errors
    /// As for [`Provider::list_by_tag`].
    async fn list(&self) -> Result<LeftoverListing, Error>;

    /// Deletes one; deleting what is gone succeeds, what belongs to a living instance is spared.
    ///
    /// # Errors
    /// Whatever kept it from being deleted.
    async fn delete(&self, id: &LeftoverId) -> Result<(), Error>;
}

/// Gives hints of changes, so that callers can poll sooner.
pub trait Watch: Send + Sync + 'static {
    /// Hints, never truths. The stream never ends; it reconnects by itself and says [`Hint::Resync`] when it may
    /// have missed something.
    fn hints(&self) -> BoxStream<'static, Hint>;
}

/// What may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// This instance.
    Changed(ProviderId),
    /// Any of them.
    Resync,
}

/// A provider with its abilities, as the registry hands it out.
#[derive(Clone)]
pub struct Built {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// Its check.
    pub checker: Option<Arc<dyn Checker>>,
    /// Its leftovers.
    pub leftovers: Option<Arc<dyn Leftovers>>,
    /// Its hints.
    pub watch: Option<Arc<dyn Watch>>,
}

impl Built {
    /// A provider without further abilities.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self { provider, checker: None, leftovers: None, watch: None }
    }
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Built")
            .field("provider", &self.provider.profile().provider)
            .field("checker", &self.checker.is_some())
            .field("leftovers", &self.leftovers.is_some())
            .field("watch", &self.watch.is_some())
            .finish()
    }
}
