//! Taking in what a call answered: what it means for what is remembered, before anything is decided.

use std::time::Duration;

use provider_api::{Class, Deleted, Error, FailureClass, GetError, Instance, ProviderId, State};

use super::{Answer, Failed, Made, Stepping, Why, says::reason_of};
use crate::resource::{Failure, InstanceRecord};

impl Stepping<'_, '_> {
    /// Takes the last answer in. Afterwards there is none.
    pub(super) fn take_answer(&mut self) {
        match self.memory.answer.take() {
            Some(Answer::Created(result)) => self.created(result),
            Some(Answer::Got(result)) => self.got(result),
            Some(Answer::Deleted(result)) => self.deleted(result),
            Some(Answer::Found(result)) => self.found(result),
            None => {}
        }
    }

    fn created(&mut self, result: Result<ProviderId, Error>) {
        match result {
            Ok(id) => {
                self.memory.made = Some(Made { id, at: self.at.now });
                self.memory.failures = 0;
                self.memory.next_create = None;
                self.memory.failure = None;
                self.memory.polls = 0;
                self.memory.next_poll = None;
                self.memory.missing_since = None;
                self.memory.coming_since = None;
            }
            Err(error) => {
                let wait = self.after_failure(&error);
                self.memory.next_create = Some(self.at.tick + wait);
                self.records_failure(&error, wait);
            }
        }
    }

    fn got(&mut self, result: Result<Instance, GetError>) {
        self.memory.looks_next = false;
        match result {
            Ok(instance) => {
                self.memory.failures = 0;
                self.memory.stuck = None;
                let own = instance.uid == self.at.proxy.uid;
                self.memory.shown = Some((instance.id.to_string(), own));
                self.memory.missing_since = None;
                if !own {
                    self.memory.next_poll = None;
                    return;
                }
                let is_provisioning = matches!(instance.state, State::Provisioning { .. });
                let coming_since = self.memory.coming_since.filter(|_| is_provisioning);
                self.memory.coming_since = is_provisioning.then(|| coming_since.unwrap_or(self.at.tick));
                let is_running = matches!(instance.state, State::Running { .. });
                let up_since = self.memory.up_since.filter(|_| is_running);
                self.memory.up_since = is_running.then(|| up_since.unwrap_or(self.at.tick));
                self.memory.seen = Some(instance.state);
                match is_running && self.memory.removing.is_none() && !self.at.proxy.deleting {
                    true => {
                        self.memory.polls = 0;
                        let every = self.at.settings.running_poll;
                        self.memory.next_poll =
                            Some(self.at.tick + every.mul_f64(0.9 + self.at.chance / 10.0));
                    }
                    false => {
                        self.poll_later();
                    }
                }
            }
            Err(GetError::NotFound) => self.not_found(),
            Err(GetError::Failed(error)) => {
                let releases = error.class() == FailureClass::Permanent && self.memory.accepted;
                if releases && (self.at.proxy.deleting || self.memory.removing.is_some()) {
                    // It was deleted, and cannot be looked at: nobody will ever see more of it.
                    self.memory.gone = true;
                }
                let mut wait = self.after_failure(&error);
                if error.class() == FailureClass::Transient {
                    // A look that fails costs what one costs that succeeds, and those go on once a minute.
                    let most = self.at.settings.running_poll;
                    wait = wait.min(error.retry_hint().map_or(most, |hint| hint.max(most)));
                }
                self.memory.next_poll = Some(self.at.tick + wait);
                self.memory.stuck = Some(error);
            }
        }
    }

    fn not_found(&mut self) {
        self.memory.failures = 0;
        self.memory.seen = None;
        self.memory.up_since = None;
        let since = *self.memory.missing_since.get_or_insert(self.at.tick);
        let instance = self.at.proxy.status.instance.as_ref();
        let going = self.at.proxy.deleting || self.memory.removing.is_some();
        if going && self.memory.accepted {
            self.memory.gone = true;
        } else if going {
            // Its parts go by one delete, which has not been accepted yet.
            self.memory.next_poll = None;
        } else if instance.is_some_and(|instance| self.may_not_show_yet(instance, since)) {
            self.poll_later();
        } else {
            self.end(Why::Missing);
        }
    }

    /// Whether the backend may still show what was before the instance was made. Time stamps may be of another clock, or by
    /// hand: it never does for longer than it may after the first look that found nothing.
    fn may_not_show_yet(&self, instance: &InstanceRecord, missing_since: Duration) -> bool {
        let settle = self.fact(&instance.provider).map_or(Duration::ZERO, |fact| fact.settle);
        self.at.now.since(instance.created_at) < settle && self.at.tick < missing_since + settle
    }

