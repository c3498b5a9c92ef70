//! Instances that change, hide or go while they are listed, and what a listing itself changes: nothing.

use futures::FutureExt;
use provider_api::{Listing, Name, Profile, profile::GcMark};

use super::names;
use crate::{
    broken,
    harness::UNKNOWN_STATE,
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, always, when},
    world::World,
};

/// Whether a listing reads instances one by one, so that one of them can fail or go by itself.
fn one_by_one(profile: &Profile) -> Applies {
    when(profile.call_budget.list_each > 0 || profile.gc_mark == GcMark::WrittenMetadata)
}

pub(super) const ONE_UNREADABLE_IS_REPORTED: Rule = Rule {
    id: "list.one-unreadable-is-reported",
    level: Level::Must,
    says: "A single instance that cannot be read is an entry of unreachable, and the others are listed.",
    caller: Caller::Collector,
    applies: one_by_one,
    check: Check::Case(|w| one_unreadable(w).boxed()),
    absent: Some(Absence {
        check: |w| none_alone(w, Alone::Unreadable).boxed(),
        shows: "four instances cost a listing as many calls as one, or one that could not be read was named",
    }),
    why: "One machine's metadata is broken. Passed over in silence, it becomes an orphan that nobody sees; \
          as an error, it stops the collection of all the others.",
    tested: "Makes one of two instances unreadable: the other must be listed, and this one be named in \
             `unreachable` with a code, until it can be read again. Where a listing has everything in itself \
             and the harness cannot make one unreadable, it must make as many calls for four instances as \
             for one.",
    mend: "When reading one row fails, push an `Unreachable` with its name and a `Reason`, and go on. Only \
           what concerns the whole call, such as a broken connection or a missing right, ends the listing.",
};

async fn one_unreadable(w: &mut World) -> Checked {
    let (hidden, _, _) = w.running().await?;
    let (other, _, _) = w.running().await?;
    w.hand().set_unreadable(&hidden.name, true).await?;
    let listing = answered(w).await?;
    let listed = names(&listing);
    let lists = |name: &Name| listed.contains(&name.to_string());
    hold!(
        lists(&other.name),
        "{} cannot be read, and the listing lacks {} beside it",
        hidden.name,
        other.name
    );
    hold!(!lists(&hidden.name), "{} cannot be read, but is listed", hidden.name);
    let entry = listing.unreachable.iter().find(|part| {
        part.target.contains(hidden.name.as_str()) || part.reason.message.contains(hidden.name.as_str())
    });
    let Some(entry) = entry else {
        broken!(
            "{} cannot be read, but no entry of unreachable names it: {:?}",
            hidden.name,
            listing.unreachable
        )
    };
    hold!(!entry.reason.code.is_empty(), "unreachable has {} without a reason", hidden.name);
    w.hand().set_unreadable(&hidden.name, false).await?;
    let listed = names(&w.lists().await?);
    let name = hidden.name;
    hold!(listed.contains(&name.to_string()), "{name} can be read again, but the listing has {listed:?}");
    Ok(())
}

pub(super) const VANISHING_DURING_LIST: Rule = Rule {
    id: "list.vanishing-during-list",
    level: Level::Must,
    says: "An instance that goes away while a listing is under way spoils neither the listing nor any other entry.",
    caller: Caller::Collector,
    applies: one_by_one,
    check: Check::Case(|w| vanishing(w).boxed()),
    absent: Some(Absence {
        check: |w| none_alone(w, Alone::Vanishing).boxed(),
        shows: "four instances cost a listing as many calls as one, or one that went meanwhile spoilt nothing",
    }),
    why: "On a busy backend something always goes between the list of names and the look at each. If that \
          fails the listing, the collector never gets through a round.",
    tested: "Three instances run, and one vanishes once the listing has seen it. The listing must succeed \
             with the two others, and the next one be without it. Where a listing has everything in itself \
             and the harness cannot do this, it must make as many calls for four instances as for one.",
    mend: "Where each name is looked at by itself, take the backend's own code of absence as `None`, leave \
           the row out and go on; the client must tell it from other failures, and from a broken connection, \
           which is still an error.",
};

