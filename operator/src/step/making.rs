//! There is no instance: one is made. The intent is stored first, then the provider is asked, then the id is stored in the
//! write that clears the intent. A crash between is repaired by asking again: the name comes from the UID, create is
//! idempotent, and an adopted instance keeps the intent's digest.

use std::time::Duration;

use provider_api::{Class, ProviderName};

use super::{Action, Fact, Missing, Operation, Step, Stepping};
use crate::resource::{ConditionKind, Digest, Failure, InstanceRecord, Intent, Phase, Truth};

/// Over how long attempts are spread that a provider's recovery releases.
const SPREAD: Duration = Duration::from_secs(60);

impl Stepping<'_, '_> {
    /// Stores the id that create gave, if it gave one, whatever was wanted meanwhile: nothing that exists may be forgotten.
    pub(super) fn records_what_was_made(&mut self) -> bool {
        let proxy = self.at.proxy;
        let (Some(made), Some(intent)) = (self.memory.made.clone(), proxy.status.intent.clone()) else {
            return false;
        };
        self.status.instance = Some(InstanceRecord {
            provider: intent.provider,
            id: made.id.to_string(),
            spec_hash: intent.spec_hash,
            created_at: made.at,
        });
        self.status.intent = None;
        self.status.last_failure = None;
        self.status.input_digest = None;
        self.status.address = None;
        self.status.endpoint = None;
        self.memory.seen = None;
        if !proxy.deleting {
            self.phase(Phase::Provisioning);
            // In the words of the look that follows, which is a write less.
            self.says_provisioned(Truth::False, "Provisioning", "its instance comes up");
            self.note(false, "Created", format!("{} was made", made.id));
        }
        true
    }

    pub(super) fn make(mut self) -> Step {
        let proxy = self.at.proxy;
        let intent = proxy.status.intent.clone();
        self.forget_the_last_instance();
        let spec = match &*proxy.spec {
            Ok(spec) => spec,
            Err(unusable) => {
                let message = unusable.to_string();
                return self.cannot_make(Phase::Failed, "InvalidSpec", &message);
            }
        };
        // Something may stand that this intent was for; it is of no use to a spec that has changed.
        let wanted = self.wanted_hash();
        let is_stale = |intent: &Intent| {
            intent.is_unfit()
                || intent.provider != spec.provider
                || wanted.as_ref().is_some_and(|hash| *hash != intent.spec_hash)
        };
        if let Some(intent) = intent.as_ref().filter(|intent| is_stale(intent)) {
            return self.undo(intent);
        }
        self.memory.found = None;
        self.memory.searched_again = false;
        if intent.is_none() {
            self.memory.made = None;
        }
        let Some(fact) = self.fact(&spec.provider) else {
            let message = format!("no provider is configured under the name {}", spec.provider);
            return self.cannot_make(Phase::Pending, "ProviderNotConfigured", &message);
        };
        let allowed = &fact.allowed_namespaces;
        if !allowed.is_empty() && !allowed.contains(&proxy.key.namespace) {
            let message = format!(
                "provider {} is not for namespace {}; see allowedNamespaces in its config",
                spec.provider, proxy.key.namespace
            );
            return self.cannot_make(Phase::Failed, "NamespaceNotAllowed", &message);
        }
        let hash = match (wanted, self.at.inputs) {
            (Some(hash), _) => hash,
            (None, Err(missing)) => {
                let message = missing.message.clone();
                return self.cannot_make(Phase::Pending, missing.reason, &message);
            }
            (None, Ok(_)) => unreachable!("a usable spec and its inputs have a digest"),
        };
        if let Some(until) = self.is_held_back(&hash, &fact) {
            return self.wait_for_the_next_attempt(until);
        }
        self.ask_for_it(spec.provider.clone(), hash, intent.is_some())
    }

    fn ask_for_it(mut self, provider: ProviderName, hash: Digest, is_intended: bool) -> Step {
        if !is_intended {
            self.status.intent =
                Some(Intent { provider: provider.clone(), spec_hash: hash.clone(), since: self.at.now });
            self.phase(match self.status.phase {
                Some(Phase::Replacing) => Phase::Replacing,
                _ => Phase::Provisioning,
            });
            self.says_provisioned(Truth::False, "Creating", "its instance is being made");
        }
        let acknowledged = self.status.last_failure.as_ref().and_then(|failure| failure.id.clone());
        self.call_live(provider, Operation::Create { spec_hash: hash, acknowledged })
    }

    /// Until when no attempt is made, by the monotonic clock, if anything holds it back.
    fn is_held_back(&mut self, hash: &Digest, fact: &Fact) -> Option<Duration> {
        let (proxy, tick) = (self.at.proxy, self.at.tick);
        let failure = self.status.last_failure.as_ref();
        let pause = self.memory.next_create.filter(|next| *next > tick);
        let Some(failure) = failure else { return pause };
        let is_released = failure.spec_hash.as_ref().is_some_and(|tried| tried != hash)
            || self.status.input_digest.as_ref().is_some_and(|digest| *digest != fact.digest)
            || failure.retried != proxy.asks.retry
            || self.is_released_by_recovery(failure, fact);
        if is_released {
            return None;
        }
        // After a restart the status alone knows when the next attempt is due; from then on it is known here.
        let knows_nothing = self.memory.failure.is_none() && self.memory.next_create.is_none();
        let stored = failure.retry_at.filter(|at| *at > self.at.now && knows_nothing);
        // It may be by another clock, or by hand: nothing is put off for longer than the slowest retry.
        let most = self.at.settings.slow_retry.mul_f64(1.1).max(self.at.settings.quota_retry);
        let stored = stored.map(|at| tick + at.since(self.at.now).min(most));
        self.memory.next_create = self.memory.next_create.or(stored);
        pause.or(stored)
    }

    /// A provider that was ill and is ready again may have been the cause.
    fn is_released_by_recovery(&self, failure: &Failure, fact: &Fact) -> bool {
        let failed_at = self.memory.failure.as_ref().map_or(Duration::ZERO, |failed| failed.at);
        let again = fact.ready_again.filter(|again| *again > failed_at);
        failure.class == Class::Permanent
            && again.is_some_and(|again| self.at.tick >= again + SPREAD.mul_f64(self.at.chance))
    }

    fn wait_for_the_next_attempt(mut self, until: Duration) -> Step {
        if let Some(failure) = self.status.last_failure.clone() {
            self.phase(match failure.class {
                Class::Permanent => Phase::Failed,
                _ if self.status.phase == Some(Phase::Replacing) => Phase::Replacing,
                _ => Phase::Provisioning,
            });
            let message = format!("{} ({})", failure.message, failure.reason);
            self.says_provisioned(Truth::False, super::says::reason_of(failure.class), &message);
        }
        // Its provider may recover before, which is worth a look now and then.
        let most = self.at.tick + SPREAD;
        let look = self.status.last_failure.as_ref().is_some_and(|failure| failure.class == Class::Permanent);
        self.wait_until(if look { until.min(most) } else { until })
    }

    fn cannot_make(mut self, phase: Phase, reason: &'static str, message: &str) -> Step {
        let says = self.status.condition(ConditionKind::Provisioned);
        if says.is_none_or(|condition| condition.reason != reason) {
            self.note(true, reason, message);
        }
        self.phase(phase);
        self.says_provisioned(Truth::False, reason, message);
        // Config, spec and Secrets tell when they change; what could not be read tells nothing.
        let again =
            (reason == Missing::UNREADABLE).then(|| self.at.settings.backoff.after(4, self.at.chance));
        self.then(Action::Wait(again))
    }
}
