//! An instance goes: it is deleted, looked at until the backend says that there is none, and deleted again with each look.

use provider_api::{ProviderId, ProviderName};

use super::{Action, Operation, Step, Stepping, Why};
use crate::resource::{InstanceRecord, Phase, SKIP_CLEANUP};

impl Why {
    /// Its code and sentence, as an event.
    pub(super) fn says(&self) -> (&'static str, String) {
        match self {
            Self::Changed => ("Replacing", "the spec asks for another instance".to_owned()),
            Self::Ended(reason) => ("InstanceEnded", format!("its instance has ended: {reason}")),
            Self::TookTooLong(reason) => ("ProvisioningTimeout", reason.clone()),
            Self::Unhealthy(reason) => ("Unhealthy", reason.clone()),
            Self::Missing => ("InstanceMissing", "the backend has no such instance any more".to_owned()),
        }
    }
}

impl Stepping<'_, '_> {
    /// Removes the instance in the status; the Proxy stays, and the next one is made when nothing is left of this one.
    pub(super) fn replace(mut self, instance: &InstanceRecord) -> Step {
        let (reason, message) = self.memory.removing.as_ref().unwrap_or(&Why::Changed).says();
        self.phase(Phase::Replacing);
        self.says_replacing(reason, &message);
        if self.memory.gone {
            // The memory of it is kept until the write stands.
            self.status.instance = None;
            return self.then(Action::Wait(None));
        }
        if self.fact(&instance.provider).is_none() {
            return self.waits_for_its_provider(&instance.provider);
        }
        self.remove(&instance.provider, &ProviderId::new(&instance.id))
    }

    /// One more delete or look, when it is time.
    pub(super) fn remove(self, provider: &ProviderName, id: &ProviderId) -> Step {
        if self.memory.looks_next {
            return self.call(provider.clone(), Operation::Get(id.clone()));
        }
        if !self.is_due() {
            let until = self.memory.next_poll.unwrap_or(self.at.tick);
            return self.wait_until(until);
        }
        self.call_live(provider.clone(), Operation::Delete(id.clone()))
    }

    /// Nothing can be removed where nobody knows the backend.
    pub(super) fn waits_for_its_provider(mut self, provider: &ProviderName) -> Step {
        let message = format!(
            "its instance was made by provider {provider}, which is not configured any more; configure it again, or delete the \
             Proxy with the annotation {SKIP_CLEANUP}: \"true\" and remove what is left by hand"
        );
        self.says_stuck("ProviderNotConfigured", &message);
        self.then(Action::Wait(None))
    }

    /// There is nothing to remove any more, now that the status says so.
    pub(super) fn forget_the_last_instance(&mut self) {
        if self.memory.removing.take().is_some() {
            self.memory.accepted = false;
            self.memory.gone = false;
            self.memory.looks_next = false;
            self.memory.stuck = None;
            self.memory.seen = None;
            self.memory.up_since = None;
            self.memory.next_poll = None;
            self.memory.polls = 0;
        }
    }
}
