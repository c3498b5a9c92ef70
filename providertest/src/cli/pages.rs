//! What there is to say about a rule: a page for the docs, and the same for whoever asks at a terminal.

use std::fmt::Write as _;

use super::print::checked_by;
use crate::{report::wrap, rule::Rule, rules, saboteur::Saboteur, saboteurs};

/// The width that texts are broken at.
const WIDTH: usize = 88;

/// Every rule's page, as Markdown.
pub(super) fn all() -> String {
    let mut text = String::new();
    let mut group = "";
    for rule in rules::table() {
        if rule.group() != group {
            group = rule.group();
            let _ = writeln!(text, "## {group}\n");
        }
        page(&mut text, rule);
    }
    text
}

fn page(text: &mut String, rule: &Rule) {
    let Rule { id, says, why, tested, mend, .. } = rule;
    let (level, caller) = (rule.level.as_str(), caller(rule));
    let _ = write!(
        text,
        "### <a id=\"{id}\"></a>{id}\n\n**{level}**, {caller}: {says}\n\n\
         - *Why.* {why}\n- *How it is tested,* by {}. {tested}\n- *How to mend it.* {mend}\n",
        checked_by(rule),
    );
    for Saboteur { name, does, .. } in breakers(rule) {
        let _ = writeln!(text, "- *Seen to fail* over `{name}`, which {does}.");
    }
    text.push('\n');
}

/// One rule, for a reader at a terminal.
pub(super) fn explain(rule: &Rule) -> String {
    let Rule { id, says, why, tested, mend, .. } = rule;
    let mut text = format!("{id}  {} · {} · {}\n", rule.level.as_str(), caller(rule), checked_by(rule));
    let mut part = |name: &str, value: &str| {
        for (count, line) in wrap(value, WIDTH).into_iter().enumerate() {
            let name = if count == 0 { name } else { "" };
            let _ = writeln!(text, "{name:>10}  {line}");
        }
    };
    part("promised", says);
    part("why", why);
    part("tested", tested);
    part("mend", mend);
    for Saboteur { name, does, .. } in breakers(rule) {
        part("broken by", &format!("{name}, which {does}"));
    }
    text
}

fn caller(rule: &Rule) -> String {
    match rule.caller.as_str() {
        "everybody" => "for everybody".to_owned(),
        caller => format!("for the {}", caller.replace('-', " ")),
    }
}

fn breakers(rule: &Rule) -> impl Iterator<Item = &'static Saboteur> {
    let id = rule.id;
    saboteurs::all().filter(move |saboteur| saboteur.breaks == id)
}
