//! The kit checks itself: every saboteur must be caught by its own rule, the honest provider by none, and every rule
//! must have a saboteur.
//!
//! A control saboteur, which does nothing right, must be caught by many rules: were it not, no result of the
//! self-check would mean anything.

mod html;
mod text;

pub use html::html;
pub use text::text;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use provider_api::{CreateRequest, Deleted, Error, GetError, Instance, Listing, Provider, ProviderId};
use serde::Serialize;

use crate::{
    harness::Harness,
    memory::{self, MemoryHarness},
    report::{BackendKind, Report, Status},
    rule::{Check, Cost, Rule},
    rules,
    run::{self, Options, Silent},
    saboteur::{HONEST, Meddler, Saboteur, meddle},
    saboteurs,
};

/// The schema of the JSON report.
pub const SCHEMA: u32 = 1;
/// After so much real time a saboteur's case counts as stuck.
const STUCK: Duration = Duration::from_secs(5);
/// How many rules must catch the control at the least.
const CONTROL_CATCHES: usize = 20;

/// What the self-check found: what `--self-check --json` writes.
#[derive(Clone, Debug, Serialize)]
pub struct SelfCheck {
    /// The number of the schema, [`SCHEMA`].
    pub schema: u32,
    /// The seed of the run.
    pub seed: u64,
    /// Whether every saboteur met every rule.
    pub full: bool,
    /// Every saboteur, and what caught it.
    pub saboteurs: Vec<Caught>,
    /// The saboteurs that their own rule did not catch.
    pub uncaught: Vec<&'static str>,
    /// The rules that the honest provider seemed to break, with the profile and what was seen.
    pub false_alarms: Vec<String>,
    /// The rules without a saboteur.
    pub unguarded: Vec<&'static str>,
    /// How the saboteur fared that does nothing right.
    pub control: Control,
    /// How many profiles the honest provider was judged under.
    pub profiles: usize,
}

/// One saboteur's row of the kill matrix.
#[derive(Clone, Debug, Serialize)]
pub struct Caught {
    /// What the saboteur is called.
    pub name: &'static str,
    /// What it does wrong, in a few words.
    pub does: &'static str,
    /// The rule that it breaks.
    pub breaks: &'static str,
    /// The rules that caught it.
    pub caught_by: Vec<&'static str>,
    /// What its own rule saw.
    pub seen: Option<String>,
}

/// How the control fared: a provider that does nothing right, which many rules must catch.
#[derive(Clone, Debug, Serialize)]
pub struct Control {
    /// How many rules caught it.
    pub caught_by: usize,
    /// Whether so many rules caught it as should.
    pub holds: bool,
}

impl SelfCheck {
    /// Whether the kit can be believed.
    pub fn holds(&self) -> bool {
        self.uncaught.is_empty()
            && self.false_alarms.is_empty()
            && self.unguarded.is_empty()
            && self.control.holds
    }
}

/// The saboteur that does nothing right.
const CONTROL: Saboteur = Saboteur {
    name: "control",
    does: "answers every operation as if all were well, and does nothing",
    provider: |built, _| meddle(built, Nothing),
    ..HONEST
};

/// Hears how the self-check gets on.
pub trait Watcher: Sync {
    /// So many judgements are to be made.
    fn begin(&self, judgements: usize);
    /// One is made.
    fn judged(&self, name: &str);
}

/// Checks the kit, or of it those rules and the saboteurs that break them. With `full` every saboteur meets every
/// rule, sweeps included, else its own and the fast ones.
pub fn run(rules: &[&'static Rule], full: bool, seed: u64, jobs: usize, watcher: &dyn Watcher) -> SelfCheck {
    let among = |id: &str| rules.iter().any(|rule| rule.id == id);
    let saboteurs: Vec<_> = saboteurs::all().filter(|saboteur| among(saboteur.breaks)).collect();
    // Of a few rules few can catch the control; over all of them that is what it is for.
    let enough = if rules.len() == rules::table().count() { CONTROL_CATCHES } else { 0 };
    let profiles = memory::pairwise();
    watcher.begin(saboteurs.len() + profiles.len() + 1);
    let judgements: Vec<_> = saboteurs
        .iter()
        .map(|saboteur| Judgement::Saboteur(saboteur))
        .chain(std::iter::once(Judgement::Saboteur(&CONTROL)))
        .chain((0..profiles.len()).map(Judgement::Honest))
        .collect();
    let judged = spread(jobs, &judgements, |judgement| {
        let (name, report) = match judgement {
            Judgement::Saboteur(saboteur) => {
                let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::sabotaged(saboteur));
                (
                    saboteur.name.to_owned(),
                    judge(&harness, **saboteur, rules_for(saboteur, rules, full), seed),
                )
            }
            Judgement::Honest(index) => {
                let (name, profile) = profiles[*index].clone();
                let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::with("pairwise", profile));
                (name, judge(&harness, HONEST, rules.to_vec(), seed))
            }
        };
        watcher.judged(&name);
        (name, report)
    });
    let (sabotaged, honest) = judged.split_at(saboteurs.len() + 1);
    let rows: Vec<_> =
        saboteurs.iter().zip(sabotaged).map(|(saboteur, (_, report))| row(saboteur, report)).collect();
    let own = |row: &&Caught| !row.caught_by.contains(&row.breaks);
    let guarded: BTreeSet<_> = rows.iter().map(|row| row.breaks).collect();
    let control = sabotaged.last().map_or(0, |(_, report)| row(&CONTROL, report).caught_by.len());
    SelfCheck {
        schema: SCHEMA,
        seed,
        full,
        uncaught: rows.iter().filter(own).map(|row| row.name).collect(),
        false_alarms: honest.iter().flat_map(|(name, report)| alarms(name, report)).collect(),
        unguarded: rules.iter().filter(|rule| !guards(rule, &guarded)).map(|rule| rule.id).collect(),
        control: Control { caught_by: control, holds: control >= enough },
        profiles: profiles.len(),
        saboteurs: rows,
    }
}

