//! `--self-check`: the kit against its saboteurs.

use std::io::{self, IsTerminal};

use super::{
    Code, Refusal, colour,
    flags::Flags,
    progress::{Bar, Lines},
    select, show,
};
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
        true => Box::new(Bar::of_judgements()),
        false => Box::new(Lines::of_judgements(flags.quiet)),
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
