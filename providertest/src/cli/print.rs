//! Lists and tables that need no run: of rules for a reader or for the published contract, of what a provider
//! declares.

use std::fmt::Write as _;

use provider_api::Profile;
use serde_json::{Map, Value, json};

use crate::{
    harness::Harness,
    rule::{Check, Rule},
    rules, saboteurs,
};

/// The rules for a reader at a terminal.
pub(super) fn list(rules: &[&'static Rule]) -> String {
    let id = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for rule in rules {
        let (level, cost, caller) = (rule.level.as_str(), rule.cost().as_str(), rule.caller.as_str());
        let _ = writeln!(text, "{:id$}  {level:6}  {cost:5}  {caller:14}  {}", rule.id, rule.says);
    }
    let _ = writeln!(text, "\n{} rules", rules.len());
    text
}

/// The rule table as Markdown, a section for each group.
pub(super) fn rule_table() -> String {
    let mut text = String::new();
    let mut group = "";
    for rule in rules::table() {
        if rule.group() != group {
            group = rule.group();
            let _ = write!(
                text,
                "### {group}\n\n\
                 | rule | level | what it says | depends on it | checked by | saboteurs |\n\
                 |---|---|---|---|---|---|\n"
            );
        }
        let saboteurs: Vec<_> = saboteurs::all()
            .filter(|saboteur| saboteur.breaks == rule.id)
            .map(|saboteur| format!("`{}`", saboteur.name))
            .collect();
        let saboteurs = if saboteurs.is_empty() { "–".to_owned() } else { saboteurs.join(", ") };
        let _ = writeln!(
            text,
            "| [`{id}`](rules.md#{id}) | {} | {} | {} | {} | {saboteurs} |",
            rule.level.as_str(),
            cell(rule.says),
            rule.caller.as_str().replace('-', " "),
            cell(&checked_by(rule)),
            id = rule.id,
        );
        let last = rules::table().skip_while(|other| other.id != rule.id).nth(1);
        if last.is_some_and(|next| next.group() != group) {
            text.push('\n');
        }
    }
    text
}

pub(super) fn checked_by(rule: &Rule) -> String {
    let how = match rule.check {
        Check::Case(_) => "a case",
        Check::Decorated(_) => "a case on the decorated provider",
        Check::Sweep { .. } => "a sweep over every call",
        Check::Model(_) => "random sequences against a model",
        Check::ByType(doctest) => return format!("the compiler: {doctest}"),
    };
    match rule.absent {
        Some(_) => format!("{how}; declared absent, by its absence"),
        None => how.to_owned(),
    }
}

/// What a provider declares in each setup.
pub(super) fn profile(harness: &dyn Harness, as_json: bool) -> String {
    let setups = harness.setups();
    if as_json {
        let setups: Vec<Value> = setups
            .iter()
            .map(|setup| {
                let rows = setup.profile.axes().into_iter().chain(setup.profile.own_rows());
                let rows: Map<_, _> = rows.map(|(key, value)| (key.to_owned(), Value::from(value))).collect();
                json!({ "name": setup.name, "backend_version": setup.backend_version, "profile": rows })
            })
            .collect();
        let value = json!({ "provider": harness.provider(), "version": harness.version(), "setups": setups });
        let text = serde_json::to_string_pretty(&value).expect("text and lists");
        return format!("{text}\n");
    }
    let rows: Vec<Vec<(&str, String)>> = setups
        .iter()
        .map(|setup| setup.profile.axes().into_iter().chain(setup.profile.own_rows()).collect())
        .collect();
    let mut text = String::new();
    row(
        &mut text,
        std::iter::once("axis".to_owned()).chain(setups.iter().map(|setup| setup.name.to_owned())),
    );
    row(&mut text, (0..=setups.len()).map(|_| "---".to_owned()));
    for index in 0..rows.first().map_or(0, Vec::len) {
        let key = rows[0][index].0.to_owned();
        row(&mut text, std::iter::once(key).chain(rows.iter().map(|setup| cell(&setup[index].1))));
    }
    for setup in &setups {
        let _ = write!(text, "\n#### Setup {}\n\n", setup.name);
        calls(&mut text, &setup.profile);
        states(&mut text, &setup.profile);
    }
    text
}

fn calls(text: &mut String, profile: &Profile) {
    text.push_str("| call | changes something | carries a payload | budget |\n|---|---|---|---|\n");
    let yes_no = |value| if value { "yes" } else { "no" }.to_owned();
    for call in &profile.calls {
        let budget = format!("{:?}", profile.budgets.of_call(*call));
        row(
            text,
            [format!("`{}`", call.name), yes_no(call.mutates), yes_no(call.payload), budget].into_iter(),
        );
    }
    text.push('\n');
}

fn states(text: &mut String, profile: &Profile) {
    text.push_str("| native state | reported as | with a reason |\n|---|---|---|\n");
    for state in &profile.native_states {
        let reasoned = if state.reasoned { "yes" } else { "no" }.to_owned();
        let locked = if state.locked { ", under a lock" } else { "" };
        row(text, [format!("`{}`", state.native), format!("{}{locked}", state.shown), reasoned].into_iter());
    }
}

fn row(text: &mut String, cells: impl Iterator<Item = String>) {
    let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
}

/// A text as a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
