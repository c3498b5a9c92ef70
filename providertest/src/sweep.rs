//! Sweeps: from the calls that an operation makes on a dry run, every fault that could meet one of them.
//!
//! No provider author writes a sweep. A fault is a product: effect × answer × caller. Every call meets every effect
//! with a lost answer and a drop; every distinct kind of call meets every native error that the catalogue lists for
//! it; repeated polls count as first, second and last. The rules that sweep are in `rules/sweeps/`.

use std::collections::BTreeSet;

use provider_api::{Catalogue, Class, OperationId};

use crate::faults::{Answer, Call, CallerThen, Effect, Fault, FaultPlan, Match, Then};

/// The calls of one operation on a dry run.
#[derive(Clone, Debug)]
pub struct DryRun {
    calls: Vec<Call>,
}

impl DryRun {
    /// The calls that `operation` made, repeated ones counted as first, second and last.
    pub fn of(calls: &[Call], operation: u64) -> Self {
        let mine: Vec<_> =
            calls.iter().filter(|call| call.operation == Some(OperationId(operation))).collect();
        let last = |kind: &str| mine.iter().filter(|call| call.kind == kind).map(|call| call.nth).max();
        let keep = |call: &&&Call| call.nth < 2 || Some(call.nth) == last(&call.kind);
        Self { calls: mine.iter().filter(keep).map(|call| (*call).clone()).collect() }
    }

    /// The calls that are left of it.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Whether the operation made no call.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Every call with every effect, its caller going away.
    pub fn callers_gone(&self, caller: CallerThen) -> Vec<Fault> {
        let fault = |(call, effect)| fault(call, effect, Answer::Normal, caller);
        self.with_effects().map(fault).collect()
    }

    /// Every call with every effect, its answer lost: the connection breaks, or nothing comes.
    pub fn answers_lost(&self) -> Vec<Fault> {
        let lost = |(call, effect)| {
            [Answer::Reset, Answer::Silence].map(|answer| fault(call, effect, answer, CallerThen::Waits))
        };
        self.with_effects().flat_map(lost).collect()
    }

    /// Every distinct kind of call with every native error of the catalogue for it, not executed; and executed all
    /// the same, where the error leaves that open.
    pub fn native_errors(&self, catalogue: &Catalogue) -> Vec<Fault> {
        let mut seen = BTreeSet::new();
        let mut faults = Vec::new();
        for call in self.calls.iter().filter(|call| seen.insert(&call.kind)) {
            for native in catalogue.on(call.known_as()) {
                let answer = Answer::Native(native.id.to_owned());
                faults.push(fault(call, Effect::Never, answer.clone(), CallerThen::Waits));
                if call.mutates && native.class == Class::Transient {
                    faults.push(fault(call, Effect::Now, answer, CallerThen::Waits));
                }
            }
        }
        faults
    }

    fn with_effects(&self) -> impl Iterator<Item = (&Call, Effect)> {
        self.calls.iter().flat_map(|call| {
            let effects: &[Effect] = match call.mutates {
                true => &[Effect::Never, Effect::Now, Effect::AfterNextOperation],
                // A call that changes nothing has no effect to lose.
                false => &[Effect::Now],
            };
            effects.iter().map(move |effect| (call, *effect))
        })
    }
}

impl Call {
    /// The name under which the catalogue lists the call: the seam's where the wire carries it.
    pub fn known_as(&self) -> &str {
        self.seam.map_or(&self.kind, |(_, kind)| kind)
    }
}

/// One plan for each fault and each way to go on.
pub fn plans(faults: Vec<Fault>, thens: &[Then]) -> Vec<FaultPlan> {
    let plan = |fault: &Fault, then| FaultPlan { faults: vec![fault.clone()], then, variant: None };
    faults.iter().flat_map(|fault| thens.iter().map(move |then| plan(fault, *then))).collect()
}

fn fault(call: &Call, effect: Effect, answer: Answer, caller: CallerThen) -> Fault {
    // Plans count operations from the one that is to fail; where that is in the case, its run knows.
    let at = Match { operation: 0, kind: call.kind.clone(), nth: call.nth };
    Fault { at, effect, answer, caller, repeats: false }
}
