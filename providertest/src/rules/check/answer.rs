//! How a check answers: for every target, in a stable order, never as a whole failure, and by the deadline.

use std::time::Duration;

use futures::FutureExt;
use provider_api::reasons;

use super::{AMPLE, check, check_within, checked, names, no_check, told};
use crate::{
    hold,
    rule::{Absence, Caller, Check, Checked, Level, Rule},
    wire::Condition,
    world::{Tweaks, World},
};

pub(super) const EVERY_TARGET_STABLE_ORDER: Rule = Rule {
    id: "check.every-target-stable-order",
    level: Level::Must,
    says: "A check has one entry for every target that can fail on its own, always in the same order.",
    caller: Caller::HealthMonitor,
    applies: checked,
    check: Check::Case(|w| every_target(w).boxed()),
    absent: Some(Absence { check: |w| no_check(w).boxed(), shows: "the provider has no check" }),
    why: "The health monitor keeps a line for each host and compares it with the last one. Entries that \
          come, go or change places make alerts flap; a host without one fails unseen.",
    tested: "With nothing wrong, a check must have one ready entry, for Reachable, for each target that the \
             harness names. On a fake each target hangs in turn: names and order must stay, after a restart \
             too. Where no check is declared, the provider must have none.",
    mend: "Go through the targets in the order of the config with `join_all`, which keeps it, and give each \
           its `TargetStatus` whatever came. Build the list from the config, not from what answers.",
};

async fn every_target(w: &mut World) -> Checked {
    let first = check(w).await?;
    let order = names(&first);
    let (mut found, mut due) = (order.clone(), w.backend().checked());
    found.sort();
    due.sort();
    hold!(found == due, "the check has entries for {found:?}; {due:?} can fail on their own");
    hold!(first.iter().all(|target| target.ready), "nothing is wrong, but the check says: {}", told(&first));
    let reached = first.iter().all(|target| target.reason.code == reasons::REACHABLE);
    hold!(
        reached,
        "nothing is wrong, and every reason was to be Reachable; the check says: {}",
        told(&first)
    );
    if w.is_fake() {
        // Targets that answer late or not at all keep their place.
        for target in w.backend().targets() {
            w.wire().set_condition(&target, Some(Condition::Hangs));
            let now = names(&check_within(w, Duration::from_secs(2)).await?);
            w.wire().set_condition(&target, None);
            hold!(
                now == order,
                "while {target} does not answer, the entries are {now:?}; they were {order:?}"
            );
        }
    }
    w.restart(&Tweaks::default())?;
    let now = names(&check(w).await?);
    hold!(now == order, "after a restart the entries are {now:?}; they were {order:?}");
    Ok(())
}

pub(super) const NEVER_FAILS_WHOLE: Rule = Rule {
    id: "check.never-fails-whole",
    level: Level::Must,
    says: "Whatever one target does, the entries of the others are as if nothing were wrong.",
    caller: Caller::HealthMonitor,
    applies: checked,
    check: Check::Case(|w| never_fails_whole(w).boxed()),
    absent: Some(Absence { check: |w| no_check(w).boxed(), shows: "the provider has no check" }),
    why: "One host is down. A check that stops there paints the whole provider red, and the admin sees \
          neither which host it is nor that the others are well.",
    tested: "Each target in turn is cut off or hangs: all entries must be there, that one not ready and the \
             others as before. With every target so, all must be not ready, and ready again once mended. \
             Where no check is declared, the provider must have none.",
    mend: "Check targets beside one another with `join_all`, and turn each one's failure into its own \
           `TargetStatus` and `Reason`: no `?` across targets. Keep one connection a target.",
};

async fn never_fails_whole(w: &mut World) -> Checked {
    // Nobody waits for nothing on a real one.
    let ample = if w.is_fake() { AMPLE } else { Duration::from_secs(4) };
    let well = check(w).await?;
    let apart = w.backend().checked();
    let targets = w.backend().targets();
    for condition in [Condition::Cut, Condition::Hangs] {
        for target in &targets {
            w.condition(std::slice::from_ref(target), Some(condition)).await?;
            let now = check_within(w, ample).await?;
            w.condition(std::slice::from_ref(target), None).await?;
            hold!(
                names(&now) == names(&well),
                "{target} {condition}, and the check has only: {}",
                told(&now)
            );
            for entry in &now {
                // Parts that no entry stands for may show in any.
                let is_other = apart.contains(target) && entry.name != *target;
                hold!(
                    entry.ready || !is_other,
                    "{target} alone {condition}, but the check says: {}",
                    told(&now)
                );
                hold!(
                    !entry.ready || entry.name != *target,
                    "{target} {condition}, but the check says: {}",
                    told(&now)
                );
            }
        }
        w.condition(&targets, Some(condition)).await?;
        let now = check_within(w, ample).await?;
        w.condition(&targets, None).await?;
        hold!(names(&now) == names(&well), "everything {condition}, and the check has only: {}", told(&now));
        let ready = now.iter().find(|entry| entry.ready);
        hold!(ready.is_none(), "everything {condition}, but the check says: {}", told(&now));
    }
    let now = check(w).await?;
    hold!(now.iter().all(|entry| entry.ready), "all is mended, but the check says: {}", told(&now));
    Ok(())
}

pub(super) const PROMPT_AT_DEADLINE: Rule = Rule {
    id: "check.prompt-at-deadline",
    level: Level::Must,
    says: "A check answers by its deadline; a target that has not answered by then is not ready, for Timeout.",
    caller: Caller::HealthMonitor,
    applies: checked,
    check: Check::Case(|w| prompt(w).boxed()),
    absent: Some(Absence { check: |w| no_check(w).boxed(), shows: "the provider has no check" }),
    why: "The monitor works to a schedule. A check that hangs on a dead host holds the next one up, so that \
          the status grows old just when something is wrong.",
    tested: "With every target hanging, checks with 7 s, 0.9 s and no time left must answer by their \
             deadline, each entry not ready for Timeout; so must a new provider without connections. Where \
             no check is declared, the provider must have none.",
    mend: "Make every call of a check, dials included, with `Seam::call_within` and what \
           `Deadline::remaining` leaves; when that is nothing answer Timeout without a call. Wait for no \
           turn and no room that operations hold.",
};

async fn prompt(w: &mut World) -> Checked {
    let order = names(&check(w).await?);
    // On a fake the clock stands still while work is done; elsewhere that takes its time too.
    let slack = if w.is_fake() { Duration::ZERO } else { Duration::from_secs(2) };
    w.condition(&w.backend().targets(), Some(Condition::Hangs)).await?;
    // A second provider has no connections yet: dialling must not take longer either.
    for fresh in [false, true] {
        if fresh {
            w.restart(&Tweaks::default())?;
        }
        for within in [7_000, 900, 0].map(Duration::from_millis) {
            let before = w.case().clock.monotonic();
            let now = check_within(w, within).await?;
            let took = w.case().clock.monotonic().saturating_sub(before);
            hold!(
                took <= within + slack,
                "every target hangs; a check with {within:?} to its deadline took {took:?}"
            );
            hold!(names(&now) == order, "every target hangs, and the check has: {}", told(&now));
            let timeouts = now.iter().all(|entry| !entry.ready && entry.reason.code == reasons::TIMEOUT);
            hold!(
                timeouts,
                "every target hangs and Timeout was due for each, but the check says: {}",
                told(&now)
            );
        }
    }
    Ok(())
}
