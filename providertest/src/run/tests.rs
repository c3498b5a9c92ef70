//! Runs of rules that this file makes up: what goes wrong beside a rule's own code.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;

use super::*;
use crate::{
    memory::{self, MemoryHarness},
    report::{RuleReport, Status, Verdict},
    rule::{Caller, Checked, Level, Stop, always},
    world::World,
};

const HOLDS: Rule = Rule {
    id: "made-up.holds",
    level: Level::Must,
    says: "Nothing.",
    caller: Caller::Everybody,
    applies: always,
    check: Check::Case(|_| async { Ok(()) }.boxed()),
    absent: None,
    why: "Nothing goes wrong.",
    tested: "Not at all.",
    mend: "There is nothing to mend.",
};
const PANICS_ASIDE: Rule = Rule { check: Check::Case(|w| panics_aside(w, Ok(())).boxed()), ..HOLDS };
const PANICS_ON_A_THREAD: Rule = Rule {
    check: Check::Case(|w| {
        let spawner = Arc::clone(&w.context().spawner);
        async move {
            spawner.spawn_blocking(Box::new(|| panic!("on a thread")));
            Ok(())
        }
        .boxed()
    }),
    ..HOLDS
};
const PANICS_IN_ITS_TASK: Rule = Rule {
    check: Check::Case(|w| {
        let spawner = Arc::clone(&w.context().spawner);
        async move {
            spawner.spawn(Box::pin(async { panic!("in its task") }));
            tokio::task::yield_now().await;
            Ok(())
        }
        .boxed()
    }),
    ..HOLDS
};
const PANICS_ON_NOBODYS_THREAD: Rule = Rule {
    check: Check::Case(|_| {
        let _ = std::thread::spawn(|| panic!("on nobody's thread")).join();
        async { Ok(()) }.boxed()
    }),
    ..HOLDS
};
const BROKEN_BESIDES: Rule = Rule {
    check: Check::Case(|w| panics_aside(w, Err(Stop::Broken("it is broken besides".into()))).boxed()),
    ..HOLDS
};

const BROKEN_BUT_PROVISIONAL: Rule = Rule {
    id: "made-up.is-not-kept",
    level: Level::Provisional,
    check: Check::Case(|_| async { Err(Stop::Broken("it is not kept yet".into())) }.boxed()),
    ..HOLDS
};
const WRONG_BUT_PROVISIONAL: Rule = Rule {
    id: "made-up.cannot-be-judged",
    check: Check::Case(|_| async { Err(Stop::Error("the fake cannot do it".into())) }.boxed()),
    ..BROKEN_BUT_PROVISIONAL
};

async fn panics_aside(_: &mut World, then: Checked) -> Checked {
    let task = tokio::spawn(async { panic!("swallowed") });
    // As an executor does with the task of a connection.
    let _ = task.await;
    then
}

/// A panic of nobody's is told by whichever case ends next, so that runs wait for each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reported(harness: MemoryHarness, rule: &'static Rule, saboteur: Saboteur) -> RuleReport {
    let _alone = alone();
    let harness: Arc<dyn Harness> = Arc::new(harness);
    let options = Options { rules: vec![rule], complete: false, jobs: 1, saboteur, ..Options::all() };
    let report = run(&harness, &options, &Silent);
    report.setups.into_iter().flat_map(|setup| setup.rules).next().expect("the rule was run")
}

fn judged(rule: &'static Rule) -> (Status, String) {
    let report = reported(MemoryHarness::with("plain", memory::plain()), rule, HONEST);
    (report.status, report.reason.unwrap_or_default())
}

fn evidence(rule: &'static Rule) -> String {
    let report = reported(MemoryHarness::with("plain", memory::plain()), rule, HONEST);
    let steps = report.evidence.expect("it is red").steps;
    steps.into_iter().map(|step| step.text).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_provisional_rule_is_reported_everywhere_and_decides_nothing() {
    let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::with("plain", memory::plain()));
    let rules: Vec<&'static Rule> = vec![&BROKEN_BUT_PROVISIONAL, &WRONG_BUT_PROVISIONAL, &HOLDS];
    let options = Options { rules, jobs: 1, fail_fast: true, ..Options::all() };
    let report = {
        let _alone = alone();
        run(&harness, &options, &Silent)
    };
    let told: Vec<_> = report.rules().map(|(_, rule)| (rule.status, rule.reason.as_deref())).collect();
    let due = [
        (Status::Provisional, Some("it is not kept yet")),
        (Status::Provisional, Some("the fake cannot do it")),
        (Status::Pass, None),
    ];
    assert_eq!(told, due, "and it ended no run that ends at the first red rule");
    assert_eq!(report.verdict, Verdict::Conformant);
    let console = crate::report::console::render(&report, false);
    assert!(console.contains("PROVISIONAL made-up.is-not-kept") && console.contains("it is not kept yet"));
    assert!(console.contains("CONFORMANT  memory: 1 pass, 2 provisional in "), "{console}");
    let json: serde_json::Value = serde_json::from_str(&crate::report::json::render(&report)).unwrap();
    assert_eq!(json["setups"][0]["counts"]["provisional"], 2);
    assert_eq!(json["setups"][0]["rules"][0]["level"], "PROVISIONAL");
    let junit = crate::report::junit::render(&report);
    assert!(junit.contains("tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"2\""), "{junit}");
    assert!(junit.contains("<skipped message=\"provisional: it is not kept yet\"/>"), "{junit}");
    let html = crate::report::html::render(&report);
    assert!(html.contains("<span class=\"status provisional\">provisional</span>"), "{html}");
}

