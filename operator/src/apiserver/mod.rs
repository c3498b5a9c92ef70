//! [`Cluster`] by a real API server. Nothing is decided here: what is read is handed over, and what is to be written is written
//! over the version that was read.
//!
//! | in | lives |
//! |---|---|
//! | `call` | a request: deadline, `Retry-After`, pages |
//! | `failure` | what refusals mean |
//! | `object` | objects as they come, each read by itself |
//! | `follow` | a collection, followed for ever |
//! | `feed`, `secrets` | the watch of Proxies and of the Secrets that they name |
//! | `proxies`, `connection`, `lease`, `health`, `events` | what is read and written of each |
//!
//! `kube` brings credentials, TLS and the config of a cluster. Its runtime is not used: its watcher gives a list up for one
//! object that cannot be decoded, keeps whole objects, and takes its time from elsewhere than our clock.
//!
//! # Rights
//! | of | verbs |
//! |---|---|
//! | `proxies` | get, list, watch, patch (the finalizer) |
//! | `proxies/status` | update |
//! | `providerhealths` | get, list, create, delete |
//! | `providerhealths/status` | update |
//! | `secrets` | get, list, watch; create, patch and delete where endpoints are published |
//! | `leases` of `coordination.k8s.io`, in the operator's namespace | list, watch, create, patch |
//! | `events` of `events.k8s.io` | create, patch |
//!
//! # Guarantees
//! Every request has a deadline, and there are only so many at once. Nothing of a Secret is kept or logged. Streams work only while they are polled.

mod call;
mod connection;
mod events;
mod failure;
mod feed;
mod follow;
mod health;
mod lease;
mod object;
mod proxies;
mod secrets;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use base64::{Engine, prelude::BASE64_STANDARD};
use futures::stream::BoxStream;
use provider_api::{Clock, ProviderName, Uid};
use serde::Deserialize;

use self::{
    call::{Caller, Request},
    events::{About, Events},
    follow::Pace,
};
use crate::{
    backoff::Backoff,
    cluster::{Change, Cluster, ClusterError, Lease, ProviderHealth},
    resource::{Key, Proxy, SecretData, Status},
    step::{Note, Published},
};

/// How requests are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many objects a page of a list has: 250.
    pub page: usize,
    /// How many requests are under way at once, beside watches and the lease's: 32.
    pub at_once: usize,
    /// How long a request may take: 30 s.
    pub request: Duration,
    /// How long a write of the lease may take: 5 s, well within a term.
    pub lease: Duration,
    /// After how long the server is to end a watch, up to half as much again: 4 min.
    pub watch: Duration,
    /// After how long without a word a watch is taken for dead; a server speaks each minute: 150 s.
    pub silence: Duration,
    /// Between attempts after failures: 1 s, up to 30 s.
    pub pause: Backoff,
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            page: 250,
            at_once: 32,
            request: seconds(30),
            lease: seconds(5),
            watch: seconds(4 * 60),
            silence: seconds(150),
            pause: Backoff { first: seconds(1), most: seconds(30) },
        }
    }
}

/// What an [`ApiServer`] is made from.
pub struct Parts {
    /// The client, as [`client`] makes one.
    pub client: kube::Client,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Which Lease operators agree by.
    pub lease: Key,
    /// The name of this process, for events.
    pub instance: String,
    /// How requests are made.
    pub settings: Settings,
    /// Where chances come from.
    pub seed: u64,
}

/// A cluster behind its API server.
pub struct ApiServer {
    caller: Arc<Caller>,
    lease: Key,
    health: health::Stored,
    events: Events,
}

/// A client without retries and timers of its own: each would send a write again whose answer is not known.
///
/// # Errors
/// When the config cannot be used.
pub fn client(mut config: kube::Config) -> Result<kube::Client, kube::Error> {
    config.default_retry = false;
    config.read_timeout = None;
    kube::Client::try_from(config)
}

impl ApiServer {
    /// Asks nothing yet.
    pub fn new(parts: Parts) -> Self {
        let Parts { client, clock, lease, instance, settings, seed } = parts;
        Self {
            caller: Arc::new(Caller::new(client, clock, settings, seed)),
            lease,
            health: health::Stored::default(),
            events: Events::new(&instance),
        }
    }

