//! The step: from what is known of one Proxy to the single next thing to do about it. It does nothing itself and asks
//! nobody; `shell` carries its actions out and comes back with what came of them. So every point between two actions is one
//! where a crash can be tried, and every rule is a function that a test can call.
//!
//! What must survive a crash stands in the Proxy's status, and is stored *before* what depends on it. [`Memory`] is what may
//! be lost: after a restart the step begins with an empty one.

mod answer;
mod deletion;
mod making;
mod publishing;
mod removal;
mod says;
mod search;
#[cfg(test)]
mod tests;
mod watching;

use std::time::Duration;

use provider_api::{Deleted, Error, GetError, Instance, ProviderId, ProviderName, State, Timestamp};

pub use publishing::Published;

use self::publishing::Publication;
use crate::{
    backoff::Backoff,
    resource::{Digest, Failure, Inputs, Phase, Proxy, Status},
};

/// What is known when a step is taken.
pub struct Situation<'a> {
    /// The Proxy as it was read.
    pub proxy: &'a Proxy,
    /// Whether it was read from the API server itself, or comes from the answer to our own write, since this reconcile
    /// began. What decides over life and death wants that.
    pub fresh: bool,
    /// The digests of the Secrets that it names, or what is wrong with them.
    pub inputs: Result<&'a Inputs, &'a Missing>,
    /// What is configured.
    pub providers: &'a dyn Facts,
    /// What its probes say.
    pub health: Health,
    /// The call that is under way for it.
    pub in_flight: Option<&'a Call>,
    /// The present by the wall clock, for what is compared with time stamps in the cluster.
    pub now: Timestamp,
    /// The present by the monotonic clock, for all waiting.
    pub tick: Duration,
    /// Something in `0.0..1.0`, to spread what would otherwise happen at once.
    pub chance: f64,
    /// How long things may take.
    pub settings: &'a Settings,
}

/// What the step may ask about configured providers.
pub trait Facts {
    /// What is known of one; `None` where the config has none of that name.
    fn of(&self, provider: &ProviderName) -> Option<Fact>;
}

/// What is known of one configured provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Of its config and its credentials: a failure may be over when this changes.
    pub digest: Digest,
    /// For how long the backend may still show what is no longer so ([`Profile::settle`](provider_api::Profile)).
    pub settle: Duration,
    /// When its health turned ready last, by the monotonic clock.
    pub ready_again: Option<Duration>,
    /// The namespaces that may use it; empty for all.
    pub allowed_namespaces: Vec<String>,
    /// Whether one more instance may be replaced for its health.
    pub brake: Brake,
}

/// Whether an unhealthy instance may be replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Brake {
    /// It may.
    #[default]
    Open,
    /// As many as may be are being replaced; it waits for its turn.
    Full,
    /// So many are unhealthy at once that it is more likely the operator that is ill.
    Frozen,
}

/// What probes say of a running proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// Nobody probes it.
    #[default]
    Off,
    /// Not enough is known yet.
    Unknown,
    /// Requests go through.
    Healthy,
    /// They do not.
    Unhealthy {
        /// Since when, by the monotonic clock.
        since: Duration,
        /// What happens instead.
        why: String,
    },
}

/// Why inputs cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// A code for the condition.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

impl Missing {
    /// The reason where a Secret may well be there: nothing tells when it can be read again.
    pub const UNREADABLE: &'static str = "SecretUnreadable";
}

/// How long things may take. Every one of them is a key of the operator's config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long an instance may be Provisioning until it is made anew: 30 min.
    pub provisioning_timeout: Duration,
    /// What lies between looks at something that is coming up or going: 1 s, 2 s, 5 s, then 10 s.
    pub polls: Vec<Duration>,
    /// What lies between looks at what runs: 60 s.
    pub running_poll: Duration,
    /// Between attempts after Transient failures.
    pub backoff: Backoff,
    /// After QuotaExceeded, where the backend gives no hint: 5 min.
    pub quota_retry: Duration,
    /// After Permanent, if nothing changes: 1 h.
    pub slow_retry: Duration,
    /// How long an instance may be unhealthy until it is replaced: 5 min.
    pub unhealthy_after: Duration,
    /// How long an instance must have run for an earlier end to be forgotten: 10 min.
    pub steady_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            provisioning_timeout: seconds(30 * 60),
            polls: vec![seconds(1), seconds(2), seconds(5), seconds(10)],
            running_poll: seconds(60),
            backoff: Backoff::default(),
            quota_retry: seconds(5 * 60),
            slow_retry: seconds(60 * 60),
            unhealthy_after: seconds(5 * 60),
            steady_after: seconds(10 * 60),
        }
    }
}

