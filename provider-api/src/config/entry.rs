//! What every entry of `providers` may hold beside its own block. It is read by the registry, and a provider's constructor
//! is given it.

use std::time::Duration;

use ipnet::IpNet;

use super::Fields;
use crate::{AddressFamily, AddressPolicy, Budgets, ProviderName};

/// The fields that all types of providers share. Those about addresses, limits, images and budgets are the provider's to
/// keep; `allowedNamespaces` and `probe` are the program's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shared {
    /// `name`: the configured name, a DNS label, once in the file.
    pub name: ProviderName,
    /// `allowedNamespaces`: who may use the entry; empty means everybody.
    pub allowed_namespaces: Vec<String>,
    /// `addressFamily` and `addressRanges`: which addresses count (`get.address-family-and-ranges`).
    pub addresses: AddressPolicy,
    /// `maxConcurrentPerTarget`: operations at once on one target, for [`Context::gate`](crate::Context::gate)
    /// (`runtime.per-target-limit`).
    pub max_concurrent_per_target: usize,
    /// `maxInstances`: how many may exist, booting ones included, for [`Gate::admit`](crate::Gate::admit)
    /// (`create.max-instances`).
    pub max_instances: Option<usize>,
    /// `allowedImagePrefixes`: what a Proxy may ask for beside the catalogue, for [`ImageRules`](crate::ImageRules)
    /// (`create.image-allow-list`).
    pub allowed_image_prefixes: Vec<String>,
    /// `budgets`: what replaces the profile's own (`create.bounded`).
    pub budgets: BudgetOverrides,
    /// `probe`: whether the operator can reach the proxies to probe them.
    pub probe: Probe,
}

/// Whether running proxies are probed: `on`, unless the entry says `off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Probe {
    /// They are.
    #[default]
    On,
    /// The operator's network does not reach them.
    Off,
}

/// Budgets given in the config, each in the place of the one of that name in [`Budgets`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetOverrides {
    /// A whole create.
    pub create: Option<Duration>,
    /// A whole get.
    pub get: Option<Duration>,
    /// A whole delete.
    pub delete: Option<Duration>,
    /// A whole listing, of instances or of leftovers.
    pub list: Option<Duration>,
    /// Making a connection.
    pub connect: Option<Duration>,
    /// One backend call whose kind has no budget of its own.
    pub call: Option<Duration>,
}

impl BudgetOverrides {
    /// The profile's budgets with what the config says instead. A constructor puts the result into its profile too, so
    /// that [`Provider::profile`](crate::Provider::profile) tells the budgets in force.
    ///
    /// ```
    /// use std::time::Duration;
    /// use provider_api::{Profile, config::BudgetOverrides};
    /// let own = Profile::plain("acme").budgets;
    /// let given = BudgetOverrides { create: Some(Duration::from_secs(90)), ..Default::default() };
    /// assert_eq!(given.over(own).create, Duration::from_secs(90));
    /// assert_eq!(given.over(own).delete, own.delete);
    /// ```
    pub fn over(&self, budgets: Budgets) -> Budgets {
        Budgets {
            create: self.create.unwrap_or(budgets.create),
            get: self.get.unwrap_or(budgets.get),
            delete: self.delete.unwrap_or(budgets.delete),
            list: self.list.unwrap_or(budgets.list),
            connect: self.connect.unwrap_or(budgets.connect),
            call: self.call.unwrap_or(budgets.call),
        }
    }
}

impl Shared {
    /// Operations at once on one target, when the entry does not say.
    pub const DEFAULT_CONCURRENCY: usize = 4;

    /// The fields of an entry that says nothing but its name: for tests, and for a block that is read for its problems' sake.
    pub fn placeholder(name: ProviderName) -> Self {
        Self {
            name,
            allowed_namespaces: Vec::new(),
            addresses: AddressPolicy::default(),
            max_concurrent_per_target: Self::DEFAULT_CONCURRENCY,
            max_instances: None,
            allowed_image_prefixes: Vec::new(),
            budgets: BudgetOverrides::default(),
            probe: Probe::On,
        }
    }

    /// Reads them; `None` when the name is unusable, all else falls back so that reading goes on.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required::<ProviderName>("name");
        let budgets = fields.section("budgets").map(|mut own| BudgetOverrides {
            create: own.optional("create"),
            get: own.optional("get"),
            delete: own.optional("delete"),
            list: own.optional("list"),
            connect: own.optional("connect"),
            call: own.optional("call"),
        });
        let concurrency = fields.optional::<std::num::NonZeroUsize>("maxConcurrentPerTarget");
        let family = fields.optional("addressFamily").unwrap_or_default();
        let ranges = fields.or("addressRanges", Vec::new());
        report_other_family(fields, family, &ranges);
        // Every field is asked for before a bad name ends it: what nobody asked for would count as unknown.
        let rest = Self {
            allowed_namespaces: fields.or("allowedNamespaces", Vec::new()),
            addresses: AddressPolicy { family, ranges },
            max_concurrent_per_target: concurrency.map_or(Self::DEFAULT_CONCURRENCY, Into::into),
            max_instances: fields.optional("maxInstances"),
            allowed_image_prefixes: fields.or("allowedImagePrefixes", Vec::new()),
            budgets: budgets.unwrap_or_default(),
            probe: fields.or("probe", Probe::On),
            ..Self::placeholder(ProviderName::parse("unnamed").expect("a DNS label"))
        };
        Some(Self { name: name?, ..rest })
    }
}

fn report_other_family(fields: &Fields<'_>, family: AddressFamily, ranges: &[IpNet]) {
    for (index, range) in ranges.iter().enumerate() {
        if matches!(range, IpNet::V4(_)) != (family == AddressFamily::Ipv4) {
            let text = format!("{range} is not of the entry's addressFamily");
            fields.problem(&format!("addressRanges[{index}]"), text);
        }
    }
}
