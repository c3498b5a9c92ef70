//! The registry: which types of providers there are, the providers that a config file makes of them, and their
//! replacement without a restart. How a file is read is `config`.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use sha2::{Digest as _, Sha256};

use crate::{
    Built, Context, Identity, Profile, ProviderName,
    config::{Collector, ConfigReport, Fields, Node, Shared},
    decorate,
};

/// Makes a provider from what all entries share, the entry's own block, and its surroundings.
///
/// It dials nothing and reads no credential (`runtime.constructor-does-not-dial`); what is wrong with the block it reports
/// through the fields, all of it (`runtime.all-config-errors-at-once`), and answers `None`.
pub type Build = Arc<dyn Fn(&Shared, &mut Fields<'_>, Context) -> Option<Built> + Send + Sync>;

/// One type of provider: what a provider's crate registers.
///
/// ```
/// use std::sync::Arc;
/// use provider_api::{Built, Context, Profile, ProviderType, config::{Fields, Shared}};
/// # struct Acme;
/// # impl Acme { fn new(_: &Shared, _: String, _: Context) -> Self { Self } fn built(self) -> Built { unreachable!() } }
///
/// /// The type `acme`, whose block is `acme: {endpoint: …}`.
/// pub fn provider_type() -> ProviderType {
///     ProviderType {
///         name: "acme",
///         profile: || Profile::plain("acme"),
///         build: Arc::new(|shared: &Shared, fields: &mut Fields<'_>, context: Context| {
///             let endpoint = fields.required::<String>("endpoint")?;
///             Some(Acme::new(shared, endpoint, context).built())
///         }),
///     }
/// }
/// # let _ = provider_type();
/// ```
#[derive(Clone)]
pub struct ProviderType {
    /// Its name in the config; its block has the same key.
    pub name: &'static str,
    /// Its profile, before an entry's budgets take the place of its own.
    pub profile: fn() -> Profile,
    /// What makes one from an entry.
    pub build: Build,
}

impl fmt::Debug for ProviderType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderType").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The types that a program links. The list of types in config errors comes from here.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use futures::future::BoxFuture;
/// # use provider_api::{Built, Clock, CreateRequest, Deleted, Error, GetError, Instance, Listing, Profile, Provider};
/// # use provider_api::{ProviderId, Spawner, Timestamp, Wait};
/// use provider_api::{Context, Identity, InstallationId, Live, ProviderName, ProviderType, Registry};
/// # struct Acme(Profile);
/// # #[async_trait::async_trait]
/// # impl Provider for Acme {
/// #     fn profile(&self) -> &Profile { &self.0 }
/// #     async fn create(&self, _: &CreateRequest) -> Result<ProviderId, Error> { Err(Error::transient("closed")) }
/// #     async fn get(&self, _: &ProviderId) -> Result<Instance, GetError> { Err(GetError::NotFound) }
/// #     async fn delete(&self, _: &ProviderId) -> Result<Deleted, Error> { Ok(Deleted::Gone) }
/// #     async fn list_by_tag(&self) -> Result<Listing, Error> { Ok(Listing::default()) }
/// # }
/// # fn acme() -> ProviderType {
/// #     let profile = || Profile::plain("acme");
/// #     ProviderType { name: "acme", profile, build: Arc::new(move |_, fields, _| {
/// #         fields.required::<String>("endpoint")?;
/// #         Some(Built::new(Arc::new(Acme(profile()))))
/// #     }) }
/// # }
/// # struct Machine;
/// # impl Clock for Machine {
/// #     fn now(&self) -> Timestamp { Timestamp::UNIX_EPOCH }
/// #     fn monotonic(&self) -> Duration { Duration::ZERO }
/// #     fn sleep(&self, _: Duration, _: Wait) -> BoxFuture<'static, ()> { Box::pin(std::future::pending()) }
/// # }
/// # impl Spawner for Machine {
/// #     fn spawn(&self, _: BoxFuture<'static, ()>) {}
/// #     fn spawn_blocking(&self, _: Box<dyn FnOnce() + Send>) {}
/// # }
///
/// let mut registry = Registry::default();
/// registry.register(acme());
///
/// // Clock and spawner are those of the feature `tokio`, or a program's own.
/// let us = Identity::new(InstallationId::parse("cluster-1").unwrap());
/// let surroundings =
///     |name: &ProviderName| Context::new(name.clone(), us.clone(), Arc::new(Machine), Arc::new(Machine));
///
/// let yaml = "{level: debug, providers: [{name: acme-eu, type: acme, acme: {endpoint: 'https://a.example'}}]}";
/// let mut level = None;
/// let providers = registry.load(yaml, |top| level = top.optional::<String>("level"), surroundings).unwrap();
/// let live = Live::new(providers);
/// let name = ProviderName::parse("acme-eu").unwrap();
/// assert_eq!(live.current().get(&name).unwrap().provider_type, "acme");
///
/// // A bad reload changes nothing, and says everything that is wrong.
/// let report = live.reload(&registry, "providers: [{name: A, type: nothing}]", |_| {}, surroundings).unwrap_err();
/// assert_eq!(report.0.len(), 2);
/// assert!(live.current().get(&name).is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry(Vec<ProviderType>);

/// One configured provider, as an entry of the file made it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The fields that every type has: who may use it, limits, budgets.
    pub common: Shared,
    /// The name of its type.
    pub provider_type: &'static str,
    /// The provider and its abilities, decorated.
    pub built: Built,
    source: Node,
    identity: Identity,
    files: Vec<PathBuf>,
}