/// What one process knows of a Proxy beyond its status. All of it may be lost at any time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The answer of the last call, until the step has taken it in.
    pub answer: Option<Answer>,
    /// What a create answered, until it stands in the status.
    made: Option<Made>,
    /// What the last get showed.
    seen: Option<State>,
    /// When to look next; `None` for at once.
    next_poll: Option<Duration>,
    /// What a look at the id in the status has shown: whose it is.
    shown: Option<(String, bool)>,
    /// Since when looks have found nothing, and since when something that comes up, by the monotonic clock.
    missing_since: Option<Duration>,
    coming_since: Option<Duration>,
    /// Looks in a row that showed something under way.
    polls: usize,
    /// Failures in a row of any call for it.
    failures: u32,
    /// When to try to make one next, after a failure or an early end.
    next_create: Option<Duration>,
    /// Ends of instances since one has run steadily.
    ends: u32,
    /// Since when it has been seen running.
    up_since: Option<Duration>,
    /// Why the instance in the status is being removed.
    removing: Option<Why>,
    /// Whether that one's delete was accepted.
    accepted: bool,
    /// Whether it is to be looked at before it is deleted again.
    looks_next: bool,
    /// Whether nothing is left of it.
    gone: bool,
    /// The last failed create.
    failure: Option<Failed>,
    /// What a failed delete or search said.
    stuck: Option<Error>,
    /// What a search found that is still to be deleted.
    found: Option<Vec<ProviderId>>,
    /// Something that a search found was deleted, so the next search may find more.
    searched_again: bool,
    /// Its id is of no use: the listing says what there is.
    by_listing: bool,
    /// The Proxy's deletion has been taken up.
    deleting: bool,
    /// An instance is being replaced for its health, until the next one is healthy.
    mending: bool,
    /// What is left behind for good.
    left: Option<String>,
    /// What is known of what is published.
    publication: Publication,
}

impl Memory {
    /// Whether its instance is being replaced for its health: the brakes count those.
    pub fn is_mending(&self) -> bool {
        self.mending
    }

    /// Somebody says that something changed: looks at once.
    pub fn look_again(&mut self) {
        self.next_poll = None;
    }

    /// Looks at what runs at some point of a whole round instead of at once, after a restart.
    pub fn spread(&mut self, tick: Duration, settings: &Settings, chance: f64) {
        self.next_poll = Some(tick + settings.running_poll.mul_f64(chance));
    }
}

/// A create that failed in this process.
#[derive(Clone, Debug, PartialEq)]
struct Failed {
    failure: Failure,
    /// Of the config and credentials that it rested on.
    digest: Option<Digest>,
    /// When, by the monotonic clock.
    at: Duration,
}

/// An id that `create` gave.
#[derive(Clone, Debug, PartialEq)]
struct Made {
    id: ProviderId,
    at: Timestamp,
}

/// Why an instance goes although its Proxy stays.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// The spec asks for another one.
    Changed,
    /// It stopped, and will not come back.
    Ended(String),
    /// It did not come up in time.
    TookTooLong(String),
    /// It is up, and requests do not go through.
    Unhealthy(String),
    /// The backend says that there is none; what is left of it goes too.
    Missing,
}

/// A call to a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The configured provider.
    pub provider: ProviderName,
    /// What is asked of it.
    pub what: Operation,
}

/// What is asked of a provider.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Make the Proxy's instance.
    Create {
        /// The digest of what it is made from.
        spec_hash: Digest,
        /// The failed attempt that the status shows.
        acknowledged: Option<String>,
    },
    /// Look at it.
    Get(ProviderId),
    /// Remove it.
    Delete(ProviderId),
    /// Look in the whole scope for what carries the Proxy's UID, and remove leftovers of its name.
    Search,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Of [`Operation::Create`].
    Created(Result<ProviderId, Error>),
    /// Of [`Operation::Get`].
    Got(Result<Instance, GetError>),
    /// Of [`Operation::Delete`].
    Deleted(Result<Deleted, Error>),
    /// Of [`Operation::Search`].
    Found(Result<Vec<ProviderId>, Error>),
}

/// The next thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Put our finalizer on.
    Hold,
    /// Take our finalizer off.
    Release,
    /// Write this status.
    Write(Box<Status>),
    /// Ask a provider.
    Call(Call),
    /// Drop the call that is under way.
    Drop,
    /// Read the Proxy from the API server itself.
    Refresh,
    /// Publish how to reach it in that Secret, if what there is to say still has that digest; then
    /// [`Memory::published`].
    Publish {
        /// The Secret's name.
        secret: String,
        /// Of what is to stand there.
        digest: Digest,
    },
    /// Remove that Secret, if it is the Proxy's; then [`Memory::withdrawn`].
    Withdraw(String),
    /// Nothing, until something changes or this much time has passed.
    Wait(Option<Duration>),
    /// Nothing ever again.
    Forget,
}

/// Something to tell people, as an event of the Proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Whether it needs somebody.
    pub warning: bool,
    /// A code in CamelCase.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

