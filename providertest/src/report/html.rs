//! The report as one static page: no script, nothing from elsewhere, dark or light as the reader's system is.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    BackendKind, Evidence, Report, RuleReport, SetupReport, Status, StepKind, Verdict,
    summary::{self, Row},
    text::{self, Shown, escape},
};

/// How much of one text is shown.
const TEXT: usize = 4_000;
/// How many steps of a case are shown.
const STEPS: usize = 400;

/// The report as an HTML document.
pub fn render(report: &Report) -> String {
    let mut page = String::new();
    let title = format!("{} · {}", report.provider, report.verdict);
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n",
        escape(&title),
        include_str!("style.css")
    );
    header(&mut page, report);
    for (index, setup) in report.setups.iter().enumerate() {
        section(&mut page, index, setup);
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn header(page: &mut String, report: &Report) {
    let total = summary::total(report);
    let backend = match report.backend {
        BackendKind::Fake => "embedded fake",
        BackendKind::Real => "real backend",
    };
    let _ = write!(
        page,
        "<header>\n<p class=\"kicker\">Conformance report</p>\n<h1>{} <small>{}</small></h1>\n{}\n",
        escape(&report.provider),
        escape(&report.provider_version),
        verdict(&report.verdict, "big")
    );
    bar(page, &total);
    page.push_str("<dl class=\"facts\">");
    let (seed, took) = (report.seed.to_string(), text::duration(report.millis));
    let distinct: BTreeSet<_> = report.rules().map(|(_, rule)| rule.id).collect();
    let rules = format!("{} rules, {} cases", distinct.len(), total.cases);
    for (name, value) in [
        ("backend", backend),
        ("version", &report.backend_version),
        ("checked", &rules),
        ("took", &took),
        ("seed", &seed),
        ("contract", report.contract),
        ("kit", report.kit),
    ] {
        let _ = write!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(value));
    }
    page.push_str("</dl>\n");
    if report.setups.len() > 1 {
        page.push_str("<nav>");
        for (index, setup) in report.setups.iter().enumerate() {
            let mood = mood(&setup.verdict);
            let _ = write!(page, "<a class=\"{mood}\" href=\"#setup-{index}\">{}</a>", escape(&setup.name));
        }
        page.push_str("</nav>\n");
    }
    page.push_str("</header>\n");
}

/// How many rules have which status, as one bar.
fn bar(page: &mut String, row: &Row) {
    page.push_str("<p class=\"bar\">");
    for status in Status::ALL.into_iter().filter(|status| row.count(*status) > 0) {
        let count = row.count(status);
        let _ = write!(
            page,
            "<span class=\"{status}\" style=\"flex-grow:{count}\" title=\"{count} {status}\"></span>"
        );
    }
    page.push_str("</p>\n");
}

fn section(page: &mut String, index: usize, setup: &SetupReport) {
    let row = summary::of_setup(setup);
    let _ = write!(
        page,
        "<section id=\"setup-{index}\">\n<div class=\"title\"><h2>{} <small>{}</small></h2>{}</div>\n",
        escape(&setup.name),
        escape(&setup.backend_version),
        verdict(&setup.verdict, "")
    );
    bar(page, &row);
    profile(page, setup);
    filters(page, index, &row);
    page.push_str(
        "<table class=\"rules\">\n<thead><tr><th>status</th><th>rule</th><th class=\"number\">cases</th>\
         <th class=\"number\">calls</th><th class=\"number\">time</th></tr></thead>\n",
    );
    for group in summary::by_group(setup.rules.iter()) {
        let name = escape(&group.name);
        let _ = write!(
            page,
            "<tbody>\n<tr class=\"group\"><th colspan=\"5\" scope=\"rowgroup\">{name}</th></tr>\n"
        );
        for rule in setup.rules.iter().filter(|rule| rule.group() == group.name) {
            self::rule(page, index, rule);
        }
        page.push_str("</tbody>\n");
    }
    page.push_str("</table>\n</section>\n");
}

fn profile(page: &mut String, setup: &SetupReport) {
    let _ = write!(
        page,
        "<details class=\"profile\"><summary>Profile: what the provider declares</summary>\n<dl>\n"
    );
    for (axis, value) in &setup.profile {
        let _ = writeln!(page, "<div><dt>{}</dt><dd>{}</dd></div>", escape(axis), escape(value));
    }
    page.push_str("</dl></details>\n");
}

