//! What a delete takes away, from whatever state.

use std::time::Duration;

use futures::{FutureExt, future::ready};
use provider_api::{Deleted, FailureClass, ProviderId, Shown, StateKind};

use crate::{
    broken,
    faults::FaultPlan,
    harness::UNKNOWN_STATE,
    hold,
    looks::Looks,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::{create::verbs::nothing_of, sweeps::verbs::nothing_left},
    seen::Picture,
    world::World,
};

pub(super) const REMOVES_EVERYTHING: Rule = Rule {
    id: "delete.removes-everything",
    level: Level::Must,
    says: "A delete removes everything that create made, in every part of the scope, booted or not.",
    caller: Caller::Operator,
    applies: always,
    check: Check::Case(|w| removes_everything(w).boxed()),
    absent: None,
    why: "What a delete forgets stays on the bill and in the way. Boot disks piled up in one cloud until \
          creates of the same name failed; a forgotten seed volume made every later create say that it \
          exists.",
    tested: "In each part of the scope creates and deletes an instance, once booted and once not, with \
             listings in pages of one. Each time the observer must see the backend as it was before; in \
             the end nothing may stand, and no leftover be listed.",
    mend: "Name each part after the instance (`Name`, `InstallationId::short`, kind), look for each by that \
           name and delete what is there, of every kind that create makes, and look before answering `Deleted::Gone`, through every \
           page where you look by a listing. Where the backend can remove a part with its \
           instance, say so in the call that makes it.",
};

async fn removes_everything(w: &mut World) -> Checked {
    w.in_pages_of_one().await?;
    let before = w.picture().await?;
    for placement in w.backend().placements() {
        for booted in [true, false] {
            let mut request = w.request();
            request.placement = placement.clone();
            let id = w.creates(&request).await?;
            if booted {
                w.runs(&request.name, &id).await?;
            }
            w.goes(&id).await?;
            let now = w.picture().await?;
            let how = if booted { "booted" } else { "not booted" };
            if let Some(left) = now.made_since(&before).next() {
                let left = format!("{:?} {} on {}", left.kind, left.name, left.target);
                let pages = match leaves_nothing_in_one_page(w, &now).await.unwrap_or(false) {
                    true => {
                        ". With listings in one page nothing is left: the pages after the first are not read"
                    }
                    false => "",
                };
                broken!(
                    "{id} was created at {placement:?} and deleted, {how}; nothing was due to be left, but there is \
                     {left}{pages}"
                );
            }
            if let Some(change) = now.change_since(&before) {
                broken!("{id} was created at {placement:?} and deleted, {how}; besides, {change}");
            }
        }
    }
    let leftovers = w.leftovers().await?;
    let leftover = leftovers.items.first();
    hold!(leftover.is_none(), "everything was deleted, and this is a leftover: {leftover:?}");
    nothing_left(w, "after everything was deleted").await
}

/// Whether a delete of one instance more leaves nothing beside what was there, once listings come in one page.
async fn leaves_nothing_in_one_page(w: &mut World, before: &Picture) -> Checked<bool> {
    if !w.in_one_page().await? {
        return Ok(false);
    }
    let (_, id, _) = w.running().await?;
    w.goes(&id).await?;
    Ok(w.picture().await?.made_since(before).next().is_none())
}

pub(super) const EVERY_NATIVE_STATE: Rule = Rule {
    id: "delete.every-native-state",
    level: Level::Must,
    says: "A delete copes with every state of the backend; what it cannot delete is an error, never a false success.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Sweep {
        plans: |w| ready(Ok(every_native_state(w))).boxed(),
        run: |w, plan| deleted_from(w, plan).boxed(),
    },
    absent: None,
    why: "Machines get stopped, locked, protected and snapshotted. Tools have looped for ever on a domain \
          that was shut off already, and reported as destroyed a protected machine that ran on.",
    tested: "A sweep with a case for each native state of the table and one that nobody knows: an instance \
             in that state is deleted until Gone, which must leave nothing. An error must have a reason, and \
             counts only under a lock, where the table says an error, or in the unknown state; once somebody \
             removes the instance, delete must come to its end.",
    mend: "Stop, resume or force as the state needs, wait for locks within a `BoundedWait`, and take \
           not-running as stopped. Let the removing call cover what the state brings along: snapshots, \
           nvram, an HA entry. Lift no protection: answer `Error::permanent` with the reason. Being deleted \
           is no state of the table.",
};

