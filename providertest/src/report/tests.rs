//! Golden files of every writer, over reports made by hand: every status, hostile texts, huge ones.

use std::collections::BTreeMap;

use super::*;
use crate::rule::{Caller, Level};

pub(crate) fn rule(id: &'static str, status: Status) -> RuleReport {
    RuleReport {
        id,
        level: Level::Must,
        caller: Caller::Reconciler,
        says: "Creating again answers with the same id, and there is one instance.",
        why: "A second instance is paid for, and nobody knows which of the two is in use.",
        status,
        reason: None,
        cases: 3,
        backend_calls: 21,
        millis: 12,
        evidence: None,
    }
}

pub(crate) fn because(id: &'static str, status: Status, reason: &str) -> RuleReport {
    RuleReport { reason: Some(reason.into()), ..rule(id, status) }
}

fn step(kind: StepKind, text: &str, fault: Option<&str>) -> Step {
    Step { kind, text: text.into(), fault: fault.map(Into::into) }
}

fn evidence() -> Evidence {
    Evidence {
        steps: vec![
            step(StepKind::Call, "operation 0: insert#0 proxy-a on zone-1", None),
            step(StepKind::Story, "create proxy-a -> zones/zone-1/instances/proxy-a", None),
            step(
                StepKind::Call,
                "operation 1: insert#0 proxy-a on zone-1",
                Some("takes effect, the connection breaks"),
            ),
            step(StepKind::Story, "create proxy-a -> error: the connection broke", None),
        ],
        before: Some(Before {
            operation: 1,
            backend: vec!["Instance proxy-a on zone-1: RUNNING, marks {}".into()],
        }),
        backend: vec!["Instance proxy-a on zone-1: RUNNING, marks {}".into(); 2],
        replay: r#"cargo test -p x --test conformance -- --rule create.idempotent --setup v1 --seed 7 --plan '{"faults":[]}'"#.into(),
        mend: "Derive the name from the request, look for it first, and adopt what carries your own mark.",
        more: 4,
    }
}

pub(crate) fn setup(name: &str, verdict: Verdict, rules: Vec<RuleReport>) -> SetupReport {
    let mut counts = BTreeMap::new();
    for rule in &rules {
        *counts.entry(rule.status).or_default() += 1;
    }
    let profile = [("readiness", "immediate"), ("create-return", "submit"), ("async-ops", "none")];
    let profile = profile.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    SetupReport {
        name: name.into(),
        backend_version: "v1, revision 9".into(),
        profile,
        verdict,
        counts,
        rules,
    }
}

pub(crate) fn report(verdict: Verdict, setups: Vec<SetupReport>) -> Report {
    Report {
        schema: SCHEMA,
        contract: CONTRACT,
        kit: "0.1.0",
        provider: "acme".into(),
        provider_version: "2.3.4".into(),
        backend: BackendKind::Fake,
        backend_version: "v1, revision 9".into(),
        seed: 7,
        millis: 83_400,
        verdict,
        setups,
    }
}

/// Every status once, in two setups.
fn every_status() -> Report {
    let red = RuleReport {
        evidence: Some(evidence()),
        ..because("create.idempotent", Status::Fail, "the second create answered b, the first a")
    };
    let rules = vec![
        red,
        rule("create.bounded", Status::Pass),
        because("create.quota-reported", Status::Unsupported, &format!("{ABSENT}no error was QuotaExceeded")),
        because("check.reasons-table", Status::Unsupported, &format!("{ABSENT}the provider has no check")),
        because("check.hides-secrets", Status::Unsupported, &format!("{ABSENT}the provider has no check")),
        because("create.never-not-found", Status::ByType, "held by the compiler"),
        because("get.finds-moved-instance", Status::Waived, "the backend cannot move (seen: not found)"),
        because("get.own-address-only", Status::Blocked, "the harness cannot set addresses"),
        because("get.read-only", Status::Error, "an armed fault was never hit"),
        RuleReport {
            level: Level::Provisional,
            evidence: Some(Evidence { more: 0, ..evidence() }),
            ..because("list.read-only", Status::Provisional, "the listing started what it looked at")
        },
    ];
    let good = vec![rule("create.idempotent", Status::Pass), rule("get.read-only", Status::Pass)];
    let setups = vec![setup("v1", Verdict::NotConformant, rules), setup("v2", Verdict::Conformant, good)];
    report(Verdict::NotConformant, setups)
}

fn all_good() -> Report {
    let rules = vec![rule("create.idempotent", Status::Pass), rule("get.read-only", Status::Pass)];
    report(Verdict::Conformant, vec![setup("v1", Verdict::Conformant, rules)])
}

