//! Whether every class is answered when its cause is there, and what becomes of what nobody has heard of.

use std::time::Duration;

use provider_api::{Class, GetError, ProviderId, Shows, profile::Quota};

use super::{
    acts::{Act, Outcome},
    table,
    words::{MALFORMED, outage},
};
use crate::{
    broken,
    faults::{Answer, FaultPlan},
    harness::UNKNOWN_ERROR,
    hold,
    rule::{Checked, Stop},
    world::World,
};

pub(super) async fn every_class_reachable(w: &mut World) -> Checked {
    permanent(w).await?;
    not_found(w).await?;
    if w.profile().quota == Quota::Detected {
        quota(w).await?;
    }
    transient(w).await
}

async fn permanent(w: &mut World) -> Checked {
    match w.get(&ProviderId::new(MALFORMED)).await? {
        Err(error) if error.class() == Class::Permanent => Ok(()),
        other => broken!("get of an id that is none answered {other:?} and not Permanent"),
    }
}

async fn not_found(w: &mut World) -> Checked {
    let (_, id) = w.created().await?;
    w.goes(&id).await?;
    match w.get(&id).await? {
        Err(GetError::NotFound) => Ok(()),
        other => broken!("get of what is deleted answered {other:?} and not NotFound"),
    }
}

async fn quota(w: &mut World) -> Checked {
    w.hand().set_quota(Some(0)).await?;
    let request = w.request();
    // The backend may notice at once, or only in the task that the create started.
    for _ in 0..4 {
        match w.create(&request).await? {
            Err(error) if Class::from(error.class()) == Class::QuotaExceeded => {
                return Ok(w.hand().set_quota(None).await?);
            }
            Err(error) => broken!("with the quota used up create answered {:?}: {error}", error.class()),
            Ok(_) if !w.profile().late_failures => break,
            Ok(_) => w.pass(Duration::from_secs(30)).await,
        }
    }
    broken!("with the quota used up create never answered QuotaExceeded, which the profile says is detected")
}

async fn transient(w: &mut World) -> Checked {
    let prepared = Act::Get.prepare(w).await?;
    let outcome = outage(w, async |w| Act::Get.perform(w, &prepared).await).await?;
    match outcome {
        Outcome::Failed(error) => {
            let class = Class::from(error.class());
            hold!(class == Class::Transient, "with the backend out of reach get answered {class}: {error}");
            Ok(())
        }
        other => broken!("with the backend out of reach get answered {other:?} and not Transient"),
    }
}

/// Every act, each kind of call answered with what nobody has heard of, broken off, and not at all.
pub(super) async fn unknown_plans(w: &mut World) -> Checked<Vec<FaultPlan>> {
    let mut plans = Vec::new();
    for act in Act::all(w).into_iter().filter(|act| !matches!(act, Act::Check | Act::Watch)) {
        for (kind, _) in act.kinds(w).await? {
            for answer in [Answer::Native(UNKNOWN_ERROR.to_owned()), Answer::Reset, Answer::Silence] {
                plans.push(table::plan(act, &kind, answer, true));
            }
        }
    }
    Ok(plans)
}

pub(super) async fn unknown_is_transient(w: &mut World, plan: &FaultPlan) -> Checked {
    let listed = w.setup().catalogue.get(UNKNOWN_ERROR);
    if listed.is_some_and(|native| native.shows == Shows::Answer) {
        return Err(Stop::Error(format!(
            "the catalogue lists {UNKNOWN_ERROR}, which nobody may have heard of"
        )));
    }
    let (act, _, outcome) = table::run(w, plan).await?;
    let fault = plan.faults.first().map(ToString::to_string).unwrap_or_default();
    let kind = plan.faults.first().map_or("", |fault| fault.at.kind.as_str());
    match outcome {
        Outcome::Failed(error) if Class::from(error.class()) == Class::Transient => Ok(()),
        Outcome::Failed(error) => {
            let class = Class::from(error.class());
            broken!(
                "{act} answered {class} (its call {kind} {fault}); that may pass, so Transient was due: {error}"
            )
        }
        Outcome::Absent => broken!(
            "{act} answered NotFound (its call {kind} {fault}); that proves nothing, so Transient was due"
        ),
        // A part that could not be read is named; an answer that does without the call is right too.
        Outcome::Partly | Outcome::Done => Ok(()),
    }
}
