//! What test runners read: the lists and lines of Rust's own test harness, with rules for tests. A rule counts once,
//! however many setups there are.

use std::fmt::Write as _;

use super::{Code, flags::Flags, select::Selection};
use crate::report::{Report, RuleReport, Status};

/// How a rule went over all setups, as a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Its subject is absent everywhere.
    Unsupported,
    Passed,
    /// It could not be checked somewhere, or is left out.
    Ignored,
    Failed,
}

/// The rules as `--list --format terse` gives tests.
pub(super) fn list(selection: &Selection, flags: &Flags) -> String {
    if flags.ignored {
        return String::new();
    }
    selection.rules.iter().map(|rule| format!("{}: test\n", rule.id)).collect()
}

/// One line a rule.
pub(super) fn lines(report: &Report) -> String {
    let mut text = String::new();
    for (id, outcome, rule) in outcomes(report) {
        let _ = match outcome {
            Outcome::Passed => writeln!(text, "test {id} ... ok"),
            Outcome::Failed => writeln!(text, "test {id} ... FAILED"),
            Outcome::Unsupported | Outcome::Ignored => {
                writeln!(text, "test {id} ... ignored, {}", rule.status)
            }
        };
    }
    text.push('\n');
    text
}

/// The line at the end.
pub(super) fn result(report: &Report, code: Code, selection: &Selection) -> String {
    let count = |wanted: &[Outcome]| {
        outcomes(report).iter().filter(|(_, outcome, _)| wanted.contains(outcome)).count()
    };
    // What the process exits with is what a runner goes by.
    let word = if code == Code::Good { "ok" } else { "FAILED" };
    format!(
        "\ntest result: {word}. {} passed; {} failed; {} ignored; 0 measured; {} filtered out; finished in {:.2}s\n\n",
        count(&[Outcome::Passed]),
        count(&[Outcome::Failed]),
        count(&[Outcome::Ignored, Outcome::Unsupported]),
        selection.left_out,
        report.millis as f64 / 1_000.0,
    )
}

/// The line at the end when a filter has left nothing.
pub(super) fn nothing(selection: &Selection) -> String {
    let left_out = selection.left_out;
    format!(
        "\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; {left_out} filtered out; finished in 0.00s\n\n"
    )
}

/// Every rule with its outcome, and the report that decides it.
fn outcomes(report: &Report) -> Vec<(&'static str, Outcome, &RuleReport)> {
    let mut outcomes: Vec<(&'static str, Outcome, &RuleReport)> = Vec::new();
    for (_, rule) in report.rules() {
        let outcome = match rule.status {
            Status::Unsupported => Outcome::Unsupported,
            Status::Pass | Status::ByType => Outcome::Passed,
            Status::Provisional | Status::Waived | Status::Blocked => Outcome::Ignored,
            Status::Fail | Status::Error => Outcome::Failed,
        };
        match outcomes.iter_mut().find(|(id, _, _)| *id == rule.id) {
            Some(known) if known.1 >= outcome => {}
            Some(known) => *known = (rule.id, outcome, rule),
            None => outcomes.push((rule.id, outcome, rule)),
        }
    }
    outcomes
}
