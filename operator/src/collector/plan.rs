//! What a round deletes: from what providers list, the Proxies of a later list, and the time. It asks nobody.
//!
//! A Proxy precedes its instance and UIDs never return, so an instance that was listed *before* the Proxies, and whose UID
//! none of them has, belongs to nobody for ever. That needs no clock; [`Limits::min_age`] is a second belt.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use provider_api::{
    Leftover, LeftoverId, LeftoverListing, Listed, Listing, Name, ProviderId, ProviderName, Timestamp, Uid,
};

use crate::resource::{InstanceRecord, Key, Proxy};

/// What one provider listed, before the Proxies were.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Its instances; `None` where the listing failed, and then nothing of the provider is touched.
    pub instances: Option<Listing>,
    /// Its leftovers; `None` where it has none, or the listing failed.
    pub leftovers: Option<LeftoverListing>,
}

/// What holds a round back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What is younger is spared; of what nobody knows the age is very old: 10 min.
    pub min_age: Duration,
    /// At most so much is deleted of one provider in one round: 100.
    pub most: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { min_age: Duration::from_secs(10 * 60), most: 100 }
    }
}

/// Why something may be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No Proxy has its UID.
    NoOwner,
    /// A Proxy has its UID, says that its instance is another one, and that one is listed.
    OwnerHasAnother {
        /// The Proxy.
        owner: Key,
        /// Its UID.
        uid: Uid,
    },
}

impl Rule {
    /// The rule as one word, for audit lines.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NoOwner => "no-owner",
            Self::OwnerHasAnother { .. } => "owner-has-another",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOwner => f.write_str("no Proxy has its UID"),
            Self::OwnerHasAnother { owner, .. } => write!(f, "the instance of Proxy {owner} is another one"),
        }
    }
}

/// What is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An instance.
    Instance(Listed),
    /// What an instance left.
    Leftover(Leftover),
}

impl What {
    /// Its id, as the provider knows it.
    pub fn id(&self) -> &str {
        match self {
            Self::Instance(listed) => listed.id.as_str(),
            Self::Leftover(leftover) => leftover.id.as_str(),
        }
    }

    /// The name of the instance.
    pub fn name(&self) -> &Name {
        match self {
            Self::Instance(listed) => &listed.name,
            Self::Leftover(leftover) => &leftover.owner,
        }
    }
}

/// One deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The configured provider.
    pub provider: ProviderName,
    /// What goes.
    pub what: What,
    /// What allows it.
    pub rule: Rule,
}

/// What a round deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The deletions, by provider and id.
    pub removals: Vec<Removal>,
    /// How many more there would be, where [`Limits::most`] was reached.
    pub held_back: BTreeMap<ProviderName, usize>,
}

/// Decides what a round deletes. `proxies` is the whole list of one moment, and was asked for after everything in `seen` had
/// been answered.
pub fn plan(seen: &BTreeMap<ProviderName, Seen>, proxies: &[Proxy], now: Timestamp, limits: &Limits) -> Plan {
    let round = Round::new(seen, proxies, now, limits);
    let mut plan = Plan::default();
    for (provider, seen) in seen {
        let mut removals = round.of(provider, seen);
        if removals.len() > limits.most {
            plan.held_back.insert(provider.clone(), removals.len() - limits.most);
            removals.truncate(limits.most);
        }
        plan.removals.append(&mut removals);
    }
    plan
}

/// Whether an owner that was read anew still says that its instance is another one than this. Without it the rule does not
/// hold, whatever the list said.
pub fn still_has_another(owner: &Proxy, uid: &Uid, removal: &Removal) -> bool {
    owner.uid == *uid && owner.status.intent.is_none() && names_another(owner, removal).is_some()
}

/// The instance that a Proxy says it has, if that is another one.
fn names_another<'p>(owner: &'p Proxy, removal: &Removal) -> Option<&'p InstanceRecord> {
    let recorded = owner.status.instance.as_ref()?;
    let is_it = recorded.provider == removal.provider
        && match &removal.what {
            What::Instance(listed) => recorded.id == listed.id.as_str(),
            // The parts of a recorded instance are the reconciler's to remove, there or not.
            What::Leftover(_) => true,
        };
    Some(recorded).filter(|_| !is_it)
}

