//! What the operator has to reach, in simulated time; `cargo xtask simulate --goals` measures larger worlds, and speed.

use operator_simulation::goals::{self, Goal};

fn reached(goal: Goal) {
    assert!(goal.is_reached(), "{}: {} of {}", goal.what, goal.seen, goal.limit);
    assert!(goal.seen > 0.0, "{}: nothing was measured", goal.what);
}

#[test]
fn another_operator_takes_over_when_the_lease_has_run_out() {
    reached(goals::takeover(1..6));
}

#[test]
fn a_lease_that_is_released_is_taken_at_once() {
    reached(goals::handover(1..6));
}

#[test]
fn blocked_creates_take_what_the_limit_of_each_target_allows() {
    reached(goals::blocked_creates(80));
}

#[test]
fn a_target_that_hangs_delays_no_other() {
    reached(goals::hanging_target(80));
}

#[test]
fn a_life_takes_few_writes() {
    reached(goals::writes(10));
}
