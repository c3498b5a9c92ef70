//! Operators with one protection taken out. A simulation that sees none of them broken sees nothing.

use std::time::Duration;

use provider_api::{GetError, ProviderName};
use proxy_operator::{
    election::Terms,
    resource::{ConditionKind, Digest, Truth},
    step::{Action, Answer, Brake, Decide, Fact, Facts, Memory, Operation, Published, Situation, Step, step},
    work::Operator,
};

use crate::watchdog::Invariant;

/// An operator, and how it differs from the one that people deploy.
#[derive(Clone, Copy)]
pub struct Build {
    /// How it decides.
    pub step: Decide,
    /// How it stands for election.
    pub terms: fn() -> Terms,
    /// What else is different.
    pub changes: fn(&mut Operator),
}

impl Default for Build {
    /// The one that people deploy.
    fn default() -> Self {
        Self { step, terms: Terms::default, changes: |_| {} }
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
    /// Where it is seen.
    pub seen_in: SeenIn,
}

/// Where a saboteur is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenIn {
    /// In worlds of three Proxies by their seeds, within so many.
    Seeds(u64),
    /// In worlds of ten Proxies.
    LargeSeeds(u64),
    /// In the sweeps.
    Sweeps,
    /// In pairs of plans that must end alike.
    Pairs,
}

const fn deciding(step: Decide) -> Build {
    Build { step, terms: honest_terms, changes: |_| {} }
}

fn honest_terms() -> Terms {
    Terms::default()
}

/// All of them; each invariant has at least one that breaks it.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "acts-on-stale-views",
        breaks: &[Invariant::NoNeedlessDelete, Invariant::OneInstance, Invariant::NothingLeftAtRelease],
        build: deciding(acts_on_stale_views),
        seen_in: SeenIn::Sweeps,
    },
    Saboteur {
        name: "releases-without-deleting",
        breaks: &[Invariant::NothingLeftAtRelease],
        build: deciding(releases_without_deleting),
        seen_in: SeenIn::Seeds(20),
    },
    Saboteur {
        name: "forgets-what-it-replaces",
        breaks: &[Invariant::OneInstance],
        build: deciding(forgets_what_it_replaces),
        seen_in: SeenIn::Seeds(40),
    },
    Saboteur {
        name: "drops-intents-unsearched",
        breaks: &[Invariant::OneInstance],
        build: deciding(drops_intents_unsearched),
        seen_in: SeenIn::Seeds(100),
    },
    Saboteur {
        name: "takes-failed-looks-for-not-found",
        breaks: &[Invariant::NoNeedlessDelete],
        build: deciding(takes_failed_looks_for_not_found),
        seen_in: SeenIn::Seeds(40),
    },
    Saboteur {
        name: "replaces-whatever-is-not-reached",
        breaks: &[Invariant::NoNeedlessDelete],
        build: deciding(replaces_whatever_is_not_reached),
        seen_in: SeenIn::LargeSeeds(40),
    },
    Saboteur {
        name: "polls-without-pause",
        breaks: &[Invariant::BoundedCalls],
        build: deciding(polls_without_pause),
        seen_in: SeenIn::Seeds(5),
    },
    Saboteur {
        name: "writes-at-every-look",
        breaks: &[Invariant::Quiet],
        build: deciding(writes_at_every_look),
        seen_in: SeenIn::Seeds(10),
    },
    Saboteur {
        name: "never-tries-again",
        breaks: &[Invariant::Converges],
        build: deciding(never_tries_again),
        seen_in: SeenIn::Seeds(200),
    },
    Saboteur {
        name: "leaves-old-secrets",
        breaks: &[Invariant::Converges],
        build: deciding(leaves_old_secrets),
        seen_in: SeenIn::Seeds(100),
    },
    Saboteur {
        name: "publishes-no-edits",
        breaks: &[Invariant::Converges],
        build: deciding(publishes_no_edits),
        seen_in: SeenIn::Seeds(100),
    },
    Saboteur {
        name: "takes-over-before-the-term-is-over",
        breaks: &[Invariant::OneLeader],
        build: Build { step, terms: hasty_terms, changes: |_| {} },
        seen_in: SeenIn::Seeds(100),
    },
    Saboteur {
        name: "says-ready-at-once",
        breaks: &[Invariant::TruthfulStatus],
        build: deciding(says_ready_at_once),
        seen_in: SeenIn::Seeds(5),
    },
    Saboteur {
        name: "moves-times-with-every-write",
        breaks: &[Invariant::Transitions],
        build: deciding(moves_times_with_every_write),
        seen_in: SeenIn::Seeds(5),
    },
    Saboteur {
        name: "collects-nothing",
        breaks: &[Invariant::NoOrphans],
        build: Build { step, terms: honest_terms, changes: |operator| operator.collector.dry_run = true },
        seen_in: SeenIn::Seeds(100),
    },
    Saboteur {
        name: "panics-at-what-it-cannot-use",
        breaks: &[Invariant::NoPanic],
        build: deciding(panics_at_what_it_cannot_use),
        seen_in: SeenIn::Seeds(40),
    },
    Saboteur {
        name: "waits-for-no-time-at-all",
        breaks: &[Invariant::NoPanic],
        build: deciding(waits_for_no_time_at_all),
        seen_in: SeenIn::Seeds(5),
    },
    Saboteur {
        name: "makes-anew-what-it-finds-late",
        breaks: &[Invariant::AsManyLives],
        build: deciding(makes_anew_what_it_finds_late),
        seen_in: SeenIn::Sweeps,
    },
    Saboteur {
        name: "takes-no-notice-of-edits",
        breaks: &[Invariant::PathIndependence],
        build: deciding(takes_no_notice_of_edits),
        seen_in: SeenIn::Pairs,
    },
];

