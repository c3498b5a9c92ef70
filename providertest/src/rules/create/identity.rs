//! What a create answers, and what its instance is known by.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use futures::FutureExt;
use provider_api::{
    CreateRequest, Error, Grammar, Mark, ProviderId, Wait, mark,
    profile::{CreatedAt, Mobility},
};

use super::verbs::{LATENCY, answer_time};
use crate::{
    broken,
    harness::{Shape, Thing, ThingKind},
    hold,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::sweeps::verbs::nothing_left,
    world::{Tweaks, World},
};

pub(super) const RETURNS_USABLE_ID: Rule = Rule {
    id: "create.returns-usable-id",
    level: Level::Must,
    says: "The id that create answers has the declared shape, and get, list and delete know the instance by it.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| returns_usable_id(w).boxed()),
    absent: None,
    why: "The reconciler stores this id and knows the instance by nothing else. If another operation spells \
          it differently, get misses a running instance, the collector takes it for an orphan, or delete \
          answers Permanent for ever.",
    tested: "Makes one instance. The id must fit the profile's pattern, get must answer with that id, name \
             and uid, the listing must have the very same id, and a delete by it must leave nothing.",
    mend: "Write and parse ids in one file with one `Grammar`: `format` where create and listings make ids, \
           `parse` where get and delete take them. Let the listing call the same function as create. If the \
           listing has it some seconds later, the backend's lags: pause for as long before it is read.",
};

async fn returns_usable_id(w: &mut World) -> Checked {
    let (request, id) = w.created().await?;
    let pattern = w.profile().id_pattern;
    hold!(Grammar::new(pattern).fits(&id), "create answered the id {:?}, which is no {pattern}", id.as_str());
    let instance = w.gets(&id).await?;
    hold!(instance.id == id, "get of {id} answered with the id {}", instance.id);
    hold!(
        instance.name == request.name && instance.uid == request.uid,
        "get of {id} answered with the name {} and the uid {}, create was for {} and {}",
        instance.name,
        instance.uid,
        request.name,
        request.uid
    );
    let listing = w.lists().await?;
    let listed = listing.items.iter().find(|item| item.name == request.name);
    let listed = listed.map(|item| item.id.to_string());
    hold!(listed.as_deref() == Some(id.as_str()), "create answered the id {id}, list has {listed:?}");
    w.goes(&id).await?;
    nothing_left(w, "after a delete by the id that create answered").await
}

pub(super) const IDEMPOTENT: Rule = Rule {
    id: "create.idempotent",
    level: Level::Must,
    says: "Creating again answers with the same id, and there is one instance; where one name stands once in the whole \
           scope, with another placement too.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| idempotent(w).boxed()),
    absent: None,
    why: "A process that dies between the backend's create and the saved id asks again after its restart. If \
          that makes a second instance, the owner pays for two, and nobody knows which of them the users \
          talk to.",
    tested: "Creates, creates again at once, again when the instance runs, and again by a new process. \
             Each answer must be the first id, with one instance under the name, and that must be the \
             first one still. Where instances move about in the scope, or it is one place, a create with \
             another placement must find it too.",
    mend: "Take the name from the request (it is `Name::from_uid`), look for it on the backend first, adopt \
           what `Ownership::of` calls ours, and answer with the id of the place where it stands. Where \
           instances move, or the scope is one place, look through the whole scope and not only where the \
           placement points. When the backend says that the name exists already, look again instead of \
           passing that on as an error, and keep no list of what was made: a new process has none.",
};

async fn idempotent(w: &mut World) -> Checked {
    let (request, id) = w.created().await?;
    same(w, &request, &id, "the second create").await?;
    let made = w.instance(&request.name).await?;
    w.runs(&request.name, &id).await?;
    same(w, &request, &id, "a create of the running instance").await?;
    w.restart(&Tweaks::default())?;
    same(w, &request, &id, "a create by a new process").await?;
    let now = w.instance(&request.name).await?;
    hold!(now.key == made.key, "the instance {} was replaced by {}", made.key, now.key);
    placed_anew(w).await
}

