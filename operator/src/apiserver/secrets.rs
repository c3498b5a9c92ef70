//! The Secrets that Proxies name: which they are, and when one of them changes. Of Secrets only metadata are asked for, and of
//! those that no Proxy names nothing is kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures::{
    StreamExt,
    stream::{self, AbortHandle, BoxStream, SelectAll, abortable},
};
use serde_json::value::RawValue;

use super::{
    call::{Caller, Collection, Form},
    follow::{Pace, Read, Seen, follow},
    object::Object,
};
use crate::resource::{Key, Proxy, ResourceVersion};

/// How many namespaces are looked at for the first time at once.
const AT_ONCE: usize = 8;

/// The Secrets that Proxies name.
pub(super) struct Named {
    caller: Arc<Caller>,
    pace: Pace,
    /// The names that each Proxy has in its spec, of those that have any.
    by_proxy: BTreeMap<Key, Vec<String>>,
    namespaces: BTreeMap<String, Namespace>,
    watches: SelectAll<BoxStream<'static, (String, Seen<Secret>)>>,
}

/// One namespace with Secrets that are named.
struct Namespace {
    secrets: BTreeMap<String, Watched>,
    watch: AbortHandle,
}

/// One Secret that is named.
#[derive(Default)]
struct Watched {
    /// By how many Proxies.
    by: usize,
    last: Last,
}

/// What was seen last of a Secret.
#[derive(Default, PartialEq, Eq)]
enum Last {
    /// Nothing: it may have changed since somebody read it.
    #[default]
    Unknown,
    Missing,
    At(ResourceVersion),
}

/// A Secret without what it holds.
#[derive(Debug)]
struct Secret {
    name: String,
    version: ResourceVersion,
}

impl Named {
    pub(super) fn new(caller: Arc<Caller>, pace: Pace) -> Self {
        Self {
            caller,
            pace,
            by_proxy: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            watches: SelectAll::new(),
        }
    }

    /// Takes in what all Proxies name, and looks at what is new. Only then may anybody read those Secrets: what changes from
    /// then on is told.
    pub(super) async fn all(&mut self, proxies: &[Arc<Proxy>]) {
        let kept: BTreeSet<_> = proxies.iter().map(|proxy| &proxy.key).collect();
        let gone: Vec<_> = self.by_proxy.keys().filter(|key| !kept.contains(key)).cloned().collect();
        for key in gone {
            self.gone(&key);
        }
        let mut fresh = BTreeSet::new();
        for proxy in proxies {
            fresh.extend(self.names(proxy));
        }
        self.begin(fresh).await;
    }

    /// Takes in what one Proxy names, as [`Named::all`] does.
    pub(super) async fn changed(&mut self, proxy: &Proxy) {
        let fresh = self.names(proxy);
        self.begin(fresh).await;
    }

    /// A Proxy names nothing any more.
    pub(super) fn gone(&mut self, key: &Key) {
        let names = self.by_proxy.remove(key).unwrap_or_default();
        self.forget(&key.namespace, &names);
    }

    /// The next Secret that is new, has changed or is gone, and is named. It never ends.
    pub(super) async fn next(&mut self) -> Vec<Key> {
        loop {
            let Some((namespace, seen)) = self.watches.next().await else {
                return std::future::pending().await;
            };
            let Some(known) = self.namespaces.get_mut(&namespace) else { continue };
            let told = known.take(seen);
            if !told.is_empty() {
                return told.into_iter().map(|name| Key { namespace: namespace.clone(), name }).collect();
            }
        }
    }

    /// Takes the names of one Proxy in; its namespace, if nobody has named any there.
    fn names(&mut self, proxy: &Proxy) -> Option<String> {
        let mut now: Vec<_> = proxy.watched_secrets().map(str::to_owned).collect();
        now.sort();
        now.dedup();
        let before = self.by_proxy.get(&proxy.key).map(Vec::as_slice).unwrap_or_default();
        if *before == now {
            return None;
        }
        let namespace = &proxy.key.namespace;
        let mut fresh = None;
        for name in &now {
            let known = self.namespaces.entry(namespace.clone()).or_insert_with(|| {
                fresh = Some(namespace.clone());
                Namespace { secrets: BTreeMap::new(), watch: AbortHandle::new_pair().0 }
            });
            known.secrets.entry(name.clone()).or_default().by += 1;
        }
        let before = match now.is_empty() {
            true => self.by_proxy.remove(&proxy.key),
            false => self.by_proxy.insert(proxy.key.clone(), now),
        };
        self.forget(&proxy.key.namespace, &before.unwrap_or_default());
        fresh
    }

    fn forget(&mut self, namespace: &str, names: &[String]) {
        let Some(known) = self.namespaces.get_mut(namespace) else { return };
        for name in names {
            if let Some(watched) = known.secrets.get_mut(name) {
                watched.by -= 1;
                if watched.by == 0 {
                    known.secrets.remove(name);
                }
            }
        }
        if known.secrets.is_empty() {
            known.watch.abort();
            self.namespaces.remove(namespace);
        }
    }

    /// Lists the Secrets of namespaces that are new here, and watches them from there. Where they cannot be listed now, all of
    /// them are told of once they can.
    async fn begin(&mut self, fresh: impl IntoIterator<Item = String>) {
        let fresh: Vec<_> = fresh.into_iter().filter(|name| self.namespaces.contains_key(name)).collect();
        let looks = fresh.into_iter().map(|namespace| {
            let caller = Arc::clone(&self.caller);
            async move { (caller.list(&secrets(&namespace), read).await, namespace) }
        });
        let mut looks = stream::iter(looks).buffer_unordered(AT_ONCE);
        while let Some((found, namespace)) = looks.next().await {
            let Some(known) = self.namespaces.get_mut(&namespace) else { continue };
            let version = match found {
                Ok((all, version)) => {
                    known.take(Seen::All(all));
                    Some(version)
                }
                Err(_) => None,
            };
            let read: Read<Secret> = read;
            let seen = follow(Arc::clone(&self.caller), secrets(&namespace), self.pace, read, version);
            let (seen, watch) = abortable(seen.map(move |seen| (namespace.clone(), seen)));
            known.watch = watch;
            self.watches.push(seen.boxed());
        }
    }
}

impl Namespace {
    /// Takes in what was seen; the named ones that it is news of.
    fn take(&mut self, seen: Seen<Secret>) -> Vec<String> {
        let (one, last) = match seen {
            Seen::All(all) => {
                let mut versions: BTreeMap<_, _> =
                    all.into_iter().map(|secret| (secret.name, secret.version)).collect();
                let mut told = Vec::new();
                for (name, watched) in &mut self.secrets {
                    let last = versions.remove(name).map_or(Last::Missing, Last::At);
                    if watched.last != last {
                        watched.last = last;
                        told.push(name.clone());
                    }
                }
                return told;
            }
            Seen::Changed(secret) => (secret.name, Last::At(secret.version)),
            Seen::Gone(secret) => (secret.name, Last::Missing),
        };
        match self.secrets.get_mut(&one) {
            Some(watched) if watched.last != last => {
                watched.last = last;
                vec![one]
            }
            _ => Vec::new(),
        }
    }
}

fn secrets(namespace: &str) -> Collection {
    Collection { path: format!("/api/v1/namespaces/{namespace}/secrets"), fields: None, form: Form::Metadata }
}

fn read(text: &RawValue) -> Option<Secret> {
    let metadata = Object::read(text.get()).ok()?.metadata;
    Some(Secret { version: metadata.version(), name: metadata.name })
}
