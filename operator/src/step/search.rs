//! An intent without an id: something may exist that nobody has recorded. It is looked for in the listing by UID, on the
//! provider that the intent names.

use provider_api::ProviderName;

use super::{Action, Operation, Step, Stepping};
use crate::resource::{ConditionKind, Intent, Truth};

impl Stepping<'_, '_> {
    /// Deletes what an intent has made that is of no use any more, and then forgets the intent. What lands later is the
    /// collector's.
    pub(super) fn undo(mut self, intent: &Intent) -> Step {
        if self.fact(&intent.provider).is_none() {
            return self.waits_for_its_provider(&intent.provider);
        }
        if self.memory.found.as_ref().is_some_and(Vec::is_empty) {
            self.status.intent = None;
            self.memory.failure = None;
            self.memory.next_create = None;
            self.status.last_failure = None;
            self.status.input_digest = None;
            return self.then(Action::Wait(None));
        }
        self.status.say(
            ConditionKind::Progressing,
            Truth::True,
            "Searching",
            "the spec has changed since an instance was about to be made; what was made is looked for and removed",
            self.at.now,
        );
        self.search(&intent.provider)
    }

    /// The next look into the listing, or the next delete of what stood there.
    pub(super) fn search(mut self, provider: &ProviderName) -> Step {
        if let Some(error) = &self.memory.stuck {
            let message = error.to_string();
            self.says_stuck("SearchFailed", &message);
        }
        if !self.is_due() {
            let until = self.memory.next_poll.unwrap_or(self.at.tick);
            return self.wait_until(until);
        }
        match self.memory.found.as_ref().and_then(|found| found.last().cloned()) {
            Some(id) => self.call_live(provider.clone(), Operation::Delete(id)),
            None => self.call(provider.clone(), Operation::Search),
        }
    }
}
