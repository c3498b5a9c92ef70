//! Worlds by their seeds: none may break an invariant, and the same seed must make the same world. These are few, since they
//! are played unoptimised; `cargo xtask simulate` plays many.

use std::time::Duration;

use operator_simulation::{
    Build,
    paths::{self, Shows},
    plan::{Deed, Fault, Plan, Setup},
    play,
    sweep::{beginnings, crashes},
};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn no_seed_breaks_an_invariant() {
    for seed in 1..=12 {
        let plan = Plan::random(seed, 3, 20 * MINUTE);
        let outcome = play(&plan, Build::default(), false);
        let plan = serde_json::to_string(&plan).unwrap();
        assert_eq!(outcome.violations, Vec::new(), "play it again by `simulate --plan FILE` with {plan}");
    }
}

#[test]
fn the_same_seed_makes_the_same_world() {
    let plan = Plan::random(5, 3, 10 * MINUTE);
    let twice = [play(&plan, Build::default(), false), play(&plan, Build::default(), false)];
    assert_eq!(twice[0], twice[1]);
    let other = play(&Plan { seed: 6, ..plan }, Build::default(), false);
    assert_ne!(other.digest, twice[0].digest, "a digest that tells nothing apart proves nothing");
}

#[test]
fn a_plan_is_data() {
    for seed in 1..=50 {
        let plan = Plan::random(seed, 5, 20 * MINUTE);
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}

#[test]
fn a_secret_that_changes_while_the_watch_stands_still_is_seen_afterwards() {
    let script = vec![(1_000, Deed::Create(0)), (90_000, Deed::Rotate(0))];
    let mut plan = Plan::calm(1, Setup::Submit, script, 300_000);
    plan.faults.push(Fault::Frozen { operator: 0, from: 60_000, until: 120_000 });
    let outcome = play(&plan, Build::default(), false);
    assert_eq!(outcome.violations, Vec::new());
    assert_eq!(outcome.lives.values().collect::<Vec<_>>(), [&2]);
}

#[test]
fn every_crash_and_lost_answer_of_one_life_is_survived() {
    let sweep = crashes(&beginnings()[0], Build::default());
    assert!(sweep.plans.len() > 20, "only {} plans", sweep.plans.len());
    for plan in &sweep.plans {
        assert_eq!(
            sweep.play(plan, Build::default()),
            Vec::new(),
            "{}",
            serde_json::to_string(plan).unwrap()
        );
    }
}

#[test]
fn it_does_not_matter_how_a_proxy_came_to_be_what_it_is() {
    let pairs = paths::pairs(2);
    for shows in [Shows::PathIndependence, Shows::Rollback, Shows::RefusedEdit, Shows::MendedEdit] {
        assert!(pairs.iter().any(|pair| pair.shows == shows));
    }
    for pair in pairs {
        assert_eq!(pair.play(Build::default()), Vec::new(), "{:?}", pair.long);
    }
}
