//! Deletes of what is gone, of what never was, and by ids that name nothing.

use futures::FutureExt;
use provider_api::{Class, Deleted, Grammar, ProviderId, profile::SecondaryResources};

use crate::{
    broken, hold,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::{ids, sweeps::verbs::nothing_left},
    world::{Tweaks, World},
};

pub(super) const IDEMPOTENT: Rule = Rule {
    id: "delete.idempotent",
    level: Level::Must,
    says: "Deleting again succeeds, however often, by a new process too, and disturbs nothing else.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| idempotent(w).boxed()),
    absent: None,
    why: "The reconciler repeats a delete until it hears Gone. A client that timed out on a delete that \
          worked got a 404 at the next try, took it for an error, and kept the object in deletion.",
    tested: "Deletes an instance to its end and then again, again with another owner's new instance beside \
             it, and again by a new process. Each answer must be Gone, and the other instance must stand as \
             it was.",
    mend: "Take the backend's code of absence as success at every step: the look, the stop, the removal, \
           each part. One small function around each call that turns it into `None` keeps that in one place.",
};

async fn idempotent(w: &mut World) -> Checked {
    let (_, id, _) = w.running().await?;
    w.goes(&id).await?;
    gone(w, &id, "the instance is gone").await?;
    let (other, _) = w.created().await?;
    let stands = w.instance(&other.name).await?.key;
    gone(w, &id, "the instance is gone, and another was made since").await?;
    w.restart(&Tweaks::default())?;
    gone(w, &id, "the instance is gone, and the process is a new one").await?;
    let still = w.instance(&other.name).await?.key;
    hold!(still == stands, "repeated deletes of {id} replaced {stands} by {still}");
    Ok(())
}

/// Deletes, and must hear that nothing is left.
async fn gone(w: &World, id: &ProviderId, when: &str) -> Checked {
    match w.delete(id).await? {
        Ok(Deleted::Gone) => Ok(()),
        Ok(other) => broken!("{when}, and delete {id} answered {other:?}"),
        Err(error) => broken!("{when}, and delete {id} failed as {:?}: {error}", error.class()),
    }
}

pub(super) const ABSENT_IS_OK: Rule = Rule {
    id: "delete.absent-is-ok",
    level: Level::Must,
    says: "Deleting what somebody else removed, or what never was, answers Gone.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| absent_is_ok(w).boxed()),
    absent: None,
    why: "Admins remove machines by hand, and some creates fail before they make anything. If delete fails \
          over what is not there, the finalizer never goes, and somebody has to edit the object.",
    tested: "Deletes by a well-formed id under which nothing ever stood, then an instance that somebody has \
             removed, then, where the provider removes parts itself, one of which only the parts are left. \
             Each must answer Gone; the first may touch no other instance, the others must leave nothing.",
    mend: "Map the backend's not-found to success, whatever its status, for the instance and for each part \
           by itself. When the instance is absent go on to its parts.",
};

async fn absent_is_ok(w: &mut World) -> Checked {
    // What never was: a well-formed id with a name that nobody has had.
    let (request, id) = w.created().await?;
    let stands = w.instance(&request.name).await?;
    let never = w.request().name;
    let absent = ProviderId::new(id.as_str().replace(request.name.as_str(), never.as_str()));
    if absent == id {
        return Err(Stop::Error(format!("the id {id} does not hold the name {}", request.name)));
    }
    gone(w, &absent, "nothing ever stood at the id").await?;
    let still = w.instance(&request.name).await?;
    hold!(still.key == stands.key && !still.deleting, "delete {absent} touched {}", request.name);

    // What somebody else removed, parts and all.
    w.hand().remove(&request.name).await?;
    w.catch_up().await;
    gone(w, &id, "somebody removed the instance").await?;
    nothing_left(w, "after a delete of an instance that somebody had removed").await?;
    if w.profile().secondary_resources != SecondaryResources::Explicit {
        return Ok(());
    }
    let (request, id, _) = w.running().await?;
    w.hand().remove_instance_only(&request.name).await?;
    w.catch_up().await;
    gone(w, &id, "somebody removed the instance but not its parts").await?;
    nothing_left(w, "after a delete of an instance that somebody had removed from its parts").await
}

pub(super) const MALFORMED_ID: Rule = Rule {
    id: "delete.malformed-id-is-permanent",
    level: Level::Must,
    says: "For an id that it can never resolve, delete answers Permanent without a backend call; it panics on no input.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| malformed_id(w).boxed()),
    absent: None,
    why: "A mangled id that is answered with Gone releases the finalizer while the instance runs on, \
          unowned. Put into a path as it is, it may remove something else.",
    tested: "Draws 192 ids from the case's seed, most of them near a real one. What can never be resolved \
             must be Permanent without a backend call; only an id of the right shape may be Abandoned \
             instead. Nothing may change, and an id that fails is shortened for the report.",
    mend: "Share get's strict parser: `Grammar::parse`, `Name::parse`, then each other field, before the \
           gate and the first call. Answer `Error::permanent`, leaving `LeftBehind::Nothing`.",
};

async fn malformed_id(w: &mut World) -> Checked {
    let (_, real, _) = w.running().await?;
    let before = w.snapshot().await?;
    let moment = w.moment();
    let mut malformed = 0;
    for mut text in ids::drawn(w.case().seed, &real) {
        if text == real.as_str() {
            continue;
        }
        malformed += usize::from(ids::is_malformed(w.profile().id_pattern, &text));
        let Err(mut worst) = judge(w, &text).await else { continue };
        // A shorter id that fails too makes a better report.
        while let Some((shorter, stop)) = shorter_that_fails(w, &text, &real).await {
            (text, worst) = (shorter, stop);
        }
        return Err(worst);
    }
    if malformed == 0 {
        return Err(Stop::Error("no malformed id was drawn".into()));
    }
    w.untouched(moment, &before, "delete by edited ids").await
}

async fn shorter_that_fails(w: &World, text: &str, real: &ProviderId) -> Option<(String, Stop)> {
    for shorter in ids::shorter(text) {
        if shorter != real.as_str()
            && let Err(stop @ Stop::Broken(_)) = judge(w, &shorter).await
        {
            return Some((shorter, stop));
        }
    }
    None
}

/// Holds what must hold for one id, malformed or of something that is not there.
async fn judge(w: &World, text: &str) -> Checked {
    let moment = w.moment();
    let id = ProviderId::new(text);
    let answer = w.delete(&id).await?;
    let pattern = w.profile().id_pattern;
    // A target that nothing could be called is none that is configured either, and may be abandoned.
    let abandoned = matches!(answer, Ok(Deleted::Abandoned(_))) && Grammar::new(pattern).fits(&id);
    if abandoned && w.cost(moment) == 0 || !ids::is_malformed(pattern, text) {
        return Ok(());
    }
    let shown: String = text.chars().take(120).collect();
    let class = answer.as_ref().err().map(|error| Class::from(error.class()));
    match (class, w.cost(moment)) {
        (Some(Class::Permanent), 0) => Ok(()),
        (Some(Class::Permanent), calls) => {
            broken!("delete {shown:?} can never be resolved, but made {calls} backend calls; none was due")
        }
        (Some(class), _) => {
            broken!("delete {shown:?} can never be resolved, but failed as {class}; Permanent was due")
        }
        (None, _) => {
            let gone = answer.map_or_else(|error| error.to_string(), |deleted| format!("{deleted:?}"));
            broken!("delete {shown:?} can never be resolved, but answered {gone}; Permanent was due")
        }
    }
}