/// Where one name stands once in the whole scope, because instances move about in it or because it is one place, a
/// create that asks for another placement finds the instance that there is. Where each zone or host has names of its
/// own, a look at all of them for every create would let one that hangs hold up the others; there the caller
/// deletes what it had asked for elsewhere before it asks anew.
async fn placed_anew(w: &mut World) -> Checked {
    let once = w.profile().mobility == Mobility::Moves || w.backend().targets().len() == 1;
    let placements = w.backend().placements();
    let (Some(here), Some(there)) = (placements.first(), placements.last()) else { return Ok(()) };
    if !once || here == there {
        return Ok(());
    }
    let mut request = w.request();
    request.placement = here.clone();
    let id = w.creates(&request).await?;
    w.runs(&request.name, &id).await?;
    let made = w.instance(&request.name).await?;
    request.placement = there.clone();
    same(w, &request, &id, "a create with another placement").await?;
    let now = w.instance(&request.name).await?;
    hold!(
        now.key == made.key,
        "{} stood on {}; a create with another placement removed it and made another on {}, where the one that stood \
         was due",
        request.name,
        made.target,
        now.target
    );
    Ok(())
}

async fn same(w: &World, request: &CreateRequest, id: &ProviderId, which: &str) -> Checked {
    let again = w.creates(request).await?;
    hold!(*id == again, "{which} answered {again}, the first {id}");
    w.instance(&request.name).await?;
    Ok(())
}

pub(super) const ID_SELF_CONTAINED: Rule = Rule {
    id: "create.id-self-contained",
    level: Level::Must,
    says: "The id holds all that get and delete need, whatever has become of the process, the request and the config.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| id_self_contained(w).boxed()),
    absent: None,
    why: "Months later the operator has restarted, the spec was edited and a host has left the config. An id \
          that needs any of them back leaves a running instance that nobody can delete.",
    tested: "Makes one instance in each part of the scope, then restarts the provider with other limits and, \
             where the harness can do it, without the other targets in its config. Get by the id must answer \
             with the owner's uid, and delete must leave nothing under the name.",
    mend: "Put the zone, host or number that create chose into the id with `Grammar::format`, and read it \
           from there in get and delete. Keep no map from ids to places, and ask neither the request nor a \
           default of the config.",
};

async fn id_self_contained(w: &mut World) -> Checked {
    let mut made = Vec::new();
    for placement in w.backend().placements() {
        let mut request = w.request();
        request.placement = placement;
        let id = w.creates(&request).await?;
        let target = w.instance(&request.name).await?.target;
        made.push((request, id, target));
    }
    let mut changed = Tweaks::common("maxInstances", 1);
    changed.common.insert("maxConcurrentPerTarget".into(), 1.into());
    w.restart(&changed)?;
    for (request, id, target) in &made {
        // The other targets may be gone from the config; a harness without that power changes less.
        let others = w.backend().targets().into_iter().filter(|other| other != target);
        let mut fewer = changed.clone();
        fewer.shape = others.map(Shape::Without).collect();
        if w.backend().block(&fewer.shape).is_ok() {
            w.restart(&fewer)?;
        }
        let instance = match w.get(id).await? {
            Ok(instance) => instance,
            Err(error) => broken!(
                "{} stands on {target}; after restarts with other limits, and without the other targets where the \
                 config can do without them, get {id} failed as {}: {error}",
                request.name,
                error.class()
            ),
        };
        hold!(
            instance.uid == request.uid,
            "after a restart get of {id} answered with the uid {}",
            instance.uid
        );
        w.goes(id).await?;
        super::verbs::nothing_of(w, request, "after a restart and a delete by id").await?;
    }
    Ok(())
}

