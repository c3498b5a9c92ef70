//! One case: a runtime, a backend, a provider, the rule's code, and the judgement on the harness afterwards.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::FutureExt;
use provider_api::{Clock, Spawner, SystemClock, TokioSpawner};

use super::{
    Options,
    panics::{Heeding, Panic, Panics},
};
use crate::{
    capture::Carrying,
    clock::CaseClock,
    faults::{Call, FaultPlan},
    harness::{Case, Folder, Harness, Setup, Thing},
    ledger::Ledger,
    report::{BackendKind, Before, Evidence, Step, StepKind},
    rule::{Check, Checked, Rule, RunFn, Stop},
    rules::model::Sequence,
    wire::Wire,
    world::{Opening, World},
};

/// A case on a real backend may take its time.
const REAL_WATCHDOG: Duration = Duration::from_secs(1_800);
/// And then there is this much for what it has left there to be looked at and removed.
const REAL_AFTERMATH: Duration = Duration::from_secs(300);
/// For making a fake, and for looking at it afterwards.
const FAKE_AFTERMATH: Duration = Duration::from_secs(5);
/// How long a closure of the provider's that nobody waits for may work on after its case, to be heard if it panics. It
/// costs nothing where all of them are done.
const GRACE: Duration = Duration::from_secs(2);

/// How many smaller sequences are tried for one that breaks a rule.
const SHRINKS: usize = 300;

/// Which code of a rule a case runs.
#[derive(Clone)]
pub(super) enum Kind {
    /// All of it.
    Whole,
    /// The negative half.
    Absent(RunFn),
    /// The dry run that derives a sweep's plans.
    Plans,
    /// One plan, with its number.
    Planned(usize, FaultPlan),
}

/// How a case went.
pub(super) struct Outcome {
    pub(super) result: Checked,
    pub(super) mode: Mode,
    pub(super) plans: Vec<FaultPlan>,
    pub(super) backend_calls: usize,
    pub(super) elapsed: Duration,
    pub(super) evidence: Option<Evidence>,
    /// What was run, where the rule was broken and the case could be played again.
    pub(super) broken: Option<Kind>,
}

/// What a pass of the case means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Present,
    Absent,
    ByType,
}

impl Outcome {
    pub(super) fn by_type() -> Self {
        Self { mode: Mode::ByType, ..Self::of(Ok(())) }
    }

    pub(super) fn error(text: String) -> Self {
        Self::of(Err(Stop::Error(text)))
    }

    pub(super) fn blocked(text: String) -> Self {
        Self::of(Err(Stop::Blocked(text)))
    }

    pub(super) fn is_red(&self) -> bool {
        matches!(self.result, Err(Stop::Broken(_) | Stop::Error(_)))
    }

    fn of(result: Checked) -> Self {
        Self {
            result,
            mode: Mode::Present,
            plans: Vec::new(),
            backend_calls: 0,
            elapsed: Duration::ZERO,
            evidence: None,
            broken: None,
        }
    }
}

/// Runs one case from beginning to end.
pub(super) fn run(
    harness: &Arc<dyn Harness>,
    options: &Options,
    setup: &Arc<Setup>,
    rule: &'static Rule,
    kind: Kind,
) -> Outcome {
    let mut outcome = once(harness, options, setup, rule, &kind, false);
    let broken = matches!(outcome.result, Err(Stop::Broken(_))) && options.backend == BackendKind::Fake;
    outcome.broken = broken.then_some(kind);
    outcome
}

/// Plays a broken case a second time, and looks at the backend before each operation. A fake plays alike.
pub(super) fn look_again(
    harness: &Arc<dyn Harness>,
    options: &Options,
    setup: &Arc<Setup>,
    rule: &'static Rule,
    kind: &Kind,
    evidence: &mut Evidence,
) {
    let outcome = once(harness, options, setup, rule, kind, true);
    match (outcome.result, outcome.evidence) {
        (Err(Stop::Broken(_)), Some(seen)) => evidence.before = seen.before,
        _ => evidence.steps.push(Step {
            kind: StepKind::Story,
            text: "played a second time, the case did not break the rule: something outside the plan decides"
                .into(),
            fault: None,
        }),
    }
}

