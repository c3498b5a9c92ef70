//! Whose instance get answers for: uid, creation time, marks, places.

use futures::FutureExt;
use provider_api::{
    GetError, Instance, Profile, ProviderId, State, StateKind, Timestamp, Uid, profile::Mobility,
};

use super::stranger::takes_a_stranger;
use crate::{
    broken,
    harness::Successor,
    hold,
    look::stamp,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, always, when},
    world::{Tweaks, World},
};

pub(super) const READS_BACK_UID_AND_CREATED_AT: Rule = Rule {
    id: "get.reads-back-uid-and-created-at",
    level: Level::Must,
    says: "Get reads name, uid and creation time back from the backend, also after a restart.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| reads_back(w).boxed()),
    absent: None,
    why: "A provider that fills these from memory loses them at a restart: uids no longer match, and every \
          instance looks newborn, so that no proxy reaches the age at which it is replaced.",
    tested: "Makes an instance and asks get; a while later creates it again and asks, then asks after a \
             restart. Id, name and uid must be the request's, and the creation time must lie where it was \
             made and be the same each time. The same is due of a uid of 63 characters.",
    mend: "Take uid and, where it is written, creation time from the mark that `Ownership::of` reads, \
           otherwise the time from the backend's own record: neither from the clock nor from a memory of \
           the last create. Write the mark once, in the call that makes the instance, and leave it alone \
           when adopting.",
};

async fn reads_back(w: &mut World) -> Checked {
    let clock = std::sync::Arc::clone(&w.case().clock);
    let from = clock.now();
    let (request, id) = w.created().await?;
    let to = clock.now();
    let first = w.gets(&id).await?;
    w.is_of(&first, &request, &id)?;
    w.wait_a_while().await;
    // Creating again makes nothing younger.
    w.creates(&request).await?;
    let again = w.gets(&id).await?;
    if again.created_at != first.created_at {
        w.asks_why();
        w.wait_a_while().await;
        let last = w.gets(&id).await.map_or(None, |instance| instance.created_at);
        let whose = match last {
            last if last == Some(clock.now()) => "; that is each time the time of the answer",
            last if last == again.created_at => "; that is the time of the latest create",
            _ => "",
        };
        broken!(
            "get {id} said that it was made at {}, after another create at {}, and a while later at {}; it was made at \
             {from}{whose}",
            told(first.created_at),
            told(again.created_at),
            told(last)
        );
    }
    w.restart(&Tweaks::default())?;
    let later = w.gets(&id).await?;
    hold!(
        (&later.name, &later.uid) == (&first.name, &first.uid),
        "before a restart get {id} said the name {} and the uid {}, as was due, after it {} and {}",
        first.name,
        first.uid,
        later.name,
        later.uid
    );
    w.is_of(&later, &request, &id)?;
    let who = format!("get {id}, a while and a restart later,");
    w.made_between(later.created_at, from, to, &who)?;
    hold!(
        first.created_at == later.created_at,
        "get {id} first said that it was made at {}, after a restart at {}",
        told(first.created_at),
        told(later.created_at)
    );
    reads_long_uid(w).await
}

/// A uid as long as one may be; of one that was cut nobody knows any more to what name it belongs.
async fn reads_long_uid(w: &mut World) -> Checked {
    let long = format!("{}-{}", w.uid(), "7".repeat(63));
    let uid = Uid::parse(&long[..63]).map_err(|error| Stop::Error(error.to_string()))?;
    let request = w.backend().request(&uid);
    let id = w.creates(&request).await?;
    match w.get(&id).await? {
        Ok(instance) => w.is_of(&instance, &request, &id),
        Err(error) => {
            broken!("the uid {uid} has 63 characters, as many as one may have, and get {id} says: {error}")
        }
    }
}

fn told(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "no time".into(), |at| at.to_string())
}

pub(super) const UNREADABLE_CREATED_AT_IS_NONE: Rule = Rule {
    id: "get.unreadable-created-at-is-none",
    level: Level::Must,
    says: "A creation time that cannot be read is none, and the rest of the answer stands.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| unreadable_created_at(w).boxed()),
    absent: None,
    why: "The collector spares what is young. A made-up time, now say, keeps an orphan young for ever; an \
          error instead hides a healthy proxy because of one bad label.",
    tested: "Spoils the creation time of a running instance on the backend. Get must answer with `None` for \
             the time, and with id, name, uid and state as before.",
    mend: "Parse the time with `.parse().ok()` into an `Option<Timestamp>`, as `Mark::read` does, and put \
           neither now nor zero in its place. `Timestamp::age` makes the unknown very old.",
};

