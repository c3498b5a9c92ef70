//! An instance exists: it is looked at, and goes when it is no longer what is asked for, has ended, took too long, or serves
//! nobody.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use provider_api::{Class, Error, FailureClass, ProviderId, State};

use super::{Action, Brake, Health, Operation, Step, Stepping, Why};
use crate::resource::{ConditionKind, InstanceRecord, Intent, Phase, Truth};

/// For how long one process has at least seen an instance come up before it gives up on it.
const SEEN: Duration = Duration::from_secs(5 * 60);

impl Stepping<'_, '_> {
    /// Whether the instance that the status names is the Proxy's own; `None` when only a look can tell. A status can be edited
    /// by hand, and then it may name another's instance. An id holds the name that comes from the UID
    /// (`create.id-self-contained`).
    pub(super) fn is_own(&self, instance: &InstanceRecord) -> Option<bool> {
        if let Some((id, own)) = &self.memory.shown
            && *id == instance.id
        {
            return Some(*own);
        }
        let name = self.at.proxy.instance_name();
        instance.id.split('/').any(|segment| segment == name.as_str()).then_some(true)
    }

    /// The status names an instance that is not the Proxy's own: it is forgotten. What is the Proxy's own goes too, since
    /// nobody knows any more what that was made from: an intent that fits no spec has it searched for.
    fn disowns(mut self, instance: &InstanceRecord) -> Step {
        let message = format!(
            "{} of provider {} is not this Proxy's; the status was edited",
            instance.id, instance.provider
        );
        self.note(true, "NotItsInstance", message);
        let provider = self.at.proxy.usable().map_or(&instance.provider, |spec| &spec.provider);
        self.status.intent = Some(Intent::unfit(provider.clone(), self.at.now));
        self.status.instance = None;
        self.memory.removing = None;
        self.memory.seen = None;
        self.memory.up_since = None;
        self.memory.next_poll = None;
        self.memory.stuck = None;
        self.then(Action::Wait(None))
    }

    fn looks_whose_it_is(mut self, instance: &InstanceRecord) -> Step {
        if self.fact(&instance.provider).is_none() {
            return self.waits_for_its_provider(&instance.provider);
        }
        let cannot_be = |error: &Error| error.class() == FailureClass::Permanent;
        if self.memory.removing.is_some() || self.memory.stuck.as_ref().is_some_and(cannot_be) {
            return self.disowns(instance);
        }
        self.says_of_failed_looks();
        if self.is_due() {
            return self.call(instance.provider.clone(), Operation::Get(ProviderId::new(&instance.id)));
        }
        let until = self.memory.next_poll.unwrap_or(self.at.tick);
        self.wait_until(until)
    }

    pub(super) fn watch(mut self, instance: &InstanceRecord) -> Step {
        self.memory.made = None;
        self.memory.found = None;
        match self.is_own(instance) {
            Some(true) => {}
            Some(false) => return self.disowns(instance),
            // Nothing else is decided about an instance before it is known whose it is.
            None => return self.looks_whose_it_is(instance),
        }
        // None is stored beside an instance but by hand, and nothing was made for it.
        self.status.intent = None;
        if self.memory.removing.is_some() {
            return self.replace(instance);
        }
        // A spec that cannot be used, or inputs that cannot be had, change nothing.
        let proxy = self.at.proxy;
        let moved = proxy.usable().is_some_and(|spec| spec.provider != instance.provider);
        if moved || self.wanted_hash().is_some_and(|wanted| wanted != instance.spec_hash) {
            self.end(Why::Changed);
            return self.replace(instance);
        }
        let Some(fact) = self.fact(&instance.provider) else {
            let message = format!("no provider is configured under the name {}", instance.provider);
            self.status.say(
                ConditionKind::Progressing,
                Truth::False,
                "ProviderNotConfigured",
                &message,
                self.at.now,
            );
            return self.then(Action::Wait(None));
        };
        match self.memory.seen.clone() {
            Some(State::Running { address }) => self.is_up(address),
            Some(State::Provisioning { reason }) => {
                let age = self.at.now.since(instance.created_at);
                let reason = reason.map(|reason| reason.to_string()).unwrap_or_default();
                // The time stamp may be of another clock than ours, or by hand: a while of it is seen here.
                let seen_for = self.memory.coming_since.map_or(Duration::ZERO, |since| self.at.tick - since);
                let (age, timeout) = (age.max(seen_for), self.at.settings.provisioning_timeout);
                // What was seen last may be over by the time that the next look is due.
                if age >= timeout && seen_for >= timeout.min(SEEN) && !self.is_due() {
                    self.end(Why::TookTooLong(format!(
                        "{} s after it was made it is still coming up: {reason}",
                        age.as_secs()
                    )));
                    return self.replace(instance);
                }
                self.comes_up(&reason);
            }
            Some(State::Stopped { reason } | State::Terminated { reason }) => {
                let text = reason.map_or_else(|| "the backend gives no reason".to_owned(), |r| r.to_string());
                self.end(Why::Ended(text));
                return self.replace(instance);
            }
            None => self.says_of_failed_looks(),
        }
        self.says_what_is_refused();
        self.says_health();
        if let Some(why) = self.is_to_be_replaced_for_its_health(fact.brake) {
            self.end(why);
            return self.replace(instance);
        }
        if let Some(action) = self.publishes() {
            return self.in_the_cluster(action);
        }
        if self.is_due() {
            return self.call(instance.provider.clone(), Operation::Get(ProviderId::new(&instance.id)));
        }
        let until = self.memory.next_poll.unwrap_or(self.at.tick);
        // One that the brakes hold back is looked at with the next poll again.
        let turns = self.turns_unhealthy_at().filter(|at| *at > self.at.tick);
        let until = turns.map_or(until, |at| until.min(at));
        self.wait_until(until)
    }

