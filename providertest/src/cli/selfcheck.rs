//! `--self-check`: the kit against its saboteurs.

use std::{
    io::{self, IsTerminal},
    sync::atomic::{AtomicUsize, Ordering},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::{Code, Refusal, colour, flags::Flags, select, show};
use crate::{
    harness::Harness,
    report::file,
    run::Options,
    selfcheck::{self, Watcher},
};

pub(super) fn obey(harness: &dyn Harness, flags: &Flags) -> Result<Code, Refusal> {
    if !harness.is_reference() {
        return Err(Refusal(format!(
            "saboteurs stand over the memory provider; run `cargo xtask conformance memory --self-check`, not {}",
            harness.provider()
        )));
    }
    if flags.junit.is_some() {
        return Err("the self-check writes --json and --html, no JUnit".into());
    }
    let rules = select::select(flags)?.rules;
    if rules.is_empty() {
        // Nobody passes --self-check to every test binary: an empty one was not meant.
        return Err("no rule matches the filter, so there is no saboteur to check the kit against".into());
    }
    for path in [&flags.json, &flags.html].into_iter().flatten() {
        file::check(path)?;
    }
    let jobs = flags.jobs.or(flags.test_threads).map_or_else(|| Options::all().jobs, Into::into);
    let watcher: Box<dyn Watcher> = match io::stderr().is_terminal() && !flags.quiet {
        true => Box::new(Bar::default()),
        false => Box::new(Lines { quiet: flags.quiet, ..Lines::default() }),
    };
    let check = selfcheck::run(&rules, flags.full, flags.seed, jobs, &*watcher);
    drop(watcher);
    show(&selfcheck::text(&check, colour(flags.color)))?;
    if let Some(path) = &flags.json {
        file::write(path, &serde_json::to_string_pretty(&check)?)?;
    }
    if let Some(path) = &flags.html {
        file::write(path, &selfcheck::html(&check))?;
    }
    let failed = check.uncaught.len() + check.false_alarms.len() + check.unguarded.len();
    let passed = check.saboteurs.len() - check.uncaught.len() + usize::from(check.control.holds);
    let word = if check.holds() { "ok" } else { "FAILED" };
    show(&format!(
        "\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n"
    ))?;
    Ok(if check.holds() { Code::Good } else { Code::Bad })
}

struct Bar(ProgressBar);

impl Default for Bar {
    fn default() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template(
            "  {bar:36.green/dim} {human_pos:>4}/{human_len}  {elapsed:>4}  {msg}",
        );
        bar.set_style(style.expect("the template is well formed").progress_chars("━━╺"));
        Self(bar)
    }
}

impl Watcher for Bar {
    fn begin(&self, judgements: usize) {
        self.0.set_length(judgements as u64);
    }
    fn judged(&self, name: &str) {
        self.0.set_message(name.to_owned());
        self.0.inc(1);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A line for every quarter.
#[derive(Default)]
struct Lines {
    quiet: bool,
    all: AtomicUsize,
    done: AtomicUsize,
}

impl Watcher for Lines {
    fn begin(&self, judgements: usize) {
        self.all.store(judgements, Ordering::Relaxed);
    }
    fn judged(&self, _: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let quarter = (self.all.load(Ordering::Relaxed) / 4).max(1);
        if !self.quiet && done.is_multiple_of(quarter) {
            eprintln!("self-check: {done} of {} judged", self.all.load(Ordering::Relaxed));
        }
    }
}
