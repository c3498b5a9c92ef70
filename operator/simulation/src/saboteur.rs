//! Operators with one protection taken out. A simulation that sees none of them broken sees nothing.

use std::time::Duration;

use provider_api::GetError;
use proxy_operator::{
    election::Terms,
    resource::Digest,
    step::{Action, Answer, Decide, Memory, Operation, Published, Situation, Step, step},
};

use crate::watchdog::Invariant;

/// An operator, and how it differs from the one that people deploy.
#[derive(Clone, Copy)]
pub struct Build {
    /// How it decides.
    pub step: Decide,
    /// How it stands for election.
    pub terms: fn() -> Terms,
}

impl Default for Build {
    /// The one that people deploy.
    fn default() -> Self {
        Self { step, terms: Terms::default }
    }
}

/// One broken operator.
#[derive(Clone, Copy)]
pub struct Saboteur {
    /// What it does.
    pub name: &'static str,
    /// The invariants that see it, any of them.
    pub breaks: &'static [Invariant],
    /// It.
    pub build: Build,
    /// Within how many seeds it is seen.
    pub within: u64,
}

const fn deciding(step: Decide) -> Build {
    Build { step, terms: honest_terms }
}

fn honest_terms() -> Terms {
    Terms::default()
}

/// All of them.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "acts-on-stale-views",
        breaks: &[Invariant::NoNeedlessDelete, Invariant::OneInstance, Invariant::NothingLeftAtRelease],
        build: deciding(acts_on_stale_views),
        within: 200,
    },
    Saboteur {
        name: "releases-without-deleting",
        breaks: &[Invariant::NothingLeftAtRelease],
        build: deciding(releases_without_deleting),
        within: 10,
    },
    Saboteur {
        name: "forgets-what-it-replaces",
        breaks: &[Invariant::OneInstance],
        build: deciding(forgets_what_it_replaces),
        within: 20,
    },
    Saboteur {
        name: "drops-intents-unsearched",
        breaks: &[Invariant::OneInstance],
        build: deciding(drops_intents_unsearched),
        within: 200,
    },
    Saboteur {
        name: "takes-failed-looks-for-not-found",
        breaks: &[Invariant::NoNeedlessDelete],
        build: deciding(takes_failed_looks_for_not_found),
        within: 20,
    },
    Saboteur {
        name: "polls-without-pause",
        breaks: &[Invariant::BoundedCalls],
        build: deciding(polls_without_pause),
        within: 5,
    },
    Saboteur {
        name: "writes-at-every-look",
        breaks: &[Invariant::Quiet],
        build: deciding(writes_at_every_look),
        within: 5,
    },
    Saboteur {
        name: "never-tries-again",
        breaks: &[Invariant::Converges],
        build: deciding(never_tries_again),
        within: 20,
    },
    Saboteur {
        name: "leaves-old-secrets",
        breaks: &[Invariant::Converges],
        build: deciding(leaves_old_secrets),
        within: 20,
    },
    Saboteur {
        name: "publishes-no-edits",
        breaks: &[Invariant::Converges],
        build: deciding(publishes_no_edits),
        within: 20,
    },
    Saboteur {
        name: "takes-over-before-the-term-is-over",
        breaks: &[Invariant::OneLeader],
        build: Build { step, terms: hasty_terms },
        within: 200,
    },
];

fn acts_on_stale_views(at: &Situation<'_>, memory: Memory) -> Step {
    step(&Situation { fresh: true, inputs: at.inputs, health: at.health.clone(), ..*at }, memory)
}

fn releases_without_deleting(at: &Situation<'_>, memory: Memory) -> Step {
    let decided = step(at, memory);
    match &decided.action {
        Action::Call(call) if at.proxy.deleting && matches!(call.what, Operation::Delete(_)) => {
            Step { action: Action::Release, ..decided }
        }
        _ => decided,
    }
}

fn forgets_what_it_replaces(at: &Situation<'_>, memory: Memory) -> Step {
    let decided = step(at, memory);
    match &decided.action {
        Action::Call(call) if !at.proxy.deleting && matches!(call.what, Operation::Delete(_)) => {
            let mut status = at.proxy.status.clone();
            status.instance = None;
            Step { action: Action::Write(Box::new(status)), memory: Memory::default(), ..decided }
        }
        _ => decided,
    }
}

fn drops_intents_unsearched(at: &Situation<'_>, memory: Memory) -> Step {
    let decided = step(at, memory);
    match &decided.action {
        Action::Call(call) if !at.proxy.deleting && call.what == Operation::Search => {
            let mut status = at.proxy.status.clone();
            status.intent = None;
            Step { action: Action::Write(Box::new(status)), ..decided }
        }
        _ => decided,
    }
}

fn takes_failed_looks_for_not_found(at: &Situation<'_>, mut memory: Memory) -> Step {
    if let Some(Answer::Got(Err(error))) = &mut memory.answer {
        *error = GetError::NotFound;
    }
    step(at, memory)
}

fn polls_without_pause(at: &Situation<'_>, memory: Memory) -> Step {
    let mut decided = step(at, memory);
    if matches!(decided.action, Action::Wait(_)) {
        decided.memory.look_again();
        decided.action = Action::Wait(Some(Duration::from_millis(100)));
    }
    decided
}

fn writes_at_every_look(at: &Situation<'_>, memory: Memory) -> Step {
    let decided = step(at, memory);
    match &decided.action {
        // After its own write it looks.
        Action::Call(call) if matches!(call.what, Operation::Get(_)) && !at.proxy.deleting && !at.fresh => {
            let mut status = at.proxy.status.clone();
            status.input_digest = Some(Digest::of(at.now.to_string().as_bytes()));
            Step { action: Action::Write(Box::new(status)), ..decided }
        }
        _ => decided,
    }
}

fn never_tries_again(at: &Situation<'_>, memory: Memory) -> Step {
    let mut decided = step(at, memory);
    if at.proxy.status.last_failure.is_some() && matches!(decided.action, Action::Wait(Some(_))) {
        decided.action = Action::Wait(None);
    }
    decided
}

fn leaves_old_secrets(at: &Situation<'_>, memory: Memory) -> Step {
    let mut decided = step(at, memory);
    if let Action::Withdraw(secret) = decided.action {
        decided.memory.withdrawn(secret);
        return step(at, decided.memory);
    }
    decided
}

fn publishes_no_edits(at: &Situation<'_>, memory: Memory) -> Step {
    let mut decided = step(at, memory);
    if at.proxy.generation > 1
        && let Action::Publish { digest, .. } = decided.action
    {
        decided.memory.published(digest, Published::Done);
        return step(at, decided.memory);
    }
    decided
}

fn hasty_terms() -> Terms {
    let seconds = Duration::from_secs;
    Terms { lease: seconds(3), deadline: seconds(10), retry: seconds(2) }
}
