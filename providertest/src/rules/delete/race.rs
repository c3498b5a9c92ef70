//! A delete and a create of one owner at the same time.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{CreateRequest, Deleted, FailureClass, GetError, ProviderId, State, Wait};

use crate::{
    broken, hold,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::{
        create::verbs::{LATENCY, nothing_of},
        sweeps::verbs::{creates_in_the_end, nothing_left, one_whole_instance},
    },
    world::World,
};

pub(super) const RACES_CREATE: Rule = Rule {
    id: "delete.races-create",
    level: Level::Must,
    says: "A delete and a create at once end as if one had come after the other: a whole instance, or nothing.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| races_create(w).boxed()),
    absent: None,
    mend: "Let both take the name's turn at the gate, and look anew at every step that follows a wait.",
};

async fn races_create(w: &mut World) -> Checked {
    // From no head start up to one that lets the first be nearly done.
    for head_start in [0, 1, 2, 3, 5] {
        for delete_first in [true, false] {
            for stands in [true, false] {
                race(w, head_start, delete_first, stands).await?;
            }
        }
    }
    Ok(())
}

async fn race(w: &mut World, head_start: u32, delete_first: bool, stands: bool) -> Checked {
    let (request, id) = w.created().await?;
    if stands {
        w.runs(&request.name, &id).await?;
    } else {
        w.goes(&id).await?;
    }
    let first = if delete_first { "the delete" } else { "the create" };
    let how = format!(
        "{first} was {head_start} answers ahead, and the instance {}",
        if stands { "stood" } else { "did not stand" }
    );
    let (create_after, delete_after) = if delete_first { (head_start, 0) } else { (0, head_start) };
    w.wire().set_latency(LATENCY);
    let (provider, world) = (Arc::clone(w.provider()), &*w);
    let start = |after: u32| world.case().clock.sleep(LATENCY * after + Duration::from_millis(1), Wait::Idle);
    // Each says whether it succeeded.
    let create: BoxFuture<'_, Checked<bool>> = async {
        start(create_after).await;
        match provider.create(&request).await {
            Ok(_) => Ok(true),
            Err(error) if error.class() == FailureClass::Transient => Ok(false),
            Err(error) => {
                Err(Stop::Broken(format!("{how}, and create failed as {:?}: {error}", error.class())))
            }
        }
    }
    .boxed();
    let delete: BoxFuture<'_, Checked<bool>> = async {
        start(delete_after).await;
        match provider.delete(&id).await {
            Ok(Deleted::Abandoned(what)) => Err(Stop::Broken(format!("{how}, and delete abandoned {what}"))),
            Ok(_) => Ok(true),
            Err(error) if error.class() == FailureClass::Transient => Ok(false),
            Err(error) => {
                Err(Stop::Broken(format!("{how}, and delete failed as {:?}: {error}", error.class())))
            }
        }
    }
    .boxed();
    let ended = w.together(vec![create, delete]).await?;
    w.wire().set_latency(Duration::ZERO);
    let mut both = true;
    for ended in ended {
        both &= ended.done().unwrap_or(Ok(false))?;
    }
    // One that failed may have left something half there, which the next one finds.
    if both {
        comes_to_rest(w, &request, &id, &how).await?;
    }

    let id = creates_in_the_end(w, &request).await?;
    one_whole_instance(w, &request.name).await?;
    w.goes(&id).await?;
    nothing_left(w, &format!("{how}, and in the end it was deleted")).await
}

/// What stands comes to run by itself, or goes; it does not stay half there.
async fn comes_to_rest(w: &World, request: &CreateRequest, deleted: &ProviderId, how: &str) -> Checked {
    let mut last = None;
    for _ in 0..60 {
        let there = w.instances(&request.name).await?;
        hold!(there.len() <= 1, "{how}, and there are {} instances", there.len());
        if there.is_empty() {
            // A delete that returned early is asked again until nothing is left.
            w.goes(deleted).await?;
            return nothing_of(w, request, how).await;
        }
        let Some(id) = listed(w, request).await? else {
            w.pass(Duration::from_secs(5)).await;
            continue;
        };
        let _ = w.hand().bring_up(&request.name).await;
        match w.get(&id).await? {
            Ok(instance) if matches!(instance.state, State::Running { .. }) => return Ok(()),
            Ok(instance) => last = Some(instance.state),
            Err(GetError::NotFound) => {}
            Err(error) => broken!("{how}, and then get {id} failed: {error}"),
        }
        w.pass(Duration::from_secs(5)).await;
    }
    broken!("{how}, and what stands neither runs nor goes: {last:?}")
}

async fn listed(w: &World, request: &CreateRequest) -> Checked<Option<ProviderId>> {
    Ok(w.lists().await?.items.into_iter().find(|item| item.uid == request.uid).map(|item| item.id))
}
