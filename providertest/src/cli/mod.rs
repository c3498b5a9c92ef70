//! The suite's own binary: `main` of every `tests/conformance.rs`. It selects rules, runs them, shows and writes the
//! report, and says by its exit code how it went. Everything that `cargo test` passes through is understood too.

mod flags;
mod libtest;
mod pages;
mod print;
mod progress;
mod select;
mod selfcheck;

use std::{
    ffi::OsString,
    fmt,
    io::{self, IsTerminal, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use clap::Parser;

use crate::{
    harness::Harness,
    memory::MemoryHarness,
    report::{self, BackendKind, Report, Status, Verdict, console, file},
    run::{self, Options},
};
use flags::{Colour, Flags};
use progress::{Bar, Lines};

/// Runs a provider's suite as the flags of the process say.
///
/// ```
/// fn suite(harness: impl providertest::harness::Harness) -> std::process::ExitCode {
///     providertest::main(harness)
/// }
/// ```
pub fn main(harness: impl Harness) -> ExitCode {
    run::panics::whole_process();
    let harness: Arc<dyn Harness> = Arc::new(harness);
    let code = match Flags::try_parse_from(std::env::args_os()) {
        Ok(flags) => command(harness, &flags, &command_line(std::env::args_os().next())),
        Err(usage) => {
            // Help and version are asked for, and no mistake.
            let code = if usage.use_stderr() { Code::Usage } else { Code::Good };
            let _ = usage.print();
            code
        }
    };
    ExitCode::from(code as u8)
}

/// How a run ended; the numbers are the process's exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Conformant, or no violation found.
    Good = 0,
    /// Not conformant.
    Bad = 1,
    /// The flags or the environment are at fault.
    Usage = 2,
    /// Something that was asked for was left out.
    LeftOut = 3,
}

/// Why nothing was run, in one sentence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal(String);

impl<E: fmt::Display> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

fn command(harness: Arc<dyn Harness>, flags: &Flags, command_line: &str) -> Code {
    match obey(harness, flags, command_line) {
        Ok(code) => code,
        Err(Refusal(why)) => {
            eprintln!("error: {why}");
            Code::Usage
        }
    }
}

fn obey(harness: Arc<dyn Harness>, flags: &Flags, command_line: &str) -> Result<Code, Refusal> {
    if flags.print_rule_table {
        return show(&print::rule_table());
    }
    if flags.print_rules {
        return show(&pages::all());
    }
    if let Some(id) = &flags.explain {
        return show(&pages::explain(select::rule(id)?));
    }
    if flags.print_profile {
        return show(&print::profile(&*harness, flags.format.as_deref() == Some("json")));
    }
    if flags.self_check {
        return selfcheck::obey(&*harness, flags);
    }
    let selection = select::select(flags)?;
    let saboteur = select::saboteur(flags, &*harness)?;
    if flags.list {
        let terse = flags.format.as_deref() == Some("terse");
        return show(&if terse { libtest::list(&selection, flags) } else { print::list(&selection.rules) });
    }
    let (harness, backend) = match (flags.backend, &flags.config) {
        (flags::BackendFlag::Fake, Some(_)) => {
            return Err(
                "--config is for --backend real; without that the embedded fake is run against".into()
            );
        }
        (flags::BackendFlag::Fake, None) if !saboteur.breaks.is_empty() => {
            (Arc::new(MemoryHarness::sabotaged(&saboteur)) as Arc<dyn Harness>, BackendKind::Fake)
        }
        (flags::BackendFlag::Fake, None) => (harness, BackendKind::Fake),
        (flags::BackendFlag::Real, Some(config)) => (harness.real(config)?, BackendKind::Real),
        (flags::BackendFlag::Real, None) => {
            return Err("--backend real needs --config, a file that says where the backend is".into());
        }
    };
    select::setup(flags, &*harness)?;
    select::waivers(&*harness)?;
    // Nobody should learn after ten minutes that a folder is missing.
    let files: Vec<_> = files(flags).into_iter().flatten().collect();
    for (index, path) in files.iter().enumerate() {
        let place = file::place(path);
        if files[..index].iter().any(|other| file::place(other) == place) && !path.starts_with("/dev") {
            let text = format!("two reports are to be written to {}; name a file for each", path.display());
            return Err(Refusal(text));
        }
        file::check(path)?;
    }
    let options = Options {
        complete: selection.complete && flags.setup.is_none(),
        rules: selection.rules.clone(),
        setup: flags.setup.clone(),
        seed: flags.seed,
        jobs: flags.jobs.or(flags.test_threads).map_or_else(|| Options::all().jobs, Into::into),
        fail_fast: flags.fail_fast,
        backend,
        plan: flags.plan.clone(),
        watchdog: Options::all().watchdog,
        saboteur,
        look_again: true,
    };
    if options.rules.is_empty() {
        // As for any test binary whose tests a filter of `cargo test` leaves out.
        println!("no rule matches the filter; nothing was checked");
        return show(&libtest::nothing(&selection)).map(|_| Code::Good);
    }
    let mut report = if io::stderr().is_terminal() && !flags.quiet {
        run::run(&harness, &options, &Bar::of_cases())
    } else {
        run::run(&harness, &options, &Lines::of_cases(flags.quiet))
    };
    report.replay_with(&match &flags.saboteur {
        Some(name) => format!("{command_line} --saboteur {name}"),
        None => command_line.to_owned(),
    });
    let code = code(&report, &selection);
    let mut text = String::new();
    if !io::stdout().is_terminal() && !flags.quiet {
        text += &libtest::lines(&report);
    }
    text += &console::render(&report, colour(flags.color));
    text += &libtest::result(&report, code, &selection);
    show(&text)?;
    write(&report, flags)?;
    Ok(code)
}

fn files(flags: &Flags) -> [Option<&PathBuf>; 3] {
    [flags.json.as_ref(), flags.junit.as_ref(), flags.html.as_ref()]
}

fn write(report: &Report, flags: &Flags) -> Result<(), Refusal> {
    let renderers: [fn(&Report) -> String; 3] =
        [report::json::render, report::junit::render, report::html::render];
    // Each is tried, so that one full disk does not cost the other reports.
    let results = files(flags).into_iter().zip(renderers).map(|(path, render)| match path {
        Some(path) => file::write(path, &render(report)),
        None => Ok(()),
    });
    results.collect::<Vec<_>>().into_iter().collect::<Result<(), _>>().map_err(Refusal::from)
}

/// What the exit code says about a report.
fn code(report: &Report, selection: &select::Selection) -> Code {
    let asked_for_and_blocked =
        || !selection.complete && report.rules().any(|(_, rule)| rule.status == Status::Blocked);
    match report.verdict {
        Verdict::NotConformant if only_blocked(report) && !selection.complete => Code::LeftOut,
        Verdict::NotConformant => Code::Bad,
        _ if asked_for_and_blocked() => Code::LeftOut,
        Verdict::Conformant | Verdict::PartHolds { .. } | Verdict::NoViolationFound { .. } => Code::Good,
    }
}

/// Whether nothing but blocked rules speaks against the provider.
fn only_blocked(report: &Report) -> bool {
    let mut rules = report.rules().peekable();
    rules.peek().is_some()
        && report.rules().all(|(_, rule)| !rule.status.is_red() && rule.status != Status::Waived)
        && rules.any(|(_, rule)| rule.status == Status::Blocked)
}

fn colour(flag: Colour) -> bool {
    match flag {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            io::stdout().is_terminal() && !no_colour
        }
    }
}

/// Prints; a reader that has gone away, `head` say, is no mistake of the suite's.
fn show(text: &str) -> Result<Code, Refusal> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Refusal(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(Code::Good),
    }
}

/// The command that runs this suite again, as cargo knows it; the binary itself where cargo is not at work.
fn command_line(binary: Option<OsString>) -> String {
    let binary = PathBuf::from(binary.unwrap_or_default());
    let stem = binary.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match std::env::var("CARGO_PKG_NAME") {
        Ok(package) => {
            let target = stem.rsplit_once('-').map_or(stem.as_str(), |(target, _)| target);
            format!("cargo test -p {package} --test {target} --")
        }
        Err(_) => binary.display().to_string(),
    }
}

#[cfg(test)]
mod tests;
