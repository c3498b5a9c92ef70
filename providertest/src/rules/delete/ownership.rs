//! What a delete leaves alone: what is not its own, and what others need.

use futures::FutureExt;
use provider_api::{CreateRequest, Deleted, ProviderId, profile::SecondaryResources};

use crate::{
    broken,
    harness::{Planted, Successor, Thing, ThingKind},
    hold,
    rule::{Absence, Caller, Check, Checked, Level, Rule, Stop, always, when},
    world::World,
};

pub(super) const LEAVES_FOREIGN_ALONE: Rule = Rule {
    id: "delete.leaves-foreign-alone",
    level: Level::Must,
    says: "What stands at the id without the instance's own mark is left as it is, and the answer is Gone.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| leaves_foreign_alone(w).boxed()),
    absent: None,
    why: "A clone failed and its object kept the reserved number; the backend gave that number to another \
          machine, and deleting the failed object destroyed it. An id says nothing of what stands there now.",
    tested: "Puts under the instance's id, one after another: something unmarked, another installation's, \
             another owner's, half a mark, an empty uid, an identity that only begins as ours, one that \
             differs from ours in case only. Two deletes of each must answer Gone and leave it as it is.",
    mend: "Read what stands there and ask `Ownership::of`, with its name compared to the id's, directly \
           before every call that changes something. Take what is not `Ownership::Ours` as absence, with a \
           log line, and go on to the parts that bear the instance's own name.",
};

async fn leaves_foreign_alone(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    w.hand().replace(&request.name, Successor::Foreign).await?;
    spares(w, &request, &id, "something unmarked").await?;

    let elsewhere = w.other_installation()?;
    let other_uid = w.uid();
    let ours = w.identity().installation.clone();
    let cases: [(&str, fn(Planted) -> Planted, bool, bool); 6] = [
        ("another installation's instance", |planted| planted, true, false),
        ("an instance with another owner's mark", |planted| planted, false, true),
        ("an instance with half a mark", half_marked, true, true),
        ("an instance with an empty uid in its mark", without_owner, true, true),
        ("an instance of an installation whose identity begins as ours", alike, true, true),
        ("an unmarked instance", unmarked, true, true),
    ];
    for (what, change, own_uid, own_installation) in cases {
        let (request, id, _) = w.running().await?;
        w.hand().remove(&request.name).await?;
        let uid = if own_uid { &request.uid } else { &other_uid };
        let installation = if own_installation { &ours } else { &elsewhere };
        let mut planted = w.marked(request.name.as_str(), uid, installation);
        planted.placement = request.placement.clone();
        w.hand().plant(&change(planted)).await?;
        spares(w, &request, &id, what).await?;
    }
    in_capitals(w).await
}

/// One of an installation whose identity differs from ours in case only, where the backend can hold that.
async fn in_capitals(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    w.hand().remove(&request.name).await?;
    let planted = w.marked(request.name.as_str(), &request.uid, &w.installation_in_capitals()?);
    if w.hand().plant(&Planted { placement: request.placement.clone(), ..planted }).await.is_err() {
        w.note("the backend's marks have no capitals".into());
        return Ok(());
    }
    spares(w, &request, &id, "an instance of an installation whose identity differs from ours in case only")
        .await
}

fn half_marked(mut planted: Planted) -> Planted {
    planted.marks.remove(provider_api::mark::INSTALLATION);
    planted
}

fn without_owner(mut planted: Planted) -> Planted {
    planted.marks.insert(provider_api::mark::UID.into(), String::new());
    planted
}

fn alike(mut planted: Planted) -> Planted {
    if let Some(installation) = planted.marks.get_mut(provider_api::mark::INSTALLATION) {
        installation.push('x');
    }
    planted
}

fn unmarked(mut planted: Planted) -> Planted {
    planted.marks.clear();
    planted
}

/// Holds that a delete by that id leaves the foreign thing under its name alone.
async fn spares(w: &World, request: &CreateRequest, id: &ProviderId, what: &str) -> Checked {
    w.picture_at_rest().await?;
    let foreign = w.instance(&request.name).await?;
    for _ in 0..2 {
        match w.delete(id).await? {
            Ok(Deleted::Gone) => {}
            Ok(other) => broken!("{what} stands at {id}, and delete answered {other:?}; Gone was due"),
            Err(error) => broken!("{what} stands at {id}, and delete failed, where Gone was due: {error}"),
        }
        if let Some(change) = w.picture().await?.change_of(&foreign) {
            broken!("{what} stood at {id} when that was deleted, and {change}");
        }
    }
    Ok(())
}

pub(super) const KEEPS_SHARED: Rule = Rule {
    id: "delete.keeps-shared",
    level: Level::Must,
    says: "What many instances share stays when one of them is deleted, and so do the others.",
    caller: Caller::Operator,
    applies: always,
    check: Check::Case(|w| keeps_shared(w).boxed()),
    absent: None,
    why: "A base image that goes with the first proxy breaks every later create, and the disks that build on \
          it. All users lose their proxies because one was deleted.",
    tested: "Makes two instances in one place and deletes one: the other must stand, with all that it needs. \
             After the delete of the other, every shared thing that was there must be there still.",
    mend: "Delete by names that belong to one instance (`Name`, short installation, kind), never by a prefix \
           or by following references. Shared images and firewall rules have a command of their own.",
};

