//! What get answers while an instance is deleted, and after.

use std::time::Duration;

use futures::FutureExt;
use provider_api::{CreateRequest, Deleted, GetError, Profile, ProviderId, State, profile::DeleteReturn};

use crate::{
    broken, hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, always, when},
    world::{Tweaks, World},
};

pub(super) const NOT_FOUND_AFTER_DELETE: Rule = Rule {
    id: "get.not-found-after-delete",
    level: Level::Must,
    says: "Once an instance is gone, by delete or by somebody else's hand, get answers NotFound and goes on to.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| not_found_after_delete(w).boxed()),
    absent: None,
    why: "NotFound is what releases a finalizer. A get that fails, or shows a memory, after an admin has \
          removed the machine leaves the object in deletion for ever; a gone VM that one backend reports as \
          a plain 500 has done that.",
    tested: "Deletes an instance, and asks again a while later and after a restart; another one is removed \
             by somebody else's hand. Get must be NotFound each time, and the observer must see no more of \
             the deleted one.",
    mend: "Map the backend's own word for absent, be it a 500 about a missing file, to `GetError::NotFound`. \
           Keep no instance longer than `listing_max_age`, and let no cache decide that one is gone.",
};

async fn not_found_after_delete(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    w.goes(&id).await?;
    let left = w.instances(&request.name).await?;
    hold!(left.is_empty(), "get {id} answered NotFound, but the observer still sees {}", request.name);
    w.wait_a_while().await;
    w.is_gone(&id, "a delete").await?;
    w.restart(&Tweaks::default())?;
    w.is_gone(&id, "a delete and a restart").await?;

    let (request, id, _) = w.running().await?;
    w.hand().remove(&request.name).await?;
    w.catch_up().await;
    w.is_gone(&id, "somebody else removed it").await
}

/// Whether a deletion can be seen in progress at all.
fn deletion_shows(profile: &Profile) -> Applies {
    when(profile.delete_return == DeleteReturn::ReturnsEarly || !profile.async_ops.is_empty())
}

/// Where deletions are never in progress, a delete ends with nothing there. Somebody else's may show all the same: where
/// the harness can begin one, it is looked at as if it had been declared.
async fn deletion_never_shows(w: &mut World, shown: impl AsyncFn(&mut World) -> Checked) -> Checked {
    match shown(w).await {
        Err(Stop::Blocked(_)) => {}
        Err(Stop::Broken(seen)) => broken!(
            "by `delete_return` and `async_ops` in the profile no deletion is ever seen in progress, yet somebody else's \
             is; {seen}"
        ),
        looked => looked?,
    }
    let (request, id, _) = w.running().await?;
    let deleted = w.deletes(&id).await?;
    hold!(
        deleted == Deleted::Gone,
        "the profile has no deletion that is seen in progress, but delete {id} answered {deleted:?}"
    );
    let left = w.instances(&request.name).await?;
    hold!(left.is_empty(), "delete {id} answered Gone, but the observer still sees {}", request.name);
    w.is_gone(&id, "a delete that answered Gone").await
}

pub(super) const VISIBLE_WHILE_DELETING: Rule = Rule {
    id: "get.visible-while-deleting",
    level: Level::Must,
    says: "While its deletion is in progress, get keeps answering with the instance.",
    caller: Caller::Reconciler,
    applies: deletion_shows,
    check: Check::Case(|w| visible_while_deleting(w).boxed()),
    absent: Some(Absence {
        check: |w| deletion_never_shows(w, visible_while_deleting).boxed(),
        shows: "a delete answered Gone with nothing left; a deletion in progress, where the harness could begin one, did not hide the instance",
    }),
    why: "NotFound releases the finalizer. If get says so while the machine still shuts down, its successor \
          collides with it; if that deletion then hangs, a machine runs on that nobody owns.",
    tested: "Somebody else begins a deletion and keeps it in progress. Get must go on answering with the \
             instance, on a fake after four hours too, and after a restart, and be NotFound once it ends. \
             Where the profile has no deletion in progress, the same is asked if the harness can begin one, \
             and a delete must answer Gone and leave nothing.",
    mend: "Answer NotFound only where the backend no longer shows the instance: a deletion's timestamp or \
           task is a state, not absence. Set no limit to it; a deletion that hangs still stands there.",
};

async fn visible_while_deleting(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    begin_deletion(w, &request.name).await?;
    still_shown(w, &request, &id, "shows").await?;
    if hangs_on(w, &request.name).await? {
        still_shown(w, &request, &id, "has shown for hours").await?;
    }
    w.restart(&Tweaks::default())?;
    still_shown(w, &request, &id, "shows to a new process").await?;
    w.hand().finish_deletion(&request.name).await?;
    w.catch_up().await;
    w.is_gone(&id, "the deletion came to its end").await
}

/// Holds that get answers with an instance that is being deleted.
async fn still_shown(w: &World, request: &CreateRequest, id: &ProviderId, shows: &str) -> Checked {
    match w.get(id).await? {
        Ok(instance) => w.is_of(&instance, request, id),
        Err(error) => broken!(
            "the backend {shows} that {} is being deleted; its instance was due, but get {id} failed as {}: {error}",
            request.name,
            error.class()
        ),
    }
}