fn once(
    harness: &Arc<dyn Harness>,
    options: &Options,
    setup: &Arc<Setup>,
    rule: &'static Rule,
    kind: &Kind,
    looking: bool,
) -> Outcome {
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Outcome::error(format!("no runtime can be made: {error}")),
    };
    let mode = if matches!(kind, Kind::Absent(_)) { Mode::Absent } else { Mode::Present };
    let case = case(options, setup, rule, kind);
    let ledger = case.wire.ledger().clone();
    let panics = Panics::default();
    let here = panics.here();
    let (watchdog, aftermath) = match options.backend {
        BackendKind::Real => (REAL_WATCHDOG, REAL_AFTERMATH),
        BackendKind::Fake => (options.watchdog, FAKE_AFTERMATH),
    };
    let playing = Playing { harness, options, setup, rule, kind, looking, watchdog, panics: &panics };
    let body = async {
        match tokio::time::timeout(watchdog + aftermath, play(&playing, case)).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::of(Err(overlong(watchdog + aftermath, &ledger))),
        }
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(body)));
    // Held closures must not keep the thread; one that is merely not done yet may have something to say.
    match panics.any_at_work() && ledger.parked() == 0 {
        true => runtime.shutdown_timeout(GRACE),
        false => runtime.shutdown_background(),
    }
    let heard = panics.take();
    drop(here);
    let ended = |stop| {
        let evidence =
            Evidence { replay: replay(options, setup, rule, kind), mend: rule.mend, ..Evidence::default() };
        Outcome { evidence: Some(evidence), ..Outcome::of(Err(stop)) }
    };
    let mut outcome = match (outcome, heard.first()) {
        (Err(_), _) => ended(Panic::unwound(&heard)),
        // After all was judged: in a task that the end of the runtime dropped, or on another thread.
        (Ok(outcome), Some(panic)) if !outcome.is_red() => ended(panic.stop()),
        (Ok(outcome), _) => outcome,
    };
    outcome.mode = mode;
    outcome.elapsed = started.elapsed();
    outcome
}

/// Runs one random sequence; one that breaks the rule is made as small as it can be and still break it.
pub(super) fn sequence(
    harness: &Arc<dyn Harness>,
    options: &Options,
    setup: &Arc<Setup>,
    rule: &'static Rule,
    index: usize,
) -> Outcome {
    let mut sequence = Sequence::of(seed(options, setup, rule, index));
    let play =
        |sequence: &Sequence| run(harness, options, setup, rule, Kind::Planned(index, sequence.plan()));
    let mut worst = play(&sequence);
    let mut left = SHRINKS;
    let mut smaller = worst.is_red() && sequence.simplify();
    while smaller && left > 0 {
        left -= 1;
        let outcome = play(&sequence);
        let red = outcome.is_red();
        if red {
            worst = outcome;
        }
        smaller = if red { sequence.simplify() } else { sequence.complicate() };
    }
    worst
}

fn seed(options: &Options, setup: &Setup, rule: &Rule, index: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (options.seed, setup.name, rule.id, index).hash(&mut hasher);
    hasher.finish()
}

fn case(options: &Options, setup: &Setup, rule: &Rule, kind: &Kind) -> Case {
    let index = if let Kind::Planned(index, _) = kind { *index } else { usize::MAX };
    let seed = seed(options, setup, rule, index);
    let ledger = Ledger::default();
    let clock: Arc<dyn Clock> = match options.backend {
        BackendKind::Fake => Arc::new(CaseClock::new(ledger.clone())),
        BackendKind::Real => Arc::new(SystemClock::default()),
    };
    let tag = match options.backend {
        BackendKind::Fake => format!("c{:08x}", seed as u32),
        // Two runs against one real backend must not meet.
        BackendKind::Real => format!("c{:08x}{:08x}", seed as u32, std::process::id()),
    };
    Case { clock, wire: Wire::new(ledger), seed, tag, folder: Arc::new(Folder::default()) }
}

