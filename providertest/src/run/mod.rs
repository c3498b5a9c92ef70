//! Runs rules: one runtime, one backend and one provider for each case, spread over threads.
//!
//! The case itself is in `case.rs`, what becomes of panics in `panics.rs`, the collecting of results in `tally.rs`.

mod case;
pub(crate) mod panics;
mod queue;
mod tally;
#[cfg(test)]
mod tests;

use std::time::Duration;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use crate::{
    faults::FaultPlan,
    harness::{Harness, Setup},
    report::{BackendKind, CONTRACT, Report, RuleReport, SCHEMA, SetupReport},
    rule::{Applies, Check, Level, Rule},
    rules::model::SEQUENCES,
    saboteur::{HONEST, Saboteur},
};

use case::{Kind, Outcome};
use queue::Queue;
use tally::Tally;

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rules, in the order of the table.
    pub rules: Vec<&'static Rule>,
    /// Whether these are all the rules there are; only then is there a verdict over the provider.
    pub complete: bool,
    /// The one setup to run on; all of them when there is none.
    pub setup: Option<String>,
    /// The seed that everything random is derived from.
    pub seed: u64,
    /// How many cases run at once, each on a thread of its own.
    pub jobs: usize,
    /// Whether to start nothing more once a rule has failed.
    pub fail_fast: bool,
    /// What the harness runs against.
    pub backend: BackendKind,
    /// One plan instead of those that a sweep derives.
    pub plan: Option<FaultPlan>,
    /// After so much real time a case on a fake is given up; nothing in it waits for real.
    pub watchdog: Duration,
    /// What breaks the provider: nothing, unless the kit checks itself.
    pub saboteur: Saboteur,
    /// Whether the case of a broken rule that is reported is played again, to see what it began with.
    pub look_again: bool,
}

impl Options {
    /// Every rule, on the fake, on all cores.
    pub fn all() -> Self {
        Self {
            rules: crate::rules::table().collect(),
            complete: true,
            setup: None,
            seed: 1,
            jobs: std::thread::available_parallelism().map_or(1, Into::into),
            fail_fast: false,
            backend: BackendKind::Fake,
            plan: None,
            watchdog: Duration::from_secs(60),
            saboteur: HONEST,
            look_again: true,
        }
    }
}

/// Hears how a run gets on.
pub trait Progress: Sync {
    /// So many pieces of work are known to begin with.
    fn begin(&self, cases: usize);
    /// So many more have been derived.
    fn more(&self, cases: usize);
    /// One of a rule's is done, and was red or not.
    fn case_done(&self, rule: &'static Rule, red: bool);
    /// All are done.
    fn end(&self);
}

/// Hears and says nothing.
#[derive(Debug)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: usize) {}
    fn more(&self, _: usize) {}
    fn case_done(&self, _: &'static Rule, _: bool) {}
    fn end(&self) {}
}

/// How many plans of a sweep one thread takes at once.
const CHUNK: usize = 16;

/// One piece of work.
struct Job {
    setup: usize,
    rule: usize,
    work: Work,
}

enum Work {
    /// The rule's first case, or the dry run of its sweep.
    First,
    /// Plans of its sweep, counted from the first number.
    Plans(usize, Vec<FaultPlan>),
    /// One random sequence, by number.
    Sequence(usize),
}

impl Job {
    /// How many cases it is.
    fn cases(&self) -> usize {
        match &self.work {
            Work::First | Work::Sequence(_) => 1,
            Work::Plans(_, plans) => plans.len(),
        }
    }
}

/// More than there are cases that could run at once keep nobody busy, and use up the machine.
const MOST_THREADS: usize = 1_024;

/// Runs rules in every setup, case after case on the threads that the options give, and reports how each went.
pub fn run(harness: &Arc<dyn Harness>, options: &Options, progress: &dyn Progress) -> Report {
    panics::listen();
    let started = Instant::now();
    let setups: Vec<Arc<Setup>> = harness
        .setups()
        .into_iter()
        .filter(|setup| options.setup.as_deref().is_none_or(|only| only == setup.name))
        .map(Arc::new)
        .collect();
    let tally = Tally::new(setups.len(), options.rules.len());
    let queue = Queue::new(first_jobs(&setups, options));
    progress.begin(setups.len() * options.rules.len());
    let contradictions = setups.iter().map(|setup| contradiction(setup)).collect();
    let run = Run {
        contradictions,
        started,
        harness,
        options,
        progress,
        setups: &setups,
        tally,
        queue,
        stopped: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, MOST_THREADS) {
            scope.spawn(|| run.work());
        }
    });
    progress.end();
    run.report()
}

