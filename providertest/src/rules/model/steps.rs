//! The steps that random sequences are made of, and how proptest makes and shrinks them.

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde::{Deserialize, Serialize};

use super::reference::Who;
use crate::faults::{Answer, CallerThen, Effect, FaultPlan};

/// What hits an operation, at its `nth` call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hit {
    pub(super) nth: u8,
    pub(super) effect: Effect,
    pub(super) answer: Answer,
    pub(super) caller: CallerThen,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Step {
    Create(Who, Option<Hit>),
    Get(Who, Option<Hit>),
    Delete(Who, Option<Hit>),
    /// A create and a delete of one owner at once.
    Race(Who),
    List,
    Restart,
    /// Somebody else removes the instance.
    Remove(Who),
    /// Lets the instance come up.
    BringUp(Who),
    /// Seconds go by.
    Pass(u16),
}

fn hit() -> impl Strategy<Value = Option<Hit>> {
    let effect = prop_oneof![Just(Effect::Never), Just(Effect::Now), Just(Effect::AfterNextOperation)];
    let how = prop_oneof![
        Just((Answer::Normal, CallerThen::Dropped)),
        Just((Answer::Normal, CallerThen::Restarts)),
        Just((Answer::Reset, CallerThen::Waits)),
        Just((Answer::Silence, CallerThen::Waits)),
    ];
    let hit = (0..8_u8, effect, how).prop_map(|(nth, effect, (answer, caller))| Hit {
        nth,
        effect,
        answer,
        caller,
    });
    prop_oneof![3 => Just(None), 1 => hit.prop_map(Some)]
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..3_u8;
    prop_oneof![
        4 => (who.clone(), hit()).prop_map(|(who, hit)| Step::Create(who, hit)),
        3 => (who.clone(), hit()).prop_map(|(who, hit)| Step::Get(who, hit)),
        3 => (who.clone(), hit()).prop_map(|(who, hit)| Step::Delete(who, hit)),
        1 => who.clone().prop_map(Step::Race),
        2 => Just(Step::List),
        1 => Just(Step::Restart),
        1 => who.clone().prop_map(Step::Remove),
        1 => who.prop_map(Step::BringUp),
        1 => (1..120_u16).prop_map(Step::Pass),
    ]
}

/// A random sequence that can be made smaller.
pub(crate) struct Sequence(Box<dyn ValueTree<Value = Vec<Step>>>);

impl Sequence {
    /// The sequence that belongs to a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng =
            proptest::test_runner::TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
        let tree = prop::collection::vec(step(), 1..24).new_tree(&mut runner);
        Self(Box::new(tree.expect("no value of the strategy is filtered away")))
    }

    /// The sequence as a plan that replays it.
    pub(crate) fn plan(&self) -> FaultPlan {
        let text = serde_json::to_string(&self.0.current()).unwrap_or_default();
        FaultPlan::faultless(text)
    }

    /// Makes it smaller; `false` when it cannot be.
    pub(crate) fn simplify(&mut self) -> bool {
        self.0.simplify()
    }

    /// Takes back a part of the last simplification; `false` when there is none.
    pub(crate) fn complicate(&mut self) -> bool {
        self.0.complicate()
    }
}
