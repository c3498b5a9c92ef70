//! Creates under a name that something else has: what is not ours is refused and left alone.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use provider_api::{CreateRequest, FailureClass, Uid, Wait, mark};

use super::verbs::{LATENCY, calls_of_a_create, fails};
use crate::{
    broken,
    harness::Planted,
    hold,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    world::{Tweaks, World},
};

pub(super) const REFUSES_FOREIGN: Rule = Rule {
    id: "create.refuses-foreign",
    level: Level::Must,
    says: "An instance of that name with another owner's mark is not adopted: Permanent, and it is left as it is.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| refuses_foreign(w).boxed()),
    absent: None,
    why: "What carries another owner's mark is another user's proxy. Adopting it hands it to the wrong user, \
          and the next delete kills it; there are tools whose second create reconfigured the machine of the \
          first.",
    tested: "Plants an instance under the request's name, with another owner's uid in a whole mark. Two \
             creates in a row must be Permanent, and everything on the backend must stay as it was. On a \
             fake such an instance then takes the name at one moment after another of a create that has seen it \
             free: it must stand as it was, and its id not be answered.",
    mend: "Decide in one place, by `Ownership::of` with the name and marks that the backend shows, and adopt \
           `Ownership::Ours` only, also where the backend has just said that the name is taken. Answer \
           anything else with `Error::permanent` and its `why_not`, before any call that changes something.",
};

async fn refuses_foreign(w: &mut World) -> Checked {
    let (request, other) = (w.request(), w.uid());
    let planted = w.marked(request.name.as_str(), &other, &w.identity().installation);
    refuses(w, &request, planted.marks, "it is another owner's").await?;
    comes_between(w).await
}

/// Another owner's instance takes the name at one moment after another of a create, which has seen it free.
async fn comes_between(w: &mut World) -> Checked {
    if !w.is_fake() {
        w.note("on a real backend nothing comes between two calls of a create".into());
        return Ok(());
    }
    let calls = calls_of_a_create(w).await?.len();
    w.wire().set_latency(LATENCY);
    for moment in (0..).take(calls) {
        let (request, other) = (w.request(), w.uid());
        let planted = w.marked(request.name.as_str(), &other, &w.identity().installation);
        let planted = Planted { placement: request.placement.clone(), ..planted };
        let after = LATENCY * moment + LATENCY / 2;
        let (provider, came, world) = (Arc::clone(w.provider()), AtomicBool::new(false), &*w);
        let create = async { Some(provider.create(&request).await) };
        let plant = async {
            world.case().clock.sleep(after, Wait::Idle).await;
            // Where ours stands already the name may be taken.
            came.store(world.hand().plant(&planted).await.is_ok(), Ordering::Relaxed);
            None
        };
        let ended = w.together(vec![create.boxed(), plant.boxed()]).await?;
        if !came.into_inner() {
            continue;
        }
        let when = format!("another owner's instance took the name {after:?} into create {}", request.name);
        let stands = w.instances(&request.name).await?;
        let of =
            |uid: &Uid| stands.iter().find(|it| it.marks.get(mark::UID).is_some_and(|it| it == uid.as_str()));
        hold!(of(&other).is_some_and(|it| !it.deleting), "{when}, and does not stand as it was: {stands:?}");
        if let Some(Ok(id)) = ended.into_iter().find_map(|ended| ended.done().flatten()) {
            hold!(of(&request.uid).is_some(), "{when}, which answered {id}, as if that were its own");
        }
    }
    w.wire().set_latency(Duration::ZERO);
    Ok(())
}

pub(super) const REFUSES_UNMARKED: Rule = Rule {
    id: "create.refuses-unmarked",
    level: Level::Must,
    says: "An instance of that name without a whole mark is not adopted: Permanent, and it is left as it is.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| refuses_unmarked(w).boxed()),
    absent: None,
    why: "Somebody made a machine of that name by hand, or lost its labels in a migration. If create adopts \
          it, it starts or overwrites what it did not make, and a later delete takes somebody's data along.",
    tested: "Plants instances under a request's name: without a mark, without each of its three facts, and \
             with managed set to false. Two creates of each must be Permanent and change nothing.",
    mend: "Read marks by `Ownership::of` (or `Mark::read`), for which a mark is whole or none. Never \
           complete half a mark, and never take the name alone for proof.",
};

async fn refuses_unmarked(w: &mut World) -> Checked {
    let request = w.request();
    refuses(w, &request, BTreeMap::new(), "it has no mark").await?;
    for missing in [mark::MANAGED, mark::UID, mark::INSTALLATION] {
        let request = w.request();
        let mut marks = own_marks(w, &request);
        marks.remove(missing);
        refuses(w, &request, marks, &format!("its mark lacks {missing}")).await?;
    }
    let request = w.request();
    let mut marks = own_marks(w, &request);
    marks.insert(mark::MANAGED.to_owned(), "false".to_owned());
    refuses(w, &request, marks, "its mark says that it is not managed").await
}

