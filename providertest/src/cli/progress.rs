//! How a run or a self-check gets on: a bar on a terminal, a line now and then in a pipe. Both go to standard error, the
//! report to standard output.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{report::counted, rule::Rule, run::Progress, selfcheck::Watcher};

/// A bar.
pub(super) struct Bar {
    bar: ProgressBar,
    red: Mutex<BTreeSet<&'static str>>,
}

impl Bar {
    /// A bar that counts cases, and says in red which rules are.
    pub(super) fn of_cases() -> Self {
        Self::new("cases", "red")
    }

    /// A bar that counts judgements, and says which was the last.
    pub(super) fn of_judgements() -> Self {
        Self::new("judgements", "dim")
    }

    fn new(unit: &str, hue: &str) -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template(&format!(
            "  {{bar:36.green/dim}} {{human_pos:>6}}/{{human_len}} {unit}  {{elapsed:>4}}  {{msg:.{hue}}}",
        ));
        bar.set_style(style.expect("the template is well formed").progress_chars("━━╺"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, red: Mutex::default() }
    }
}

impl Progress for Bar {
    fn begin(&self, cases: usize) {
        self.bar.set_length(cases as u64);
    }

    fn more(&self, cases: usize) {
        self.bar.inc_length(cases as u64);
    }

    fn case_done(&self, rule: &'static Rule, red: bool) {
        self.bar.inc(1);
        if !red {
            return;
        }
        let mut ids = self.red.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.insert(rule.id) {
            self.bar.set_message(format!("{} red, last {}", counted(ids.len(), "rule"), rule.id));
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for Bar {
    fn begin(&self, judgements: usize) {
        self.bar.set_length(judgements as u64);
    }

    fn judged(&self, name: &str) {
        self.bar.set_message(name.to_owned());
        self.bar.inc(1);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Lines.
pub(super) struct Lines {
    quiet: bool,
    unit: &'static str,
    known: AtomicUsize,
    done: AtomicUsize,
    started: Instant,
    /// When the next line is due.
    next: Mutex<Duration>,
}

impl Lines {
    /// A line at most this often.
    const EVERY: Duration = Duration::from_secs(10);

    pub(super) fn of_cases(quiet: bool) -> Self {
        Self::new(quiet, "cases")
    }

    pub(super) fn of_judgements(quiet: bool) -> Self {
        Self::new(quiet, "judgements")
    }

    fn new(quiet: bool, unit: &'static str) -> Self {
        let (known, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { quiet, unit, known, done, started: Instant::now(), next: Mutex::new(Self::EVERY) }
    }

    fn one_done(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.quiet {
            return;
        }
        let elapsed = self.started.elapsed();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if elapsed >= *next {
            *next = elapsed + Self::EVERY;
            drop(next);
            let (known, unit) = (self.known.load(Ordering::Relaxed), self.unit);
            eprintln!("{done} of {known} {unit} in {} s", elapsed.as_secs());
        }
    }
}

impl Watcher for Lines {
    fn begin(&self, judgements: usize) {
        self.known.store(judgements, Ordering::Relaxed);
    }

    fn judged(&self, _: &str) {
        self.one_done();
    }
}

impl Progress for Lines {
    fn begin(&self, cases: usize) {
        self.known.store(cases, Ordering::Relaxed);
    }

    fn more(&self, cases: usize) {
        self.known.fetch_add(cases, Ordering::Relaxed);
    }

    fn case_done(&self, _: &'static Rule, _: bool) {
        self.one_done();
    }

    fn end(&self) {}
}