async fn vanishing(w: &mut World) -> Checked {
    let (first, _, _) = w.running().await?;
    let (going, _, _) = w.running().await?;
    let (last, _, _) = w.running().await?;
    w.hand().vanish_during_list(&going.name).await?;
    let listing = match w.list().await? {
        Ok(listing) => listing,
        Err(error) => broken!(
            "{} vanished during the listing, and nothing else was amiss; the two others were due, but list failed as \
             {:?}: {error}",
            going.name,
            error.class()
        ),
    };
    if let Some(part) = listing.unreachable.first() {
        broken!(
            "{} vanished during the listing, which left out {}: {}",
            going.name,
            part.target,
            part.reason
        );
    }
    if !w.instances(&going.name).await?.is_empty() {
        return Err(Stop::Error(format!(
            "{} was to vanish during the listing, but still stands",
            going.name
        )));
    }
    for name in [&first.name, &last.name] {
        hold!(
            names(&listing).contains(&name.to_string()),
            "{} vanished during the listing, which then lacks {name}",
            going.name
        );
    }
    let listed = names(&w.lists().await?);
    hold!(!listed.contains(&going.name.to_string()), "{} is gone, but is listed", going.name);
    Ok(())
}

#[derive(Clone, Copy)]
enum Alone {
    Unreadable,
    Vanishing,
}

/// Where a listing has everything in itself, no instance costs a call of its own, and none can fail or go by itself.
async fn none_alone(w: &mut World, alone: Alone) -> Checked {
    let (first, _, _) = w.running().await?;
    let able = match alone {
        Alone::Unreadable => {
            let able = w.hand().set_unreadable(&first.name, true).await.is_ok();
            if able {
                w.hand().set_unreadable(&first.name, false).await?;
            }
            able
        }
        Alone::Vanishing => w.hand().vanish_during_list(&first.name).await.is_ok(),
    };
    if able {
        // The harness can do it all the same; then it has to be borne.
        w.lists().await?;
        return match alone {
            Alone::Unreadable => one_unreadable(w).await,
            Alone::Vanishing => vanishing(w).await,
        };
    }
    w.lists().await?;
    let moment = w.moment();
    w.lists().await?;
    let before = w.cost(moment);
    for _ in 0..3 {
        w.running().await?;
    }
    let moment = w.moment();
    let listed = w.lists().await?.items.len();
    let after = w.cost(moment);
    hold!(listed == 4, "the listing has {listed} of 4 instances");
    hold!(
        after == before,
        "the profile says that a listing has everything in itself, but it made {before} calls for one instance and \
         {after} for four"
    );
    Ok(())
}

/// What a listing answered, parts that could not be read included.
async fn answered(w: &World) -> Checked<Listing> {
    let result = w.list().await?;
    result.map_err(|error| Stop::Broken(format!("one instance cannot be read, and list failed: {error}")))
}

pub(super) const READ_ONLY: Rule = Rule {
    id: "list.read-only",
    level: Level::Must,
    says: "Listing instances or leftovers changes nothing on the backend.",
    caller: Caller::Everybody,
    applies: always,
    check: Check::Case(|w| read_only(w).boxed()),
    absent: None,
    why: "The collector lists every few minutes, over everything. A listing that repairs or removes what \
          looks odd acts on half of what it should know, and on machines that may not be ours.",
    tested: "Puts instances in every native state, plants another installation's, and leaves parts without \
             their instance. A listing of instances and one of leftovers may make no call that changes \
             something, and the observer must see everything as it stood.",
    mend: "Let `list_by_tag` and `Leftovers::list` make only calls whose kind is built with \
           `CallKind::read`. Move removals into `Leftovers::delete`, and repairs into create.",
};

async fn read_only(w: &mut World) -> Checked {
    let states: Vec<_> =
        w.profile().native_states.iter().map(|row| row.native).chain([UNKNOWN_STATE]).collect();
    for native in states {
        let (request, _, _) = w.running().await?;
        // A real backend keeps its instances running; what a listing leaves of those is seen all the same.
        if w.hand().set_native_state(&request.name, native).await.is_err() {
            break;
        }
    }
    let uid = w.uid();
    let elsewhere = w.other_installation()?;
    let foreign = w.marked(Name::from_uid(&uid).as_str(), &uid, &elsewhere);
    // Nor does it touch what it does not list.
    let _ = w.hand().plant(&foreign).await;
    let (torn, _, _) = w.running().await?;
    let _ = w.hand().remove_instance_only(&torn.name).await;
    let before = w.snapshot().await?;
    let moment = w.moment();
    answered(w).await?;
    w.leftovers().await?;
    w.untouched(moment, &before, "a listing").await
}