pub(super) const DELETING_IS_NOT_RUNNING: Rule = Rule {
    id: "get.deleting-is-not-running",
    level: Level::Must,
    says: "Once the backend shows that an instance is being deleted, get does not report it Running.",
    caller: Caller::Reconciler,
    applies: deletion_shows,
    check: Check::Case(|w| deleting_is_not_running(w).boxed()),
    absent: Some(Absence {
        check: |w| deletion_never_shows(w, deleting_is_not_running).boxed(),
        shows: "a delete answered Gone with nothing left; during a deletion in progress, where the harness could begin one, get did not say Running",
    }),
    why: "A machine under removal still answers. Called Running it stays in the pool or comes back to it, \
          and users' connections break when it dies; a known proxy pool took such machines back for \
          answering a ping.",
    tested: "Somebody else begins a deletion and keeps it in progress. Get must not answer Running, on a \
             fake not after four hours either. Where the profile has no deletion in progress, the same is asked if \
             the harness can begin one, and a delete must answer Gone and leave nothing.",
    mend: "In the one function that makes a `State`, look at the backend's sign of a deletion before its \
           state, and answer Stopped or Terminated with a `Reason` that says so. Do so where the profile has \
           no deletions in progress too, for others may begin them, and do not go back to the state when one \
           takes long.",
};

async fn deleting_is_not_running(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    begin_deletion(w, &request.name).await?;
    for since in ["", ", for hours now"] {
        let instance = w.gets(&id).await?;
        hold!(
            !matches!(instance.state, State::Running { .. }),
            "the backend shows that {} is being deleted{since}, but get {id} answered {:?}; Stopped or Terminated was due",
            request.name,
            instance.state
        );
        if !hangs_on(w, &request.name).await? {
            break;
        }
    }
    Ok(())
}

/// A deletion that hangs: no provider may lose patience with it. Says whether it does so for this long, which only a
/// fake can do.
async fn hangs_on(w: &World, name: &provider_api::Name) -> Checked<bool> {
    if !w.is_fake() {
        return Ok(false);
    }
    w.pass(HANGS).await;
    Ok(w.instances(name).await?.iter().any(|thing| thing.deleting))
}

/// Longer than any patience that a provider might think of.
const HANGS: Duration = Duration::from_secs(4 * 3_600);

/// Begins a deletion by another hand; the observer must see it.
async fn begin_deletion(w: &World, name: &provider_api::Name) -> Checked {
    w.hand().begin_deletion(name).await?;
    w.catch_up().await;
    if w.instance(name).await?.deleting {
        Ok(())
    } else {
        Err(Stop::Error(format!("the observer does not see that {name} is being deleted")))
    }
}

pub(super) const FRESH_AFTER_OWN_WRITE: Rule = Rule {
    id: "get.fresh-after-own-write",
    level: Level::Must,
    says: "After a create or delete of the same name no answer of get is older than that, and NotFound is never an \
           old answer.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| fresh_after_own_write(w).boxed()),
    absent: None,
    why: "A get right after a delete, answered from an older listing, shows a proxy that is gone. One right \
          after a create answers NotFound, and the reconciler makes another or forgets what it has just \
          made.",
    tested: "Lists and gets an instance, deletes it and asks get at once: the answer must fit what the \
             observer sees, gone or not, and not be Running under a deletion. Then creates it anew: get \
             must find it, once the profile's settle time has passed. In the end deletes it, hears \
             NotFound and lets another process create it: get must find it again.",
    mend: "Note for each name when create or delete last ended, and use a shared listing only when it was \
           begun after that. Stamp both from one counter, so that the clock's steps do not matter. Keep \
           NotFound for no time at all: another process may make the instance. In doubt ask the backend.",
};

async fn fresh_after_own_write(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    // Both answers are as fresh as can be when the delete comes, so that a shared one would still be given out.
    w.lists().await?;
    w.gets(&id).await?;
    let deleted = w.deletes(&id).await?;
    let before = w.instances(&request.name).await?.pop();
    let answer = w.get(&id).await?;
    match (before, answer) {
        (None, Err(GetError::NotFound)) => {}
        (None, Ok(instance)) => {
            broken!(
                "delete {id} answered {deleted:?} and left nothing, but get answered {:?}",
                instance.state
            )
        }
        (Some(thing), Ok(instance)) => hold!(
            !(thing.deleting && matches!(instance.state, State::Running { .. })),
            "delete {id} answered {deleted:?}, but get directly after it still answered {:?}",
            instance.state
        ),
        (Some(_), Err(GetError::NotFound)) => {
            let still = w.instances(&request.name).await?;
            hold!(
                still.is_empty(),
                "delete {id} answered {deleted:?}; get answered NotFound of what still stands"
            )
        }
        (_, Err(GetError::Failed(error))) => broken!("get {id} failed after delete: {error}"),
    }
    w.goes(&id).await?;
    let again = w.creates(&request).await?;
    // Here the delay is the backend's own, and declared.
    let settle = w.profile().settle;
    if !settle.is_zero() {
        w.pass(settle).await;
    }
    match w.get(&again).await? {
        Ok(instance) => w.is_of(&instance, &request, &again)?,
        Err(error) => broken!("create answered {again}, but get directly after it failed: {error}"),
    }
    w.goes(&again).await?;
    made_elsewhere(w, &request, &again).await
}

/// What another process has made again is found at once by one that has just answered NotFound.
async fn made_elsewhere(w: &World, request: &CreateRequest, id: &ProviderId) -> Checked {
    w.is_gone(id, "a delete").await?;
    let other = w.build(&Tweaks::default())?.provider;
    w.note("another process creates it again".into());
    let made = match w.alone(async move { other.create(request).await }).await? {
        Ok(made) => made,
        Err(error) => broken!("another process cannot create {} again: {error}", request.name),
    };
    let settle = w.profile().settle;
    if !settle.is_zero() {
        w.pass(settle).await;
    }
    match w.get(&made).await? {
        Ok(instance) => w.is_of(&instance, request, &made),
        Err(error) => broken!(
            "get {made} was NotFound, as was due; then another process created it, and get still failed: {error}"
        ),
    }
}
