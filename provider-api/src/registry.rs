//! The registry: which types of providers there are, and the providers that a config file makes of them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use crate::{
    Built, Context, Identity, Profile, ProviderName,
    config::{Collector, ConfigReport, Fields, Node, Shared},
    decorate,
};

/// Makes a provider from an entry's own block. It dials nothing (`runtime.constructor-does-not-dial`); what is wrong
/// with the block it reports through the fields and answers `None`.
pub type Build = Arc<dyn Fn(&Shared, &mut Fields<'_>, Context) -> Option<Built> + Send + Sync>;

/// One type of provider.
#[derive(Clone)]
pub struct ProviderType {
    /// Its name in the config; its block has the same key.
    pub name: &'static str,
    /// Its profile.
    pub profile: fn() -> Profile,
    /// Its constructor.
    pub build: Build,
}

impl fmt::Debug for ProviderType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderType").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The types that a program links. The list of types in config errors comes from here.
#[derive(Clone, Debug, Default)]
pub struct Registry(Vec<ProviderType>);

/// One configured provider.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The shared fields.
    pub common: Shared,
    /// The type.
    pub provider_type: &'static str,
    /// The provider and its abilities, decorated.
    pub built: Built,
    source: Node,
    identity: Identity,
}

/// The providers of one config file, by configured name.
#[derive(Clone, Debug, Default)]
pub struct Providers(BTreeMap<ProviderName, Arc<Entry>>);

impl Providers {
    /// The provider with that name.
    pub fn get(&self, name: &ProviderName) -> Option<&Arc<Entry>> {
        self.0.get(name)
    }

    /// All of them, by name.
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

    /// Builds every provider of a config file, decorated.
    ///
    /// The top level holds `providers` and whatever `top` reads; `surroundings` gives each entry its context.
    ///
    /// # Errors
    /// Everything that is wrong with the file at once.
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
        let fresh = (provider_type.build)(&common, &mut own, context.clone());
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
        Some(Entry { common, provider_type: provider_type.name, built, source: node.clone(), identity })
    }

    fn find(&self, name: &str) -> Option<&ProviderType> {
        self.0.iter().find(|known| known.name == name)
    }
}

/// The providers in force, and their replacement without a restart.
#[derive(Debug, Default)]
pub struct Live(RwLock<Arc<Providers>>);

impl Live {
    /// The providers that a program starts with.
    pub fn new(providers: Providers) -> Self {
        Self(RwLock::new(Arc::new(providers)))
    }

    /// The providers in force now.
    pub fn current(&self) -> Arc<Providers> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a new config in force. One with problems changes nothing (`runtime.reload-keeps-old-on-error`).
    ///
    /// # Errors
    /// Everything that is wrong with the new file.
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