/// What a case is played with.
struct Playing<'p> {
    harness: &'p Arc<dyn Harness>,
    options: &'p Options,
    setup: &'p Arc<Setup>,
    rule: &'static Rule,
    kind: &'p Kind,
    looking: bool,
    watchdog: Duration,
    panics: &'p Panics,
}

async fn play(playing: &Playing<'_>, case: Case) -> Outcome {
    let Playing { harness, options, setup, rule, kind, .. } = *playing;
    let backend = match harness.open(setup, &case).await {
        Ok(backend) => backend,
        Err(error) => return Outcome::error(format!("the backend cannot be had: {error}")),
    };
    let panics = playing.panics.clone();
    let spawner: Arc<dyn Spawner> = Arc::new(Heeding { spawner: Carrying(TokioSpawner), panics });
    let opening = Opening {
        setup: Arc::clone(setup),
        case,
        backend,
        kind: options.backend,
        decorated: matches!(rule.check, Check::Decorated(_)),
        saboteur: options.saboteur,
        spawner,
        looking: playing.looking,
    };
    let mut world = match World::open(opening) {
        Ok(world) => world,
        Err(stop) => return Outcome::of(Err(stop)),
    };
    let ledger = world.wire().ledger().clone();
    let checked = to_its_end(playing, check(&mut world, rule, kind), &ledger).await;
    let (result, plans) = match checked {
        Ok(plans) => (judge(&world, kind, &plans), plans),
        Err(stop) => (Err(stop), Vec::new()),
    };
    let heard = playing.panics.take();
    heard.iter().for_each(|panic| world.note(panic.line()));
    let red = |result: &Checked| matches!(result, Err(Stop::Broken(_) | Stop::Error(_)));
    let result = match heard.first() {
        // Its executor swallowed it: whoever waited for the task saw an answer lost, and took that for one of the world's.
        Some(panic) if !red(&result) => Err(panic.stop()),
        _ => result,
    };
    let evidence = if red(&result) { Some(evidence(&world, options, setup, rule, kind).await) } else { None };
    let cleaned = match options.backend {
        BackendKind::Real => world.backend().clean().await,
        BackendKind::Fake => Ok(()),
    };
    // Only a broken rule is worse news than a backend that was left with something on it.
    let result = match (result, cleaned) {
        (Ok(()) | Err(Stop::Blocked(_)), Err(error)) => Err(error.into()),
        (result, _) => result,
    };
    Outcome { plans, backend_calls: world.wire().call_count(), evidence, ..Outcome::of(result) }
}

/// Runs the code of a rule; what a sweep's dry run derives is the answer.
async fn check(world: &mut World, rule: &Rule, kind: &Kind) -> Checked<Vec<FaultPlan>> {
    match (kind, rule.check) {
        (Kind::Plans, Check::Sweep { plans, .. }) => return plans(world).await,
        (Kind::Absent(check), _) => check(world).await,
        (Kind::Planned(_, plan), Check::Sweep { run, .. } | Check::Model(run)) => run(world, plan).await,
        (_, Check::Case(check) | Check::Decorated(check)) => check(world).await,
        (_, Check::Sweep { .. } | Check::Model(_) | Check::ByType(_)) => {
            Err(Stop::Error("the rule has no such case".into()))
        }
    }?;
    Ok(Vec::new())
}

/// Whatever becomes of a check, a panic or no end at all, its case is to be told, and a real backend to be cleaned.
async fn to_its_end<T>(
    playing: &Playing<'_>,
    check: impl Future<Output = Checked<T>>,
    ledger: &Ledger,
) -> Checked<T> {
    let limit = playing.watchdog;
    // Pinned, so that it still waits for what it waits for when the ledger tells of that.
    let mut checked = pin!(tokio::time::timeout(limit, AssertUnwindSafe(check).catch_unwind()));
    match checked.as_mut().await {
        Ok(Ok(checked)) => checked,
        Ok(Err(_)) => Err(Panic::unwound(&playing.panics.take())),
        Err(_) => Err(overlong(limit, ledger)),
    }
}

/// What nothing came of within that time.
fn overlong(limit: Duration, ledger: &Ledger) -> Stop {
    Stop::Error(format!("the case did not end within {limit:?} of real time:\n{ledger:?}"))
}