    fn is_up(&mut self, address: IpAddr) {
        let port = self.at.proxy.usable().map(|spec| spec.port);
        self.phase(Phase::Running);
        self.status.address = Some(address.to_string());
        if let Some(port) = port {
            self.status.endpoint = Some(SocketAddr::new(address, port.get()).to_string());
        }
        self.status.last_failure = None;
        self.status.input_digest = None;
        self.memory.failure = None;
        self.says_provisioned(Truth::True, "Running", "its instance is up");
        if self.memory.up_since.is_some_and(|up| self.at.tick >= up + self.at.settings.steady_after) {
            self.memory.ends = 0;
        }
    }

    fn comes_up(&mut self, reason: &str) {
        if self.status.phase != Some(Phase::Replacing) {
            self.phase(Phase::Provisioning);
        }
        self.status.address = None;
        self.status.endpoint = None;
        let message = if reason.is_empty() { "its instance comes up" } else { reason };
        self.says_provisioned(Truth::False, "Provisioning", message);
    }

    /// A look that fails says nothing about the instance. It is told only of one that is not Ready: the provider's own
    /// health tells of an outage once, and not each of its Proxies.
    fn says_of_failed_looks(&mut self) {
        let Some(error) = self.memory.stuck.clone() else { return };
        let is_permanent = error.class() == FailureClass::Permanent;
        if is_permanent || !self.status.holds(ConditionKind::Ready) {
            let reason = super::says::reason_of(Class::from(error.class()));
            let message = format!("it cannot be looked at: {error}");
            self.status.say(ConditionKind::Progressing, Truth::False, reason, &message, self.at.now);
        }
    }

    fn is_to_be_replaced_for_its_health(&mut self, brake: Brake) -> Option<Why> {
        let at = self.turns_unhealthy_at().filter(|at| self.at.tick >= *at)?;
        let Health::Unhealthy { since, why } = &self.at.health else { return None };
        match brake {
            Brake::Open => {
                let seconds = (at - *since).as_secs();
                Some(Why::Unhealthy(format!("no request went through for {seconds} s: {why}")))
            }
            Brake::Full => None,
            Brake::Frozen => {
                let frozen = "ReplacementFrozen";
                let message = "so many proxies are unhealthy at once that none is replaced for it";
                let says = self.at.proxy.status.condition(ConditionKind::Healthy);
                if says.is_none_or(|condition| condition.reason != frozen) {
                    self.note(true, frozen, message);
                }
                self.status.say(ConditionKind::Healthy, Truth::False, frozen, message, self.at.now);
                None
            }
        }
    }

    /// When an unhealthy one that is up is to be replaced.
    fn turns_unhealthy_at(&self) -> Option<std::time::Duration> {
        let is_up = matches!(self.memory.seen, Some(State::Running { .. }));
        match &self.at.health {
            Health::Unhealthy { since, .. } if is_up => Some(*since + self.at.settings.unhealthy_after),
            _ => None,
        }
    }
}