/// Radio buttons that the style sheet reads: filters without a script.
fn filters(page: &mut String, index: usize, row: &Row) {
    page.push_str("<fieldset class=\"filters\"><legend>Show</legend>");
    let mut filter = |class: &str, text: &str, count: usize| {
        let checked = if class == "all" { " checked" } else { "" };
        let _ = write!(
            page,
            "<label class=\"{class}\"><input type=\"radio\" name=\"show-{index}\" class=\"show-{class}\"{checked}>\
             {text} <b>{count}</b></label>"
        );
    };
    filter("all", "all", row.rules);
    for status in Status::ALL.into_iter().filter(|status| row.count(*status) > 0) {
        filter(status.as_str(), status.as_str(), row.count(status));
    }
    page.push_str("</fieldset>\n");
}

fn rule(page: &mut String, index: usize, rule: &RuleReport) {
    let RuleReport { id, status, .. } = rule;
    let _ = write!(
        page,
        "<tr class=\"rule {status}\" id=\"setup-{index}-{id}\">\n<td><span class=\"status {status}\">{status}</span></td>\n\
         <td><code class=\"id\">{id}</code> <span class=\"level\">{} · {}</span><p>{}</p>\n",
        rule.level.as_str(),
        rule.caller.as_str(),
        escape(rule.says),
    );
    let reason = rule.reason.as_deref().map(|reason| text::cut(reason, TEXT));
    if status.is_told() {
        self::evidence(page, rule, reason.as_deref().unwrap_or("nothing was said"));
    } else if let Some(reason) = reason {
        let _ = writeln!(page, "<p class=\"reason\">{}</p>", escape(&reason));
    }
    let _ = write!(
        page,
        "</td>\n<td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\n</tr>\n",
        rule.cases,
        rule.backend_calls,
        text::duration(rule.millis)
    );
}

fn evidence(page: &mut String, rule: &RuleReport, seen: &str) {
    let _ = write!(page, "<div class=\"evidence\">\n<p class=\"seen\">{}</p>\n", multiline(seen));
    if let Some(evidence) = &rule.evidence {
        steps(page, evidence);
        if let Some(before) = &evidence.before {
            things(page, &format!("The backend before operation {}", before.operation), &before.backend);
        }
        things(page, "The backend after", &evidence.backend);
    }
    page.push_str("<dl>\n");
    let mut item = |name: &str, value: &str| {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    item("why", &escape(rule.why));
    if let Some(evidence) = &rule.evidence {
        if evidence.more > 0 {
            let cases = super::plural(evidence.more, "case");
            item("also", &format!("{} further {cases} of this rule", evidence.more));
        }
        item("mend", &escape(evidence.mend));
        if !evidence.replay.is_empty() {
            item("replay", &format!("<code class=\"replay\">{}</code>", escape(&evidence.replay)));
        }
    }
    item("docs", &format!("<code>{}</code>", escape(&rule.docs())));
    page.push_str("</dl>\n");
    page.push_str("</div>\n");
}

fn things(page: &mut String, title: &str, things: &[String]) {
    let _ = write!(page, "<details><summary>{title}: {}</summary>\n<ul class=\"backend\">\n", things.len());
    for thing in things {
        let _ = writeln!(page, "<li>{}</li>", escape(&text::cut(thing, TEXT)));
    }
    page.push_str("</ul></details>\n");
}

fn steps(page: &mut String, evidence: &Evidence) {
    let steps = &evidence.steps;
    if steps.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "<details open><summary>What led to it: {} {}</summary>\n<ol class=\"steps\">\n",
        steps.len(),
        super::plural(steps.len(), "step")
    );
    for shown in text::shown(steps.len(), STEPS, |place| steps[place].fault.is_some()) {
        let _ = match shown {
            Shown::LeftOut(count) => writeln!(page, "<li class=\"left-out\">… {count} steps left out</li>"),
            Shown::Place(place) => {
                let step = &steps[place];
                let class = match step.kind {
                    StepKind::Call => "call",
                    StepKind::Story => "story",
                };
                let fault = step.fault.as_ref().map(|fault| format!(" <mark>{}</mark>", escape(fault)));
                let text = escape(&text::cut(&step.text, TEXT));
                writeln!(page, "<li class=\"{class}\">{text}{}</li>", fault.unwrap_or_default())
            }
        };
    }
    page.push_str("</ol></details>\n");
}

fn verdict(verdict: &Verdict, size: &str) -> String {
    format!("<span class=\"verdict {} {size}\">{}</span>", mood(verdict), escape(&verdict.to_string()))
}

fn mood(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Conformant | Verdict::PartHolds { .. } => "good",
        Verdict::NoViolationFound { .. } => "open",
        Verdict::NotConformant => "bad",
    }
}

fn multiline(text: &str) -> String {
    text::lines(text).map(|line| escape(&line)).collect::<Vec<_>>().join("<br>\n")
}
