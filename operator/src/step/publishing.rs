//! How to reach a proxy that is up is published in the Secret that its spec names. The name is recorded in the status, with a
//! write that is due anyway, before the Secret is made: so whoever takes over knows what is to go when the spec names another.

use provider_api::State;

use super::{Action, Step, Stepping};
use crate::resource::{ConditionKind, Digest, Truth, connection};

/// The reason where a Secret of that name stands that is not ours.
const TAKEN: &str = "ConnectionSecretTaken";

/// What a process knows of what is published.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Publication {
    /// What was published last, or could not be.
    done: Option<(Digest, Published)>,
    /// The Secret that was taken away.
    withdrawn: Option<String>,
}

/// What came of publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It stands there.
    Done,
    /// A Secret of that name stands there that is not the Proxy's; it was left alone.
    Taken,
}

impl super::Memory {
    /// What came of [`Action::Publish`].
    pub fn published(&mut self, digest: Digest, came: Published) {
        self.publication.done = Some((digest, came));
    }

    /// [`Action::Withdraw`] was carried out.
    pub fn withdrawn(&mut self, secret: String) {
        self.publication.withdrawn = Some(secret);
    }

    /// The Secret may have been changed by somebody.
    pub fn publish_again(&mut self) {
        self.publication.done = None;
    }
}

impl Stepping<'_, '_> {
    /// Takes a Secret away that the spec names no more.
    pub(super) fn withdraws(&mut self) -> Option<Action> {
        let published = self.status.connection_secret.clone()?;
        let wanted = self.at.proxy.usable()?.connection_secret.as_ref();
        if wanted == Some(&published) {
            return None;
        }
        if self.memory.publication.withdrawn.as_ref() != Some(&published) {
            // It may be gone although nobody hears of it, and be asked for again meanwhile.
            self.memory.publication.done = None;
            return Some(Action::Withdraw(published));
        }
        self.status.connection_secret = None;
        None
    }

    /// Publishes the endpoint of an instance that is up, if it is not.
    pub(super) fn publishes(&mut self) -> Option<Action> {
        // What the status says was written by whoever may; what is published was seen.
        if !matches!(self.memory.seen, Some(State::Running { .. })) {
            return None;
        }
        let (spec, inputs) = (self.at.proxy.usable()?, self.at.inputs.ok()?);
        let (secret, endpoint) = (spec.connection_secret.clone()?, self.status.endpoint.clone()?);
        self.status.connection_secret = Some(secret.clone());
        self.memory.publication.withdrawn = None;
        let digest = connection::digest(&secret, &endpoint, inputs.credentials.as_ref());
        match &self.memory.publication.done {
            Some((done, Published::Done)) if *done == digest => None,
            Some((done, Published::Taken)) if *done == digest => {
                self.says_taken(&secret);
                None
            }
            _ => {
                // Until it is known otherwise, what was said of it stays.
                let said = self.at.proxy.status.condition(ConditionKind::Progressing);
                if said.is_some_and(|condition| condition.reason == TAKEN) {
                    self.says_taken(&secret);
                }
                Some(Action::Publish { secret, digest })
            }
        }
    }

    fn says_taken(&mut self, secret: &str) {
        let message = format!(
            "Secret {secret} is there and not this Proxy's, so it is left alone and the endpoint is not published; remove it, \
             or name another by spec.connectionSecret"
        );
        let said = self.at.proxy.status.condition(ConditionKind::Progressing);
        if said.is_none_or(|condition| condition.reason != TAKEN) {
            self.note(true, TAKEN, &*message);
        }
        self.status.say(ConditionKind::Progressing, Truth::False, TAKEN, &message, self.at.now);
    }

    /// Something that is done in the cluster, once the status stands.
    pub(super) fn in_the_cluster(self, action: Action) -> Step {
        self.then(action)
    }
}
