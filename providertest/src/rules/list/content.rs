//! What a listing says of each instance.

use futures::FutureExt;
use provider_api::{Deleted, GetError, Profile, Shown, profile::DeleteReturn};

use crate::{
    broken,
    harness::UNKNOWN_STATE,
    hold,
    look::stamp,
    looks::Looks,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::native::NativeStates,
    world::{Tweaks, World},
};

pub(super) const IDS_ARE_DELETABLE: Rule = Rule {
    id: "list.ids-are-deletable",
    level: Level::Must,
    says: "Delete accepts every id of a listing, and removes the instance that it was listed for.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| ids_are_deletable(w).boxed()),
    absent: None,
    why: "The collector has nothing but the listed id. If delete does not take it, the same orphans are \
          found at every round and never go.",
    tested: "Makes an instance in each part of the scope, restarts the provider, and deletes each by its \
             listed id until get is NotFound. No delete may fail or abandon it, and the observer must see \
             none of them left.",
    mend: "Make ids in one function over `Grammar::format` that create and listings both call, from what the \
           row itself shows: zone, number, name. Fill nothing in from a default.",
};

async fn ids_are_deletable(w: &mut World) -> Checked {
    let mut made = Vec::new();
    for placement in w.backend().placements() {
        let mut request = w.request();
        request.placement = placement;
        w.creates(&request).await?;
        made.push(request);
    }
    // Its own memory of what it made must not be needed.
    w.restart(&Tweaks::default())?;
    let listing = w.lists().await?;
    for request in made {
        let Some(listed) = listing.items.iter().find(|listed| listed.uid == request.uid) else {
            broken!("the listing lacks {}", request.name)
        };
        let id = &listed.id;
        let mut looks = Looks::new(90, std::time::Duration::from_secs(2));
        let mut gone = false;
        while !gone && looks.again(w).await {
            match w.delete(id).await? {
                Ok(Deleted::Abandoned(what)) => broken!("delete of the listed id {id} abandoned {what}"),
                Ok(_) => {}
                Err(error) => broken!("delete refused the listed id {id}: {error}"),
            }
            match w.get(id).await? {
                Err(GetError::NotFound) => gone = true,
                Ok(_) => {}
                Err(error) => broken!("get refused the listed id {id}: {error}"),
            }
        }
        hold!(gone, "{} did not go under the listed id {id}", request.name);
        let left = w.instances(&request.name).await?;
        hold!(left.is_empty(), "{} still stands after delete and get of the listed id {id}", request.name);
    }
    Ok(())
}

pub(super) const UID_AND_CREATED_AT: Rule = Rule {
    id: "list.uid-and-created-at",
    level: Level::Must,
    says: "A listing has name, uid and creation time as they stand on the backend; an unreadable time is none.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| uid_and_created_at(w).boxed()),
    absent: None,
    why: "By the uid the collector tells owned from orphaned, by the time it spares what is just being made. \
          A time from memory or the clock makes every orphan newborn at each restart, and none ever goes.",
    tested: "A while and a restart after a create, the listing must have the request's uid, create's id, and \
             a time that lies where the instance was made. With the time spoilt on the backend, it must be \
             listed still, with `None`.",
    mend: "Fill `Listed` from the mark that `Ownership::of` reads and from the backend's own record, with \
           the time parsed by `.ok()`; put neither the clock nor a memory in its place. Ask for these fields \
           where the backend leaves them out of listings by default.",
};

async fn uid_and_created_at(w: &mut World) -> Checked {
    let clock = std::sync::Arc::clone(&w.case().clock);
    let from = clock.now();
    let (request, id) = w.created().await?;
    let to = clock.now();
    w.wait_a_while().await;
    w.restart(&Tweaks::default())?;
    let listing = w.lists().await?;
    let Some(listed) = listing.items.iter().find(|listed| listed.name == request.name) else {
        broken!("the listing lacks {}", request.name)
    };
    hold!(
        listed.uid == request.uid,
        "list says the uid {} of {}, not {}",
        listed.uid,
        request.name,
        request.uid
    );
    hold!(listed.id == id, "list says the id {} of {}; create answered {id}", listed.id, request.name);
    w.made_between(listed.created_at, from, to, "list, a while and a restart later,")?;

    w.hand().spoil_created_at(&request.name).await?;
    let listing = w.lists().await?;
    match listing.items.iter().find(|listed| listed.name == request.name) {
        None => broken!("the creation time of {} cannot be read, and the listing lacks it", request.name),
        Some(listed) => hold!(
            listed.created_at.is_none(),
            "the creation time of {} cannot be read, so none was due, but list says {}",
            request.name,
            stamp(listed.created_at, w.case().clock.now())
        ),
    }
    Ok(())
}

pub(super) const EVERY_STATE: Rule = Rule {
    id: "list.every-state",
    level: Level::Must,
    says: "A listing has instances in every native state, known or not, also while they are being deleted.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| every_state(w).boxed()),
    absent: None,
    why: "Many backends leave out of a listing what has stopped. Such a machine still costs its disk, and \
          without an owner it is never found.",
    tested: "Puts an instance in each native state of the table and in an unknown one, and begins a deletion \
             where that can show. Each must be listed once; only in a state that the table calls an error \
             may it be named in `unreachable` instead.",
    mend: "Ask the backend for all states (inactive domains, ended phases, terminated machines) and choose \
           by `Ownership::of` alone. Leave a row out only when it is proven gone.",
};

async fn every_state(w: &mut World) -> Checked {
    let rows = w.profile().native_states.clone();
    let mut made = Vec::new();
    let fails = |shown: Shown| matches!(shown, Shown::Failure(_));
    let states = rows.iter().map(|row| (row.native, fails(row.shown))).chain([(UNKNOWN_STATE, false)]);
    let mut played = NativeStates::default();
    for (native, may_be_unreadable) in states {
        let Some((request, _)) = played.instance(w, native).await? else { continue };
        made.push((request, format!("in native state {native:?}"), may_be_unreadable));
    }
    if deletes_in_progress(w.profile()) {
        let (request, _, _) = w.running().await?;
        w.hand().begin_deletion(&request.name).await?;
        made.push((request, "being deleted".into(), false));
    }
    let listing = w.list().await?;
    let listing = listing.map_err(|error| Stop::Broken(format!("list failed: {error}")))?;
    for (request, how, may_be_unreadable) in &made {
        let listed = listing.items.iter().filter(|listed| listed.uid == request.uid).count();
        let said = listing.unreachable.iter().any(|part| {
            part.target.contains(request.name.as_str()) || part.reason.message.contains(request.name.as_str())
        });
        hold!(
            listed == 1 || (listed == 0 && *may_be_unreadable && said),
            "{} is {how}; the listing has it {listed} times, once was due",
            request.name
        );
    }
    played.all_seen()
}

fn deletes_in_progress(profile: &Profile) -> bool {
    profile.delete_return == DeleteReturn::ReturnsEarly || !profile.async_ops.is_empty()
}

pub(super) const NO_STATE_IN_A_LISTING: Rule = Rule {
    id: "list.no-state-in-a-listing",
    level: Level::Must,
    says: "A listing carries no state: the type has none, so that the collector cannot trust it.",
    caller: Caller::Collector,
    applies: always,
    check: Check::ByType("provider_api::Listed"),
    absent: None,
    why: "A listed state is old by the time the collector acts. If it could branch on it, it would delete as \
          stopped what has started since.",
    tested: "The compiler holds it: `Listed` has no state. A doctest that reads one must not compile, beside \
             a twin that reads the uid and must.",
    mend: "Ask get for the state of what was listed, and drop the states that come with the backend's rows.",
};
