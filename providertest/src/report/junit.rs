//! The report as JUnit XML, for test runners. Only what was checked and holds is a test that passed: what is
//! unsupported, waived, blocked or broken but provisional is skipped, with its reason.

use std::fmt::Write as _;

use super::{
    BackendKind, Report, RuleReport, SetupReport, Status, StepKind,
    summary::{self, Row},
    text::{self, escape},
};

/// The report as one XML document.
pub fn render(report: &Report) -> String {
    let total = summary::total(report);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = format!("conformance of {}", report.provider);
    let _ = writeln!(
        xml,
        "<testsuites name=\"{}\"{} time=\"{}\">",
        escape(&name),
        counts(&total),
        seconds(report.millis)
    );
    for setup in &report.setups {
        suite(&mut xml, report, setup);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(xml: &mut String, report: &Report, setup: &SetupReport) {
    let row = summary::of_setup(setup);
    let name = format!("{}.{}", report.provider, setup.name);
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{}\"{} time=\"{}\">",
        escape(&name),
        counts(&row),
        seconds(row.millis)
    );
    let backend = match report.backend {
        BackendKind::Fake => "fake",
        BackendKind::Real => "real",
    };
    let seed = report.seed.to_string();
    let verdict = setup.verdict.to_string();
    let properties = [
        ("contract", report.contract),
        ("kit", report.kit),
        ("provider_version", &report.provider_version),
        ("backend", backend),
        ("backend_version", &setup.backend_version),
        ("seed", &seed),
        ("verdict", &verdict),
    ];
    xml.push_str("    <properties>\n");
    for (name, value) in properties {
        let _ = writeln!(xml, "      <property name=\"{name}\" value=\"{}\"/>", escape(value));
    }
    xml.push_str("    </properties>\n");
    for rule in &setup.rules {
        case(xml, &name, rule);
    }
    xml.push_str("  </testsuite>\n");
}

fn case(xml: &mut String, suite: &str, rule: &RuleReport) {
    let _ = writeln!(
        xml,
        "    <testcase classname=\"{}.{}\" name=\"{}\" time=\"{}\">",
        escape(suite),
        escape(rule.group()),
        escape(rule.id),
        seconds(rule.millis)
    );
    xml.push_str("      <properties>\n");
    for (name, value) in [("status", rule.status.as_str()), ("level", rule.level.as_str())] {
        let _ = writeln!(xml, "        <property name=\"{name}\" value=\"{value}\"/>");
    }
    xml.push_str("      </properties>\n");
    let reason = rule.reason.as_deref().unwrap_or("no reason was given");
    let reason = text::cut(reason, 2_000);
    match rule.status {
        Status::Pass | Status::ByType => {}
        Status::Fail => problem(xml, "failure", rule, &reason),
        Status::Error => problem(xml, "error", rule, &reason),
        Status::Provisional | Status::Unsupported | Status::Waived | Status::Blocked => {
            let message = format!("{}: {reason}", rule.status);
            let _ = writeln!(xml, "      <skipped message=\"{}\"/>", escape(&message));
        }
    }
    xml.push_str("    </testcase>\n");
}

fn problem(xml: &mut String, element: &str, rule: &RuleReport, reason: &str) {
    let mut body = format!("promised: {}\nwhy: {}\nseen: {reason}\n", rule.says, rule.why);
    if let Some(evidence) = &rule.evidence {
        for step in &evidence.steps {
            let indent = if step.kind == StepKind::Call { "  " } else { "" };
            let fault = step.fault.as_ref().map(|fault| format!("  <-- {fault}")).unwrap_or_default();
            let _ = writeln!(body, "{indent}{}{fault}", text::cut(&step.text, 500));
        }
        if let Some(before) = &evidence.before {
            for thing in &before.backend {
                let _ = writeln!(body, "before operation {}: {}", before.operation, text::cut(thing, 500));
            }
        }
        for thing in &evidence.backend {
            let _ = writeln!(body, "after: {}", text::cut(thing, 500));
        }
        if evidence.more > 0 {
            let _ = writeln!(body, "and {} further cases", evidence.more);
        }
        let _ = writeln!(body, "mend: {}\nreplay: {}", evidence.mend, evidence.replay);
    }
    let _ = writeln!(body, "docs: {}", rule.docs());
    let _ = writeln!(
        xml,
        "      <{element} message=\"{}\" type=\"{}\">{}</{element}>",
        escape(reason),
        rule.level.as_str(),
        escape_text(&body)
    );
}

fn counts(row: &Row) -> String {
    let skipped = [Status::Provisional, Status::Unsupported, Status::Waived, Status::Blocked];
    let skipped = skipped.map(|status| row.count(status));
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        row.rules,
        row.count(Status::Fail),
        row.count(Status::Error),
        skipped.iter().sum::<usize>()
    )
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

/// A text between tags, its lines kept.
fn escape_text(text: &str) -> String {
    text::lines(text).map(|line| escape(&line)).collect::<Vec<_>>().join("\n")
}
