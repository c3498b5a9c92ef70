//! An instance exists: it is looked at, and goes when it is no longer what is asked for, has ended, took too long, or serves
//! nobody.

use std::net::{IpAddr, SocketAddr};

use provider_api::{Class, FailureClass, ProviderId, State};

use super::{Action, Brake, Health, Operation, Step, Stepping, Why};
use crate::resource::{ConditionKind, InstanceRecord, Phase, Truth};

impl Stepping<'_, '_> {
    pub(super) fn watch(mut self, instance: &InstanceRecord) -> Step {
        self.memory.made = None;
        self.memory.found = None;
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
                if age >= self.at.settings.provisioning_timeout {
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
        let until = self.turns_unhealthy_at().map_or(until, |at| until.min(at));
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
                let says = self.status.condition(ConditionKind::Healthy);
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