enum Judgement {
    Saboteur(&'static Saboteur),
    Honest(usize),
}

/// What the compiler holds has its wrong program in a doctest.
fn guards(rule: &Rule, guarded: &BTreeSet<&str>) -> bool {
    matches!(rule.check, Check::ByType(_)) || guarded.contains(rule.id)
}

fn rules_for(saboteur: &Saboteur, rules: &[&'static Rule], full: bool) -> Vec<&'static Rule> {
    let rules = rules.iter().copied();
    rules.filter(|rule| full || rule.cost() == Cost::Fast || rule.id == saboteur.breaks).collect()
}

fn judge(harness: &Arc<dyn Harness>, saboteur: Saboteur, rules: Vec<&'static Rule>, seed: u64) -> Report {
    let complete = rules.len() == rules::table().count();
    let options = Options {
        rules,
        complete,
        setup: None,
        seed,
        jobs: 1,
        fail_fast: false,
        backend: BackendKind::Fake,
        plan: None,
        // A saboteur may well hang, and then it is not its own rule that says so.
        watchdog: if saboteur.breaks.is_empty() { Options::all().watchdog } else { STUCK },
        saboteur,
        look_again: false,
    };
    run::run(harness, &options, &Silent)
}

fn row(saboteur: &Saboteur, report: &Report) -> Caught {
    // A provisional rule must catch its saboteur like any other.
    let caught = |status| matches!(status, Status::Fail | Status::Provisional);
    let failed = || report.setups.iter().flat_map(|setup| &setup.rules).filter(|rule| caught(rule.status));
    let caught_by: BTreeSet<_> = failed().map(|rule| rule.id).collect();
    Caught {
        name: saboteur.name,
        does: saboteur.does,
        breaks: saboteur.breaks,
        caught_by: caught_by.into_iter().collect(),
        seen: failed().find(|rule| rule.id == saboteur.breaks).and_then(|rule| rule.reason.clone()),
    }
}

fn alarms(name: &str, report: &Report) -> Vec<String> {
    let red = |status| !matches!(status, Status::Pass | Status::Unsupported | Status::ByType);
    let rules = report.setups.iter().flat_map(|setup| &setup.rules).filter(|rule| red(rule.status));
    rules
        .map(|rule| {
            format!(
                "{} under {name}: {}: {}",
                rule.id,
                rule.status.as_str(),
                rule.reason.as_deref().unwrap_or("")
            )
        })
        .collect()
}

/// Runs work over threads, and keeps the results in the order of the work.
fn spread<T: Sync, R: Send>(jobs: usize, work: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = work.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(index) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < work.len())
                {
                    let result = run(&work[index]);
                    *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    let take = |slot: Mutex<Option<R>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().filter_map(take).collect()
}

struct Nothing;

#[async_trait]
impl Meddler for Nothing {
    async fn create(&self, _: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        Ok(ProviderId::new(request.name.as_str()))
    }
    async fn get(&self, _: &dyn Provider, _: &ProviderId) -> Result<Instance, GetError> {
        Err(GetError::NotFound)
    }
    async fn delete(&self, _: &dyn Provider, _: &ProviderId) -> Result<Deleted, Error> {
        Ok(Deleted::Gone)
    }
    async fn list_by_tag(&self, _: &dyn Provider) -> Result<Listing, Error> {
        Ok(Listing::default())
    }
}