async fn unreadable_created_at(w: &mut World) -> Checked {
    let (request, id, before) = w.running().await?;
    w.hand().spoil_created_at(&request.name).await?;
    w.catch_up().await;
    let instance = w.gets(&id).await?;
    w.is_of(&instance, &request, &id)?;
    hold!(
        instance.created_at.is_none(),
        "the creation time of {} cannot be read, so none was due, but get {id} says {}",
        request.name,
        stamp(instance.created_at, w.case().clock.now())
    );
    hold!(
        instance.state == before.state,
        "with its creation time unreadable, get {id} answered {:?}, before {:?}",
        instance.state,
        before.state
    );
    Ok(())
}

pub(super) const UNKNOWN_AGE_IS_OLD: Rule = Rule {
    id: "get.unknown-age-is-old",
    level: Level::Must,
    says: "An unknown creation time counts as older than anything: it is an Option, which one function ages.",
    caller: Caller::Collector,
    applies: always,
    check: Check::ByType("provider_api::Timestamp::age"),
    absent: None,
    why: "Code that takes an unknown time for now spares an orphan for ever, round after round. With one \
          function for it, no caller can get it wrong by itself.",
    tested: "The compiler holds it: creation times are `Option`s, and `Timestamp::age` is the function that \
             takes one. A doctest that uses the plain difference must not compile, beside examples of `age` \
             that must.",
    mend: "Age every creation time by `Timestamp::age(now, created_at)`, and unwrap none before.",
};

pub(super) const NEVER_ANOTHERS_DATA: Rule = Rule {
    id: "get.never-anothers-data",
    level: Level::Must,
    says: "Where something else stands under the id now, get answers NotFound and shows nothing of it.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| never_anothers_data(w).boxed()),
    absent: None,
    why: "A number that the backend has given out again belongs to another machine. Shown as the user's \
          proxy, it gets the user's traffic, and its address is published.",
    tested: "Puts something foreign without a mark in the instance's place, under the same id. Get must be \
             NotFound, after a restart too, and change nothing. Then gives instances another owner's mark, \
             another installation's, and one whose identity differs from ours in case only: NotFound \
             again.",
    mend: "Ask `Ownership::of` with the name and marks that were read, and compare that name with the one in \
           the id, before anything else of the answer is used. It compares uid and installation whole, case \
           included. All but `Ownership::Ours` is NotFound. Remember neither marks nor verdict of an earlier \
           look: what stands there changes hands.",
};

async fn never_anothers_data(w: &mut World) -> Checked {
    let (request, id, before) = w.running().await?;
    let mine = w.instance(&request.name).await?;
    w.hand().replace(&request.name, Successor::Foreign).await?;
    w.catch_up().await;
    let others = w.everything().await?;
    if others.iter().any(|thing| thing.key == mine.key) {
        return Err(Stop::Error(format!("the harness replaced {}, but it still stands", request.name)));
    }
    let moment = w.moment();
    let others = w.snapshot().await?;
    not_ours(w, &id, &before, "something without our mark stands there").await?;
    w.restart(&Tweaks::default())?;
    not_ours(w, &id, &before, "something without our mark stands there").await?;
    w.untouched(moment, &others, "get").await?;

    let (elsewhere, capitals, ours) =
        (w.other_installation()?, w.installation_in_capitals()?, w.identity().installation.clone());
    let cases = [
        ("another installation's instance", true, elsewhere),
        (
            "an instance of an installation whose identity differs from ours in case only",
            true,
            capitals.clone(),
        ),
        ("an instance with another owner's mark", false, ours),
    ];
    for (what, own_uid, installation) in cases {
        let other = w.uid();
        let (request, id, before) = w.running().await?;
        let uid = if own_uid { &request.uid } else { &other };
        let marks = w.marked(request.name.as_str(), uid, &installation).marks;
        match w.hand().set_marks(&request.name, &marks).await {
            Err(_) if installation == capitals => {
                w.note("the backend's marks have no capitals".into());
                continue;
            }
            set => set?,
        }
        w.catch_up().await;
        not_ours(w, &id, &before, &format!("{what} stands there")).await?;
    }
    Ok(())
}

pub(super) const INHERITED_MARK_IS_NOT_OURS: Rule = Rule {
    id: "get.inherited-mark-is-not-ours",
    level: Level::Must,
    says: "A whole mark under a name that does not belong to its uid is a copy's: get answers NotFound.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| inherited_mark(w).boxed()),
    absent: None,
    why: "Cloned machines and restored backups carry the original's labels. A get that believes the mark \
          alone shows a copy as the proxy, and a delete may follow.",
    tested: "Gives a running instance the whole mark of another one, as a clone would have it. Get by its id \
             must be NotFound, after a restart too.",
    mend: "Give `Ownership::of` the name that the backend shows, not the one in the id: it counts a mark \
           only where that is `Name::from_uid` of the mark's uid. Remember no verdict of an earlier look.",
};