/// Only where it cannot be taken back: everything else is done as it should be.
fn acts_on_stale_views(at: &Situation<'_>, memory: Memory) -> Step {
    let view = Situation { fresh: true, inputs: at.inputs, health: at.health.clone(), ..*at };
    let decided = step(&view, memory.clone());
    match &decided.action {
        Action::Release => decided,
        Action::Call(call) if matches!(call.what, Operation::Delete(_)) => decided,
        _ => step(at, memory),
    }
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

/// Facts without brakes.
struct Unbraked<'f>(&'f dyn Facts);

impl Facts for Unbraked<'_> {
    fn of(&self, provider: &ProviderName) -> Option<Fact> {
        self.0.of(provider).map(|fact| Fact { brake: Brake::Open, ..fact })
    }
}

fn replaces_whatever_is_not_reached(at: &Situation<'_>, memory: Memory) -> Step {
    let providers = Unbraked(at.providers);
    step(&Situation { providers: &providers, inputs: at.inputs, health: at.health.clone(), ..*at }, memory)
}

fn says_ready_at_once(at: &Situation<'_>, memory: Memory) -> Step {
    let mut decided = step(at, memory);
    if let Action::Write(status) = &mut decided.action
        && status.instance.is_some()
        && at.proxy.status.instance.is_none()
    {
        for condition in status.conditions.iter_mut().filter(|it| it.kind == ConditionKind::Ready) {
            condition.status = Truth::True;
        }
    }
    decided
}

fn moves_times_with_every_write(at: &Situation<'_>, memory: Memory) -> Step {
    let mut decided = step(at, memory);
    if let Action::Write(status) = &mut decided.action {
        status.conditions.iter_mut().for_each(|condition| condition.last_transition_time = at.now);
    }
    decided
}

fn panics_at_what_it_cannot_use(at: &Situation<'_>, memory: Memory) -> Step {
    assert!(at.proxy.usable().is_some(), "this spec cannot be used");
    step(at, memory)
}

fn waits_for_no_time_at_all(at: &Situation<'_>, memory: Memory) -> Step {
    let mut decided = step(at, memory);
    if matches!(decided.action, Action::Wait(_)) {
        decided.action = Action::Wait(Some(Duration::ZERO));
    }
    decided
}

fn takes_no_notice_of_edits(at: &Situation<'_>, memory: Memory) -> Step {
    let mut proxy = at.proxy.clone();
    let wanted = proxy.usable().zip(at.inputs.ok()).map(|(spec, inputs)| spec.hash(inputs));
    if let (Some(instance), Some(wanted)) = (&mut proxy.status.instance, wanted) {
        instance.spec_hash = wanted;
    }
    step(&Situation { proxy: &proxy, inputs: at.inputs, health: at.health.clone(), ..*at }, memory)
}

/// What was made long after it was intended is taken for another one.
fn makes_anew_what_it_finds_late(at: &Situation<'_>, memory: Memory) -> Step {
    let mut decided = step(at, memory);
    let since = at.proxy.status.intent.as_ref().map(|intent| at.now.since(intent.since));
    if let Action::Write(status) = &mut decided.action
        && let Some(instance) = &mut status.instance
        && since.is_some_and(|since| since > Duration::from_secs(26))
    {
        instance.spec_hash = Digest::of(b"another one");
    }
    decided
}

fn hasty_terms() -> Terms {
    let seconds = Duration::from_secs;
    Terms { lease: seconds(3), deadline: seconds(10), retry: seconds(2) }
}
