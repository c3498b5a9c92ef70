//! Whose instances a listing has: ours, and nobody else's.

use std::{collections::BTreeMap, sync::Arc};

use futures::FutureExt;
use provider_api::{CreateRequest, Listed, Name, Ownership, Profile, mark};

use super::names;
use crate::{
    broken,
    drive::Ended,
    faults::{Answer, CallerThen, Effect, Fault, Match},
    harness::{Planted, ThingKind},
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, always, when},
    world::{Tweaks, World},
};

pub(super) const ONLY_MANAGED: Rule = Rule {
    id: "list.only-managed",
    level: Level::Must,
    says: "A listing has only instances with a whole mark: managed, uid and installation together.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| only_managed(w).boxed()),
    absent: None,
    why: "The collector deletes what is listed and has no owner. A listing by a prefix or by one fixed label \
          has an admin's own machine in it; two deployments of one tool have shared their instances that \
          way.",
    tested: "Plants nine instances beside one of ours: without each fact of the mark, with managed as false \
             and as True, with an empty uid or installation, without any mark, and under a name of their \
             own. The listing must be ours alone.",
    mend: "Judge every row by `Ownership::of`, which takes whole marks and the exact value `true` only. A \
           label filter on the backend may shorten the answer; it decides nothing.",
};

async fn only_managed(w: &mut World) -> Checked {
    let (ours, _) = w.created().await?;
    let ids = w.identity().installation.clone();
    // Each lacks a part of the mark, under the very name that a whole one would belong to.
    for without in [mark::MANAGED, mark::UID, mark::INSTALLATION] {
        let uid = w.uid();
        let mut partly = w.marked(Name::from_uid(&uid).as_str(), &uid, &ids);
        partly.marks.remove(without);
        w.hand().plant(&partly).await?;
    }
    // Each has all three, one of them with a value that does not count.
    let values =
        [(mark::MANAGED, "false"), (mark::MANAGED, "True"), (mark::UID, ""), (mark::INSTALLATION, "")];
    for (key, value) in values {
        let uid = w.uid();
        let mut off = w.marked(Name::from_uid(&uid).as_str(), &uid, &ids);
        off.marks.insert(key.into(), value.into());
        w.hand().plant(&off).await?;
    }
    let uid = w.uid();
    let bare = Planted { marks: BTreeMap::new(), ..w.marked(Name::from_uid(&uid).as_str(), &uid, &ids) };
    w.hand().plant(&bare).await?;
    let foreign = Planted { name: format!("{}-by-hand", w.case().tag), ..bare };
    w.hand().plant(&foreign).await?;
    only(w, &[&ours], "nine instances without a whole mark stand beside it").await
}

pub(super) const ONLY_THIS_INSTALLATION: Rule = Rule {
    id: "list.only-this-installation",
    level: Level::Must,
    says: "A listing has only instances with this installation's identity.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| only_this_installation(w).boxed()),
    absent: None,
    why: "Two clusters use one project. A collector that sees the other's instances finds no owner for them \
          in its own cluster, and deletes them all.",
    tested: "Another installation creates an instance on the same backend; one more is planted, and one \
             whose identity begins as ours, and one whose identity differs from ours in case only. Our \
             listing must have ours alone, and the other's must have its own and not ours.",
    mend: "Let `Ownership::of` compare the installation in the mark with the `Identity` of the `Context`: \
           whole and in its own case, never by a beginning or by the short form.",
};

