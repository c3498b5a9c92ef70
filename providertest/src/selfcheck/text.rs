//! The self-check on the console: the kill matrix row by row, then what is wrong.

use std::fmt::Write as _;

use super::SelfCheck;
use crate::report::counted;

/// The report as text; with `colour` for a terminal.
pub fn text(check: &SelfCheck, colour: bool) -> String {
    let paint = |code: &str, text: &str| {
        if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let mut out = String::new();
    let width = check.saboteurs.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let rules = check.saboteurs.iter().map(|row| row.breaks.len()).max().unwrap_or(0);
    for row in &check.saboteurs {
        let caught = row.caught_by.contains(&row.breaks);
        let mark = if caught { paint("32", "caught") } else { paint("31;1", "MISSED") };
        let others = row.caught_by.len() - usize::from(caught);
        let also = match others {
            0 => "and by no other".to_owned(),
            1 => "and by 1 other".to_owned(),
            many => format!("and by {many} others"),
        };
        let _ = writeln!(out, "{mark}  {:width$}  by {:rules$}  {}", row.name, row.breaks, paint("2", &also));
    }
    let list = |out: &mut String, title: &str, items: &[String]| {
        if !items.is_empty() {
            let _ = writeln!(out, "\n{}", paint("31;1", title));
            items.iter().for_each(|item| {
                let _ = writeln!(out, "  {item}");
            });
        }
    };
    let owned = |items: &[&'static str]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
    list(&mut out, "Saboteurs that their own rule did not catch:", &owned(&check.uncaught));
    list(&mut out, "Rules that the honest provider seemed to break:", &check.false_alarms);
    list(&mut out, "Rules without a saboteur:", &owned(&check.unguarded));
    if !check.control.holds {
        let text = format!(
            "The control was caught by {} only; nothing above can be believed.",
            counted(check.control.caught_by, "rule")
        );
        let _ = writeln!(out, "\n{}", paint("31;1", &text));
    }
    let alone = check.saboteurs.iter().filter(|row| row.caught_by == [row.breaks]).count();
    let _ = writeln!(
        out,
        "\n{}, {} caught by the rule that was broken, {alone} by that alone; control caught by {}; \
         the honest provider judged under {}, {}; {} unguarded.",
        counted(check.saboteurs.len(), "saboteur"),
        check.saboteurs.len() - check.uncaught.len(),
        counted(check.control.caught_by, "rule"),
        counted(check.profiles, "profile"),
        counted(check.false_alarms.len(), "false alarm"),
        counted(check.unguarded.len(), "rule"),
    );
    let verdict = if check.holds() {
        paint("32;1", "the kit catches what it should, and nothing else")
    } else {
        paint("31;1", "the kit cannot be believed")
    };
    let _ = writeln!(out, "self-check: {verdict}");
    out
}
