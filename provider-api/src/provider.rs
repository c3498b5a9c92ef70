//! The traits that a backend's author implements: a provider, and what not every backend can do, its check, its
//! leftovers and its hints. What goes in is in `request.rs`, what comes out in `instance.rs`, how it fails in `error`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::{
    CreateRequest, Deadline, Deleted, Error, GetError, Instance, LeftoverId, LeftoverListing, Listing,
    Profile, ProviderId, Reason,
};

/// Four operations on one VM-like instance.
///
/// Callers get it decorated from the [`Registry`](crate::Registry), as an `Arc<dyn Provider>`. They branch on the class
/// of an error and on the state of an instance, and on nothing else.
///
/// # Guarantees
/// Dropping any of the futures is how a caller cancels: at most the one backend call in flight still takes
/// effect, and a later call of the same operation finds and finishes what was begun (`create.cancel-safe`,
/// `delete.cancel-safe`). A provider holds nothing that a restart would lose (`create.crash-resumable`,
/// `delete.crash-resumable`). Every operation ends within its budget, see [`Budgets`](crate::Budgets). No answer, error
/// or log line shows a secret (`create.hides-secrets`, `errors.hides-secrets`).
///
/// # Assumptions
/// Ids come from `create` or a listing, but may have been edited; config may have changed since. Operations may be
/// called at once, also for one instance.
///
/// # Errors
/// Each carries the configured name, the operation, and the id or name that it was about (`errors.configured-name`,
/// `errors.operation-and-id`). What nobody has heard of is Transient (`errors.unknown-is-transient`).
///
/// # Examples
/// What a caller does with it:
///
/// ```
/// use provider_api::{CreateRequest, Deleted, FailureClass, GetError, Provider, State};
///
/// async fn step(provider: &dyn Provider, request: &CreateRequest) -> String {
///     let id = match provider.create(request).await {
///         Ok(id) => id,
///         Err(error) => {
///             let then = match error.class() {
///                 FailureClass::QuotaExceeded => "comes back after the hint, or in five minutes",
///                 FailureClass::Transient => "backs off and tries again",
///                 FailureClass::Permanent => "waits until something changes",
///             };
///             return format!("{then}: {error}");
///         }
///     };
///     match provider.get(&id).await {
///         Ok(instance) => match instance.state {
///             State::Running { address } => format!("runs at {address}"),
///             other => format!("{:?}", other.kind()),
///         },
///         // Proven gone: this alone lets go of the id.
///         Err(GetError::NotFound) => "makes another one".to_owned(),
///         Err(GetError::Failed(error)) => format!("asks again: {error}"),
///     }
/// }
///
/// async fn finish(provider: &dyn Provider, id: &provider_api::ProviderId) -> bool {
///     matches!(provider.delete(id).await, Ok(Deleted::Gone | Deleted::Abandoned(_)))
/// }
/// ```
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
    /// What the provider declares about itself, with the entry's budgets in the place of its own. It is the same for
    /// as long as the provider lives.
    fn profile(&self) -> &Profile;

    /// Makes the instance of `request`, or finds and finishes the one that is there (contract 2.1).
    ///
    /// Idempotent by name: repeated, called twice at once or after a crash, it answers the same id, and there is one
    /// instance (`create.idempotent`, `create.concurrent-same-name`). It never adopts what is not its own
    /// (`create.refuses-foreign`, `create.refuses-unmarked`, `create.refuses-other-installation`). When it returns, by
    /// [`CreateReturn`](crate::profile::CreateReturn), the instance may still be on its way; `get` finds it from then on.
    ///
    /// # Errors
    /// - QuotaExceeded for want of quota or capacity, `maxInstances` and rate limits (`create.quota-reported`,
    ///   `create.max-instances`).
    /// - Permanent for what config or catalogue can tell to be unsatisfiable, before any backend call, and for foreign
    ///   instances (`create.rejects-unsatisfiable-before-any-call`).
    /// - Transient for all that may pass, and for an instance of that name that is being deleted
    ///   (`create.not-while-deleting`).
    ///
    /// [`Error::failure`] names a failure that the backend reported late; it is repeated until the request
    /// acknowledges it. [`Error::left_behind`] says what may stand there now.
    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error>;

    /// The instance as the backend shows it (contract 2.2). Changes nothing (`get.read-only`).
    ///
    /// It is shown for as long as its deletion is in progress, and is not Running then
    /// (`get.visible-while-deleting`, `get.deleting-is-not-running`).
    ///
    /// # Errors
    /// [`GetError::NotFound`] when, and only when, the instance is proven gone, or something else has taken its id
    /// (`get.not-found-only-with-proof`, `get.never-anothers-data`). Permanent, without a backend call, for an id that
    /// can never be resolved (`get.malformed-id-is-permanent`).
    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError>;

    /// Removes the instance and everything that `create` made for it (contract 2.3).
    ///
    /// Idempotent; deleting what is gone, or never was, succeeds (`delete.idempotent`, `delete.absent-is-ok`). What
    /// stands at the id and is not its own is left alone, and that is a success too (`delete.leaves-foreign-alone`).
    /// What many share, and what another instance needs, stays (`delete.keeps-shared`, `delete.keeps-referenced`).
    ///
    /// # Errors
    /// What cannot be deleted is an error with the reason, never a false success (`delete.every-native-state`): a lock
    /// that does not clear is Transient, a protection Permanent. A malformed id is Permanent, without a backend call
    /// (`delete.malformed-id-is-permanent`).
    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error>;

    /// Every instance of this installation in the whole scope, in every state, over all pages (contract 2.4). Changes
    /// nothing, and is never silently short (`list.whole-scope`, `list.every-state`, `list.never-silently-short`).
    ///
    /// # Errors
    /// Missing rights, a page token that a bounded number of fresh starts does not cure, an answer that cannot be
    /// parsed; and a part that cannot be read, unless the profile says that it is named in
    /// [`Listing::unreachable`] (`list.partial-as-declared`).
    async fn list_by_tag(&self) -> Result<Listing, Error>;
}