async fn inherited_mark(w: &mut World) -> Checked {
    let (original, _, _) = w.running().await?;
    let (copy, id, before) = w.running().await?;
    let marks = w.instance(&original.name).await?.marks;
    w.hand().set_marks(&copy.name, &marks).await?;
    w.catch_up().await;
    let why = format!("{} carries the mark of {}, as a copy of it would", copy.name, original.name);
    not_ours(w, &id, &before, &why).await?;
    w.restart(&Tweaks::default())?;
    not_ours(w, &id, &before, &why).await
}

/// Holds that get does not take what stands at `id` for its own.
async fn not_ours(w: &mut World, id: &ProviderId, before: &Instance, why: &str) -> Checked {
    match w.get(id).await? {
        Err(GetError::NotFound) => Ok(()),
        Ok(instance) => {
            let how = match takes_a_stranger(w, id, &instance.name).await.unwrap_or(None) {
                Some(true) => {
                    ". The like of it that get has never seen is taken too: what is read is not judged"
                }
                Some(false) => {
                    ". The like of it that get has never seen is NotFound: it goes by an earlier look"
                }
                None => "",
            };
            broken!(
                "{why}, but get {id} answered {:?} for the uid {}; NotFound was due (before, it was rightly {:?}){how}",
                instance.state,
                instance.uid,
                before.state
            )
        }
        Err(error) => broken!("{why}, but get {id} failed as {}: {error}; NotFound was due", error.class()),
    }
}

pub(super) const FINDS_MOVED_INSTANCE: Rule = Rule {
    id: "get.finds-moved-instance",
    level: Level::Must,
    says: "Where instances move, get finds one that was moved inside the provider's scope, under the id it has.",
    caller: Caller::Reconciler,
    applies: moves,
    check: Check::Case(|w| finds_moved(w).boxed()),
    absent: Some(Absence {
        check: |w| stays(w).boxed(),
        shows: "an hour and a restart later each instance stood where it was made, and get found it",
    }),
    why: "An admin, or the cluster itself, moves a VM to another node. A get that asks the old node hears of \
          a missing file there, answers NotFound, and the reconciler makes a second VM.",
    tested: "Moves a running instance to another part of the scope. Get must find it running under the id \
             that it has, after a restart too. Where instances are declared to stay, one in each part must \
             run and stand in its place still, a while and a restart later.",
    mend: "Leave the place out of the id: look the number or name up in the backend's own index of the whole \
           cluster, in each get, then ask the node that it names; remember none. Where the instance is gone \
           from there but still indexed, it is moving: answer `Error::transient`.",
};

fn moves(profile: &Profile) -> Applies {
    when(profile.mobility == Mobility::Moves)
}

async fn finds_moved(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    let from = w.instance(&request.name).await?.target;
    w.hand().relocate(&request.name).await?;
    w.catch_up().await;
    let to = w.instance(&request.name).await?.target;
    if from == to {
        return Err(Stop::Error(format!("the harness moved {}, but it still stands on {to}", request.name)));
    }
    for after in ["a move", "a move and a restart"] {
        match w.get(&id).await? {
            Ok(instance) => {
                w.is_of(&instance, &request, &id)?;
                hold!(
                    instance.state.kind() == StateKind::Running,
                    "after {after} from {from} to {to}, get {id} answered {:?}; it runs",
                    instance.state
                );
            }
            Err(error) => broken!("after {after} from {from} to {to}, get {id} failed: {error}"),
        }
        w.restart(&Tweaks::default())?;
    }
    Ok(())
}

/// Where instances do not move, each is found where it was made, and stays there.
async fn stays(w: &mut World) -> Checked {
    let mut made = Vec::new();
    for placement in w.backend().placements() {
        let mut request = w.request();
        request.placement = placement;
        let id = w.creates(&request).await?;
        w.runs(&request.name, &id).await?;
        let target = w.instance(&request.name).await?.target;
        made.push((request, id, target));
    }
    w.wait_a_while().await;
    w.restart(&Tweaks::default())?;
    for (request, id, target) in made {
        let instance = w.gets(&id).await?;
        w.is_of(&instance, &request, &id)?;
        hold!(matches!(instance.state, State::Running { .. }), "get {id} answered {:?}", instance.state);
        let now = w.instance(&request.name).await?.target;
        hold!(now == target, "the profile says that instances stay, but {id} moved from {target} to {now}");
    }
    Ok(())
}
