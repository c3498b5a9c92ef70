//! The cluster as one operator sees it: requests that the plan lets go wrong, and watches that lag, freeze and skip.

use std::{sync::Arc, task::Poll, time::Duration};

use async_trait::async_trait;
use futures::{
    StreamExt,
    future::poll_fn,
    stream::{self, BoxStream},
    task::AtomicWaker,
};
use provider_api::{ProviderName, Uid};
use proxy_operator::{
    cluster::{Change, Cluster, ClusterError, Lease, ProviderHealth},
    resource::{Key, Proxy, SecretData, Status},
    step::{Note, Published},
};

use crate::{
    api::{Changed, Entry, Server},
    mischief::{Mischief, Struck},
    watchdog::Watchdog,
};

/// One operator's way to the API server.
pub(crate) struct View {
    pub(crate) server: Server,
    pub(crate) mischief: Mischief,
    /// By how much its first look is behind.
    pub(crate) behind: Duration,
    pub(crate) watchdog: Watchdog,
}

impl View {
    /// One request: it may be late, fail, or be done without anybody hearing of it.
    async fn request<T>(
        &self,
        what: &'static str,
        about: Option<&Key>,
        does: impl FnOnce(&Server, Duration) -> Result<T, ClusterError> + Send,
    ) -> Result<T, ClusterError> {
        let doubtful = |why: &str| ClusterError::Doubtful(format!("{what}: {why}"));
        self.mischief.latency().await;
        if self.mischief.is_api_down() {
            self.mischief.pass(Duration::from_secs(1)).await;
            return Err(doubtful("connection refused"));
        }
        self.watchdog.starts_a_request();
        let struck = self.mischief.strike(
            || match about {
                Some(key) => format!("{what} of {key}"),
                None => what.to_owned(),
            },
            about.is_some(),
        );
        match (struck, about) {
            (Some(Struck::Before), _) => return Err(doubtful("429 too many requests")),
            (Some(Struck::Outpaced), Some(key)) => self.outpaces(key),
            _ => {}
        }
        let result = does(&self.server, self.mischief.now());
        match struck {
            None | Some(Struck::Before | Struck::Outpaced) => {
                self.mischief.latency().await;
                result
            }
            Some(Struck::After) => Err(doubtful("500 after all")),
            Some(Struck::Silence) => {
                self.mischief.pass(Duration::from_secs(30)).await;
                Err(doubtful("no answer within 30 s"))
            }
            Some(Struck::Dead) => self.mischief.die().await,
        }
    }

    /// Somebody else writes the object: something that is nobody's business.
    fn outpaces(&self, key: &Key) {
        let at = self.mischief.now();
        self.server.change(|state| {
            state.edit(key, at, |object| {
                let annotations = Arc::make_mut(&mut object.annotations);
                drop(annotations.insert("example.com/looked-at".to_owned(), format!("{at:?}")));
            });
        });
    }
}