impl Entry {
    /// The SHA-256 of what the config says of it, and of whose instances are ours: what a failure may rest on. Where the
    /// entry stands in the file does not count, and what its [files](Self::files) hold does not either.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        self.source.feed(&mut hash);
        for installation in [&self.identity.installation].into_iter().chain(&self.identity.adopt) {
            hash.update((installation.as_str().len() as u64).to_be_bytes());
            hash.update(installation.as_str().as_bytes());
        }
        hash.finalize().into()
    }

    /// Every path that its constructor read as one, credentials above all, in the order of reading.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }
}

/// The providers of one config file, by configured name.
#[derive(Clone, Debug, Default)]
pub struct Providers(BTreeMap<ProviderName, Arc<Entry>>);

impl Providers {
    /// The provider that is configured under that name.
    pub fn get(&self, name: &ProviderName) -> Option<&Arc<Entry>> {
        self.0.get(name)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&ProviderName, &Arc<Entry>)> {
        self.0.iter()
    }
}

impl Registry {
    /// Adds a type.
    ///
    /// # Panics
    /// When a type of that name is there already: two crates were linked that claim one name.
    pub fn register(&mut self, provider_type: ProviderType) {
        assert!(
            self.find(provider_type.name).is_none(),
            "provider type {} is registered twice",
            provider_type.name
        );
        self.0.push(provider_type);
    }

    /// The types, in the order of registration.
    pub fn types(&self) -> &[ProviderType] {
        &self.0
    }

    /// Replaces the constructor of a type; the kit's saboteurs work here.
    #[must_use]
    pub fn map(self, change: impl Fn(ProviderType) -> ProviderType) -> Self {
        Self(self.0.into_iter().map(change).collect())
    }

