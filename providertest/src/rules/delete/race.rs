//! A delete and a create of one owner at the same time.

use std::{fmt, sync::Arc, time::Duration};

use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use provider_api::{CreateRequest, Deleted, FailureClass, GetError, ProviderId, State, Wait};

use crate::{
    broken,
    faults::FaultPlan,
    hold,
    looks::Looks,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::{
        create::verbs::{LATENCY, answer_time, nothing_of},
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
    check: Check::Sweep {
        plans: |_| ready(Ok(every_race().map(FaultPlan::faultless).collect())).boxed(),
        run: |w, plan| race(w, plan).boxed(),
    },
    absent: None,
    why: "A user deletes a proxy while its create still clones. A delete that finds nothing yet answers \
          Gone, and the machine appears a minute later with nobody to own it.",
    tested: "A create and a delete of one owner run at once with slow answers: five head starts, either one \
             first, the instance there or not. Each may fail as Transient only; when both succeed, what \
             stands must come to run, or nothing be left. Afterwards create must lead to one whole instance, \
             and delete to nothing.",
    mend: "Let both take `Gate::name` before their first look and hold it to the end, and look anew after \
           every wait. A delete that finds its own half-made instance or placeholder removes it, or waits \
           for its lock.",
};

/// One race.
#[derive(Clone, Copy)]
struct Race {
    /// How many answers the first is ahead.
    head_start: u32,
    delete_first: bool,
    /// Whether the instance stands when it begins.
    stands: bool,
}

/// From no head start up to one that lets the first be nearly done.
fn every_race() -> impl Iterator<Item = Race> {
    [0, 1, 2, 3, 5].into_iter().flat_map(|head_start| {
        [true, false].into_iter().flat_map(move |delete_first| {
            [true, false].map(|stands| Race { head_start, delete_first, stands })
        })
    })
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { head_start, delete_first, stands } = self;
        let first = if *delete_first { "delete" } else { "create" };
        write!(f, "{first}-ahead-by-{head_start}-{}", if *stands { "standing" } else { "gone" })
    }
}

async fn race(w: &mut World, plan: &FaultPlan) -> Checked {
    let variant = plan.variant.as_deref().unwrap_or_default();
    let Some(race) = every_race().find(|race| race.to_string() == variant) else {
        return Err(Stop::Error(format!("no race is called {variant:?}")));
    };
    let Race { head_start, delete_first, stands } = race;
    let (request, id) = w.created().await?;
    if stands {
        w.runs(&request.name, &id).await?;
    } else {
        w.goes(&id).await?;
    }
    let first = if delete_first { "the delete" } else { "the create" };
    let order = match head_start {
        0 => "create and delete began at once".to_owned(),
        _ => format!("{first} began {head_start} answers before the other"),
    };
    let how = format!("{order}, while {} {}", request.name, if stands { "stood" } else { "was not there" });
    let (create_after, delete_after) = if delete_first { (head_start, 0) } else { (0, head_start) };
    w.wire().set_latency(LATENCY);
    let (provider, world, answer) = (Arc::clone(w.provider()), &*w, answer_time(w));
    let start = |after: u32| world.case().clock.sleep(answer * after + Duration::from_millis(1), Wait::Idle);
    // Each says whether it succeeded.
    let create: BoxFuture<'_, Checked<bool>> = async {
        start(create_after).await;
        match provider.create(&request).await {
            Ok(_) => Ok(true),
            Err(error) if error.class() == FailureClass::Transient => Ok(false),
            Err(error) => Err(Stop::Broken(format!(
                "{how}, and create failed as {:?}, where only Transient may be: {error}",
                error.class()
            ))),
        }
    }
    .boxed();
    let delete: BoxFuture<'_, Checked<bool>> = async {
        start(delete_after).await;
        match provider.delete(&id).await {
            Ok(Deleted::Abandoned(what)) => Err(Stop::Broken(format!("{how}, and delete abandoned {what}"))),
            Ok(_) => Ok(true),
            Err(error) if error.class() == FailureClass::Transient => Ok(false),
            Err(error) => Err(Stop::Broken(format!(
                "{how}, and delete failed as {:?}, where only Transient may be: {error}",
                error.class()
            ))),
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
    let mut looks = Looks::new(60, Duration::from_secs(5));
    while looks.again(w).await {
        let there = w.instances(&request.name).await?;
        hold!(there.len() <= 1, "{how}, and there are {} instances", there.len());
        if there.is_empty() {
            // A delete that returned early is asked again until nothing is left.
            w.goes(deleted).await?;
            return nothing_of(w, request, how).await;
        }
        let Some(id) = listed(w, request).await? else { continue };
        let _ = w.hand().bring_up(&request.name).await;
        match w.get(&id).await? {
            Ok(instance) if matches!(instance.state, State::Running { .. }) => return Ok(()),
            Ok(instance) => last = Some(instance.state),
            Err(GetError::NotFound) => {}
            Err(error) => broken!("{how}, and then get {id} failed: {error}"),
        }
    }
    broken!("{how}, and what stands neither runs nor goes: {last:?}")
}

async fn listed(w: &World, request: &CreateRequest) -> Checked<Option<ProviderId>> {
    Ok(w.lists().await?.items.into_iter().find(|item| item.uid == request.uid).map(|item| item.id))
}