/// Tells whether a provider's targets can be used (contract 6). It is never retried and never cached.
///
/// ```
/// use provider_api::{Checker, Deadline, Reason, TargetStatus, reasons};
///
/// struct Hosts(Vec<String>);
///
/// #[async_trait::async_trait]
/// impl Checker for Hosts {
///     async fn check(&self, _by: Deadline) -> Vec<TargetStatus> {
///         // All at once, each within what the deadline leaves; the order is the config's.
///         let one = |host: &String| {
///             let reason = Reason::new(reasons::REACHABLE, "it answers, and no right is missing");
///             TargetStatus::new(host, format!("https://{host}"), true, reason)
///         };
///         self.0.iter().map(one).collect()
///     }
/// }
/// ```
#[async_trait]
pub trait Checker: Send + Sync + 'static {
    /// One entry per target that can fail on its own, in a stable order, by the deadline
    /// (`check.every-target-stable-order`, `check.prompt-at-deadline`).
    ///
    /// It never fails as a whole: what is wrong with one target is that one's reason (`check.never-fails-whole`). It
    /// changes nothing, takes no turn and no room that operations wait for, and makes at most
    /// [`CallBudget::check`](crate::CallBudget) calls for each target (`check.read-only-and-cheap`,
    /// `check.does-not-disturb`).
    async fn check(&self, by: Deadline) -> Vec<TargetStatus>;
}

/// One target as a check found it. Nothing in it is secret (`check.hides-secrets`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetStatus {
    /// Its name, the same in each check: a host, a node, `apiserver`.
    pub name: String,
    /// Where it is, for readers: a URL, a socket.
    pub address: String,
    /// Whether operations can be expected to work there now.
    pub ready: bool,
    /// Why or why not; the code is one of [`reasons`] or the provider's own, the sentence says what to do
    /// (`check.reasons-table`, `check.missing-right-named`).
    pub reason: Reason,
    /// How long the answer took, on the injected clock; zero where there was none.
    pub latency: Duration,
    /// Facts for triage by the keys of [`Profile::check_details`], filled in as far as the check got.
    pub details: BTreeMap<String, String>,
}

impl TargetStatus {
    /// A target without details and with no latency; both are fields to set.
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

/// The codes of the reasons that checks share. A provider has one of its own only where an admin would act differently.
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
    /// The credentials cannot be read: a file that is missing, or holds none.
    pub const CREDENTIALS_UNAVAILABLE: &str = "CredentialsUnavailable";
    /// The certificate, or the CA to verify it by, is no good.
    pub const CERTIFICATE_INVALID: &str = "CertificateInvalid";
}

/// Lists and deletes secondary resources that outlived their instance: disks, seeds, addresses (contract 2.4).
///
/// A provider offers it where it removes such parts itself
/// ([`SecondaryResources::Explicit`](crate::profile::SecondaryResources)). The collector asks for them beside the listing,
/// since nobody has an id of an instance any more. What many instances share is no leftover.
#[async_trait]
pub trait Leftovers: Send + Sync + 'static {
    /// Every marked secondary resource whose instance is gone (`list.leftovers-listed`,
    /// `list.leftovers-spare-the-living`). Changes nothing.
    ///
    /// # Errors
    /// As for [`Provider::list_by_tag`]: it is never silently short either.
    async fn list(&self) -> Result<LeftoverListing, Error>;

    /// Deletes one; deleting what is gone succeeds, what belongs to a living instance is spared, also when the id is an
    /// old one (`list.leftovers-deletable`, `list.leftovers-spare-the-living`).
    ///
    /// # Errors
    /// Permanent for an id that this provider did not write. Otherwise whatever kept it from being deleted.
    async fn delete(&self, id: &LeftoverId) -> Result<(), Error>;
}

/// Gives hints of changes, so that callers can poll sooner. A provider offers it where the profile says
/// [`WatchSupport::Hints`](crate::profile::WatchSupport).
pub trait Watch: Send + Sync + 'static {
    /// Hints, never truths: `get` answers the same whether they are read, late or missed (`watch.hints-are-not-truth`).
    /// The stream never ends; it reconnects by itself and says [`Hint::Resync`] when it may have missed something
    /// (`watch.never-ends`, `watch.reconnects-and-resyncs`).
    fn hints(&self) -> BoxStream<'static, Hint>;
}

/// What may have changed, and is worth a `get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// This instance; it may also be gone.
    Changed(ProviderId),
    /// Any of them: the stream may have missed something.
    Resync,
}

/// A provider with its abilities: what a [`Build`](crate::Build) answers, and what the registry hands out decorated.
///
/// An ability that is missing is `None`, and the rules about it then check that it is.
#[derive(Clone)]
pub struct Built {
    /// The four operations.
    pub provider: Arc<dyn Provider>,
    /// The check, where there is one.
    pub checker: Option<Arc<dyn Checker>>,
    /// The leftovers, where parts outlive their instances.
    pub leftovers: Option<Arc<dyn Leftovers>>,
    /// The hints, where the profile declares them.
    pub watch: Option<Arc<dyn Watch>>,
}

impl Built {
    /// A provider without further abilities; those that it has are fields to set.
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