pub(super) const REFUSES_OTHER_INSTALLATION: Rule = Rule {
    id: "create.refuses-other-installation",
    level: Level::Must,
    says: "An instance of that name that another installation made is not adopted: Permanent, and it is left as it is.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| refuses_other_installation(w).boxed()),
    absent: None,
    why: "A cluster restored from a backup beside its original has the same uids, and so the same names. \
          Without this rule its creates adopt the original's proxies, and two operators fight over them \
          until one deletes them.",
    tested: "Plants an instance with the request's own name and uid and the mark of another installation, \
             then of one whose identity differs from ours in case only. Two creates in a row must be \
             Permanent, and everything on the backend must stay as it was.",
    mend: "Let `Ownership::of` compare the mark's installation with the `Identity` of the provider's \
           `Context`. Answer `Ownership::OtherInstallation` with `Error::permanent`; `adoptInstallations` is \
           how an admin takes such instances over.",
};

async fn refuses_other_installation(w: &mut World) -> Checked {
    let request = w.request();
    let planted = w.marked(request.name.as_str(), &request.uid, &w.other_installation()?);
    refuses(w, &request, planted.marks, "another installation made it").await?;
    let request = w.request();
    let planted = w.marked(request.name.as_str(), &request.uid, &w.installation_in_capitals()?);
    if w.hand().plant(&Planted { placement: request.placement.clone(), ..planted }).await.is_err() {
        w.note("the backend's marks have no capitals".into());
        return Ok(());
    }
    refused(w, &request, "an installation made it whose identity differs from ours in case only").await
}

/// Plants an instance under the request's name, and holds that create refuses it, twice, and changes nothing.
async fn refuses(w: &World, request: &CreateRequest, marks: BTreeMap<String, String>, why: &str) -> Checked {
    let planted = Planted { name: request.name.to_string(), marks, placement: request.placement.clone() };
    w.hand().plant(&planted).await?;
    refused(w, request, why).await
}

/// Holds that create refuses what stands under the request's name, twice, and changes nothing.
async fn refused(w: &World, request: &CreateRequest, why: &str) -> Checked {
    let before = w.picture_at_rest().await?;
    if w.instances(&request.name).await?.is_empty() {
        return Err(Stop::Error(format!("the observer does not see the planted {}", request.name)));
    }
    let why = format!("an instance of that name stands there and {why}");
    for _ in 0..2 {
        fails(w, request, FailureClass::Permanent, &why).await?;
        if let Some(change) = w.picture().await?.change_since(&before) {
            broken!("create was refused, since {why}, yet {change}");
        }
    }
    Ok(())
}

fn own_marks(w: &World, request: &CreateRequest) -> BTreeMap<String, String> {
    w.marked(request.name.as_str(), &request.uid, &w.identity().installation).marks
}

pub(super) const ADOPTS_LISTED_INSTALLATION: Rule = Rule {
    id: "create.adopts-listed-installation",
    level: Level::Must,
    says: "What an installation made that the config lists as adopted is this installation's own.",
    caller: Caller::Operator,
    applies: always,
    check: Check::Case(|w| adopts_listed_installation(w).boxed()),
    absent: None,
    why: "After a cluster is rebuilt its identity is a new one, and all its proxies still stand. If the list \
          of former identities does not count, every create of them is refused, and the collector never \
          takes the ones that nobody wants.",
    tested: "Another installation makes an instance; then the provider is restarted with that installation \
             in `adoptInstallations`. Create must answer the same id without replacing the instance, get and \
             the listing must know it, and a delete must remove it.",
    mend: "Ask `Identity::claims`, or `Ownership::of`, which does so, in create, get, delete and listings; \
           never compare with `identity.installation` alone. Names of parts carry a short identity: look for \
           those of each adopted one too.",
};

async fn adopts_listed_installation(w: &mut World) -> Checked {
    let former = w.other_installation()?;
    let before = w.picture().await?;
    w.restart(&Tweaks { installation: Some(former.clone()), ..Tweaks::default() })?;
    let (request, id, _) = w.running().await?;
    let made = w.instance(&request.name).await?;
    w.restart(&Tweaks { adopt: vec![former.clone()], ..Tweaks::default() })?;
    let adopted = match w.create(&request).await? {
        Ok(adopted) => adopted,
        Err(error) => broken!(
            "{} was made by the installation {former}, which `adoptInstallations` lists now, but create failed as \
             {:?}: {error}",
            request.name,
            error.class()
        ),
    };
    hold!(adopted == id, "create of what an adopted installation made answered {adopted}, it was {id}");
    let now = w.instance(&request.name).await?;
    hold!(now.key == made.key, "what an adopted installation made was replaced: {} by {}", made.key, now.key);
    w.gets(&id).await?;
    let listed = w.lists().await?.items.iter().any(|item| item.id == id);
    hold!(listed, "what an adopted installation made is not listed: {id}");
    w.goes(&id).await?;
    let now = w.picture().await?;
    if let Some(left) = now.made_since(&before).next() {
        let (kind, name, target) = (&left.kind, &left.name, &left.target);
        broken!("what an adopted installation made was deleted, and {kind:?} {name} on {target} is left");
    }
    Ok(())
}