/// A plan for each state of the profile's table, and for one that nobody has heard of.
fn every_native_state(w: &World) -> Vec<FaultPlan> {
    let listed = w.profile().native_states.iter().map(|row| row.native);
    listed.chain([UNKNOWN_STATE]).map(FaultPlan::faultless).collect()
}

/// Whether an error may be all that there is: under a lock, or where the table says that nothing can be told.
fn excused(w: &World, native: &str) -> Checked<bool> {
    if native == UNKNOWN_STATE {
        return Ok(true);
    }
    let row = w.profile().native_states.iter().find(|row| row.native == native);
    let row = row.ok_or_else(|| Stop::Error(format!("the profile has no native state {native:?}")))?;
    let passes = row.reasoned && matches!(row.shown, Shown::State(StateKind::Provisioning));
    Ok(row.locked || passes || matches!(row.shown, Shown::Failure(_)))
}

async fn deleted_from(w: &mut World, plan: &FaultPlan) -> Checked {
    let native = plan.variant.as_deref().unwrap_or_default();
    let excused = excused(w, native)?;
    // What nobody brings a real backend's instances into shows before one of them has booted.
    let (request, id) = match w.is_fake() {
        true => w.running().await.map(|(request, id, _)| (request, id))?,
        false => w.created().await?,
    };
    w.hand().set_native_state(&request.name, native).await?;
    w.catch_up().await;
    let end = delete_until_gone(w, &id, excused).await?;
    let stands = !w.instances(&request.name).await?.is_empty();
    match end {
        End::Gone => {
            nothing_of(w, &request, &format!("from the state {native:?} delete answered Gone")).await
        }
        End::Failed(text) if !stands => {
            broken!("from the state {native:?} {id} is gone, yet delete says {text}")
        }
        End::Failed(text) => {
            hold!(excused, "from the state {native:?} {id} cannot be deleted: {text}");
            // The backend gets over it, and then it goes.
            w.hand().remove(&request.name).await?;
            w.goes(&id).await
        }
        End::Pending => broken!("from the state {native:?} {id} neither goes nor says why"),
    }
}

enum End {
    Gone,
    Failed(String),
    Pending,
}

/// How often in a row a delete fails that may, until it is believed.
const REFUSALS: usize = 6;

async fn delete_until_gone(w: &World, id: &ProviderId, excused: bool) -> Checked<End> {
    let mut end = End::Pending;
    let mut refusals = 0;
    let mut looks = Looks::new(120, Duration::from_secs(10));
    while looks.again(w).await {
        end = match w.delete(id).await? {
            Ok(Deleted::Gone) => return Ok(End::Gone),
            Ok(Deleted::Accepted) => End::Pending,
            Ok(Deleted::Abandoned(what)) => {
                broken!("delete {id} abandoned {what}, though its target is configured")
            }
            Err(error) if error.message().is_empty() => broken!("delete {id} failed without a reason"),
            Err(error) if error.class() == FailureClass::QuotaExceeded => {
                return Err(Stop::Broken(format!("delete {id} wants for quota: {error}")));
            }
            Err(error) => End::Failed(error.to_string()),
        };
        refusals = if matches!(end, End::Failed(_)) { refusals + 1 } else { 0 };
        if excused && refusals == REFUSALS {
            break;
        }
    }
    Ok(end)
}