#[test]
fn a_panic_that_an_executor_swallowed_is_an_error() {
    let (status, reason) = judged(&PANICS_ASIDE);
    assert_eq!(status, Status::Error);
    assert!(
        reason.contains("a task of the fake or of the provider panicked") && reason.contains("swallowed")
    );
    // It is told of its own case only; one that is red already tells it besides.
    assert_eq!(judged(&HOLDS), (Status::Pass, String::new()));
    assert_eq!(judged(&BROKEN_BESIDES), (Status::Fail, "it is broken besides".into()));
    let steps = evidence(&BROKEN_BESIDES);
    assert!(steps.contains("besides, a task of the fake") && steps.contains("swallowed"), "{steps}");
}

#[test]
fn a_panic_in_what_the_provider_has_started_breaks_the_rule() {
    for (rule, text) in [(&PANICS_IN_ITS_TASK, "in its task"), (&PANICS_ON_A_THREAD, "on a thread")] {
        let (status, reason) = judged(rule);
        assert_eq!(status, Status::Fail, "{reason}");
        let told = reason.contains("a task that the provider had started panicked at ");
        assert!(told && reason.contains("run/tests.rs:") && reason.ends_with(text), "{reason}");
    }
}

#[test]
fn a_panic_on_nobodys_thread_is_an_error_of_the_case_that_ends_next() {
    let (status, reason) = judged(&PANICS_ON_NOBODYS_THREAD);
    assert_eq!(status, Status::Error);
    assert!(reason.contains("a thread that belongs to no case panicked at "), "{reason}");
}

#[test]
fn a_panic_of_an_operation_is_told_with_its_steps_and_what_it_began_with() {
    let saboteur = *crate::saboteurs::all().find(|known| known.name == "cuts-ids-anywhere").unwrap();
    let rule = crate::rules::find(saboteur.breaks).unwrap();
    let report = reported(MemoryHarness::sabotaged(&saboteur), rule, saboteur);
    assert_eq!(report.status, Status::Fail);
    assert!(report.reason.unwrap().starts_with("it panicked at "));
    let evidence = report.evidence.unwrap();
    assert!(evidence.steps.iter().any(|step| step.text.contains("create proxy-")), "{:?}", evidence.steps);
    let last = evidence.steps.last().unwrap();
    assert!(last.text.starts_with("get ") && last.text.ends_with(" -> a panic"), "{last:?}");
    let before = evidence.before.unwrap();
    assert!(before.backend.iter().any(|thing| thing.contains("Instance proxy-")), "{before:?}");
    assert!(!evidence.backend.is_empty() && evidence.replay.contains("--rule get.malformed"));
}

#[test]
fn a_run_that_ends_at_the_first_red_rule_goes_through_the_table() {
    let saboteur = *crate::saboteurs::all().find(|known| known.name == "always-makes-a-new-one").unwrap();
    let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::sabotaged(&saboteur));
    let options = Options { jobs: 1, fail_fast: true, saboteur, ..Options::all() };
    let _alone = alone();
    let report = run(&harness, &options, &Silent);
    let ran: Vec<_> = report.rules().filter(|(_, rule)| rule.cases > 0).map(|(_, rule)| rule.id).collect();
    assert_eq!(ran, ["create.returns-usable-id"], "it is broken too, and the first");
}

#[test]
fn a_profile_that_contradicts_itself_is_an_error() {
    let mut harness = MemoryHarness::with("plain", memory::plain()).setups();
    assert_eq!(contradiction(&harness[0]), None);
    harness[0].profile.calls.truncate(1);
    let wrong = contradiction(&harness[0]).unwrap();
    assert!(wrong.contains("contradict themselves"), "{wrong}");
}