/// Sweeps first: what they derive keeps every thread busy to the end. A run that ends at the first red rule goes through
/// the table instead, in the order in which rules build on each other.
fn first_jobs(setups: &[Arc<Setup>], options: &Options) -> Vec<Job> {
    let rules = &options.rules;
    let all = (0..setups.len()).flat_map(|setup| (0..rules.len()).map(move |rule| (setup, rule)));
    let mut jobs: Vec<_> = all.map(|(setup, rule)| Job { setup, rule, work: Work::First }).collect();
    if !options.fail_fast {
        jobs.sort_by_key(|job| std::cmp::Reverse(rules[job.rule].cost()));
    }
    jobs
}

fn sequences(setup: usize, rule: usize) -> Vec<Job> {
    (0..SEQUENCES).map(|index| Job { setup, rule, work: Work::Sequence(index) }).collect()
}

/// What profile and catalogue of a setup say that cannot both be true.
fn contradiction(setup: &Setup) -> Option<String> {
    let wrong = [setup.profile.contradictions(), setup.catalogue.contradictions(&setup.profile)].concat();
    wrong.first().map(|first| format!("profile and catalogue contradict themselves: {first}"))
}

struct Run<'r> {
    /// By setup: nothing can be said of a provider that is judged by such a profile.
    contradictions: Vec<Option<String>>,
    started: Instant,
    harness: &'r Arc<dyn Harness>,
    options: &'r Options,
    progress: &'r dyn Progress,
    setups: &'r [Arc<Setup>],
    tally: Tally,
    queue: Queue<Job>,
    stopped: AtomicBool,
}

