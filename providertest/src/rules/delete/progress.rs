//! Deletions that take their time.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{
    CreateRequest, Deleted, GetError, Operation, ProviderId, State, Wait,
    profile::{DeleteReturn, Timeouts},
};

use crate::{
    broken, hold,
    look::spelt,
    looks::Looks,
    rule::{Absence, Caller, Check, Checked, Level, Rule, Stop, always, when},
    rules::{
        budgets::{SLACK, hangs_in_time},
        create::verbs::nothing_of,
        sweeps::verbs::nothing_left,
    },
    world::World,
};

pub(super) const REPEAT_WHILE_DELETING: Rule = Rule {
    id: "delete.repeat-while-deleting",
    level: Level::Must,
    says: "Deletes while a deletion is in progress succeed, and pile up no work on the backend.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| repeat_while_deleting(w).boxed()),
    absent: None,
    why: "The reconciler asks again every few seconds while a deletion runs. If each delete submits another, \
          tasks queue up behind the lock, fail one by one, and the object goes in and out of error.",
    tested: "Somebody else's deletion is in progress for eight seconds, and five deletes come a second \
             apart. Each must answer Gone or Accepted; together with the deletes until Gone they may make no \
             more changing calls than one plain delete, and nothing may be left.",
    mend: "Look at the deletion's own sign first (a timestamp, a state, a running task). While it shows, \
           submit nothing: answer `Deleted::Accepted`, or wait for the end within a `BoundedWait` where the \
           profile says that deletes wait. Look at parts too, and send no deletion for one that is gone: that \
           counts like any other.",
};

async fn repeat_while_deleting(w: &mut World) -> Checked {
    let (_, plain, _) = w.running().await?;
    let moment = w.moment();
    w.goes(&plain).await?;
    let needed = w.changes(moment);

    let (request, id, _) = w.running().await?;
    w.hand().begin_deletion(&request.name).await?;
    w.catch_up().await;
    let moment = w.moment();
    // Each of them may wait for the end, which comes only while they do.
    let (provider, world) = (Arc::clone(w.provider()), &*w);
    let mut operations: Vec<BoxFuture<'_, Checked>> = Vec::new();
    for number in 0..5 {
        let (provider, id) = (Arc::clone(&provider), id.clone());
        operations.push(
            async move {
                world.case().clock.sleep(Duration::from_secs(number), Wait::Idle).await;
                match provider.delete(&id).await {
                    Ok(Deleted::Gone | Deleted::Accepted) => Ok(()),
                    Ok(other) => {
                        Err(Stop::Broken(format!("delete {id} while it is being deleted answered {other:?}")))
                    }
                    Err(error) => {
                        Err(Stop::Broken(format!("delete {id} while it is being deleted failed: {error}")))
                    }
                }
            }
            .boxed(),
        );
    }
    let name = &request.name;
    operations.push(
        async move {
            world.case().clock.sleep(Duration::from_secs(8), Wait::Idle).await;
            Ok(world.hand().finish_deletion(name).await?)
        }
        .boxed(),
    );
    for ended in w.together(operations).await? {
        ended.done().transpose()?;
    }
    w.goes(&id).await?;
    let made = w.changes(moment);
    hold!(
        made <= needed,
        "a whole delete makes {needed} changing calls, so no more were due for {id}, whose deletion was in progress \
         already; five deletes of it made {made}"
    );
    nothing_left(w, "after a deletion that was in progress").await
}

pub(super) const GONE_MEANS_GONE: Rule = Rule {
    id: "delete.gone-means-gone",
    level: Level::Must,
    says: "Gone is answered when nothing is left, and not before; then get is NotFound and the listing has it no more. A \
           delete that cannot wait for it ends within its budget, the config's where that gives one.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| gone_means_gone(w).boxed()),
    absent: None,
    why: "Gone releases the finalizer, and nobody comes back. A destroy that had answered with a task id and \
          then failed on a lock was taken for done: the VM ran on, unowned and on the bill.",
    tested: "Deletes an instance that runs, one that has not booted, and one whose deletion hangs, on a fake \
             for four hours. While it stands, Gone is broken, and a delete must end within its budget; at Gone \
             the observer must see nothing of it, also a while later, get must be NotFound and the listing be \
             without it. Where budgets are declared, nothing answers then: delete must be Transient within \
             the profile's budget, and within five seconds where the config gives those.",
    mend: "Wait for the task's end, read its result, then look again; answer `Deleted::Accepted` or an error \
           while anything shows, however long that takes: no age of a deletion makes it Gone. A \
           `BoundedWait` that runs out is `Error::transient`. Run the \
           whole delete in `Seam::bounded`, with the entry's budget over the profile's.",
};