    /// Builds every provider of a config file, decorated ([`decorate`]).
    ///
    /// The top level holds `providers` and whatever `top` reads: a program's own keys, its identity and the installations
    /// that it adopts among them. `surroundings` gives each entry its context.
    ///
    /// # Errors
    /// Everything that is wrong with the file at once, each thing with its path and line (`runtime.strict-config`,
    /// `runtime.all-config-errors-at-once`).
    pub fn load(
        &self,
        yaml: &str,
        top: impl FnOnce(&mut Fields<'_>),
        surroundings: impl Fn(&ProviderName) -> Context,
    ) -> Result<Providers, ConfigReport> {
        self.load_over(&Providers::default(), yaml, top, surroundings)
    }

    /// As [`Registry::load`], but entries that did not change, under an identity that did not change, keep the provider
    /// that `old` has.
    ///
    /// # Errors
    /// As for [`Registry::load`].
    pub fn load_over(
        &self,
        old: &Providers,
        yaml: &str,
        top: impl FnOnce(&mut Fields<'_>),
        surroundings: impl Fn(&ProviderName) -> Context,
    ) -> Result<Providers, ConfigReport> {
        self.load_finished(old, yaml, top, surroundings, decorate)
    }

    /// As [`Registry::load_over`], with something else than [`decorate`] to finish each provider; the kit drives
    /// providers undecorated.
    ///
    /// # Errors
    /// As for [`Registry::load`].
    pub fn load_finished(
        &self,
        old: &Providers,
        yaml: &str,
        top: impl FnOnce(&mut Fields<'_>),
        surroundings: impl Fn(&ProviderName) -> Context,
        finish: impl Fn(Built, &Context) -> Built,
    ) -> Result<Providers, ConfigReport> {
        let root = Node::parse(yaml)?;
        let collector = Collector::default();
        let mut providers = BTreeMap::new();
        if let Some(mut fields) = Fields::new(String::new(), &root, &collector) {
            top(&mut fields);
            if fields.find("providers").is_none() {
                fields.problem("providers", "is missing; expected a list of providers");
            }
            let mut lines = BTreeMap::new();
            for (node, mut entry) in fields.each_with_node("providers") {
                entry.report_taken_name(&mut lines);
                let Some(entry) = self.entry(&mut entry, node, &collector, old, &surroundings, &finish)
                else {
                    continue;
                };
                providers.insert(entry.common.name.clone(), Arc::new(entry));
            }
        }
        collector.into_result(Providers(providers))
    }

    fn entry(
        &self,
        fields: &mut Fields<'_>,
        node: &Node,
        collector: &Collector,
        old: &Providers,
        surroundings: &impl Fn(&ProviderName) -> Context,
        finish: &impl Fn(Built, &Context) -> Built,
    ) -> Option<Entry> {
        let common = Shared::read(fields);
        let Some(name) = fields.required::<String>("type") else {
            fields.ignore_rest();
            return None;
        };
        let Some(provider_type) = self.find(&name) else {
            let known = self.0.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
            fields.problem("type", format!("{name:?} is not a known type; known are: {known}"));
            fields.ignore_rest();
            return None;
        };
        let mut own = fields.section(provider_type.name)?;
        // With an unusable name the block is still read, for its problems' sake.
        let usable = common.is_some();
        let placeholder = || Shared::placeholder(ProviderName::parse("unnamed").expect("a DNS label"));
        let common = common.unwrap_or_else(placeholder);
        let context = surroundings(&common.name);
        let before = collector.len();
        collector.take_paths();
        let fresh = (provider_type.build)(&common, &mut own, context.clone());
        let files = collector.take_paths();
        drop(own);
        if collector.len() > before || !usable {
            return None;
        }
        let Some(fresh) = fresh else {
            fields.problem(provider_type.name, "the provider could not be built, and did not say why");
            return None;
        };
        let unchanged = |entry: &&Arc<Entry>| entry.source == *node && entry.identity == context.identity;
        let kept = old.get(&common.name).filter(unchanged);
        let built = kept.map_or_else(|| finish(fresh, &context), |entry| entry.built.clone());
        let identity = context.identity;
        Some(Entry {
            common,
            provider_type: provider_type.name,
            built,
            source: node.clone(),
            identity,
            files,
        })
    }

    fn find(&self, name: &str) -> Option<&ProviderType> {
        self.0.iter().find(|known| known.name == name)
    }
}

/// The providers in force, and their replacement without a restart. What was handed out before a reload goes on
/// working: an entry that did not change keeps its provider, with whatever that has in flight.
#[derive(Debug, Default)]
pub struct Live(RwLock<Arc<Providers>>);

impl Live {
    /// Puts the providers in force that a program starts with.
    pub fn new(providers: Providers) -> Self {
        Self(RwLock::new(Arc::new(providers)))
    }

    /// The providers in force now, as one consistent set.
    pub fn current(&self) -> Arc<Providers> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a new config in force, as [`Registry::load_over`] builds it over the one that is. One with problems changes
    /// nothing (`runtime.reload-keeps-old-on-error`).
    ///
    /// # Errors
    /// Everything that is wrong with the new file at once.
    pub fn reload(
        &self,
        registry: &Registry,
        yaml: &str,
        top: impl FnOnce(&mut Fields<'_>),
        surroundings: impl Fn(&ProviderName) -> Context,
    ) -> Result<Arc<Providers>, ConfigReport> {
        let new = Arc::new(registry.load_over(&self.current(), yaml, top, surroundings)?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&new);
        Ok(new)
    }
}