#[async_trait]
impl Cluster for View {
    fn watch(&self) -> BoxStream<'static, Change> {
        let (server, mischief, behind) = (self.server.clone(), self.mischief.clone(), self.behind);
        let start = async move {
            let since = mischief.now().saturating_sub(behind);
            let next = server.state().log.partition_point(|entry| entry.at < since);
            let proxies = server.state().as_of(next);
            let all = proxies.values().map(|object| object.read()).collect();
            let rest = Feed(Entries::new(server, mischief, next, |what| !matches!(what, Changed::Lease(_))));
            stream::iter([Change::All(all)]).chain(stream::unfold(rest, Feed::next))
        };
        Box::pin(stream::once(start).flatten())
    }

    async fn read(&self, key: &Key) -> Result<Option<Proxy>, ClusterError> {
        let read = |server: &Server, _| {
            let mut state = server.state();
            state.counts.reads += 1;
            Ok(state.proxies.get(key).map(|object| Proxy::clone(&object.read())))
        };
        self.request("read", None, read).await
    }

    async fn list(&self) -> Result<Vec<Proxy>, ClusterError> {
        let list = |server: &Server, _| {
            let mut state = server.state();
            state.counts.lists += 1;
            Ok(state.proxies.values().map(|object| Proxy::clone(&object.read())).collect())
        };
        self.request("list", None, list).await
    }

    async fn write_status(&self, proxy: &Proxy, status: &Status) -> Result<Proxy, ClusterError> {
        let status = serde_json::to_value(status).expect("a status is data");
        let write = |server: &Server, at| {
            let written = server.change(|state| state.write(proxy, at, |object| object.status = status));
            if let Ok(Some(now)) = &written {
                self.watchdog.written(proxy, now);
            }
            written
        };
        self.request("write status", Some(&proxy.key), write).await?.ok_or(ClusterError::NotFound)
    }

    async fn hold(&self, proxy: &Proxy, held: bool) -> Result<Option<Proxy>, ClusterError> {
        let what = if held { "hold" } else { "release" };
        let write = |server: &Server, at| {
            let written = server.change(|state| state.write(proxy, at, |object| object.held = held));
            if !held && written.is_ok() {
                self.watchdog.released(proxy.uid.as_str());
            }
            written
        };
        self.request(what, Some(&proxy.key), write).await
    }

    async fn secret(&self, key: &Key) -> Result<Option<SecretData>, ClusterError> {
        self.request("read secret", None, |server, _| Ok(server.state().secret(key))).await
    }

    async fn publish(
        &self,
        proxy: &Proxy,
        secret: &str,
        data: &SecretData,
    ) -> Result<Published, ClusterError> {
        let write = |server: &Server, at| Ok(server.change(|state| state.publish(proxy, secret, data, at)));
        self.request("publish", Some(&proxy.key), write).await
    }

    async fn withdraw(&self, proxy: &Proxy, secret: &str) -> Result<(), ClusterError> {
        let write = |server: &Server, at| {
            server.change(|state| state.withdraw(proxy, secret, at));
            Ok(())
        };
        self.request("withdraw", Some(&proxy.key), write).await
    }

    fn tell(&self, key: &Key, _: &Uid, note: &Note) {
        self.server.state().counts.events += 1;
        self.mischief.trace(|| format!("event of {key}: {} {}", note.reason, note.message));
    }

    fn watch_lease(&self) -> BoxStream<'static, Option<Lease>> {
        let (server, mischief) = (self.server.clone(), self.mischief.clone());
        let start = async move {
            let (last, next) = {
                let state = server.state();
                (state.lease.clone(), state.log.len())
            };
            let rest = Entries::new(server, mischief, next, |what| matches!(what, Changed::Lease(_)));
            let leases = stream::unfold(rest, |mut rest| async move {
                loop {
                    match rest.next().await.map(|entry| entry.what) {
                        Some(Changed::Lease(lease)) => return Some((Some(lease), rest)),
                        Some(_) => {}
                        // The leases of that time were not seen; the last one is still in the log.
                        None => {
                            let last = rest.server.state().last_lease();
                            rest.at = last.map_or(rest.at, |last| last.max(rest.at));
                        }
                    }
                }
            });
            stream::iter([last]).chain(leases)
        };
        Box::pin(stream::once(start).flatten())
    }

    async fn write_lease(&self, lease: &Lease) -> Result<Lease, ClusterError> {
        let write = |server: &Server, at| server.change(|state| state.write_lease(lease, at));
        self.request("write lease", None, write).await
    }

    async fn write_health(&self, name: &str, health: &ProviderHealth) -> Result<(), ClusterError> {
        let write = |server: &Server, _| {
            let mut state = server.state();
            state.counts.health += 1;
            state.health.insert(name.to_owned(), health.clone());
            Ok(())
        };
        self.request("write health", None, write).await
    }

    async fn keep_health(&self, configured: &[ProviderName]) -> Result<(), ClusterError> {
        let keep = |server: &Server, _| {
            server.state().health.retain(|name, _| configured.iter().any(|kept| kept.as_str() == name));
            Ok(())
        };
        self.request("keep health", None, keep).await
    }

    fn tell_of_provider(&self, name: &ProviderName, note: &Note) {
        self.server.state().counts.events += 1;
        self.mischief.trace(|| format!("event of {name}: {} {}", note.reason, note.message));
    }
}

/// A watch of Proxies and Secrets.
struct Feed(Entries);

impl Feed {
    async fn next(mut self) -> Option<(Change, Self)> {
        loop {
            let Some(entry) = self.0.next().await else {
                // A watch that could not go on begins anew, and what was undone meanwhile is never told. The list may be behind.
                let state = self.0.server.state();
                let since = self.0.mischief.now().saturating_sub(self.0.behind);
                let proxies = match self.0.behind.is_zero() {
                    true => {
                        self.0.at = state.log.len();
                        state.proxies.clone()
                    }
                    false => {
                        self.0.at = state.log.partition_point(|entry| entry.at < since);
                        state.as_of(self.0.at)
                    }
                };
                let all = proxies.values().map(|object| object.read()).collect();
                drop(state);
                return Some((Change::All(all), self));
            };
            let change = match entry.what {
                Changed::Proxy(object) => Change::Changed(object.read()),
                Changed::Gone(key, uid) => {
                    Change::Gone(key, Uid::parse(&uid).expect("the world's UIDs are well-formed"))
                }
                Changed::Secret(key) => Change::Secret(key),
                Changed::Lease(_) => continue,
            };
            return Some((change, self));
        }
    }
}

/// The log from one point on, each entry as late as the operator's watches are.
struct Entries {
    server: Server,
    mischief: Mischief,
    at: usize,
    /// By how much the list is behind from which it begins anew.
    behind: Duration,
    /// What it is a watch of.
    is_about: fn(&Changed) -> bool,
    listener: Arc<AtomicWaker>,
}

impl Entries {
    fn new(server: Server, mischief: Mischief, at: usize, is_about: fn(&Changed) -> bool) -> Self {
        let listener = server.listener();
        Self { server, mischief, at, behind: Duration::ZERO, is_about, listener }
    }

    /// The next entry; `None` when the watch stood still and has to begin anew.
    async fn next(&mut self) -> Option<Entry> {
        let entry = poll_fn(|context| {
            self.listener.register(context.waker());
            let state = self.server.state();
            let rest = state.log.get(self.at..).unwrap_or_default();
            match rest.iter().position(|entry| (self.is_about)(&entry.what)) {
                Some(skipped) => {
                    self.at += skipped;
                    Poll::Ready(rest[skipped].clone())
                }
                None => {
                    self.at = state.log.len();
                    Poll::Pending
                }
            }
        })
        .await;
        self.mischief.lag(entry.at).await;
        if let Some(until) = self.mischief.frozen_until() {
            self.mischief.pass_until(until).await;
            self.behind = Duration::ZERO;
            return None;
        }
        if let Some(behind) = self.mischief.breaks() {
            self.behind = behind;
            return None;
        }
        self.at += 1;
        Some(entry)
    }
}