/// What a malicious backend could put into a report.
fn hostile() -> Report {
    let nasty = "</p><script>alert('x')</script>\u{1b}[31mred\u{1b}[0m \u{0}\u{7}\u{202e}]]>&amp;\u{fffe}\nnext \"line\"";
    let huge = format!("{nasty}{}", "x".repeat(100_000));
    let mut evidence = evidence();
    evidence.steps = (0..500).map(|_| step(StepKind::Call, &huge, None)).collect();
    evidence.steps[200].fault = Some(nasty.into());
    evidence.backend = vec![huge.clone(); 50];
    evidence.before = Some(Before { operation: 1, backend: vec![huge.clone(); 50] });
    evidence.replay = format!("--plan '{nasty}'");
    let red = RuleReport { evidence: Some(evidence), ..because("create.idempotent", Status::Fail, &huge) };
    let rules = vec![red, because("get.read-only", Status::Blocked, nasty)];
    let mut setup = setup(nasty, Verdict::NotConformant, rules);
    setup.backend_version = nasty.into();
    setup.profile = vec![(nasty.into(), nasty.into())];
    let mut report = report(Verdict::NotConformant, vec![setup]);
    report.provider = nasty.into();
    report.provider_version = nasty.into();
    report.backend_version = nasty.into();
    report
}

#[test]
fn console_in_a_pipe() {
    insta::assert_snapshot!(console::render(&every_status(), false));
}

#[test]
fn console_on_a_terminal() {
    let coloured = console::render(&every_status(), true);
    insta::assert_snapshot!(coloured.replace('\u{1b}', "␛"));
    let plain = console::render(&every_status(), false);
    assert!(!plain.contains('\u{1b}'));
}

#[test]
fn console_when_all_is_well() {
    insta::assert_snapshot!(console::render(&all_good(), false));
}

#[test]
fn console_of_other_verdicts() {
    let blocked = because("get.own-address-only", Status::Blocked, "the harness cannot set addresses");
    let real = Verdict::NoViolationFound { blocked: 1 };
    let mut report =
        report(real.clone(), vec![setup("v1", real, vec![rule("create.bounded", Status::Pass), blocked])]);
    report.backend = BackendKind::Real;
    let part = Verdict::PartHolds { ran: 1, moot: 0 };
    let part =
        self::report(part.clone(), vec![setup("v1", part, vec![rule("create.bounded", Status::Pass)])]);
    let nothing = self::report(Verdict::NotConformant, vec![]);
    let all = [&report, &part, &nothing].map(|report| console::render(report, false));
    insta::assert_snapshot!(all.join("\n----\n\n"));
}

#[test]
fn json_of_every_status() {
    insta::assert_snapshot!(json::render(&every_status()));
}

#[test]
fn junit_of_every_status() {
    insta::assert_snapshot!(junit::render(&every_status()));
}

#[test]
fn html_of_every_status() {
    let page = html::render(&every_status());
    // The style sheet has a file of its own.
    insta::assert_snapshot!(page.replace(include_str!("style.css"), "…\n"));
}

#[test]
fn hostile_texts_are_shown_and_do_nothing() {
    let report = hostile();
    let console = console::render(&report, false);
    let html = html::render(&report);
    let junit = junit::render(&report);
    for text in [&console, &html, &junit] {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "a control character went through");
        assert!(!text.contains(['\u{202e}', '\u{fffe}']), "a character that misleads went through");
        assert!(text.contains("\\u{1b}[31mred"), "it is shown");
    }
    for text in [&html, &junit] {
        assert!(!text.contains("<script"));
        assert!(!text.contains("alert('x')"));
    }
    assert!(console.len() < 100_000, "{}", console.len());
    assert!(html.len() < 3_000_000, "{}", html.len());
    assert!(junit.len() < 1_000_000, "{}", junit.len());
    assert!(console.contains("◀ </p><script>"), "the step with the fault is shown");
    let cut = |text: &str| {
        text.lines().map(|line| text::cut(line, 160).into_owned()).collect::<Vec<_>>().join("\n")
    };
    let mut lines: Vec<_> = cut(&console).lines().map(str::to_owned).collect();
    lines.dedup();
    insta::assert_snapshot!(lines.join("\n"));
    // JSON has its own escapes and cuts nothing.
    let json: serde_json::Value = serde_json::from_str(&json::render(&report)).unwrap();
    assert_eq!(json["provider"], report.provider.as_str());
}

#[test]
fn junit_counts_agree_with_its_elements() {
    let xml = junit::render(&every_status());
    let count = |text: &str| xml.matches(text).count();
    assert_eq!(
        [count("<testcase "), count("<failure "), count("<error "), count("<skipped ")],
        [12, 1, 1, 6]
    );
    assert!(xml.contains(
        r#"<testsuites name="conformance of acme" tests="12" failures="1" errors="1" skipped="6""#
    ));
}