impl Run<'_> {
    fn work(&self) {
        while let Some(job) = self.queue.take() {
            let (setup, rule) = (&self.setups[job.setup], self.options.rules[job.rule]);
            match job.work {
                _ if self.stopped.load(Ordering::Relaxed) => {}
                Work::First => {
                    let more = self.first(job.setup, job.rule, setup, rule);
                    // A rule that plays sequences has no case of its own besides.
                    let own = more.iter().any(|job| matches!(job.work, Work::Sequence(_)));
                    self.progress.more(more.iter().map(Job::cases).sum::<usize>() - usize::from(own));
                    self.queue.add(more);
                }
                Work::Sequence(index) => {
                    let outcome = case::sequence(self.harness, self.options, setup, rule, index);
                    self.add(job.setup, job.rule, outcome);
                }
                Work::Plans(first, plans) => {
                    for (index, plan) in plans.into_iter().enumerate() {
                        let outcome = self.case(setup, rule, Kind::Planned(first + index, plan));
                        self.add(job.setup, job.rule, outcome);
                    }
                }
            }
            self.queue.done();
        }
    }

    /// Runs a rule's first case; what its sweep derives is the further work.
    fn first(&self, setup_at: usize, rule_at: usize, setup: &Arc<Setup>, rule: &'static Rule) -> Vec<Job> {
        if let Some(wrong) = &self.contradictions[setup_at] {
            return self.settled(setup_at, rule_at, Outcome::error(wrong.clone()));
        }
        let absent = (rule.applies)(&setup.profile) == Applies::Absent;
        let kind = match (absent, rule.check, rule.absent) {
            (_, Check::ByType(_), _) => return self.settled(setup_at, rule_at, Outcome::by_type()),
            (true, _, None) => {
                let text = "its subject is declared absent, but the rule has no check that it is";
                return self.settled(setup_at, rule_at, Outcome::error(text.into()));
            }
            (true, _, Some(absence)) => Kind::Absent(absence.check),
            (false, Check::Sweep { .. }, _) => match &self.options.plan {
                Some(plan) => Kind::Planned(0, plan.clone()),
                None => Kind::Plans,
            },
            (false, Check::Model(_), _) if self.options.backend == BackendKind::Real => {
                let text = "a real backend has neither the faults of the sequences nor their time";
                return self.settled(setup_at, rule_at, Outcome::blocked(text.into()));
            }
            (false, Check::Model(_), _) => match &self.options.plan {
                Some(plan) => Kind::Planned(0, plan.clone()),
                None => return sequences(setup_at, rule_at),
            },
            (false, _, _) => Kind::Whole,
        };
        let outcome = self.case(setup, rule, kind);
        let plans = outcome.plans.clone();
        self.add(setup_at, rule_at, outcome);
        plans
            .chunks(CHUNK)
            .enumerate()
            .map(|(chunk, plans)| Job {
                setup: setup_at,
                rule: rule_at,
                work: Work::Plans(chunk * CHUNK, plans.to_vec()),
            })
            .collect()
    }

    fn settled(&self, setup: usize, rule: usize, outcome: Outcome) -> Vec<Job> {
        self.add(setup, rule, outcome);
        Vec::new()
    }

    fn case(&self, setup: &Arc<Setup>, rule: &'static Rule, kind: Kind) -> Outcome {
        case::run(self.harness, self.options, setup, rule, kind)
    }

    fn add(&self, setup: usize, rule: usize, outcome: Outcome) {
        let red = outcome.is_red() && self.options.rules[rule].level != Level::Provisional;
        if red && self.options.fail_fast {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.progress.case_done(self.options.rules[rule], red);
        self.tally.add(setup, rule, outcome);
    }

    /// How a rule went, with what its case began with where that can be had.
    fn told(&self, setup: usize, index: usize, rule: &'static Rule) -> RuleReport {
        let mut report = self.tally.rule(setup, index, rule);
        let broken = self.tally.broken(setup, index).filter(|_| self.options.look_again);
        if let (Some(kind), Some(evidence)) = (broken, &mut report.evidence) {
            case::look_again(self.harness, self.options, &self.setups[setup], rule, &kind, evidence);
        }
        report
    }

    fn report(&self) -> Report {
        let rules = self.options.rules.iter().enumerate();
        let of_setup = |at| rules.clone().map(|(index, rule)| self.told(at, index, rule)).collect();
        let mut reports: Vec<Vec<_>> = (0..self.setups.len()).map(of_setup).collect();
        tally::waive(&mut reports, self.harness.waivers(), self.options.setup.is_none());
        let setups: Vec<_> = self
            .setups
            .iter()
            .zip(reports)
            .map(|(setup, rules)| SetupReport {
                name: setup.name.to_owned(),
                backend_version: setup.backend_version.clone(),
                profile: setup
                    .profile
                    .axes()
                    .into_iter()
                    .chain(setup.profile.own_rows())
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect(),
                verdict: tally::verdict(&rules, self.options),
                counts: tally::counts(&rules),
                rules,
            })
            .collect();
        Report {
            schema: SCHEMA,
            contract: CONTRACT,
            kit: env!("CARGO_PKG_VERSION"),
            provider: self.harness.provider().to_owned(),
            provider_version: self.harness.version().to_owned(),
            backend: self.options.backend,
            backend_version: self
                .setups
                .first()
                .map(|setup| setup.backend_version.clone())
                .unwrap_or_default(),
            seed: self.options.seed,
            millis: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            verdict: tally::overall(setups.iter().map(|setup| &setup.verdict)),
            setups,
        }
    }
}
