//! What must hold whatever becomes of any one call of a delete, and from whatever state it starts.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use provider_api::{Deleted, Error, Profile, ProviderId, profile::SecondaryResources};

use super::{
    create,
    verbs::{deletes_in_the_end, faulted, names, nothing_left, says_absent},
};
use crate::{
    faults::{CallerThen, FaultPlan, Then},
    harness::ThingKind,
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, always, when},
    sweep::{DryRun, plans},
    world::World,
};

/// The sweeps over delete.
pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "delete.after-every-partial-create",
        level: Level::Must,
        says: "Whatever a create that crashed has left can be deleted without a trace.",
        caller: Caller::Collector,
        applies: always,
        check: Check::Sweep {
            plans: |w| partial_plans(w).boxed(),
            run: |w, plan| create::resumes(w, plan).boxed(),
        },
        absent: None,
        why: "A user gives up on a proxy whose create has crashed half-way. The volume without a domain, the \
              clone without a mark must go too; nobody else knows of them.",
        tested: "A sweep: the provider goes away at every call of a create, and a changing call takes effect \
                 never, at once, or late. Two rounds of the collector delete what is listed for the owner, \
                 with its leftovers. Every instance seen must be marked, and in the end nothing may stand.",
        mend: "Remove each part by its own name, whichever of the others are there, and let `Leftovers` list \
               the parts and placeholders whose instance never came. Know a placeholder by the number that \
               follows from its name and installation.",
    },
    Rule {
        id: "delete.parts-already-gone",
        level: Level::Must,
        says: "Whichever parts are gone already, delete removes the rest and succeeds.",
        caller: Caller::Collector,
        applies: has_parts,
        check: Check::Sweep { plans: |w| part_plans(w).boxed(), run: |w, plan| parts_gone(w, plan).boxed() },
        absent: Some(Absence {
            check: |w| no_parts(w).boxed(),
            shows: "the observer saw no part of a running instance",
        }),
        why: "Somebody has removed a disk by hand, or a crash took half away. A delete that stops at the \
              first missing part leaves the rest on the bill, and fails in the same way at each retry.",
        tested: "A sweep over every choice of an instance's parts, the instance itself included: these are \
                 removed by another hand, then delete must reach NotFound with nothing left. Where secondary \
                 resources are declared absent, a running instance may have none that the observer sees.",
        mend: "Take an absent part as deleted and go on with the next. Compute the parts' names from the \
               `Name` in the id, not from the instance's description, which may be gone, and refresh the \
               backend's own list where it may be stale.",
    },
    Rule {
        id: "delete.crash-resumable",
        level: Level::Must,
        says: "After a crash at any call, a delete by a new process ends with nothing left.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Sweep {
            plans: |w| derive(w, |run| run.callers_gone(CallerThen::Restarts)).boxed(),
            run: |w, plan| goes_on(w, plan).boxed(),
        },
        absent: None,
        why: "The operator restarts in the middle of a delete. If the parts can be found only through an \
              instance that went first, or the mark went before the rest, the new process finds nothing to \
              delete, and a disk stays.",
        tested: "A sweep: the provider goes away at every call of a delete, and a changing call takes effect \
                 never, at once, or after the next operation. The deletes of a new one must reach NotFound, \
                 with nothing left.",
        mend: "Delete what is found, not what an earlier call remembered: each step looks at the backend \
               first. Keep the mark to the last, and derive the parts' names from the id.",
    },
    Rule {
        id: "delete.cancel-safe",
        level: Level::Must,
        says: "Dropped or unanswered at any call, a delete can be repeated until nothing is left.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Sweep { plans: |w| derive_all(w).boxed(), run: |w, plan| goes_on(w, plan).boxed() },
        absent: None,
        why: "A reconcile is cancelled, or a connection breaks under a delete. If the retry answers Gone \
              because the work was begun once, the finalizer goes while the machine stands.",
        tested: "A sweep: every call of a delete loses its caller, or its answer before, at or after its \
                 effect, and every kind meets every catalogued error. Gone must leave nothing, unless the \
                 backend itself said absent; repeated deletes must reach NotFound, with nothing left.",
        mend: "Make every step repeatable, and answer `Deleted::Gone` only after a look that shows nothing. \
               Hold the `Turn` and every lock in guards that go with the future, and look once more when a \
               removal says absent.",
    },
];

