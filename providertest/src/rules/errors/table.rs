//! Every native error of the catalogue, provoked on the wire on every kind of call that can be answered with it, in
//! every act that makes such a call.

use std::collections::BTreeSet;

use provider_api::{Class, NativeError, Operation, Shows};

use super::{
    acts::{Act, Outcome, Prepared},
    left,
};
use crate::{
    broken,
    faults::{Answer, CallerThen, Effect, Fault, FaultPlan, Match, Then},
    rule::{Checked, Stop},
    world::World,
};

/// One plan for each act, kind of call and error.
pub(super) async fn plans(w: &mut World) -> Checked<Vec<FaultPlan>> {
    w.only_on_a_fake("be made to answer with what its catalogue lists")?;
    // What a fake answers says nothing about a provider when it takes whatever it is sent.
    if !w.hand().send_nonsense().await? {
        return Err(Stop::Error("the fake accepted a request that makes no sense".into()));
    }
    let catalogue = w.setup().catalogue;
    let mut plans = Vec::new();
    let mut provoked = BTreeSet::new();
    for met in every_meeting(w, Act::all(w)).await? {
        provoked.insert((met.native.id, met.known_as.clone()));
        plans.push(met.plan());
    }
    let never =
        |(native, kind): &(&'static NativeError, &str)| !provoked.contains(&(native.id, (*kind).to_owned()));
    let mut listed = catalogue.iter().flat_map(|native| native.on.iter().map(move |kind| (native, *kind)));
    match listed.find(never) {
        Some((native, kind)) => Err(Stop::Error(format!(
            "the catalogue lists {} for {kind}, which nothing here calls",
            native.id
        ))),
        None => Ok(plans),
    }
}

/// An act, a kind of call that it makes, and an error that the catalogue lists for that kind.
pub(super) struct Meeting {
    act: Act,
    /// The wire's name for the calls.
    kind: String,
    /// The seam's.
    known_as: String,
    pub(super) native: &'static NativeError,
}

impl Meeting {
    /// The plan in which every such call is answered so.
    pub(super) fn plan(&self) -> FaultPlan {
        // A stream that is answered so each time never gives a hint, and is right.
        let repeats = self.act != Act::Watch;
        plan(self.act, &self.kind, Answer::Native(self.native.id.to_owned()), repeats)
    }
}

/// Every error of the catalogue on every kind of call of these acts, found out by carrying each act out undisturbed.
pub(super) async fn every_meeting(w: &mut World, acts: Vec<Act>) -> Checked<Vec<Meeting>> {
    let catalogue = w.setup().catalogue;
    let mut all = Vec::new();
    for act in acts {
        for (kind, known_as) in act.kinds(w).await? {
            let meets = |native| Meeting { act, kind: kind.clone(), known_as: known_as.clone(), native };
            all.extend(catalogue.on(&known_as).map(meets));
        }
    }
    Ok(all)
}

/// A plan in which an act's calls of a kind are all answered so and take no effect.
pub(super) fn plan(act: Act, kind: &str, answer: Answer, repeats: bool) -> FaultPlan {
    // Counted from the act; where that is in the case, its run knows.
    let at = Match { operation: 0, kind: kind.to_owned(), nth: 0 };
    let fault = Fault { at, effect: Effect::Never, answer, caller: CallerThen::Waits, repeats };
    FaultPlan { faults: vec![fault], then: Then::Repeat, variant: Some(act.to_string()) }
}

/// Carries out a plan's act under its faults.
pub(super) async fn run(w: &mut World, plan: &FaultPlan) -> Checked<(Act, Prepared, Outcome)> {
    let act: Act = plan.variant.as_deref().unwrap_or_default().parse()?;
    let prepared = act.prepare(w).await?;
    let first = w.next_operation();
    w.arm(plan.faults.iter().cloned().map(|mut fault| {
        fault.at.operation += first;
        fault
    }));
    let mut outcome = act.perform(w, &prepared).await?;
    if shows_late(w, plan) && matches!(outcome, Outcome::Done) {
        // The call was accepted; what became of it the next create finds.
        w.pass(w.profile().settle + std::time::Duration::from_secs(5)).await;
        outcome = act.perform(w, &prepared).await?;
    }
    Ok((act, prepared, outcome))
}

fn shows_late(w: &World, plan: &FaultPlan) -> bool {
    native(w, plan).is_some_and(|native| native.shows == Shows::Task)
}

fn native(w: &World, plan: &FaultPlan) -> Option<&'static NativeError> {
    let Answer::Native(id) = &plan.faults.first()?.answer else { return None };
    w.setup().catalogue.get(id)
}

/// Judges one plan.
pub(super) async fn judge(w: &mut World, plan: &FaultPlan) -> Checked {
    let native =
        native(w, plan).ok_or_else(|| Stop::Error("the plan names no error of the catalogue".into()))?;
    let (act, prepared, outcome) = run(w, plan).await?;
    let kind = plan.faults.first().map_or("", |fault| fault.at.kind.as_str());
    let (id, class) = (native.id, native.class);
    // What a check makes of it its own table tells; a stream takes itself up again.
    if matches!(act, Act::Check | Act::Watch) {
        return match outcome {
            Outcome::Failed(error) => broken!("{act} failed where it cannot: {error}"),
            Outcome::Partly if act == Act::Watch => broken!("after {id} the stream of hints stayed silent"),
            _ => Ok(()),
        };
    }
    match outcome {
        Outcome::Done if native.tolerated_by.contains(&act.operation()) => Ok(()),
        // The instance that a repeated create asks for stands, whatever the call says (create.idempotent).
        Outcome::Done if act == Act::CreateAgain => Ok(()),
        // Something it asks about is gone: where that is not the instance itself, it can go on.
        Outcome::Done if class == Class::NotFound => Ok(()),
        Outcome::Done => broken!("{act} answered as if all were well, though every {kind} was answered {id}"),
        Outcome::Partly => Ok(()),
        Outcome::Absent if class == Class::NotFound => Ok(()),
        Outcome::Absent => {
            broken!("{act} answered NotFound, though {kind} was answered {id}, which is {class}")
        }
        Outcome::Failed(error) => {
            let seen = Class::from(error.class());
            let creates = act.operation() == Operation::Create;
            let mut expected = match class {
                // The call proves absent what it was about; of the whole that may be no proof.
                Class::NotFound if creates => vec![Class::Transient, Class::Permanent],
                Class::NotFound => vec![Class::Transient],
                class => vec![class],
            };
            // A create that cannot take back what it began must not give up for good.
            if creates && left::of(w, &prepared.request.name).await?.is_some() {
                expected.push(Class::Transient);
            }
            if expected.contains(&seen) {
                return Ok(());
            }
            let due = expected.iter().map(|class| class.as_str()).collect::<Vec<_>>().join(" or ");
            broken!("{act} answered {seen} where {kind} was answered {id}, which is {due}: {error}")
        }
    }
}
