//! What a provider does by itself: nothing when it is built, nothing once its callers are gone. And what it reads
//! anew: its credentials.

use std::{fs, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{Class, OperationId, Wait};

use crate::{
    broken,
    drive::Ended,
    faults::{Answer, Call, CallerThen, Effect, Fault, Match},
    hold,
    rule::{Checked, Stop},
    wire::Condition,
    world::{Tweaks, World},
};

/// How long a provider is watched for what it does by itself.
const A_WHILE: Duration = Duration::from_secs(900);

pub(super) async fn constructor_does_not_dial(w: &mut World) -> Checked {
    if !w.is_fake() {
        return Err(Stop::Blocked("the harness does not see the calls on a real backend".into()));
    }
    let targets = w.backend().targets();
    targets.iter().for_each(|target| w.wire().set_condition(target, Some(Condition::Cut)));
    let _ = w.hand().spoil_credentials(true).await;
    let before = w.wire().call_count();
    w.restart(&Tweaks::default())?;
    idle(w).await?;
    if let Some(call) = w.calls().get(before) {
        broken!("building the provider led to a backend call, {} on {}", call.kind, call.target);
    }
    let _ = w.hand().spoil_credentials(false).await;
    targets.iter().for_each(|target| w.wire().set_condition(target, None));
    // It was built while nothing could be reached, and works all the same.
    w.created().await?;
    Ok(())
}

/// Lets time pass, with tasks that nobody waits for running meanwhile.
async fn idle(w: &World) -> Checked {
    let clock = Arc::clone(&w.case().clock);
    w.alone(async move {
        for _ in 0..30 {
            clock.sleep(A_WHILE / 30, Wait::Idle).await;
            // Gives the executor to whatever was spawned.
            let mut turns = 0;
            while turns < 16 && tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
                tokio::task::yield_now().await;
                turns += 1;
            }
        }
    })
    .await?;
    w.settle().await;
    Ok(())
}

pub(super) async fn no_work_after_drop(w: &mut World) -> Checked {
    if !w.is_fake() {
        return Err(Stop::Blocked("the harness cannot drop a caller of a real backend at its call".into()));
    }
    for operation in [Op::Create, Op::Delete] {
        let calls = dry_run(w, operation).await?;
        for call in calls {
            dropped_at(w, operation, &call).await?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Create,
    Delete,
}

/// The calls of an operation, each kind first and last.
async fn dry_run(w: &mut World, operation: Op) -> Checked<Vec<Call>> {
    let future = prepare(w, operation).await?;
    let id = w.next_operation();
    w.alone(future).await?;
    let mine: Vec<_> = w.calls().into_iter().filter(|call| call.operation == Some(OperationId(id))).collect();
    let last = |kind: &str| mine.iter().filter(|call| call.kind == kind).map(|call| call.nth).max();
    let keep = |call: &&Call| call.nth == 0 || Some(call.nth) == last(&call.kind);
    Ok(mine.iter().filter(keep).cloned().collect())
}

async fn dropped_at(w: &mut World, operation: Op, call: &Call) -> Checked {
    let future = prepare(w, operation).await?;
    let at = Match { operation: w.next_operation(), kind: call.kind.clone(), nth: call.nth };
    let (effect, answer, caller) = (Effect::Now, Answer::Normal, CallerThen::Dropped);
    w.arm([Fault { at, effect, answer, caller, repeats: false }]);
    let ended = w.together(vec![future]).await?.pop();
    let missed = !w.wire().missed().is_empty();
    w.wire().disarm();
    if missed {
        // A poll less than last time: there was no such call to be dropped at.
        return Ok(());
    }
    if !matches!(ended, Some(Ended::Dropped)) {
        return Err(Stop::Error("a caller that was to go away stayed".into()));
    }
    w.settle().await;
    let before = w.wire().call_count();
    w.note(format!(
        "{operation:?} is dropped at {}#{}, and a quarter of an hour passes",
        call.kind, call.nth
    ));
    idle(w).await?;
    let later = w.calls().into_iter().skip(before).find(|call| call.mutates);
    if let Some(later) = later {
        broken!(
            "after a {operation:?} was dropped at {}#{}, {} was called on {} with nobody waiting for it",
            call.kind,
            call.nth,
            later.kind,
            later.target
        );
    }
    Ok(())
}

async fn prepare(w: &mut World, operation: Op) -> Checked<BoxFuture<'static, ()>> {
    let provider = Arc::clone(w.provider());
    Ok(match operation {
        Op::Create => {
            let request = w.request();
            async move { drop(provider.create(&request).await) }.boxed()
        }
        Op::Delete => {
            let (_, id, _) = w.running().await?;
            async move { drop(provider.delete(&id).await) }.boxed()
        }
    })
}

pub(super) async fn credentials_rotate(w: &mut World) -> Checked {
    let (_, id, _) = w.running().await?;
    for turn in ["first", "second"] {
        w.hand().rotate_credentials().await?;
        w.note(format!("the credentials are rotated for the {turn} time"));
        w.pass(w.profile().listing_max_age + Duration::from_secs(1)).await;
        if let Err(error) = w.get(&id).await? {
            broken!("after credentials were rotated get still uses old ones: {error}");
        }
        w.running().await?;
        w.lists().await?;
    }
    // That the old ones no longer count shows by what bad ones do.
    w.hand().spoil_credentials(true).await?;
    w.pass(w.profile().listing_max_age + Duration::from_secs(1)).await;
    match w.get(&id).await? {
        Ok(_) => broken!("get works with credentials that the backend does not accept: it uses old ones"),
        Err(error) if error.class() == Class::NotFound => {
            broken!("get answered NotFound with credentials that the backend does not accept")
        }
        Err(_) => {}
    }
    w.hand().spoil_credentials(false).await?;
    w.gets(&id).await?;
    w.goes(&id).await
}

/// A provider that declares to need no credentials reads none, and works without.
pub(super) async fn no_credentials(w: &mut World) -> Checked {
    w.running().await?;
    let entries = fs::read_dir(w.case().folder.path()?);
    let entries =
        entries.map_err(|error| Stop::Error(format!("the case's folder cannot be read: {error}")))?;
    let files = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).count();
    hold!(files == 0, "the profile says that no credentials are needed, and there are {files} files of them");
    hold!(
        w.hand().rotate_credentials().await.is_err(),
        "the profile says that no credentials are needed, and there are some to rotate"
    );
    Ok(())
}