/// The kit judges the harness too: what passed only because nothing happened is no pass.
fn judge(world: &World, kind: &Kind, plans: &[FaultPlan]) -> Checked {
    if let Some(missed) = world.wire().missed().first() {
        return Err(Stop::Error(format!("an armed fault was never hit: {missed:?}")));
    }
    let in_transit = world.wire().ledger().dropped_in_transit();
    if in_transit > 0 && world.is_fake() {
        let text =
            format!("the provider dropped {in_transit} of its own calls before the backend had read them");
        return Err(Stop::Error(text));
    }
    if matches!(kind, Kind::Plans) && plans.is_empty() {
        return Err(match world.is_fake() {
            true => Stop::Error("the dry run made no call, so the sweep has nothing to break".into()),
            false => Stop::Blocked("no call to the real backend passes a wire that could break it".into()),
        });
    }
    Ok(())
}

async fn evidence(world: &World, options: &Options, setup: &Setup, rule: &Rule, kind: &Kind) -> Evidence {
    let steps = steps(&world.calls(), &world.notes());
    let backend = match world.everything().await {
        Ok(things) => things.iter().map(thing_line).collect(),
        Err(stop) => vec![format!("it cannot be looked at: {stop}")],
    };
    let hit = world.calls().into_iter().find(|call| call.fault.is_some()).and_then(|call| call.operation);
    let before = world.beginning(hit.map(|operation| operation.0)).map(|(operation, things)| Before {
        operation: hit.map_or(operation, |hit| hit.0),
        backend: things.iter().map(thing_line).collect(),
    });
    Evidence { steps, before, backend, replay: replay(options, setup, rule, kind), mend: rule.mend, more: 0 }
}

/// The calls in order, each line of the story where it was written.
fn steps(calls: &[Call], notes: &[(usize, String)]) -> Vec<Step> {
    let story = |text: &String| Step { kind: StepKind::Story, text: text.clone(), fault: None };
    let mut notes = notes.iter().peekable();
    let mut steps = Vec::new();
    for (place, call) in calls.iter().enumerate() {
        while let Some((_, text)) = notes.next_if(|(after, _)| *after <= place) {
            steps.push(story(text));
        }
        steps.push(call_step(call));
    }
    steps.extend(notes.map(|(_, text)| story(text)));
    told_once(steps)
}

/// Steps that are alike and follow each other stand there once, with their number: what differs is then in sight.
fn told_once(steps: Vec<Step>) -> Vec<Step> {
    let mut told: Vec<(Step, usize)> = Vec::new();
    for step in steps {
        match told.last_mut() {
            Some((last, times)) if *last == step => *times += 1,
            _ => told.push((step, 1)),
        }
    }
    let line = |(mut step, times): (Step, usize)| {
        if times > 1 {
            step.text = format!("{} ({times} times)", step.text);
        }
        step
    };
    told.into_iter().map(line).collect()
}

fn call_step(call: &Call) -> Step {
    let operation = call.operation.map_or_else(|| "-".to_owned(), |operation| operation.0.to_string());
    let fault = call.fault.as_ref().map(ToString::to_string);
    let Call { kind, subject, target, nth, .. } = call;
    let text = format!("operation {operation}: {kind}#{nth} {subject} on {target}");
    Step { kind: StepKind::Call, text, fault }
}

fn thing_line(thing: &Thing) -> String {
    let Thing { kind, name, target, native_state, marks, deleting, .. } = thing;
    let deleting = if *deleting { ", being deleted" } else { "" };
    format!("{kind:?} {name} on {target}: {native_state}{deleting}, marks {marks:?}")
}

fn replay(options: &Options, setup: &Setup, rule: &Rule, kind: &Kind) -> String {
    let plan = match kind {
        Kind::Planned(_, plan) => {
            let plan = serde_json::to_string(plan).unwrap_or_default();
            format!(" --plan '{}'", plan.replace('\'', "'\\''"))
        }
        _ => String::new(),
    };
    format!("--rule {} --setup {} --seed {}{plan}", rule.id, setup.name, options.seed)
}
