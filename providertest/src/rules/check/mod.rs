//! The rules of the group `check`: how a check answers is in `answer.rs`, what it says in `reasons.rs`, what it leaves
//! alone in `quiet.rs`.

mod answer;
mod quiet;
mod reasons;

use std::time::Duration;

use provider_api::{Profile, TargetStatus};

use crate::{
    broken, hold,
    rule::{Applies, Checked, Rule, when},
    world::World,
};

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    answer::EVERY_TARGET_STABLE_ORDER,
    answer::NEVER_FAILS_WHOLE,
    answer::PROMPT_AT_DEADLINE,
    quiet::DOES_NOT_DISTURB,
    reasons::REASONS_TABLE,
    reasons::MISSING_RIGHT_NAMED,
    quiet::READ_ONLY_AND_CHEAP,
    quiet::HIDES_SECRETS,
];

/// How long a check may take where its speed is not what is judged.
const AMPLE: Duration = Duration::from_secs(20);

/// Whether the provider has a check at all.
fn checked(profile: &Profile) -> Applies {
    when(!profile.check_target.is_empty())
}

/// A profile without a check's target is true: there is no check.
async fn no_check(w: &mut World) -> Checked {
    hold!(
        w.built().checker.is_none(),
        "the profile names no target of a check, but the provider has a check"
    );
    Ok(())
}

/// The targets as a check finds them.
async fn check(w: &World) -> Checked<Vec<TargetStatus>> {
    check_within(w, AMPLE).await
}

async fn check_within(w: &World, within: Duration) -> Checked<Vec<TargetStatus>> {
    match w.check(within).await? {
        Some(targets) => Ok(targets),
        None => broken!("the profile says what a check's targets are, but the provider has no check"),
    }
}

fn names(targets: &[TargetStatus]) -> Vec<String> {
    targets.iter().map(|target| target.name.clone()).collect()
}

fn told(targets: &[TargetStatus]) -> String {
    let told = |target: &TargetStatus| format!("{} ready {}, {}", target.name, target.ready, target.reason);
    targets.iter().map(told).collect::<Vec<_>>().join("; ")
}
