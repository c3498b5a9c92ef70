//! The orphan collector: what has this installation's mark and no owner is deleted, and so is what its owner has no use for.
//! What a round deletes is decided in `plan`; here it is listed, deleted and told of.
//!
//! # Guarantees
//! Everything on backends is listed *before* the Proxies, and those are read whole and live: when the API server has no whole
//! answer, nothing is deleted. Each deletion has a line in the log under the target `audit` that says which rule allowed it.

mod plan;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use futures::{
    future::{BoxFuture, Either, join_all, select},
    pin_mut,
};
use provider_api::{Clock, Deleted, Entry, Live, ProviderName, Providers, Unreachable, Wait};

pub use plan::{Limits, Plan, Removal, Rule, Seen, What, plan, still_has_another};

use crate::{
    cluster::{Cluster, ClusterError},
    election::Term,
    step::Note,
};

/// How the collector works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What lies between the starts of two rounds: 10 min.
    pub every: Duration,
    /// What holds a round back.
    pub limits: Limits,
    /// Whether it says what it would delete, and deletes nothing.
    pub dry_run: bool,
    /// How long a provider may list until the round goes on without it: 5 min.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        Self { every: minutes(10), limits: Limits::default(), dry_run: false, patience: minutes(5) }
    }
}

/// The collector of one term of leadership.
pub struct Collector {
    /// The cluster, whose Proxies are the owners.
    pub cluster: Arc<dyn Cluster>,
    /// The configured providers.
    pub providers: Arc<Live>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// For as long as this operator leads.
    pub term: Term,
    /// How it works.
    pub settings: Settings,
}

/// What a round did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What it was about to delete, and what came of that.
    pub removals: Vec<(Removal, Outcome)>,
    /// What was left out, by provider: parts that could not be read, listings that failed.
    pub left_out: Vec<(ProviderName, String)>,
    /// How many more there would have been, by provider.
    pub held_back: BTreeMap<ProviderName, usize>,
}

/// What came of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was done: this is a dry run.
    Planned,
    /// Nothing is left of it.
    Gone,
    /// The backend works on it; the next round looks again.
    Accepted,
    /// Its target is no longer configured; the sentence says what is left there.
    Abandoned(String),
    /// It was not deleted.
    Failed(String),
    /// It was left alone after all.
    Spared(&'static str),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Planned => f.write_str("would be deleted"),
            Self::Gone => f.write_str("gone"),
            Self::Accepted => f.write_str("accepted"),
            Self::Abandoned(what) => write!(f, "abandoned: {what}"),
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Spared(why) => write!(f, "spared: {why}"),
        }
    }
}

impl Collector {
    /// Collects at once, and then every [`Settings::every`], for as long as it is polled.
    pub async fn run(self) {
        loop {
            let began = self.clock.monotonic();
            match self.round().await {
                Ok(report) => self.tell(&report),
                Err(error) => {
                    tracing::warn!(%error, "nothing is collected: the Proxies cannot be listed");
                }
            }
            let next = began + self.settings.every;
            let wait = next.saturating_sub(self.clock.monotonic());
            self.clock.sleep(wait, Wait::Idle).await;
        }
    }

    /// One round.
    ///
    /// # Errors
    /// When the API server has no whole answer. Nothing was deleted then.
    pub async fn round(&self) -> Result<Report, ClusterError> {
        let providers = self.providers.current();
        let mut report = Report::default();
        let seen = self.look(&providers, &mut report).await;
        // Only now: whoever is in no list that was asked for later owns nothing that was listed before.
        let proxies = self.cluster.list().await?;
        let plan = plan(&seen, &proxies, self.clock.now(), &self.settings.limits);
        drop(proxies);
        report.held_back = plan.held_back;
        let removals = plan.removals.into_iter().map(|removal| self.remove(&providers, removal));
        report.removals = join_all(removals).await;
        Ok(report)
    }

    /// Everything that providers list, all at once. One that does not answer holds nobody up.
    async fn look(&self, providers: &Providers, report: &mut Report) -> BTreeMap<ProviderName, Seen> {
        let looks = providers.iter().map(|(name, entry)| async move {
            let (seen, left_out) = self.within(see(entry)).await.unwrap_or_else(|| {
                let seconds = self.settings.patience.as_secs();
                (Seen::default(), vec![format!("it did not list within {seconds} s")])
            });
            (name.clone(), seen, left_out)
        });
        let mut all = BTreeMap::new();
        for (name, seen, left_out) in join_all(looks).await {
            report.left_out.extend(left_out.into_iter().map(|why| (name.clone(), why)));
            all.insert(name, seen);
        }
        all
    }

