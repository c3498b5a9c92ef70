//! What the operator needs of a Kubernetes cluster, as a trait: its own, since `kube`'s runtime spawns tasks and has
//! randomness that no seed reaches. [`apiserver`](crate::apiserver) is its side in a real cluster; the simulation has its own.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::stream::BoxStream;
use provider_api::{ProviderName, TargetStatus, Timestamp, Uid};

use crate::{
    resource::{Key, Proxy, ResourceVersion, SecretData, Status},
    step::{Note, Published},
};

/// A cluster, as one operator sees it.
///
/// # Guarantees
/// Every write names the version that was read, so that whoever saw less cannot overwrite. What it answers is the object as
/// it stands after the write.
#[async_trait]
pub trait Cluster: Send + Sync + 'static {
    /// Every Proxy, and then every change; also of the Secrets that Proxies name. It reconnects by itself and never ends. It
    /// may be late, and may leave out what was undone before it could be told.
    fn watch(&self) -> BoxStream<'static, Change>;

    /// One Proxy, from the API server itself; `None` when there is none.
    ///
    /// # Errors
    /// [`ClusterError::Doubtful`] when there is no answer.
    async fn read(&self, key: &Key) -> Result<Option<Proxy>, ClusterError>;

    /// Every Proxy, from the API server itself: the whole of one moment, or an error.
    ///
    /// # Errors
    /// [`ClusterError::Doubtful`] when there is no whole answer.
    async fn list(&self) -> Result<Vec<Proxy>, ClusterError>;

    /// Replaces the status.
    ///
    /// # Errors
    /// As [`ClusterError`] says. After [`ClusterError::Doubtful`] it may have been written.
    async fn write_status(&self, proxy: &Proxy, status: &Status) -> Result<Proxy, ClusterError>;

    /// Puts our finalizer on, or takes it off; `None` when the Proxy is gone with it.
    ///
    /// # Errors
    /// As for [`Cluster::write_status`].
    async fn hold(&self, proxy: &Proxy, held: bool) -> Result<Option<Proxy>, ClusterError>;

    /// What a Secret holds; `None` when there is none.
    ///
    /// # Errors
    /// [`ClusterError::Doubtful`] when there is no answer.
    async fn secret(&self, key: &Key) -> Result<Option<SecretData>, ClusterError>;

    /// Publishes how to reach a Proxy in a Secret of its namespace that goes with it. It is made, or brought up to date where it
    /// is the Proxy's own; where it says so already nothing is written, and one that is not the Proxy's is left alone.
    ///
    /// # Errors
    /// As for [`Cluster::write_status`].
    async fn publish(
        &self,
        proxy: &Proxy,
        secret: &str,
        data: &SecretData,
    ) -> Result<Published, ClusterError>;

    /// Removes such a Secret; one that is not the Proxy's is left alone.
    ///
    /// # Errors
    /// As for [`Cluster::write_status`].
    async fn withdraw(&self, proxy: &Proxy, secret: &str) -> Result<(), ClusterError>;

    /// Tells people about a Proxy, as an event. It is queued, and may be lost.
    fn tell(&self, key: &Key, uid: &Uid, note: &Note);

    /// The lease as it is now and whenever it changes; `None` while there is none. As [`Cluster::watch`], it may be late.
    fn watch_lease(&self) -> BoxStream<'static, Option<Lease>>;

    /// Writes the lease over the version that it carries, or makes it where it carries none.
    ///
    /// # Errors
    /// As for [`Cluster::write_status`].
    async fn write_lease(&self, lease: &Lease) -> Result<Lease, ClusterError>;

    /// Says how a provider is: replaces the status of its `ProviderHealth`, which is made where there is none.
    ///
    /// # Errors
    /// As for [`Cluster::write_status`].
    async fn write_health(&self, name: &str, health: &ProviderHealth) -> Result<(), ClusterError>;

    /// Removes every `ProviderHealth` but those of the providers that are configured.
    ///
    /// # Errors
    /// As for [`Cluster::write_status`].
    async fn keep_health(&self, configured: &[ProviderName]) -> Result<(), ClusterError>;

    /// Tells people about a configured provider, as an event of its `ProviderHealth`. It is queued, and may be lost.
    fn tell_of_provider(&self, name: &ProviderName, note: &Note);
}

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum Change {
    /// All there is: at the start, and whenever the watch had to begin anew. What is not in it is gone.
    All(Vec<Arc<Proxy>>),
    /// A Proxy that is new or has changed.
    Changed(Arc<Proxy>),
    /// A Proxy that is gone.
    Gone(Key, Uid),
    /// A Secret that is new, has changed, or is gone.
    Secret(Key),
}

/// Why the cluster did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The object has changed since it was read. Nothing was written.
    #[error("the object has changed since it was read")]
    Conflict,
    /// There is no such object. Nothing was written.
    #[error("there is no such object")]
    NotFound,
    /// The API server refuses it, and will go on to. Nothing was written.
    #[error("the API server refuses it: {0}")]
    Refused(String),
    /// There is no answer that can be trusted; it may have been done.
    #[error("the API server cannot be asked: {0}")]
    Doubtful(String),
}

/// Who leads, and until when: a Lease of `coordination.k8s.io/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The version that was read; `None` for one that is to be made.
    pub version: Option<ResourceVersion>,
    /// Who holds it; empty when it was released.
    pub holder: String,
    /// For how long it holds after it was last renewed.
    pub duration: Duration,
    /// When it was taken, by the holder's clock. For people.
    pub acquired: Timestamp,
    /// When it was renewed, by the holder's clock. For people: nobody compares it with a clock of their own.
    pub renewed: Timestamp,
    /// How often it has changed hands.
    pub transitions: u32,
}

/// How a configured provider is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderHealth {
    /// The name of its type.
    pub provider_type: String,
    /// Whether every target is ready; `None` where it cannot say.
    pub ready: Option<bool>,
    /// Its targets.
    pub targets: Vec<TargetStatus>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(proxies) => write!(f, "all {} Proxies", proxies.len()),
            Self::Changed(proxy) => write!(f, "{} at {}", proxy.key, proxy.version.0),
            Self::Gone(key, _) => write!(f, "{key} gone"),
            Self::Secret(key) => write!(f, "Secret {key}"),
        }
    }
}
