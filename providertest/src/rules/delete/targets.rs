//! Instances on targets that the config no longer has, or no longer wants.

use futures::FutureExt;
use provider_api::{Deleted, FailureClass, GetError, Profile, profile::Targets};

use crate::{
    broken,
    harness::Shape,
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, when},
    world::{Tweaks, World},
};

pub(super) const ABANDONED_IS_SAID: Rule = Rule {
    id: "delete.abandoned-is-said",
    level: Level::Should,
    says: "For an id whose target is no longer configured, delete answers Abandoned and names what may stand there.",
    caller: Caller::Reconciler,
    applies: several,
    check: Check::Case(|w| abandoned_is_said(w).boxed()),
    absent: Some(Absence {
        check: |w| nothing_is_abandoned(w).boxed(),
        shows: "the config has no shape without its one target, and no delete abandoned anything",
    }),
    why: "A host has left the config, and its proxies' objects are to go. An error keeps them in deletion \
          for ever; a plain Gone does not tell the admin what may still run there.",
    tested: "Restarts the provider without the instance's target. Two deletes must answer Abandoned, naming \
             instance and target, without a call to that target, get must not answer NotFound, and the instance \
             must stand. With the target back a delete must remove it. Where an entry is declared to have one \
             target, the harness must know one, and be unable to leave it out, and deletes of what stands, goes \
             and is gone must not be Abandoned.",
    mend: "Look the id's target up in the config before any call. When it is not there, let delete answer \
           `Deleted::Abandoned` with a sentence that names instance and target, and get fail with \
           `Error::permanent`: nobody has looked. Do not go looking elsewhere.",
};

fn several(profile: &Profile) -> Applies {
    when(profile.targets == Targets::Several)
}

/// The one target of an entry, which no shape of its config is without.
fn the_one_target(w: &World, shape: fn(String) -> Shape) -> Checked<String> {
    let targets = w.backend().targets();
    let [target] = targets.as_slice() else {
        broken!("the profile says that an entry has one target, but there are {}", targets.join(", "))
    };
    let shape = shape(target.clone());
    hold!(
        w.backend().block(std::slice::from_ref(&shape)).is_err(),
        "the profile says that an entry has one target, but the harness has a config of the shape {shape:?}"
    );
    Ok(target.clone())
}

/// Whether instances stand at places that are no targets, but a field of the creating call.
fn places_are_fields(w: &World) -> bool {
    w.backend().placements().len() > 1
}

/// With its one target an entry goes as a whole, so that nobody is left to abandon anything.
async fn nothing_is_abandoned(w: &mut World) -> Checked {
    let target = the_one_target(w, Shape::Without)?;
    let (request, id, _) = w.running().await?;
    let at = w.instance(&request.name).await?.target;
    hold!(
        at == target || places_are_fields(w),
        "{target} is an entry's one target, but {} was made on {at}",
        request.name
    );
    w.goes(&id).await?;
    w.restart(&Tweaks::default())?;
    if let Deleted::Abandoned(what) = w.deletes(&id).await? {
        broken!("{target} is configured, and delete of what is gone abandoned {what}");
    }
    Ok(())
}

/// Where the one target cannot be decommissioned, every place takes creates, or each place can be decommissioned by itself.
async fn nothing_is_decommissioned(w: &mut World) -> Checked {
    if places_are_fields(w) {
        return decommissioned_target(w).await;
    }
    let target = the_one_target(w, Shape::Decommissioned)?;
    for placement in w.backend().placements() {
        let mut request = w.request();
        request.placement = placement;
        w.creates(&request).await?;
        let at = w.instance(&request.name).await?.target;
        hold!(at == target, "{target} is an entry's one target, but {} was made on {at}", request.name);
    }
    Ok(())
}

