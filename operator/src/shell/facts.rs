//! What the step may ask about providers, and what is counted for the brakes.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use provider_api::{ProviderName, Providers, config::Probe};
use rand::Rng;

use super::{Shell, reconcile::Known};
use crate::{
    resource::{Digest, Phase, Proxy},
    step::{Brake, Fact, Facts, Health, Memory},
};

/// How many instances of one provider are replaced for their health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brakes {
    /// At most so many at a time: 10.
    pub max_replacing: usize,
    /// Or this share of them, in hundredths, if that is more: 5.
    pub max_replacing_percent: usize,
    /// None any more when more than this share, in hundredths, is unhealthy at once: 30.
    pub freeze_at_percent: usize,
}

impl Default for Brakes {
    fn default() -> Self {
        Self { max_replacing: 10, max_replacing_percent: 5, freeze_at_percent: 30 }
    }
}

impl Brakes {
    /// Whether one more may be replaced.
    fn brake(&self, counts: Counts) -> Brake {
        let Counts { probed, unhealthy, mending } = counts;
        let most = self.max_replacing.max(probed * self.max_replacing_percent / 100);
        // One of two or three is no sign of anything.
        if unhealthy > 1 && unhealthy * 100 > probed * self.freeze_at_percent {
            Brake::Frozen
        } else if mending >= most {
            Brake::Full
        } else {
            Brake::Open
        }
    }
}

/// What is counted of one provider.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Up, or being replaced for its health.
    probed: usize,
    unhealthy: usize,
    mending: usize,
}

/// What one Proxy counts as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    provider: Option<ProviderName>,
    unhealthy: bool,
    mending: bool,
}

impl Counted {
    pub(super) fn of(known: &Known) -> Self {
        let status = &known.proxy.status;
        let mending = known.memory.is_mending();
        let is_up = status.phase == Some(Phase::Running);
        let provider = status.instance.as_ref().map(|instance| &instance.provider);
        let provider = provider.or_else(|| known.proxy.usable().map(|spec| &spec.provider));
        Self {
            provider: provider.filter(|_| is_up || mending).cloned(),
            unhealthy: is_up && matches!(known.health, Health::Unhealthy { .. }),
            mending,
        }
    }
}

/// How providers stand, as far as the operator knows.
#[derive(Debug, Default)]
pub(super) struct Standing {
    digests: BTreeMap<ProviderName, Digest>,
    ready: BTreeMap<ProviderName, Duration>,
    counts: BTreeMap<ProviderName, Counts>,
}

impl Standing {
    pub(super) fn configured(&mut self, provider: &ProviderName, digest: Option<Digest>) {
        match digest {
            Some(digest) => self.digests.insert(provider.clone(), digest),
            None => self.digests.remove(provider),
        };
    }

    pub(super) fn ready_again(&mut self, provider: &ProviderName, tick: Duration) {
        self.ready.insert(provider.clone(), tick);
    }

    pub(super) fn recount(&mut self, before: &Counted, now: &Counted) {
        if before != now {
            self.uncount(before);
            if let Some(provider) = &now.provider {
                let counts = self.counts.entry(provider.clone()).or_default();
                counts.probed += 1;
                counts.unhealthy += usize::from(now.unhealthy);
                counts.mending += usize::from(now.mending);
            }
        }
    }

    pub(super) fn uncount(&mut self, before: &Counted) {
        if let Some(counts) = before.provider.as_ref().and_then(|provider| self.counts.get_mut(provider)) {
            counts.probed -= 1;
            counts.unhealthy -= usize::from(before.unhealthy);
            counts.mending -= usize::from(before.mending);
        }
    }
}

/// The providers of one moment.
pub(super) struct Configured<'s> {
    shell: &'s Shell,
    providers: Arc<Providers>,
}

impl Shell {
    pub(super) fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn facts(&self) -> Configured<'_> {
        Configured { shell: self, providers: self.providers.current() }
    }

    /// What is known of a Proxy that is seen for the first time. One that ran when the last operator looked is looked at
    /// within a round, so that a restart does not ask for all of them at once.
    pub(super) fn first_look(&self, proxy: Arc<Proxy>) -> Known {
        let mut memory = Memory::default();
        if proxy.status.phase == Some(Phase::Running) {
            memory.spread(self.clock.monotonic(), &self.settings, self.random().random());
        }
        Known {
            proxy,
            memory,
            inputs: None,
            health: Health::Unknown,
            doubts: 0,
            gone: false,
            successor: None,
        }
    }

    /// Where a Proxy is to be probed, if it is.
    pub(super) fn probed_endpoint(&self, known: &Known) -> Option<String> {
        let Proxy { status, deleting, .. } = &*known.proxy;
        let provider = &status.instance.as_ref()?.provider;
        let is_probed = self.providers.current().get(provider)?.common.probe == Probe::On;
        let is_up = status.phase == Some(Phase::Running) && !deleting && is_probed;
        status.endpoint.clone().filter(|_| is_up)
    }
}

impl Configured<'_> {
    /// What probes say, where there are probes.
    pub(super) fn health(&self, known: &Known) -> Health {
        let instance = known.proxy.status.instance.as_ref();
        let entry = instance.and_then(|instance| self.providers.get(&instance.provider));
        match entry.map(|entry| entry.common.probe) {
            Some(Probe::Off) => Health::Off,
            _ => known.health.clone(),
        }
    }
}

impl Facts for Configured<'_> {
    fn of(&self, provider: &ProviderName) -> Option<Fact> {
        let entry = self.providers.get(provider)?;
        let standing = self.shell.standing();
        let counts = standing.counts.get(provider).copied().unwrap_or_default();
        Some(Fact {
            digest: standing.digests.get(provider).cloned().unwrap_or_else(|| Digest::of(b"")),
            settle: entry.built.provider.profile().settle,
            ready_again: standing.ready.get(provider).copied(),
            allowed_namespaces: entry.common.allowed_namespaces.clone(),
            brake: self.shell.brakes.brake(counts),
        })
    }
}
