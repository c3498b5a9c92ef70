//! The resources as the operator sees them: a `Proxy` with its spec and status, parsed from whatever stands in the cluster.
//! How they get here is `cluster`; what is decided from them is `step`.

pub(crate) mod connection;
mod digest;
mod spec;
mod status;

use std::{collections::BTreeMap, fmt, sync::Arc};

use provider_api::{Name, ProviderName, Uid};

pub use connection::Connection;
pub use digest::Digest;
pub(crate) use digest::Digester;
pub use spec::{CloudInit, Spec, Unusable};
pub use status::{Condition, ConditionKind, Failure, InstanceRecord, Intent, Phase, Status, Truth};

/// The API group of the resources.
pub const GROUP: &str = "crawl.example.com";
/// Their version.
pub const VERSION: &str = "v1alpha1";
/// The finalizer that keeps a Proxy until its instance is gone.
pub const FINALIZER: &str = "crawl.example.com/instance";
/// Any value other than the last one asks for one more attempt at once.
pub const RETRY: &str = "crawl.example.com/retry";
/// `"true"` stops everything but deletion.
pub const PAUSED: &str = "crawl.example.com/paused";
/// `"true"` lets a Proxy go without asking its backend.
pub const SKIP_CLEANUP: &str = "crawl.example.com/skip-cleanup";

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The version of an object: for optimistic locking, and to tell what is newer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResourceVersion(pub String);

impl ResourceVersion {
    /// Whether this is older than `other`. Since Kubernetes 1.35 versions of one resource are decimal numbers that may be
    /// compared, and every server before hands out etcd's revisions, which are too. Versions of another form are not older.
    pub fn older_than(&self, other: &Self) -> bool {
        match (self.0.parse::<u64>(), other.0.parse::<u64>()) {
            (Ok(this), Ok(other)) => this < other,
            _ => false,
        }
    }
}

/// One Proxy as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Proxy {
    /// Which.
    pub key: Key,
    /// Its UID. It never returns, and the instance's name comes from it.
    pub uid: Uid,
    /// The version that was read.
    pub version: ResourceVersion,
    /// Counts changes of the spec.
    pub generation: i64,
    /// Somebody asked for its deletion.
    pub deleting: bool,
    /// Our finalizer is on it.
    pub held: bool,
    /// The finalizers of others: ours goes on and off beside them.
    pub others: Vec<String>,
    /// What its annotations ask for.
    pub asks: Asks,
    /// What it asks for, or why that cannot be used.
    pub spec: Arc<Result<Spec, Unusable>>,
    /// What we said of it.
    pub status: Status,
}

/// What annotations ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// [`RETRY`]; the digest of its value where that is longer than 64 bytes, since it goes into the status.
    pub retry: Option<String>,
    /// [`PAUSED`].
    pub paused: bool,
    /// [`SKIP_CLEANUP`].
    pub skip_cleanup: bool,
}

impl Asks {
    /// Reads them.
    pub fn read<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Self {
        Self {
            retry: annotation(RETRY).map(short),
            paused: annotation(PAUSED) == Some("true"),
            skip_cleanup: annotation(SKIP_CLEANUP) == Some("true"),
        }
    }
}

/// A value that goes into the status: itself, or its digest where somebody has written a book.
fn short(value: &str) -> String {
    if value.len() <= 64 { value.to_owned() } else { Digest::of(value.as_bytes()).to_string() }
}

impl Proxy {
    /// The name of its instance.
    pub fn instance_name(&self) -> Name {
        Name::from_uid(&self.uid)
    }

    /// The spec, if it can be used.
    pub fn usable(&self) -> Option<&Spec> {
        self.spec.as_ref().as_ref().ok()
    }

    /// Whether it has the user data itself.
    pub fn has_text(&self) -> bool {
        let has_text = |spec: &Spec| matches!(spec.cloud_init, CloudInit::Inline { text: Some(_), .. });
        self.usable().is_some_and(has_text)
    }

    /// It as a record that is kept for long: without user data.
    pub fn to_keep(&self) -> Self {
        let spec = match self.usable().filter(|_| self.has_text()) {
            Some(spec) => Arc::new(Ok(spec.clone().without_text())),
            None => Arc::clone(&self.spec),
        };
        Self { spec, ..self.clone() }
    }

    /// Whether that provider has, or is to have, anything to do with it.
    pub fn uses(&self, provider: &ProviderName) -> bool {
        let Status { instance, intent, .. } = &self.status;
        self.usable().is_some_and(|spec| spec.provider == *provider)
            || instance.as_ref().is_some_and(|instance| instance.provider == *provider)
            || intent.as_ref().is_some_and(|intent| intent.provider == *provider)
    }

    /// The Secrets of its namespace whose changes concern it: those that it is made from, and the one that it is published in.
    pub fn watched_secrets(&self) -> impl Iterator<Item = &str> {
        let published = self.usable().and_then(|spec| spec.connection_secret.as_deref());
        self.secrets().chain(published)
    }

    /// The Secrets of its namespace that it is made from.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let spec = self.usable();
        let cloud_init = spec.and_then(|spec| match &spec.cloud_init {
            CloudInit::SecretRef { name, .. } => Some(name.as_str()),
            CloudInit::Inline { .. } => None,
        });
        cloud_init.into_iter().chain(spec.and_then(|spec| spec.credentials.as_deref()))
    }
}

/// The digests of what the spec names and others keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// Of the user data.
    pub cloud_init: Digest,
    /// Of user name and password.
    pub credentials: Option<Digest>,
    /// Who may use the proxy: the spec's own sources, or the operator's defaults where it has none.
    pub allowed_sources: Vec<ipnet::IpNet>,
}

/// What a Secret holds.
pub type SecretData = BTreeMap<String, provider_api::Secret>;
