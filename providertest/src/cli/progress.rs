//! How a run gets on: a bar on a terminal, a line now and then in a pipe. Both go to standard error, the report to
//! standard output.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{report::plural, rule::Rule, run::Progress};

/// A bar.
pub(super) struct Bar {
    bar: ProgressBar,
    red: Mutex<BTreeSet<&'static str>>,
}

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template(
            "  {bar:36.green/dim} {human_pos:>6}/{human_len} cases  {elapsed:>4}  {msg:.red}",
        );
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
            let count = ids.len();
            self.bar.set_message(format!("{count} {} red, last {}", plural(count, "rule"), rule.id));
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Lines.
pub(super) struct Lines {
    quiet: bool,
    known: AtomicUsize,
    done: AtomicUsize,
    started: Instant,
    /// When the next line is due.
    next: Mutex<Duration>,
}

impl Lines {
    /// A line at most this often.
    const EVERY: Duration = Duration::from_secs(10);

    pub(super) fn new(quiet: bool) -> Self {
        let next = Mutex::new(Self::EVERY);
        Self { quiet, known: AtomicUsize::new(0), done: AtomicUsize::new(0), started: Instant::now(), next }
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
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.quiet {
            return;
        }
        let elapsed = self.started.elapsed();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if elapsed >= *next {
            *next = elapsed + Self::EVERY;
            drop(next);
            eprintln!("{done} of {} cases in {} s", self.known.load(Ordering::Relaxed), elapsed.as_secs());
        }
    }

    fn end(&self) {}
}
