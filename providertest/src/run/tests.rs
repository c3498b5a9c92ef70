//! Runs of rules that this file makes up: what goes wrong beside a rule's own code.

use std::sync::Arc;

use futures::FutureExt;

use super::*;
use crate::{
    memory::{self, MemoryHarness},
    report::Status,
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
const BROKEN_BESIDES: Rule = Rule {
    check: Check::Case(|w| panics_aside(w, Err(Stop::Broken("it is broken besides".into()))).boxed()),
    ..HOLDS
};

async fn panics_aside(_: &mut World, then: Checked) -> Checked {
    let task = tokio::spawn(async { panic!("swallowed") });
    // As an executor does with the task of a connection.
    let _ = task.await;
    then
}

fn judged(rule: &'static Rule) -> (Status, String) {
    let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::with("plain", memory::plain()));
    let options = Options { rules: vec![rule], complete: false, jobs: 1, ..Options::all() };
    let report = run(&harness, &options, &Silent);
    let judged =
        report.rules().next().map(|(_, rule)| (rule.status, rule.reason.clone().unwrap_or_default()));
    judged.expect("the rule was run")
}

#[test]
fn a_panic_that_an_executor_swallowed_is_an_error() {
    let (status, reason) = judged(&PANICS_ASIDE);
    assert_eq!(status, Status::Error);
    assert!(
        reason.contains("a task of the fake or of the provider panicked") && reason.contains("swallowed")
    );
    // It is told of its own case only, and of none that is red already.
    assert_eq!(judged(&HOLDS), (Status::Pass, String::new()));
    assert_eq!(judged(&BROKEN_BESIDES), (Status::Fail, "it is broken besides".into()));
}

#[test]
fn a_run_that_ends_at_the_first_red_rule_goes_through_the_table() {
    let saboteur = *crate::saboteurs::all().find(|known| known.name == "always-makes-a-new-one").unwrap();
    let harness: Arc<dyn Harness> = Arc::new(MemoryHarness::sabotaged(&saboteur));
    let options = Options { jobs: 1, fail_fast: true, saboteur, ..Options::all() };
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