    async fn within<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let guard = self.clock.sleep(self.settings.patience, Wait::Guard);
        pin_mut!(future);
        match select(future, guard).await {
            Either::Left((value, _)) => Some(value),
            Either::Right(((), _)) => None,
        }
    }

    async fn remove(&self, providers: &Providers, removal: Removal) -> (Removal, Outcome) {
        let outcome = match self.is_spared(&removal).await {
            Some(why) => Outcome::Spared(why),
            None if self.settings.dry_run => Outcome::Planned,
            None => match providers.get(&removal.provider) {
                Some(entry) => self.delete(entry, &removal).await,
                None => Outcome::Spared("its provider is not configured any more"),
            },
        };
        (removal, outcome)
    }

    /// Why it is left alone after all. It is the last thing that is asked before the deletion.
    async fn is_spared(&self, removal: &Removal) -> Option<&'static str> {
        if let Rule::OwnerHasAnother { owner, uid } = &removal.rule {
            match self.cluster.read(owner).await {
                Ok(Some(owner)) if still_has_another(&owner, uid, removal) => {}
                Ok(_) => return Some("its owner has changed"),
                Err(_) => return Some("its owner cannot be read"),
            }
        }
        let holds = self.term.holds(&*self.clock);
        (!holds).then_some("this operator leads no more")
    }

    async fn delete(&self, entry: &Entry, removal: &Removal) -> Outcome {
        let Removal { provider, what, rule } = removal;
        let (id, name) = (what.id(), what.name());
        tracing::info!(target: "audit", who = "collector", rule = rule.as_str(), %provider, id, %name, why = %rule, "deletes");
        let outcome = match (plan::call_id(what), &entry.built.leftovers) {
            (Ok(id), _) => match entry.built.provider.delete(id).await {
                Ok(Deleted::Gone) => Outcome::Gone,
                Ok(Deleted::Accepted) => Outcome::Accepted,
                Ok(Deleted::Abandoned(what)) => Outcome::Abandoned(what),
                Err(error) => Outcome::Failed(error.to_string()),
            },
            (Err(id), Some(leftovers)) => match leftovers.delete(id).await {
                Ok(()) => Outcome::Gone,
                Err(error) => Outcome::Failed(error.to_string()),
            },
            (Err(_), None) => Outcome::Spared("its provider has no leftovers any more"),
        };
        tracing::info!(target: "audit", who = "collector", rule = rule.as_str(), %provider, id, %name, %outcome, "has deleted");
        outcome
    }

    /// Tells people what a round did.
    fn tell(&self, report: &Report) {
        for (provider, why) in &report.left_out {
            tracing::warn!(%provider, why, "the collector leaves out what it cannot read");
        }
        for (removal, outcome) in &report.removals {
            let Removal { provider, what, rule } = removal;
            let (warning, reason) = match outcome {
                Outcome::Gone | Outcome::Accepted => (false, "OrphanDeleted"),
                Outcome::Planned => (false, "OrphanFound"),
                Outcome::Abandoned(_) => (true, "OrphanLeftBehind"),
                Outcome::Failed(_) => (true, "OrphanNotDeleted"),
                Outcome::Spared(why) => {
                    tracing::info!(%provider, id = what.id(), why, "the collector spares something after all");
                    continue;
                }
            };
            let message = format!("{} ({rule}): {outcome}", what.id());
            self.cluster.tell_of_provider(provider, &Note { warning, reason, message });
        }
        for (provider, more) in &report.held_back {
            let most = self.settings.limits.most;
            let message = format!("{more} orphans wait for the next round: one round deletes at most {most}");
            let note = Note { warning: true, reason: "OrphansHeldBack", message };
            self.cluster.tell_of_provider(provider, &note);
        }
        tracing::info!(
            removals = report.removals.len(),
            held_back = report.held_back.values().sum::<usize>(),
            left_out = report.left_out.len(),
            "a round of the collector has ended"
        );
    }
}

/// What one provider lists, and what it could not.
fn see(entry: &Arc<Entry>) -> BoxFuture<'_, (Seen, Vec<String>)> {
    Box::pin(async {
        let mut left_out = Vec::new();
        let mut parts = |unreachable: &[Unreachable]| {
            left_out.extend(unreachable.iter().map(|part| format!("{}: {}", part.target, part.reason)));
        };
        let mut seen = Seen::default();
        match entry.built.provider.list_by_tag().await {
            Ok(listing) => {
                parts(&listing.unreachable);
                seen.instances = Some(listing);
            }
            Err(error) => return (seen, vec![error.to_string()]),
        }
        let mut failed = None;
        if let Some(leftovers) = &entry.built.leftovers {
            match leftovers.list().await {
                Ok(listing) => {
                    parts(&listing.unreachable);
                    seen.leftovers = Some(listing);
                }
                Err(error) => failed = Some(error.to_string()),
            }
        }
        left_out.extend(failed);
        (seen, left_out)
    })
}
