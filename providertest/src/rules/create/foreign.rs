//! Creates under a name that something else has: what is not ours is refused and left alone.

use std::collections::BTreeMap;

use futures::FutureExt;
use provider_api::{CreateRequest, FailureClass, mark};

use super::verbs::fails;
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
    mend: "Adopt by `Ownership::of` alone, which compares the name with the uid of the mark.",
};

async fn refuses_foreign(w: &mut World) -> Checked {
    let (request, other) = (w.request(), w.uid());
    let planted = w.marked(request.name.as_str(), &other, &w.identity().installation);
    refuses(w, &request, planted.marks, "it is another owner's").await
}

pub(super) const REFUSES_UNMARKED: Rule = Rule {
    id: "create.refuses-unmarked",
    level: Level::Must,
    says: "An instance of that name without a whole mark is not adopted: Permanent, and it is left as it is.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| refuses_unmarked(w).boxed()),
    absent: None,
    mend: "Adopt by `Ownership::of` alone: a mark is whole or it is none.",
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
    mend: "Compare the installation of the mark with the identity in the provider's context.",
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
    mend: "Ask `Identity::claims`, which knows the adopted installations too.",
};

async fn adopts_listed_installation(w: &mut World) -> Checked {
    let former = w.other_installation()?;
    w.restart(&Tweaks { installation: Some(former.clone()), ..Tweaks::default() })?;
    let (request, id, _) = w.running().await?;
    let made = w.instance(&request.name).await?;
    w.restart(&Tweaks { adopt: vec![former], ..Tweaks::default() })?;
    let adopted = w.creates(&request).await?;
    hold!(adopted == id, "create of what an adopted installation made answered {adopted}, it was {id}");
    let now = w.instance(&request.name).await?;
    hold!(now.key == made.key, "what an adopted installation made was replaced: {} by {}", made.key, now.key);
    w.gets(&id).await?;
    let listed = w.lists().await?.items.iter().any(|item| item.id == id);
    hold!(listed, "what an adopted installation made is not listed: {id}");
    w.goes(&id).await?;
    let left = w.instances(&request.name).await?;
    hold!(left.is_empty(), "what an adopted installation made was deleted, and still stands: {left:?}");
    Ok(())
}