/// What a step decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The next thing to do.
    pub action: Action,
    /// What to remember.
    pub memory: Memory,
    /// What to tell, once the action has succeeded.
    pub notes: Vec<Note>,
}

/// How a step is decided: [`fn@step`], or what a simulation puts in its place.
pub type Decide = fn(&Situation<'_>, Memory) -> Step;

/// A step in the making: where it is, what it remembers, and the status that it wants to be true before it does anything.
struct Stepping<'s, 'a> {
    at: &'s Situation<'a>,
    memory: Memory,
    status: Status,
    notes: Vec<Note>,
}

/// Decides the next action.
pub fn step(at: &Situation<'_>, memory: Memory) -> Step {
    let stepping = Stepping { at, memory, status: at.proxy.status.clone(), notes: Vec::new() };
    stepping.decide()
}

impl Stepping<'_, '_> {
    fn decide(mut self) -> Step {
        let proxy = self.at.proxy;
        if let Some(call) = self.at.in_flight {
            return if self.is_still_wanted(call) {
                self.done(Action::Wait(None))
            } else {
                self.done(Action::Drop)
            };
        }
        self.take_answer();
        if let Some(failed) = &self.memory.failure {
            self.status.last_failure = Some(failed.failure.clone());
            self.status.input_digest.clone_from(&failed.digest);
        }
        if proxy.deleting && !proxy.held {
            return self.done(Action::Forget);
        }
        if self.records_what_was_made() {
            return self.then(Action::Wait(None));
        }
        if proxy.deleting {
            return self.delete();
        }
        if proxy.asks.paused {
            self.says_paused();
            return self.then(Action::Wait(None));
        }
        if !proxy.held {
            return self.done(Action::Hold);
        }
        // What a refused edit says is not true yet; what it was before goes on.
        if proxy.usable().is_some() {
            self.status.observed_generation = Some(proxy.generation);
        }
        if let Some(action) = self.withdraws() {
            return self.in_the_cluster(action);
        }
        match proxy.status.instance.clone() {
            Some(instance) => self.watch(&instance),
            None => self.make(),
        }
    }

    /// Whether a running call is still what we want: deletion never waits for a create, nor does a changed spec.
    fn is_still_wanted(&self, call: &Call) -> bool {
        let proxy = self.at.proxy;
        match &call.what {
            Operation::Create { spec_hash, .. } => {
                let changed = self.wanted_hash().is_some_and(|wanted| wanted != *spec_hash);
                let moved = proxy.usable().is_some_and(|spec| spec.provider != call.provider);
                !proxy.deleting && !proxy.asks.paused && !changed && !moved
            }
            Operation::Delete(_) => true,
            Operation::Get(_) | Operation::Search => !(proxy.deleting && proxy.asks.skip_cleanup),
        }
    }

    /// The digest of what the spec asks for, if all of it is known.
    fn wanted_hash(&self) -> Option<Digest> {
        let spec = self.at.proxy.usable()?;
        Some(spec.hash(self.at.inputs.ok()?))
    }

    /// Writes the status that is wanted, and only once it stands goes on to do something.
    fn then(mut self, action: Action) -> Step {
        self.status.keep_transitions(&self.at.proxy.status);
        if self.status == self.at.proxy.status {
            return self.done(action);
        }
        let status = Box::new(self.status.clone());
        self.done(Action::Write(status))
    }

    fn done(self, action: Action) -> Step {
        Step { action, memory: self.memory, notes: self.notes }
    }

    /// Waits until a point of the monotonic clock.
    fn wait_until(self, tick: Duration) -> Step {
        let wait = tick.saturating_sub(self.at.tick);
        self.then(Action::Wait(Some(wait)))
    }

    /// Asks a provider for something that cannot be taken back: only of a Proxy that was read live.
    fn call_live(self, provider: ProviderName, what: Operation) -> Step {
        let action = if self.at.fresh { Action::Call(Call { provider, what }) } else { Action::Refresh };
        self.then(action)
    }

    fn call(self, provider: ProviderName, what: Operation) -> Step {
        self.then(Action::Call(Call { provider, what }))
    }

    fn note(&mut self, warning: bool, reason: &'static str, message: impl Into<String>) {
        self.notes.push(Note { warning, reason, message: message.into() });
    }

    fn fact(&self, provider: &ProviderName) -> Option<Fact> {
        self.at.providers.of(provider)
    }

    /// When to look next at something that is coming up or going.
    fn poll_later(&mut self) -> Duration {
        let polls = &self.at.settings.polls;
        let every = polls.get(self.memory.polls).or(polls.last()).copied().unwrap_or(Duration::from_secs(10));
        self.memory.polls += 1;
        let next = self.at.tick + every;
        self.memory.next_poll = Some(next);
        next
    }

    fn is_due(&self) -> bool {
        self.memory.next_poll.is_none_or(|next| self.at.tick >= next)
    }

    fn phase(&mut self, phase: Phase) {
        self.status.phase = Some(phase);
    }
}
