//! A delete that comes late, or whose instance was replaced under its hands.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use provider_api::{
    ProviderId, Wait,
    profile::{DeleteBinding, DeleteReturn},
};

use crate::{
    broken,
    faults::{Answer, Call, CallerThen, Effect, Fault, Match},
    harness::Successor,
    hold,
    rule::{Absence, Caller, Check, Checked, Level, Rule, Stop, when},
    rules::create::verbs::LATENCY,
    sweep::DryRun,
    world::World,
};

pub(super) const BOUND_TO_INCARNATION: Rule = Rule {
    id: "delete.bound-to-incarnation",
    level: Level::Must,
    says: "A delete that lands late never kills a successor, and none waits for one to go; where the backend cannot tell, \
           the look comes right before.",
    caller: Caller::Reconciler,
    applies: |profile| when(profile.delete_binding == DeleteBinding::Incarnation),
    check: Check::Case(|w| late_landing(w).boxed()),
    absent: Some(Absence {
        check: |w| looks_right_before(w).boxed(),
        shows: "bound to the name alone, a delete left alone whatever foreign took the place before its last look",
    }),
    why: "A delete that was long on its way lands after the proxy was made anew under the same name, and \
          kills the new one. The user loses a healthy proxy, and nobody asked for it.",
    tested: "Each changing call of a delete is held until a successor of the same name and marks has taken \
             the place, and lands then: the successor must stand as it was. Where deletes wait, one waits for a \
             deletion that hangs when the successor takes the place: it must end by its next look, and leave \
             it alone. Where deletes are bound to the name alone, something foreign takes the place at one \
             moment after another; only after the last look may it be removed.",
    mend: "Send the incarnation that was looked up (a uid precondition, a numeric id, a domain UUID) with \
           each changing call of a delete, and compare it at each look of the wait for its end. Where the \
           backend takes none, declare `DeleteBinding::Name`, look directly before the call, and let \
           `Ownership::of` judge what that look shows, not what create or an earlier look has seen.",
};

/// Every changing call of a delete lands only after a successor has taken the instance's place.
async fn late_landing(w: &mut World) -> Checked {
    w.only_on_a_fake("have its calls land late")?;
    let mut landed = 0;
    for call in calls_of_a_delete(w).await?.iter().filter(|call| call.mutates) {
        let (request, id, _) = w.running().await?;
        let at = Match { operation: w.next_operation(), kind: call.kind.clone(), nth: call.nth };
        let (effect, caller) = (Effect::AfterNextOperation, CallerThen::Dropped);
        w.arm([Fault { at, effect, answer: Answer::Normal, caller, repeats: false }]);
        let (provider, lost) = (Arc::clone(w.provider()), id.clone());
        w.together(vec![async move { provider.delete(&lost).await }.boxed()]).await?;
        let met = w.wire().missed().is_empty();
        w.wire().disarm();
        if !met || w.instances(&request.name).await?.is_empty() {
            continue;
        }
        w.hand().replace(&request.name, Successor::SameMarks).await?;
        let successor = w.instance(&request.name).await?;
        landed += w.wire().land(None);
        let after = format!("{} of a delete landed after a successor had taken the place of {id}", call.kind);
        let now = w.instances(&request.name).await?;
        let same = now.iter().find(|thing| thing.key == successor.key);
        let Some(same) = same else { broken!("{after}, and killed it") };
        hold!(!same.deleting, "{after}, and began to delete it");
        hold!(
            same.native_state == successor.native_state,
            "{after}, which was {} and is {}",
            successor.native_state,
            same.native_state
        );
    }
    if landed == 0 {
        return Err(Stop::Error("no call of a delete landed late".into()));
    }
    waits_for_no_successor(w).await
}

/// When a successor takes the place of what a delete waits for.
const REPLACED_AFTER: Duration = Duration::from_secs(5);
/// How long that delete may go on beside its next look: for further looks, and for what is left of the parts.
const LEFT_TO_DO: Duration = Duration::from_secs(10);

