//! Worlds by their seeds: none may break an invariant, and the same seed must make the same world.

use std::time::Duration;

use operator_simulation::{
    Build,
    plan::Plan,
    play,
    sweep::{beginnings, crashes},
};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn no_seed_breaks_an_invariant() {
    for seed in 1..=8 {
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
fn every_crash_and_lost_answer_of_one_life_is_survived() {
    let plan = &beginnings()[0];
    let swept = crashes(plan, Build::default());
    assert!(swept.plans > 20, "only {} plans", swept.plans);
    assert!(swept.broken.is_empty(), "{:#?}", swept.broken.first());
}
