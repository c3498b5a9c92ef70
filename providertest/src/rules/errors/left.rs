//! Whether what an error says about what it left behind is true.

use provider_api::{CreateRequest, Error, LeftBehind, Name};

use super::{
    acts::{Act, Outcome},
    table,
};
use crate::{
    broken,
    faults::{Answer, CallerThen, Effect, Fault, FaultPlan, Match, Then},
    rule::Checked,
    world::World,
};

/// A create and a delete, each call with each error, with its answer lost before and after it took effect, and late.
pub(super) async fn plans(w: &mut World) -> Checked<Vec<FaultPlan>> {
    let catalogue = w.setup().catalogue;
    let mut plans = Vec::new();
    for act in [Act::Create, Act::Delete] {
        for (kind, known_as) in act.kinds(w).await? {
            for native in catalogue.on(&known_as) {
                plans.push(table::plan(act, &kind, Answer::Native(native.id.to_owned()), true));
            }
            for effect in [Effect::Never, Effect::Now, Effect::AfterNextOperation] {
                let at = Match { operation: 0, kind: kind.clone(), nth: 0 };
                let fault =
                    Fault { at, effect, answer: Answer::Reset, caller: CallerThen::Waits, repeats: false };
                plans.push(FaultPlan {
                    faults: vec![fault],
                    then: Then::Delete,
                    variant: Some(act.to_string()),
                });
            }
        }
    }
    Ok(plans)
}

pub(super) async fn is_true(w: &mut World, plan: &FaultPlan) -> Checked {
    let act: Act = plan.variant.as_deref().unwrap_or_default().parse()?;
    let prepared = act.prepare(w).await?;
    let first = w.next_operation();
    w.arm(plan.faults.iter().cloned().map(|mut fault| {
        fault.at.operation += first;
        fault
    }));
    let Outcome::Failed(error) = act.perform(w, &prepared).await? else { return Ok(()) };
    // What is still on its way counts as left.
    w.settle().await;
    w.wire().land(None);
    let name = prepared.request.name.clone();
    match error.left_behind() {
        LeftBehind::Unknown => Ok(()),
        LeftBehind::Nothing => nothing(w, act, &name, &error).await,
        LeftBehind::DeletableById => deletable(w, act, &prepared.request, &error).await,
    }
}

async fn nothing(w: &World, act: Act, name: &Name, error: &Error) -> Checked {
    match of(w, name).await? {
        None => Ok(()),
        Some(left) => broken!("{act} failed and said that nothing is left; there is {left}: {error}"),
    }
}

async fn deletable(w: &World, act: Act, request: &CreateRequest, error: &Error) -> Checked {
    let name = &request.name;
    let listing = w.lists().await?;
    let mut ids: Vec<_> =
        listing.items.into_iter().filter(|item| item.name == *name).map(|item| item.id).collect();
    if ids.is_empty() && of(w, name).await?.is_some() {
        // What is never listed, a placeholder say, has the id that the next create answers with.
        ids.push(w.creates(request).await?);
    }
    for id in ids {
        w.goes(&id).await?;
    }
    match of(w, name).await? {
        None => Ok(()),
        Some(left) => {
            broken!("{act} failed and said that a delete by id takes what is left; it left {left}: {error}")
        }
    }
}

/// Something on the backend that belongs to that instance.
pub(super) async fn of(w: &World, name: &Name) -> Checked<Option<String>> {
    let things = w.left().await?;
    let mine = things.iter().find(|thing| thing.name.contains(name.as_str()));
    let instance = things.iter().find(|thing| thing.name == name.as_str());
    let part =
        instance.and_then(|instance| things.iter().find(|part| instance.references.contains(&part.key)));
    Ok(mine.or(part).map(|thing| format!("{:?} {} ({})", thing.kind, thing.name, thing.native_state)))
}