pub(super) const MARKS_FROM_FIRST_MOMENT: Rule = Rule {
    id: "create.marks-from-first-moment",
    level: Level::Must,
    says: "An instance carries its whole mark from the first moment at which the backend shows it.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| marks_from_first_moment(w).boxed()),
    absent: None,
    why: "A crash between making and marking leaves an instance that no listing shows: the collector never \
          finds it, and it stays on the bill. The next create finds it unmarked and refuses it as foreign.",
    tested: "While one create runs, the observer looks at the backend several times within each answer's \
             time, and once afterwards. Every instance that it sees must carry the request's whole mark, \
             with the creation time where the profile says that it is written; something unmarked may show \
             only where the profile declares a placeholder.",
    mend: "Put `Mark::pairs` into the very call that makes the instance visible: labels of the insert, \
           metadata of the definition. Where the backend can only clone first, declare \
           `visible_placeholder`, and give the clone a number that follows from its name, so that create and \
           delete know it.",
};

async fn marks_from_first_moment(w: &mut World) -> Checked {
    let request = w.request();
    let provider = Arc::clone(w.provider());
    let (over, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
    w.wire().set_latency(LATENCY);
    let world = &*w;
    let create = async {
        let result = provider.create(&request).await;
        over.store(true, Ordering::Release);
        Ok(Some(result))
    };
    let watch = async {
        while !over.load(Ordering::Acquire) {
            seen.fetch_add(all_marked(world, &request).await?, Ordering::Relaxed);
            world.case().clock.sleep(answer_time(world) / 4, Wait::Idle).await;
        }
        Ok::<Option<Result<ProviderId, Error>>, Stop>(None)
    };
    for ended in w.together(vec![create.boxed(), watch.boxed()]).await? {
        match ended.done() {
            Some(Err(stop)) => return Err(stop),
            Some(Ok(Some(Err(error)))) => broken!("create {} failed: {error}", request.name),
            _ => {}
        }
    }
    w.wire().set_latency(std::time::Duration::ZERO);
    let at_last = all_marked(w, &request).await?;
    if seen.into_inner() + at_last == 0 {
        return Err(Stop::Error(format!(
            "the observer does not see {}, which the provider made",
            request.name
        )));
    }
    Ok(())
}

/// How many instances there are; every one must carry the request's whole mark.
async fn all_marked(w: &World, request: &CreateRequest) -> Checked<usize> {
    let profile = w.profile();
    let mut count = 0;
    for thing in w.everything().await? {
        match thing.kind {
            ThingKind::Instance => {
                whole(w, request, &thing)?;
                count += 1;
            }
            ThingKind::Placeholder => hold!(
                profile.visible_placeholder,
                "the backend shows {} with the marks {:?} while it is being made, after the calls {}; the profile declares \
                 no visible placeholder, so it was due to carry its whole mark from the call on that first shows it",
                thing.name,
                thing.marks,
                w.calls().iter().map(|call| call.kind.as_str()).collect::<Vec<_>>().join(", ")
            ),
            ThingKind::Secondary | ThingKind::Shared => {}
        }
    }
    Ok(count)
}

fn whole(w: &World, request: &CreateRequest, thing: &Thing) -> Checked {
    let Some(read) = Mark::read(|key| thing.marks.get(key).map(String::as_str)) else {
        broken!("{} is visible without its whole mark; it carries {:?}", thing.name, thing.marks)
    };
    let installation = &w.context().identity.installation;
    hold!(
        read.uid == request.uid && read.installation == *installation,
        "{} is marked for {} of {}, create was for {} of {installation}",
        thing.name,
        read.uid,
        read.installation,
        request.uid
    );
    let profile = w.profile();

    hold!(
        profile.created_at != CreatedAt::WrittenAtCreate || read.created_at.is_some(),
        "{} is visible without the mark {}, which the profile says is written at create",
        thing.name,
        mark::CREATED_AT
    );
    Ok(())
}
