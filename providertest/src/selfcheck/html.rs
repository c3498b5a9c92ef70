//! The self-check as one static page: the kill matrix.

use std::{collections::BTreeMap, fmt::Write as _};

use super::SelfCheck;
use crate::{
    report::{counted, escape},
    rules,
};

const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#fdfdfc;--ink:#1d2125;--dim:#6a7178;--line:#e3e5e8;--own:#1f8a4c;--also:#b7dcc5;--bad:#c0362c}\
@media(prefers-color-scheme:dark){:root{--bg:#15181b;--ink:#e4e6e8;--dim:#9097a0;--line:#2b3036;--own:#3ecf7a;--also:#24513a;--bad:#ff6b5e}}\
body{margin:2rem auto;padding:0 1.5rem;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}\
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{max-width:70ch}.dim{color:var(--dim)}.bad{color:var(--bad);font-weight:600}.good{color:var(--own);font-weight:600}\
.wrap{overflow:auto;border:1px solid var(--line);border-radius:6px;max-height:85vh}table{border-collapse:collapse;font-size:12px}\
th,td{border:1px solid var(--line);padding:0;height:1.35rem}tbody th{position:sticky;left:0;background:var(--bg);text-align:left;font-weight:400;padding:0 .6rem;white-space:nowrap}\
thead th{position:sticky;top:0;background:var(--bg);vertical-align:bottom;z-index:1}thead th span{writing-mode:vertical-rl;transform:rotate(180deg);padding:.5rem .1rem;font-weight:400;white-space:nowrap}\
td{min-width:1.1rem}td.own{background:var(--own)}td.also{background:var(--also)}td.miss{background:var(--bad)}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{font-family:ui-monospace,monospace}dd{margin:0}code{font-family:ui-monospace,monospace}";

/// The self-check as one HTML page, with its kill matrix.
pub fn html(check: &SelfCheck) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    let _ =
        write!(out, "<title>Self-check of the conformance kit</title><style>{STYLE}</style></head><body>");
    let (class, verdict) = if check.holds() {
        ("good", "catches what it should, and nothing else")
    } else {
        ("bad", "cannot be believed")
    };
    let _ = write!(out, "<h1>The kit <span class=\"{class}\">{verdict}</span></h1>");
    let _ = write!(
        out,
        "<p class=\"dim\">{}, {} caught by the rule that was broken; the control caught by {}; the honest provider judged under {} \
         with {}; {} without a saboteur; seed {}; {}.</p>",
        counted(check.saboteurs.len(), "saboteur"),
        check.saboteurs.len() - check.uncaught.len(),
        counted(check.control.caught_by, "rule"),
        counted(check.profiles, "profile"),
        counted(check.false_alarms.len(), "false alarm"),
        counted(check.unguarded.len(), "rule"),
        check.seed,
        if check.full {
            "every saboteur met every rule"
        } else {
            "every saboteur met its own rule and the fast ones"
        },
    );
    problems(&mut out, check);
    matrix(&mut out, check);
    out.push_str("<h2>What each saboteur does</h2><dl>");
    for row in &check.saboteurs {
        let _ = write!(out, "<dt>{}</dt><dd>{}", escape(row.name), escape(row.does));
        if let Some(seen) = &row.seen {
            let _ =
                write!(out, "<br><span class=\"dim\">{} saw: {}</span>", escape(row.breaks), escape(seen));
        }
        out.push_str("</dd>");
    }
    out.push_str("</dl></body></html>\n");
    out
}

fn problems(out: &mut String, check: &SelfCheck) {
    let sections = [
        (
            "Saboteurs that their own rule did not catch",
            check.uncaught.iter().map(ToString::to_string).collect(),
        ),
        ("Rules that the honest provider seemed to break", check.false_alarms.clone()),
        ("Rules without a saboteur", check.unguarded.iter().map(ToString::to_string).collect::<Vec<_>>()),
    ];
    for (title, items) in sections.iter().filter(|(_, items): &&(_, Vec<String>)| !items.is_empty()) {
        let _ = write!(out, "<h2 class=\"bad\">{title}</h2><ul>");
        items.iter().for_each(|item| {
            let _ = write!(out, "<li>{}</li>", escape(item));
        });
        out.push_str("</ul>");
    }
}

fn matrix(out: &mut String, check: &SelfCheck) {
    let used: BTreeMap<_, _> = check
        .saboteurs
        .iter()
        .flat_map(|row| row.caught_by.iter().chain([&row.breaks]))
        .map(|id| (*id, ()))
        .collect();
    let columns: Vec<_> = rules::table().map(|rule| rule.id).filter(|id| used.contains_key(id)).collect();
    out.push_str(
        "<h2>Kill matrix</h2><p class=\"dim\">A row is a saboteur, a column a rule. Strong: the rule that it \
                  breaks caught it. Pale: another rule caught it too. Red: its own rule missed it.</p>",
    );
    out.push_str("<div class=\"wrap\"><table><thead><tr><th></th>");
    columns.iter().for_each(|id| {
        let _ = write!(out, "<th><span>{}</span></th>", escape(id));
    });
    out.push_str("</tr></thead><tbody>");
    for row in &check.saboteurs {
        let _ = write!(out, "<tr><th title=\"{}\">{}</th>", escape(row.does), escape(row.name));
        for id in &columns {
            let class = match (row.caught_by.contains(id), row.breaks == *id) {
                (true, true) => "own",
                (true, false) => "also",
                (false, true) => "miss",
                (false, false) => "",
            };
            let _ =
                write!(out, "<td class=\"{class}\" title=\"{} / {}\"></td>", escape(row.name), escape(id));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}