struct Round<'r> {
    by_uid: BTreeMap<&'r Uid, &'r Proxy>,
    by_name: BTreeMap<Name, &'r Proxy>,
    listed: BTreeMap<(&'r ProviderName, &'r str), &'r Listed>,
    now: Timestamp,
    min_age: Duration,
}

impl<'r> Round<'r> {
    fn new(
        seen: &'r BTreeMap<ProviderName, Seen>,
        proxies: &'r [Proxy],
        now: Timestamp,
        limits: &Limits,
    ) -> Self {
        let listed = seen.iter().flat_map(|(provider, seen)| {
            let items = seen.instances.iter().flat_map(|listing| &listing.items);
            items.map(move |listed| ((provider, listed.id.as_str()), listed))
        });
        Self {
            by_uid: proxies.iter().map(|proxy| (&proxy.uid, proxy)).collect(),
            by_name: proxies.iter().map(|proxy| (proxy.instance_name(), proxy)).collect(),
            listed: listed.collect(),
            now,
            min_age: limits.min_age,
        }
    }

    fn of(&self, provider: &ProviderName, seen: &Seen) -> Vec<Removal> {
        let Some(instances) = &seen.instances else { return Vec::new() };
        let removal = |what, rule| Removal { provider: provider.clone(), what, rule };
        let mut removals = BTreeMap::new();
        for listed in &instances.items {
            // A mark counts only under its own name; a provider that lists something else is not believed.
            let is_itself = listed.name == Name::from_uid(&listed.uid);
            if is_itself && self.is_old(listed.created_at) {
                let removal = removal(What::Instance(listed.clone()), Rule::NoOwner);
                let owner = self.by_uid.get(&listed.uid).copied();
                removals.extend(self.allowed(owner, removal).map(|it| ((0, it.what.id().to_owned()), it)));
            }
        }
        // An instance may stand where nobody could look, and a leftover does not say where it is.
        if let Some(leftovers) = seen.leftovers.as_ref().filter(|_| instances.unreachable.is_empty()) {
            let standing: BTreeSet<_> = instances.items.iter().map(|listed| &listed.name).collect();
            for leftover in &leftovers.items {
                if !standing.contains(&leftover.owner) && self.is_old(leftover.created_at) {
                    let removal = removal(What::Leftover(leftover.clone()), Rule::NoOwner);
                    let owner = self.by_name.get(&leftover.owner).copied();
                    removals
                        .extend(self.allowed(owner, removal).map(|it| ((1, it.what.id().to_owned()), it)));
                }
            }
        }
        removals.into_values().collect()
    }

    fn is_old(&self, created_at: Option<Timestamp>) -> bool {
        Timestamp::age(self.now, created_at) >= self.min_age
    }

    /// The removal with the rule that allows it, if one does.
    fn allowed(&self, owner: Option<&Proxy>, removal: Removal) -> Option<Removal> {
        let Some(owner) = owner else { return Some(removal) };
        // It is being made, or was: whatever it comes to is not recorded yet.
        if owner.status.intent.is_some() {
            return None;
        }
        let recorded = names_another(owner, &removal)?;
        // A status can be edited by hand: what it names counts only where it can be seen. Otherwise this may be the only
        // instance, which the reconciler finds again by its name.
        let standing = self.listed.get(&(&recorded.provider, recorded.id.as_str()))?;
        if standing.uid != owner.uid || is_the_same(standing, &removal.what) {
            return None;
        }
        let rule = Rule::OwnerHasAnother { owner: owner.key.clone(), uid: owner.uid.clone() };
        Some(Removal { rule, ..removal })
    }
}

/// Two entries of the config may be of one backend, and then both list what either has made.
fn is_the_same(standing: &Listed, what: &What) -> bool {
    match what {
        What::Instance(listed) => listed.id == standing.id && listed.created_at == standing.created_at,
        What::Leftover(_) => false,
    }
}

/// The id of an instance, as calls take it.
pub(super) fn call_id(what: &What) -> Result<&ProviderId, &LeftoverId> {
    match what {
        What::Instance(listed) => Ok(&listed.id),
        What::Leftover(leftover) => Err(&leftover.id),
    }
}