async fn only_this_installation(w: &mut World) -> Checked {
    let (ours, _, _) = w.running().await?;
    let elsewhere = w.other_installation()?;
    let theirs = w.request();
    let other = w.build(&Tweaks { installation: Some(elsewhere.clone()), ..Tweaks::default() })?;
    let provider = Arc::clone(&other.provider);
    let made = w.alone(async { provider.create(&theirs).await }).await?;
    made.map_err(|error| Stop::Broken(format!("another installation cannot create beside ours: {error}")))?;
    w.instance(&theirs.name).await?;
    let uid = w.uid();
    let planted = w.marked(Name::from_uid(&uid).as_str(), &uid, &elsewhere);
    w.hand().plant(&planted).await?;
    // One whose identity begins as ours does.
    let uid = w.uid();
    let mut alike = w.marked(Name::from_uid(&uid).as_str(), &uid, &elsewhere);
    alike.marks.insert(mark::INSTALLATION.into(), format!("{}x", w.identity().installation));
    w.hand().plant(&alike).await?;
    // One whose identity differs from ours in case only, where the backend can hold that.
    let uid = w.uid();
    let spelt = w.marked(Name::from_uid(&uid).as_str(), &uid, &w.installation_in_capitals()?);
    if w.hand().plant(&spelt).await.is_err() {
        w.note("the backend's marks have no capitals".into());
    }
    let beside =
        format!("instances of other installations than {} stand beside it", w.identity().installation);
    only(w, &[&ours], &beside).await?;

    let listing = w.alone(async { provider.list_by_tag().await }).await?;
    let listing =
        listing.map_err(|error| Stop::Broken(format!("another installation cannot list: {error}")))?;
    hold!(
        !names(&listing).contains(&ours.name.to_string()),
        "the listing of installation {elsewhere} has {}, which is of {}",
        ours.name,
        w.identity().installation
    );
    hold!(
        names(&listing).contains(&theirs.name.to_string()),
        "the listing of installation {elsewhere} lacks its own {}",
        theirs.name
    );
    Ok(())
}

pub(super) const INHERITED_MARK_IS_NOT_LISTED: Rule = Rule {
    id: "list.inherited-mark-is-not-listed",
    level: Level::Must,
    says: "A copy that inherited its original's mark is not listed; the original is, once.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| inherited_mark(w).boxed()),
    absent: None,
    why: "An admin clones a proxy to look into a fault. The clone has all its labels: listed, it is a second \
          instance of one owner, and the collector deletes one of the two.",
    tested: "Plants two copies with the whole mark of a running instance, one under a name of its own, one \
             under the name of some other owner. The listing must have the original alone, once.",
    mend: "Give `Ownership::of` the name that the backend shows: it counts a mark only where that is \
           `Name::from_uid` of the mark's uid. Pass over `Ownership::Inherited`, without an entry in \
           `unreachable`.",
};

async fn inherited_mark(w: &mut World) -> Checked {
    let (ours, _, _) = w.running().await?;
    let marks = w.instance(&ours.name).await?.marks;
    let uid = w.uid();
    // One copy under a name of its own, one under a name that would be some other owner's.
    for name in [format!("{}-copy", w.case().tag), Name::from_uid(&uid).to_string()] {
        let copy = Planted { name, marks: marks.clone(), placement: ours.placement.clone() };
        w.hand().plant(&copy).await?;
    }
    only(w, &[&ours], "two copies of it, mark and all, stand beside it").await
}

/// Holds that the listing is these instances, each once.
async fn only(w: &World, ours: &[&CreateRequest], beside: &str) -> Checked {
    w.catch_up().await;
    let listing = w.lists().await?;
    let mut due: Vec<_> = ours.iter().map(|request| request.name.to_string()).collect();
    due.sort();
    let listed = names(&listing);
    if listed != due {
        let things = w.everything().await?;
        let strange =
            things.iter().filter(|thing| listed.contains(&thing.name) && !due.contains(&thing.name));
        let strange: Vec<_> =
            strange.map(|thing| format!("; {} has {:?}", thing.name, thing.marks)).collect();
        broken!("{beside}; the listing has {listed:?}, {due:?} was due{}", strange.concat());
    }
    Ok(())
}