    fn deleted(&mut self, result: Result<Deleted, Error>) {
        match result {
            Ok(answer) => {
                self.memory.failures = 0;
                self.memory.stuck = None;
                if let Deleted::Abandoned(left) = &answer {
                    self.memory.left = Some(left.clone());
                }
                match &mut self.memory.found {
                    // One of those that a search found.
                    Some(found) => {
                        found.pop();
                        let was_last = found.is_empty();
                        self.memory.searched_again = true;
                        if was_last {
                            self.poll_later();
                        }
                    }
                    None => {
                        self.memory.accepted = true;
                        self.memory.gone = matches!(answer, Deleted::Abandoned(_));
                        self.memory.looks_next = !self.memory.gone;
                    }
                }
            }
            Err(error) => {
                let wait = self.after_failure(&error);
                // Of a Proxy that is deleted the listing may know better, and is asked at once.
                let search_now = error.class() == FailureClass::Permanent
                    && self.memory.found.is_none()
                    && self.at.proxy.deleting;
                self.memory.next_poll = (!search_now).then_some(self.at.tick + wait);
                self.memory.stuck = Some(error);
            }
        }
    }

    fn found(&mut self, result: Result<Vec<ProviderId>, Error>) {
        match result {
            Ok(ids) => {
                self.memory.failures = 0;
                self.memory.stuck = None;
                self.memory.found = Some(ids);
            }
            Err(error) => {
                let wait = self.after_failure(&error);
                self.memory.next_poll = Some(self.at.tick + wait);
                self.memory.stuck = Some(error);
            }
        }
    }

    /// Begins to remove the instance in the status.
    pub(super) fn end(&mut self, why: Why) {
        let settings = self.at.settings;
        if !matches!(why, Why::Changed) {
            // The first end is mended at once; what ends again and again waits longer and longer.
            if self.memory.ends > 0 {
                let wait = settings.backoff.after(self.memory.ends, self.at.chance);
                self.memory.next_create = Some(self.at.tick + wait);
            }
            self.memory.ends += 1;
        }
        let (reason, message) = why.says();
        self.note(!matches!(why, Why::Changed), reason, message);
        self.memory.mending |= matches!(why, Why::Unhealthy(_));
        self.memory.removing = Some(why);
        self.memory.accepted = false;
        self.memory.gone = false;
        self.memory.looks_next = false;
        self.memory.next_poll = None;
        self.memory.polls = 0;
    }

    /// How long to wait after a failure, by its class.
    fn after_failure(&mut self, error: &Error) -> Duration {
        let settings = self.at.settings;
        self.memory.failures = self.memory.failures.saturating_add(1);
        match error.class() {
            FailureClass::QuotaExceeded => error.retry_hint().unwrap_or(settings.quota_retry),
            FailureClass::Transient => {
                let wait = settings.backoff.after(self.memory.failures, self.at.chance);
                error.retry_hint().map_or(wait, |hint| hint.max(wait))
            }
            FailureClass::Permanent => settings.slow_retry.mul_f64(0.9 + self.at.chance / 5.0),
        }
    }

    /// Remembers a failed create for the status. The same failure again keeps the time at which it happened first.
    fn records_failure(&mut self, error: &Error, wait: Duration) {
        let proxy = self.at.proxy;
        let class = Class::from(error.class());
        let lasts = error.class() != FailureClass::Transient;
        let intent = proxy.status.intent.as_ref();
        let mut failure = Failure {
            id: error.failure().map(ToString::to_string),
            class,
            reason: error.code().unwrap_or(reason_of(class)).to_owned(),
            message: error.message().to_owned(),
            time: self.at.now,
            retry_at: lasts.then(|| self.at.now.after(wait)),
            spec_hash: intent.map(|intent| intent.spec_hash.clone()),
            retried: proxy.asks.retry.clone(),
        };
        let alike = |before: &Failure| {
            (before.class, &before.reason, &before.id, &before.spec_hash)
                == (failure.class, &failure.reason, &failure.id, &failure.spec_hash)
        };
        match self.status.last_failure.take().filter(alike) {
            Some(before) => failure.time = before.time,
            None => self.note(true, reason_of(class), error.to_string()),
        }
        let digest = intent.and_then(|intent| self.fact(&intent.provider)).map(|fact| fact.digest);
        self.memory.failure = Some(Failed { failure, digest, at: self.at.tick });
    }
}