/// A delete waits for a deletion that hangs, and a successor takes the instance's place: what it waited for is gone.
async fn waits_for_no_successor(w: &mut World) -> Checked {
    if w.profile().delete_return != DeleteReturn::Waits {
        return Ok(());
    }
    let (request, id, _) = w.running().await?;
    w.hand().begin_deletion(&request.name).await?;
    w.catch_up().await;
    let (provider, world) = (Arc::clone(w.provider()), &*w);
    let began = w.elapsed();
    let delete = async {
        let answer =
            provider.delete(&id).await.map_or_else(|error| error.to_string(), |it| format!("{it:?}"));
        (world.elapsed(), answer)
    };
    let replace = async {
        world.case().clock.sleep(REPLACED_AFTER, Wait::Idle).await;
        let done = world.hand().replace(&request.name, Successor::SameMarks).await;
        (world.elapsed(), done.map_or_else(|unable| unable.to_string(), |()| String::new()))
    };
    let ended = w.together(vec![delete.boxed(), replace.boxed()]).await?;
    let mut ended = ended.into_iter().filter_map(|ended| ended.done());
    let (Some((ended_at, answer)), Some((_, unable))) = (ended.next(), ended.next()) else {
        return Err(Stop::Error("a caller that was to wait was dropped".into()));
    };
    if !unable.is_empty() {
        return Err(Stop::Blocked(unable));
    }
    let every = w.profile().waits.iter().map(|wait| wait.every).max().unwrap_or_default();
    let due = REPLACED_AFTER + every * 2 + LEFT_TO_DO;
    let took = ended_at.saturating_sub(began);
    hold!(
        took <= due,
        "a successor took the place of {id} {REPLACED_AFTER:?} into a delete that waited for it to go, and the delete \
         went on waiting until {took:?} ({answer}); its look at the successor was due to be its last"
    );
    let successor = w.instance(&request.name).await?;
    hold!(!successor.deleting, "a delete of {id} waited, and then began to delete its successor");
    Ok(())
}

async fn calls_of_a_delete(w: &mut World) -> Checked<Vec<Call>> {
    let (_, id, _) = w.running().await?;
    let operation = w.next_operation();
    w.deletes(&id).await?;
    Ok(DryRun::of(&w.calls(), operation).calls().to_vec())
}

/// Something foreign takes the instance's place at one moment after another of a delete; only between the last look
/// and the call that removes may it be too late.
async fn looks_right_before(w: &mut World) -> Checked {
    w.only_on_a_fake("have an instance replaced between two calls")?;
    w.wire().set_latency(LATENCY);
    let (request, id, _) = w.running().await?;
    let removed = removed_after(w, &request.name, &id).await?;
    let Some(last) = removed else { broken!("delete {id} answered, and the instance stood to its end") };
    // The answer to the call before the removing one is out until then: what comes later comes too late.
    for half in (1..last.saturating_sub(2)).step_by(2) {
        let (request, id, _) = w.running().await?;
        let (provider, replaced_at) = (Arc::clone(w.provider()), AtomicUsize::new(0));
        let world = &*w;
        let delete = async { provider.delete(&id).await.map(drop).map_err(|error| error.to_string()) };
        let replace = async {
            world.case().clock.sleep(LATENCY * half / 2, Wait::Idle).await;
            replaced_at.store(world.wire().call_count(), Ordering::Relaxed);
            world.hand().replace(&request.name, Successor::Foreign).await.map_err(|unable| unable.to_string())
        };
        w.together(vec![delete.boxed(), replace.boxed()]).await?;
        let after = LATENCY * half / 2;
        let stands = w.instances(&request.name).await?;
        let foreign = stands.iter().find(|thing| thing.marks.is_empty());
        let Some(foreign) = foreign else {
            let calls = w.calls_since(replaced_at.into_inner());
            let calls: Vec<_> = calls.iter().take(2).map(|call| call.kind.as_str()).collect();
            broken!(
                "something foreign, without a mark, took the place of {id} {after:?} into its delete; after that the delete \
                 made the calls {}, and removed it, whatever the look at it showed",
                calls.join(", ")
            )
        };
        hold!(
            !foreign.deleting,
            "something foreign took the place of {id} {after:?} into its delete, which goes on"
        );
    }
    w.wire().set_latency(Duration::ZERO);
    Ok(())
}

/// How many halves of an answer's time a delete has taken when the instance is no longer what it was.
async fn removed_after(w: &World, name: &provider_api::Name, id: &ProviderId) -> Checked<Option<u32>> {
    let provider = Arc::clone(w.provider());
    let delete =
        async { provider.delete(id).await.map(|_| None).map_err(|error| Stop::Broken(error.to_string())) };
    let watch = async {
        for half in 0..120 {
            let there = w.instances(name).await?;
            if there.iter().all(|thing| thing.deleting) {
                return Ok(Some(half));
            }
            w.case().clock.sleep(LATENCY / 2, Wait::Idle).await;
        }
        Ok(None)
    };
    let ended = w.together(vec![delete.boxed(), watch.boxed()]).await?;
    let mut removed = None;
    for ended in ended.into_iter().filter_map(|ended| ended.done()) {
        removed = removed.or(ended?);
    }
    Ok(removed)
}