pub(super) const PLACEHOLDER_NOT_LISTED: Rule = Rule {
    id: "list.placeholder-not-listed",
    level: Level::Must,
    says: "What the backend shows of an instance before the mark is on it is never listed.",
    caller: Caller::Collector,
    applies: placeholders,
    check: Check::Case(|w| placeholder(w, true).boxed()),
    absent: Some(Absence {
        check: |w| placeholder(w, false).boxed(),
        shows: "a create dropped in each of its changing calls left no placeholder, and nothing unmarked was listed",
    }),
    why: "A clone in progress has no mark yet, or still its template's. Listed, it looks like an orphan, and \
          the collector deletes it under the create that is making it.",
    tested: "Drops a create in each of its changing calls and looks at what stands. Only instances with a \
             whole mark of ours may be listed. A declared placeholder must have been seen by the observer; \
             where none is declared, none may be.",
    mend: "List the instances that the backend shows, by `Ownership::of` alone: neither their parts nor what create \
           remembers to have begun. Let create and delete know a placeholder by its allocated number \
           and its lock, and let `Leftovers` have those that nobody goes on with. Declare \
           `visible_placeholder` where the backend shows one.",
};

fn placeholders(profile: &Profile) -> Applies {
    when(profile.visible_placeholder)
}

/// Drops a create in each call that changes something, and looks at what stands there then.
async fn placeholder(w: &mut World, declared: bool) -> Checked {
    w.only_on_a_fake("hold a call and drop its caller")?;
    let dry = w.next_operation();
    w.created().await?;
    let calls =
        w.calls().into_iter().filter(|call| call.operation.is_some_and(|id| id.0 == dry) && call.mutates);
    let calls: Vec<_> = calls.collect();
    if calls.is_empty() {
        return Err(Stop::Error("a create made no call that changes something".into()));
    }
    let mut seen = false;
    for held in calls {
        let request = w.request();
        let at = Match { operation: w.next_operation(), kind: held.kind.clone(), nth: held.nth };
        let (effect, answer, caller) = (Effect::Now, Answer::Silence, CallerThen::Dropped);
        w.arm([Fault { at, effect, answer, caller, repeats: false }]);
        let provider = Arc::clone(w.provider());
        let create = async { provider.create(&request).await.map(|_| ()) }.boxed();
        let ended = w.together(vec![create]).await?.pop();
        if let Some(Ended::Done(result)) = ended {
            // What the first create made for all, an image say, this one may not have needed to make.
            w.wire().disarm();
            w.note(format!("create {} did not come to {}: {result:?}", request.name, held.kind));
            continue;
        }
        let things = w.everything().await?;
        seen |= things.iter().any(|thing| thing.kind == ThingKind::Placeholder);
        for listed in w.lists().await?.items {
            let marked = things.iter().any(|thing| {
                let of = |key: &str| thing.marks.get(key).map(String::as_str);
                thing.kind == ThingKind::Instance
                    && Ownership::of(&thing.name, w.identity(), of)
                        .ours()
                        .is_some_and(|m| m.uid == listed.uid)
            });
            if !marked {
                let row = things.iter().find(|thing| {
                    thing.name == listed.name.as_str()
                        && matches!(thing.kind, ThingKind::Instance | ThingKind::Placeholder)
                });
                let stands = match row {
                    Some(row) => {
                        format!("the backend shows it with the marks {:?}, not yet with ours", row.marks)
                    }
                    None => "the backend has no instance of that name yet".into(),
                };
                let how = match listed_by_a_new_process(w, &listed).await {
                    Ok(true) => "; a new process lists it too, so it comes from something that stands there",
                    Ok(false) => "; a new process does not list it, so it comes from a memory of creates",
                    Err(_) => "",
                };
                broken!(
                    "a create was dropped in its call {}; the listing has {} all the same: {stands}{how}",
                    held.kind,
                    listed.name
                );
            }
        }
    }
    match (declared, seen) {
        (true, false) => Err(Stop::Error(
            "the profile has a visible placeholder, but the observer never saw one during a create".into(),
        )),
        (false, true) => {
            broken!("the profile has no visible placeholder, but the observer saw one during a create")
        }
        _ => Ok(()),
    }
}

/// Whether a provider without a memory lists it.
async fn listed_by_a_new_process(w: &mut World, listed: &Listed) -> Checked<bool> {
    w.asks_why();
    w.restart(&Tweaks::default())?;
    Ok(w.lists().await?.items.iter().any(|item| item.uid == listed.uid))
}