async fn partial_plans(w: &mut World) -> Checked<Vec<FaultPlan>> {
    let run = create::dry_run(w).await?;
    Ok(plans(run.callers_gone(CallerThen::Restarts), &[Then::Delete]))
}

async fn dry_run(w: &mut World) -> Checked<DryRun> {
    let (_, id, _) = w.running().await?;
    let operation = w.next_operation();
    w.deletes(&id).await?;
    Ok(DryRun::of(&w.calls(), operation))
}

async fn derive(
    w: &mut World,
    faults: impl FnOnce(&DryRun) -> Vec<crate::faults::Fault>,
) -> Checked<Vec<FaultPlan>> {
    let run = dry_run(w).await?;
    Ok(plans(faults(&run), &[Then::Repeat]))
}

async fn derive_all(w: &mut World) -> Checked<Vec<FaultPlan>> {
    let catalogue = w.setup().catalogue;
    derive(w, |run| {
        let mut faults = run.callers_gone(CallerThen::Dropped);
        faults.extend(run.answers_lost());
        faults.extend(run.native_errors(&catalogue));
        faults
    })
    .await
}

fn delete(id: ProviderId) -> impl FnOnce(&World) -> BoxFuture<'static, Result<Deleted, Error>> {
    move |w| {
        let provider = Arc::clone(w.provider());
        async move { provider.delete(&id).await }.boxed()
    }
}

async fn goes_on(w: &mut World, plan: &FaultPlan) -> Checked {
    let (_, id, _) = w.running().await?;
    let result = faulted(w, plan, delete(id.clone())).await?;
    if matches!(result, Some(Ok(Deleted::Gone))) && !says_absent(w, plan) {
        let left = w.left().await?;
        hold!(left.is_empty(), "delete said Gone, but this is left: {}", names(&left));
    }
    deletes_in_the_end(w, &id).await?;
    if w.wire().land(None) > 0 {
        deletes_in_the_end(w, &id).await?;
    }
    nothing_left(w, "after the deletes").await
}

fn has_parts(profile: &Profile) -> Applies {
    when(profile.secondary_resources != SecondaryResources::None)
}

async fn part_plans(w: &mut World) -> Checked<Vec<FaultPlan>> {
    let (request, ..) = w.running().await?;
    let parts = parts(w, &request.name).await?.len();
    hold!(
        parts > 0,
        "the profile declares secondary resources, but the observer sees none of {}",
        request.name
    );
    // Every subset of the parts; of the instance itself too, which is the last bit.
    let subsets = 1..(1_u32 << (parts + 1));
    let plan =
        |subset: u32| FaultPlan { faults: Vec::new(), then: Then::Delete, variant: Some(subset.to_string()) };
    Ok(subsets.map(plan).collect())
}

async fn parts(w: &World, name: &provider_api::Name) -> Checked<Vec<String>> {
    let instance = w.instance(name).await?;
    let mut parts: Vec<_> = w
        .everything()
        .await?
        .into_iter()
        .filter(|thing| thing.kind == ThingKind::Secondary && instance.references.contains(&thing.key))
        .map(|thing| thing.key)
        .collect();
    parts.sort();
    Ok(parts)
}

async fn parts_gone(w: &mut World, plan: &FaultPlan) -> Checked {
    let subset: u32 = plan
        .variant
        .as_deref()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Stop::Error("the plan names no subset of parts".into()))?;
    let (request, id, _) = w.running().await?;
    let parts = parts(w, &request.name).await?;
    if subset >> parts.len() & 1 == 1 {
        w.hand().remove_instance_only(&request.name).await?;
    }
    for (index, key) in parts.iter().enumerate() {
        // With the instance the backend may have removed a part already.
        let there = w.everything().await?.iter().any(|thing| thing.key == *key);
        if subset >> index & 1 == 1 && there {
            w.hand().remove_part(key).await?;
        }
    }
    deletes_in_the_end(w, &id).await?;
    nothing_left(w, "after the delete").await
}

async fn no_parts(w: &mut World) -> Checked {
    w.running().await?;
    let things = w.everything().await?;
    let part = things.iter().find(|thing| thing.kind == ThingKind::Secondary);
    hold!(part.is_none(), "secondary resources are declared absent, but there is {part:?}");
    Ok(())
}