async fn keeps_shared(w: &mut World) -> Checked {
    let (request, first, _) = w.running().await?;
    let mut second = w.request();
    second.placement = request.placement;
    let second_id = w.creates(&second).await?;
    w.runs(&second.name, &second_id).await?;
    let stands = w.instance(&second.name).await?;
    let shared = shared(w).await?;
    let stood = w.everything().await?;
    w.goes(&first).await?;
    let things = w.everything().await?;
    for key in &stands.references {
        let there = things.iter().any(|thing| thing.key == *key);
        let what = stood.iter().find(|thing| thing.key == *key);
        let what = what.map_or_else(|| key.clone(), |thing| format!("{:?} {}", thing.kind, thing.name));
        hold!(there, "{} needs {what}, which went with the delete of {first}", second.name);
    }
    let now = w.instance(&second.name).await?;
    hold!(now.key == stands.key && !now.deleting, "{} went with the delete of {first}", second.name);
    w.goes(&second_id).await?;
    let left = self::shared(w).await?;
    let lost = shared.iter().find(|thing| !left.iter().any(|other| other.key == thing.key));
    hold!(lost.is_none(), "{:?} is shared, and went with the delete of its last user", lost.map(|t| &t.name));
    Ok(())
}

async fn shared(w: &World) -> Checked<Vec<Thing>> {
    let mut things = w.everything().await?;
    things.retain(|thing| thing.kind == ThingKind::Shared);
    Ok(things)
}

pub(super) const KEEPS_REFERENCED: Rule = Rule {
    id: "delete.keeps-referenced",
    level: Level::Must,
    says: "A part of the instance that somebody else's instance needs is not removed.",
    caller: Caller::Operator,
    applies: |profile| when(profile.secondary_resources == SecondaryResources::Explicit),
    check: Check::Case(|w| keeps_referenced(w).boxed()),
    absent: Some(Absence {
        check: |w| has_nothing_to_reference(w).boxed(),
        shows: "a delete left another instance as it was",
    }),
    why: "Somebody has attached the proxy's disk to a machine of theirs, or cloned from it. A delete that \
          removes it by force destroys data that is not ours.",
    tested: "Makes somebody else's instance need a part of ours, then deletes ours twenty times. Whatever \
             delete answers, that part must stay. Where the provider removes no parts itself, a delete must \
             leave another instance as it was.",
    mend: "Ask the backend who uses a part directly before removing it, or send a call that it refuses while \
           the part is in use; never detach, never force, and never remove what uses it. Say in the answer \
           or a log line what is left and why.",
};

async fn keeps_referenced(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    let parts = w.parts(&w.instance(&request.name).await?).await?;
    w.hand().reference_parts(&request.name).await?;
    let needed = |things: &[Thing]| -> Vec<String> {
        let others = things.iter().filter(|thing| thing.name != request.name.as_str());
        let keys = others.flat_map(|thing| thing.references.clone());
        keys.filter(|key| parts.iter().any(|part| part.key == *key)).collect()
    };
    let things = w.everything().await?;
    let before = needed(&things);
    let needs = |thing: &Thing| thing.references.iter().any(|key| before.contains(key));
    let others = things.iter().filter(|thing| thing.name != request.name.as_str());
    let users: Vec<Thing> = others.filter(|thing| needs(thing)).cloned().collect();
    if before.is_empty() {
        return Err(Stop::Error(format!("the hand made nobody need a part of {}", request.name)));
    }
    for _ in 0..20 {
        // Whether it says so as an error or goes without that part, the part stays.
        let answer = w.delete(&id).await?;
        let things = w.everything().await?;
        let lost = before.iter().find(|key| !things.iter().any(|thing| thing.key == **key));
        if let Some(key) = lost {
            let part =
                parts.iter().find(|part| part.key == *key).map_or(key.as_str(), |part| part.name.as_str());
            let answer = match answer {
                Ok(deleted) => format!("answered {deleted:?}"),
                Err(error) => format!("failed: {error}"),
            };
            let gone = users.iter().find(|user| !things.iter().any(|thing| thing.key == user.key));
            let gone = gone.map(|user| format!(", and {:?} {} itself too", user.kind, user.name));
            broken!(
                "somebody else's instance needs the part {part}, but delete {id} removed it{}; it {answer}",
                gone.unwrap_or_default()
            );
        }
        w.pass(std::time::Duration::from_secs(10)).await;
    }
    Ok(())
}

/// Without parts that the provider removes by itself, a delete touches nothing but the instance.
async fn has_nothing_to_reference(w: &mut World) -> Checked {
    let (other, _, _) = w.running().await?;
    let (_, id, _) = w.running().await?;
    let stands = w.instance(&other.name).await?;
    w.goes(&id).await?;
    match w.picture().await?.change_of(&stands) {
        Some(change) => broken!("with the delete of {id} {change}"),
        None => Ok(()),
    }
}