    /// Sends the events that are queued, for as long as it is polled.
    pub async fn send_events(&self) {
        self.events.run(&self.caller).await;
    }

    fn pace(&self) -> Pace {
        let Settings { watch, silence, .. } = self.caller.settings;
        Pace { period: watch, silence }
    }
}

/// How often candidates look anew at a Lease: a watch that has died unnoticed hides a leader's end no longer than that.
const LEASE_WATCH: Duration = Duration::from_secs(30);

#[async_trait]
impl Cluster for ApiServer {
    fn watch(&self) -> BoxStream<'static, Change> {
        feed::feed(Arc::clone(&self.caller), self.pace())
    }

    async fn read(&self, key: &Key) -> Result<Option<Proxy>, ClusterError> {
        proxies::one(&self.caller, key).await
    }

    async fn list(&self) -> Result<Vec<Proxy>, ClusterError> {
        proxies::all(&self.caller).await
    }

    async fn write_status(&self, proxy: &Proxy, status: &Status) -> Result<Proxy, ClusterError> {
        proxies::write_status(&self.caller, proxy, status).await
    }

    async fn hold(&self, proxy: &Proxy, held: bool) -> Result<Option<Proxy>, ClusterError> {
        proxies::hold(&self.caller, proxy, held).await
    }

    async fn secret(&self, key: &Key) -> Result<Option<SecretData>, ClusterError> {
        let path = format!("/api/v1/namespaces/{}/secrets/{}", key.namespace, key.name);
        match self.caller.send(&Request::get(path).secret()).await {
            Ok(bytes) => secret(&bytes).map(Some),
            Err(failure) if failure.is_absent() => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn publish(
        &self,
        proxy: &Proxy,
        secret: &str,
        data: &SecretData,
    ) -> Result<Published, ClusterError> {
        connection::publish(&self.caller, proxy, secret, data).await
    }

    async fn withdraw(&self, proxy: &Proxy, secret: &str) -> Result<(), ClusterError> {
        connection::withdraw(&self.caller, proxy, secret).await
    }

    fn tell(&self, key: &Key, uid: &Uid, note: &Note) {
        let about = About {
            kind: "Proxy",
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            uid: Some(uid.as_str().to_owned()),
        };
        self.events.tell(&self.caller, about, note);
    }

    fn watch_lease(&self) -> BoxStream<'static, Option<Lease>> {
        let pace = Pace { period: LEASE_WATCH, silence: LEASE_WATCH * 2 };
        lease::watch(Arc::clone(&self.caller), &self.lease, pace)
    }

    async fn write_lease(&self, lease: &Lease) -> Result<Lease, ClusterError> {
        lease::write(&self.caller, &self.lease, lease).await
    }

    async fn write_health(&self, name: &str, health: &ProviderHealth) -> Result<(), ClusterError> {
        self.health.write(&self.caller, name, health).await
    }

    async fn keep_health(&self, configured: &[ProviderName]) -> Result<(), ClusterError> {
        self.health.keep(&self.caller, configured).await
    }

    fn tell_of_provider(&self, name: &ProviderName, note: &Note) {
        let about = About {
            kind: "ProviderHealth",
            namespace: String::new(),
            name: name.to_string(),
            uid: self.health.uid(name.as_str()),
        };
        self.events.tell(&self.caller, about, note);
    }
}

/// Reads a Secret. What is wrong with one is said without what it holds.
fn secret(bytes: &[u8]) -> Result<SecretData, ClusterError> {
    #[derive(Deserialize)]
    struct Wire {
        #[serde(default)]
        data: Option<std::collections::BTreeMap<String, String>>,
    }
    let unreadable = || ClusterError::Doubtful("a Secret cannot be read".to_owned());
    let Wire { data } = serde_json::from_slice(bytes).map_err(|_| unreadable())?;
    let decoded = |(key, text): (String, String)| {
        let text = zeroize::Zeroizing::new(text);
        let bytes = BASE64_STANDARD.decode(text.as_bytes()).map_err(|_| unreadable())?;
        Ok((key, provider_api::Secret::new(bytes)))
    };
    data.unwrap_or_default().into_iter().map(decoded).collect()
}
