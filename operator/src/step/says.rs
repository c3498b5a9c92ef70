//! What the conditions say. A condition tells the truth at the moment of its write, and changes only with it.

use provider_api::Class;

use super::{Health, Stepping};
use crate::resource::{ConditionKind, Phase, Truth};

impl Stepping<'_, '_> {
    pub(super) fn says_provisioned(&mut self, truth: Truth, reason: &str, message: &str) {
        let now = self.at.now;
        self.status.say(ConditionKind::Provisioned, truth, reason, message, now);
        let (progressing, why) = match self.status.phase {
            Some(Phase::Running) => (Truth::False, "Settled"),
            Some(Phase::Failed | Phase::Pending) => (Truth::False, reason),
            _ => (Truth::True, reason),
        };
        self.status.say(ConditionKind::Progressing, progressing, why, "", now);
        if truth != Truth::True {
            self.says_not_ready(reason, message);
        }
    }

    pub(super) fn says_replacing(&mut self, reason: &str, message: &str) {
        let now = self.at.now;
        self.status.address = None;
        self.status.endpoint = None;
        self.status.say(ConditionKind::Provisioned, Truth::False, reason, message, now);
        self.status.say(ConditionKind::Progressing, Truth::True, reason, message, now);
        self.says_not_ready(reason, message);
    }

    fn says_not_ready(&mut self, reason: &str, message: &str) {
        self.status.ready_since = None;
        self.status.say(ConditionKind::Ready, Truth::False, reason, message, self.at.now);
        self.status.say(ConditionKind::Healthy, Truth::Unknown, reason, "it is not up", self.at.now);
    }

    pub(super) fn says_stuck(&mut self, reason: &str, message: &str) {
        self.status.say(ConditionKind::Progressing, Truth::False, reason, message, self.at.now);
    }

    pub(super) fn says_paused(&mut self) {
        let message = "the annotation crawl.example.com/paused stops everything but deletion";
        self.status.say(ConditionKind::Progressing, Truth::False, "Paused", message, self.at.now);
    }

    /// A spec that cannot be used, or a Secret that is missing, leaves what runs alone and says so.
    pub(super) fn says_what_is_refused(&mut self) {
        let (reason, message) = match (&*self.at.proxy.spec, self.at.inputs) {
            (Err(unusable), _) => ("InvalidSpec", unusable.to_string()),
            (Ok(_), Err(missing)) => (missing.reason, missing.message.clone()),
            (Ok(_), Ok(_)) => {
                let before = self.status.condition(ConditionKind::Progressing);
                let is_over = before.is_some_and(|condition| REFUSALS.contains(&condition.reason.as_str()));
                if is_over && self.status.phase == Some(Phase::Running) {
                    self.status.say(ConditionKind::Progressing, Truth::False, "Settled", "", self.at.now);
                }
                return;
            }
        };
        self.status.say(ConditionKind::Progressing, Truth::False, reason, &message, self.at.now);
    }

    /// What probes say, of an instance that is up.
    pub(super) fn says_health(&mut self) {
        if self.status.phase != Some(Phase::Running) {
            return;
        }
        let now = self.at.now;
        match &self.at.health {
            Health::Off => {
                self.memory.mending = false;
                self.status.say(
                    ConditionKind::Healthy,
                    Truth::Unknown,
                    "NotProbed",
                    "its provider's probe is off",
                    now,
                );
                self.says_ready();
            }
            // Whoever took over from another operator goes on from what that one said.
            Health::Unknown if self.status.holds(ConditionKind::Ready) => {}
            Health::Unknown => {
                self.status.say(
                    ConditionKind::Healthy,
                    Truth::Unknown,
                    "Probing",
                    "no probe has ended yet",
                    now,
                );
                self.status.say(ConditionKind::Ready, Truth::False, "Probing", "no probe has ended yet", now);
            }
            Health::Healthy => {
                self.memory.mending = false;
                self.status.say(
                    ConditionKind::Healthy,
                    Truth::True,
                    "ProbesPass",
                    "requests go through it",
                    now,
                );
                self.says_ready();
            }
            Health::Unhealthy { why, .. } => {
                self.status.ready_since = None;
                self.status.say(ConditionKind::Healthy, Truth::False, "Unhealthy", why, now);
                self.status.say(ConditionKind::Ready, Truth::False, "Unhealthy", why, now);
            }
        }
    }

    fn says_ready(&mut self) {
        let now = self.at.now;
        self.status.ready_since.get_or_insert(now);
        self.status.say(ConditionKind::Ready, Truth::True, "Serving", "requests can go through it", now);
    }
}

/// Reasons that pass when what they speak of is mended.
const REFUSALS: [&str; 6] = [
    "InvalidSpec",
    "SecretMissing",
    "ProviderNotConfigured",
    "Paused",
    "ProviderUnavailable",
    "PermanentError",
];

/// The reason of a condition for a failure of that class.
pub(super) fn reason_of(class: Class) -> &'static str {
    match class {
        Class::QuotaExceeded => "QuotaExceeded",
        Class::Permanent => "PermanentError",
        Class::Transient | Class::NotFound => "ProviderUnavailable",
    }
}