async fn abandoned_is_said(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    let stands = w.instance(&request.name).await?;
    let target = stands.target.clone();
    w.restart(&Tweaks::shape(Shape::Without(target.clone())))?;
    let count = w.wire().call_count();
    for _ in 0..2 {
        match w.delete(&id).await? {
            Ok(Deleted::Abandoned(what)) => {
                let named = what.contains(request.name.as_str()) && what.contains(&target);
                hold!(named, "delete abandoned {what:?}, which does not name {} on {target}", request.name);
            }
            Ok(other) => broken!("{target} is no longer configured, and delete {id} answered {other:?}"),
            Err(error) => broken!("{target} is no longer configured, and delete {id} failed: {error}"),
        }
    }
    if matches!(w.get(&id).await?, Err(GetError::NotFound)) {
        broken!("{target} is no longer configured, and get {id} answered NotFound, though it stands there");
    }
    let dialled = w.calls_since(count).into_iter().find(|call| call.target == target);
    hold!(dialled.is_none(), "{target} is no longer configured, and was called: {dialled:?}");
    let still = w.instance(&request.name).await?;
    hold!(still.key == stands.key, "{id} was abandoned, and {} was replaced by {}", stands.key, still.key);
    // With its target back it can be deleted.
    w.restart(&Tweaks::default())?;
    w.goes(&id).await
}

pub(super) const DECOMMISSIONED_TARGET: Rule = Rule {
    id: "delete.decommissioned-target",
    level: Level::Should,
    says: "A target marked as decommissioned takes no creates, while get, list and delete go on there, and get says so.",
    caller: Caller::Operator,
    applies: several,
    check: Check::Case(|w| decommissioned_target(w).boxed()),
    absent: Some(Absence {
        check: |w| nothing_is_decommissioned(w).boxed(),
        shows: "no config decommissions its one target, and creates succeeded at every place that is not decommissioned itself",
    }),
    why: "An admin empties a host before it is taken away. If it goes on getting proxies it is never empty; \
          if get or delete stop working there, its proxies look lost; and if get does not say so, nobody \
          moves them elsewhere.",
    tested: "Marks the target of a running instance as decommissioned. Get, list and delete must work there \
             still, and get must say that it is; creates at every placement must land elsewhere or be Permanent, and a repeated create of \
             the instance itself must not lead to another. Where an entry is declared to have one target, the \
             harness must know one, and be unable to decommission it, and creates at every placement must \
             succeed; where it has several places that are no targets, one of those is decommissioned instead.",
    mend: "Leave decommissioned targets out in the one function that chooses a place for create; when a \
           request names one, answer `Error::permanent`. Everywhere else look among all configured targets, and \
           let get take `Instance::decommissioned` from the config.",
};

async fn decommissioned_target(w: &mut World) -> Checked {
    let (request, id, running) = w.running().await?;
    let target = w.instance(&request.name).await?.target;
    hold!(!running.decommissioned, "{target} takes creates, and get {id} answered `decommissioned: true`");
    w.restart(&Tweaks::shape(Shape::Decommissioned(target.clone())))?;
    let instance = w.gets(&id).await?;
    hold!(
        instance.uid == request.uid,
        "on the decommissioned {target} get {id} answered for {}",
        instance.uid
    );
    // A place that is a field of the creating call is no target, and nobody knows afterwards whether it was left out.
    let is_target = w.backend().targets().contains(&target);
    hold!(
        instance.decommissioned == is_target,
        "{target} is decommissioned, and get {id} answered `decommissioned: {}`",
        instance.decommissioned
    );
    let listed = w.lists().await?.items.iter().any(|item| item.id == id);
    hold!(listed, "{id} stands on the decommissioned {target}, and is not listed");
    for placement in w.backend().placements() {
        let mut other = w.request();
        other.placement = placement.clone();
        match w.create(&other).await? {
            Ok(made) => {
                let at = w.instance(&other.name).await?.target;
                hold!(at != target, "{target} is decommissioned, and {made} was made there");
            }
            Err(error) => hold!(
                error.class() == FailureClass::Permanent,
                "{target} is decommissioned, and a create at {placement:?} failed as {:?}, where Permanent was due or an \
                 instance elsewhere: {error}",
                error.class()
            ),
        }
    }
    let again = w.create(&request).await?;
    hold!(
        again.as_ref().is_ok_and(|again| *again == id) || again.is_err(),
        "create of what stands on the decommissioned {target} led from {id} to {again:?}"
    );
    w.instance(&request.name).await?;
    w.goes(&id).await?;
    let left = w.instances(&request.name).await?;
    hold!(left.is_empty(), "{id} on the decommissioned {target} was deleted, and still stands");
    Ok(())
}