async fn gone_means_gone(w: &mut World) -> Checked {
    for booted in [true, false] {
        let (request, id) = w.created().await?;
        if booted {
            w.runs(&request.name, &id).await?;
        }
        until_gone(w, &request, &id).await?;
    }
    // One that is in progress is not gone, whoever began it.
    let (request, id, _) = w.running().await?;
    w.hand().begin_deletion(&request.name).await?;
    w.catch_up().await;
    let since = w.elapsed();
    for _ in 0..if w.is_fake() { 2 } else { 1 } {
        let hangs = spelt(w.elapsed().saturating_sub(since));
        let (began, budget) = (w.elapsed(), w.profile().budgets.delete);
        let answer = w.delete(&id).await?;
        let took = w.elapsed().saturating_sub(began);
        hold!(
            took <= budget + SLACK || w.profile().timeouts != Timeouts::PerCall,
            "the deletion of {id} hangs, and a delete took {took:?}; its budget is {budget:?}"
        );
        let stands = !w.instances(&request.name).await?.is_empty();
        hold!(
            !stands || answer != Ok(Deleted::Gone),
            "the deletion of {id} has been in progress for {hangs}, and it still stands, but delete answered Gone"
        );
        if w.is_fake() {
            // It hangs, and no provider may lose patience with it.
            w.pass(Duration::from_secs(4 * 3_600)).await;
        }
    }
    hangs_in_time(w, Operation::Delete, Some(&id)).await?;
    // A provider that forces what hangs has ended it already.
    if !w.instances(&request.name).await?.is_empty() {
        w.hand().finish_deletion(&request.name).await?;
    }
    until_gone(w, &request, &id).await
}

async fn until_gone(w: &World, request: &CreateRequest, id: &ProviderId) -> Checked {
    let mut looks = Looks::new(90, Duration::from_secs(2));
    while looks.again(w).await {
        if w.deletes(id).await? == Deleted::Gone {
            nothing_of(w, request, &format!("delete {id} answered Gone")).await?;
            w.is_gone(id, "delete answered Gone").await?;
            let listed = w.lists().await?.items.iter().any(|item| item.uid == request.uid);
            hold!(!listed, "delete {id} answered Gone, and the listing still has it");
            w.wait_a_while().await;
            return nothing_of(w, request, &format!("delete {id} answered Gone a while ago")).await;
        }
    }
    broken!("delete {id} never answered Gone")
}

pub(super) const ACCEPTED_STAYS_VISIBLE: Rule = Rule {
    id: "delete.accepted-stays-visible",
    level: Level::Must,
    says: "After Accepted get shows the instance until it is gone; a delete that waits never answers Accepted.",
    caller: Caller::Reconciler,
    applies: |profile| when(profile.delete_return == DeleteReturn::ReturnsEarly),
    check: Check::Case(|w| accepted_stays_visible(w).boxed()),
    absent: Some(Absence {
        check: |w| never_accepted(w).boxed(),
        shows: "each delete waited and answered Gone, with nothing left",
    }),
    why: "After Accepted the reconciler watches get for the end. If get is NotFound too soon, the finalizer \
          goes while the machine still has its name, its disk and its price.",
    tested: "Deletes, and while the observer sees the instance get must answer with it, not Running; then \
             NotFound. While a deletion hangs, delete must answer Accepted and get show the instance. Where \
             deletes are declared to wait, each must answer Gone with nothing left.",
    mend: "Let get read the backend, not a memory of what was deleted, and be NotFound only when nothing \
           shows. Where delete waits for the end, declare `DeleteReturn::Waits` and never answer \
           `Deleted::Accepted`.",
};

async fn accepted_stays_visible(w: &mut World) -> Checked {
    // As the backend does it by itself.
    let (request, id, _) = w.running().await?;
    w.deletes(&id).await?;
    let mut looks = Looks::new(90, Duration::from_secs(2));
    while looks.again(w).await {
        if w.instances(&request.name).await?.is_empty() {
            break;
        }
        visible(w, &request, &id).await?;
    }
    w.is_gone(&id, "the instance went from the backend").await?;

    // One that hangs.
    let (request, id, _) = w.running().await?;
    w.hand().begin_deletion(&request.name).await?;
    w.catch_up().await;
    let answer = w.deletes(&id).await?;
    hold!(answer == Deleted::Accepted, "the deletion of {id} is in progress, and delete answered {answer:?}");
    for _ in 0..3 {
        visible(w, &request, &id).await?;
        w.pass(Duration::from_secs(if w.is_fake() { 60 } else { 5 })).await;
    }
    w.hand().finish_deletion(&request.name).await?;
    w.catch_up().await;
    w.goes(&id).await
}

async fn visible(w: &World, request: &CreateRequest, id: &ProviderId) -> Checked {
    match w.get(id).await? {
        Ok(instance) => hold!(
            !matches!(instance.state, State::Running { .. }),
            "the deletion of {id} shows on the backend, and get says Running"
        ),
        Err(GetError::NotFound) => {
            // On a real backend it may have come to its end since the observer looked.
            let stands = w.is_fake() || !w.instances(&request.name).await?.is_empty();
            hold!(!stands, "the deletion of {id} is in progress, and get answered NotFound");
        }
        Err(error) => broken!("the deletion of {id} is in progress, and get failed: {error}"),
    }
    Ok(())
}

async fn never_accepted(w: &mut World) -> Checked {
    for booted in [true, false] {
        let (request, id) = w.created().await?;
        if booted {
            w.runs(&request.name, &id).await?;
        }
        let answer = w.deletes(&id).await?;
        hold!(answer == Deleted::Gone, "delete is declared to wait, and answered {answer:?} for {id}");
        nothing_of(w, &request, "delete waited").await?;
    }
    Ok(())
}
