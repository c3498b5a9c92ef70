//! The Proxy is being deleted: what exists goes first, then our finalizer. A failing look never blocks a delete.

use provider_api::{FailureClass, ProviderId};

use super::{Action, Step, Stepping};
use crate::resource::{InstanceRecord, Intent, Phase};

/// Looks in a row after which a deletion that still goes on is worth a write.
const SLOW: usize = 3;

impl Stepping<'_, '_> {
    pub(super) fn delete(mut self) -> Step {
        let proxy = self.at.proxy;
        if proxy.asks.skip_cleanup {
            if let Some(left) = left_behind(proxy.status.instance.as_ref(), proxy.status.intent.as_ref()) {
                self.memory.left = Some(format!("by request {left}"));
            }
            return self.release();
        }
        if !std::mem::replace(&mut self.memory.deleting, true) {
            // What was waited for before is of no interest any more.
            self.memory.next_poll = None;
            self.memory.polls = 0;
            self.memory.stuck = None;
            self.memory.found = None;
        }
        if self.memory.removing.is_some() || self.memory.polls >= SLOW {
            self.says_deleting();
        }
        match (proxy.status.instance.clone(), proxy.status.intent.clone()) {
            (Some(instance), _) => self.delete_instance(&instance),
            (None, Some(intent)) => self.delete_intended(&intent),
            (None, None) => self.release(),
        }
    }

    fn delete_instance(mut self, instance: &InstanceRecord) -> Step {
        if self.fact(&instance.provider).is_none() {
            self.says_deleting();
            return self.waits_for_its_provider(&instance.provider);
        }
        if self.memory.gone {
            return self.release();
        }
        if let Some(error) = self.memory.stuck.clone() {
            self.says_deleting();
            self.says_stuck("DeleteFailed", &error.to_string());
            // Its id may have been edited: then the listing knows better. What is not in a whole listing does not exist.
            if error.class() == FailureClass::Permanent {
                self.memory.by_listing = true;
            }
        }
        // What may be another's is not deleted by its id.
        if self.is_own(instance) != Some(true) {
            self.memory.by_listing = true;
        }
        if self.memory.by_listing {
            return if self.has_found_nothing() { self.release() } else { self.search(&instance.provider) };
        }
        self.remove(&instance.provider, &ProviderId::new(&instance.id))
    }

    fn delete_intended(mut self, intent: &Intent) -> Step {
        if self.fact(&intent.provider).is_none() {
            self.says_deleting();
            return self.waits_for_its_provider(&intent.provider);
        }
        if self.has_found_nothing() { self.release() } else { self.search(&intent.provider) }
    }

    /// Whether a whole listing has nothing of the Proxy. What was just deleted may not be gone yet, and is looked for again.
    fn has_found_nothing(&mut self) -> bool {
        if !self.memory.found.as_ref().is_some_and(Vec::is_empty) {
            return false;
        }
        if std::mem::take(&mut self.memory.searched_again) {
            self.memory.found = None;
            return false;
        }
        true
    }

    fn release(mut self) -> Step {
        if !self.at.fresh {
            return self.done(Action::Refresh);
        }
        if let Some(left) = self.memory.left.take() {
            self.note(true, "LeftBehind", format!("{left} was left behind"));
        }
        self.done(Action::Release)
    }

    fn says_deleting(&mut self) {
        self.phase(Phase::Deleting);
        self.says_replacing("Deleting", "it is being deleted");
    }
}

fn left_behind(instance: Option<&InstanceRecord>, intent: Option<&Intent>) -> Option<String> {
    let instance = instance.map(|instance| format!("{} of provider {}", instance.id, instance.provider));
    instance
        .or_else(|| intent.map(|intent| format!("what provider {} may have begun to make", intent.provider)))
}
