//! Room: what the backend has, and what the config allows.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{CreateRequest, Error, FailureClass, GetError, Placement, ProviderId, profile::Quota};

use super::verbs::{LATENCY, calls_of_a_create, fails, meets, native_errors, nothing_of};
use crate::{
    broken,
    drive::Ended,
    faults::Answer,
    harness::Planted,
    hold,
    looks::Looks,
    rule::{Absence, Caller, Check, Checked, Level, Rule, always, when},
    story::said,
    world::{Tweaks, World},
};

pub(super) const QUOTA_REPORTED: Rule = Rule {
    id: "create.quota-reported",
    level: Level::Must,
    says: "Want of quota or capacity is QuotaExceeded with nothing made, and a create succeeds once there is room.",
    caller: Caller::Reconciler,
    applies: |profile| when(profile.quota == Quota::Detected),
    check: Check::Case(|w| quota_reported(w).boxed()),
    absent: Some(Absence {
        check: |w| no_quota(w).boxed(),
        shows: "no catalogued error of any call was answered as QuotaExceeded",
    }),
    why: "Want of capacity that is taken for Permanent stops a proxy for good though room comes back; \
          runners have been marked as failed for ever because a quota error came as a plain 403. Taken for a \
          hiccup, it is retried every few seconds.",
    tested: "With the backend's quota used up, a repeated create must still answer its id, and a new one \
             must become QuotaExceeded with nothing made, and succeed once the quota is lifted. Where quota \
             is declared absent, no catalogued error on any call of a create may be answered as \
             QuotaExceeded.",
    mend: "Let `classify` map the codes for quota, capacity, stock-out and address space to \
           `FailureClass::QuotaExceeded`, those of failed tasks too, by reason and not by status alone, and \
           nothing else: what nobody can read is Transient. Enter each in the `Catalogue`, and test the \
           function against it. A backend that has such codes declares `Quota::Detected`.",
};

async fn quota_reported(w: &mut World) -> Checked {
    let (first, id, _) = w.running().await?;
    w.hand().set_quota(Some(1)).await?;
    let again = w.creates(&first).await?;
    hold!(again == id, "with the quota used up, a repeated create led from {id} to {again}");
    let mut request = w.request();
    let error = exceeds(w, &request).await?;
    nothing_of(w, &request, "create answered QuotaExceeded").await?;
    w.hand().set_quota(None).await?;
    request.acknowledged_failure = error.failure().cloned();
    let id = w.creates(&request).await?;
    w.runs(&request.name, &id).await?;
    Ok(())
}

/// Creates until QuotaExceeded is answered: a backend that accepts the call may tell only the next create.
async fn exceeds(w: &World, request: &CreateRequest) -> Checked<Error> {
    let mut looks = Looks::new(30, Duration::from_secs(5));
    while looks.again(w).await {
        match w.create(request).await? {
            Err(error) if error.class() == FailureClass::QuotaExceeded => return Ok(error),
            Err(error) => {
                broken!("the quota is used up, and create answered {:?}: {error}", error.class())
            }
            Ok(id) => match w.get(&id).await? {
                Ok(_) | Err(GetError::NotFound) => {}
                Err(error) => {
                    broken!("the quota is used up, create answered {id}, and get of it failed: {error}")
                }
            },
        }
    }
    broken!("the quota is used up, and no create of {} answered QuotaExceeded", request.name)
}

async fn no_quota(w: &mut World) -> Checked {
    let calls = calls_of_a_create(w).await?;
    for (call, native) in native_errors(w, &calls, |_| true)? {
        let request = w.request();
        let Some(met) = meets(w, request, &call, Answer::Native(native.id.into())).await? else { continue };
        let Err(error) = met.result else { continue };
        hold!(
            error.class() != FailureClass::QuotaExceeded,
            "quota is declared absent, so that nothing may be QuotaExceeded, but a create whose call {} was answered \
             {} is; by the catalogue that means {}: {error}",
            call.kind,
            native.id,
            native.class
        );
    }
    Ok(())
}

pub(super) const MAX_INSTANCES: Rule = Rule {
    id: "create.max-instances",
    level: Level::Must,
    says: "No more than maxInstances exist, booting ones and those being made included; beyond it is QuotaExceeded.",
    caller: Caller::Operator,
    applies: always,
    check: Check::Case(|w| max_instances(w).boxed()),
    absent: None,
    why: "An admin sets a ceiling to bound the bill. A pool that did not count booting instances made a new \
          one at every tick, far beyond its maximum.",
    tested: "With `maxInstances` at 2 and somebody else's instance beside it, four creates run at once, spread \
             over all parts of the scope: two must succeed, the others be QuotaExceeded with nothing made. Then \
             repeating a create must succeed, a third one be refused where the fewest stand, and after a delete \
             the third be made.",
    mend: "Take a reservation from `Gate::admit`, with your own listing, before the call that makes an \
           instance, and hold it until the instance is listed: a count without it lets creates at the same \
           time pass each other. Give the gate the entry's limit (`Shared`), and keep no count of your own: \
           after a restart it is wrong.",
};

async fn max_instances(w: &mut World) -> Checked {
    // What is not ours does not count; a harness that cannot plant shows less.
    let placement = w.request().placement;
    let planted = Planted { name: "somebody-elses".into(), marks: Default::default(), placement };
    let _ = w.hand().plant(&planted).await;
    w.restart(&Tweaks::common("maxInstances", 2))?;

    // The limit is the entry's, wherever in it the instances are to stand.
    let placements = w.backend().placements();
    let mut requests: Vec<CreateRequest> = (0..4).map(|_| w.request()).collect();
    for (request, placement) in requests.iter_mut().zip(placements.iter().cycle()) {
        request.placement = placement.clone();
    }
    let results = at_once(w, &requests).await?;
    let mut made = Vec::new();
    for (request, result) in requests.iter().zip(results) {
        match result {
            Ok(id) => made.push((request, id)),
            Err(error) if error.class() == FailureClass::QuotaExceeded => {
                nothing_of(w, request, "create answered QuotaExceeded").await?;
            }
            Err(error) => broken!("maxInstances is 2, and of 4 creates at once one failed: {error}"),
        }
    }
    let count = made.len();
    if count != 2 {
        // Whether nothing counts, or what counts comes too late for creates at the same time.
        let later = w.request();
        let later = match w.create(&later).await? {
            Ok(_) => "succeeded too",
            Err(error) if error.class() == FailureClass::QuotaExceeded => "was QuotaExceeded",
            Err(_) => "failed for another reason",
        };
        broken!(
            "maxInstances is 2, and of 4 creates at once {count} succeeded, where 2 were due; one more create after \
             them {later}"
        );
    }
    let (kept, gone) = (&made[0], &made[1]);
    let again = w.creates(kept.0).await?;
    hold!(again == kept.1, "with maxInstances reached, a repeated create led from {} to {again}", kept.1);
    let mut third = w.request();
    let stand_there = |there: &Placement| made.iter().filter(|(made, _)| made.placement == *there).count();
    if let Some(emptiest) = placements.into_iter().min_by_key(stand_there) {
        third.placement = emptiest;
    }
    fails(w, &third, FailureClass::QuotaExceeded, "maxInstances is reached").await?;
    nothing_of(w, &third, "create answered QuotaExceeded").await?;
    w.goes(&gone.1).await?;
    w.creates(&third).await?;
    Ok(())
}

async fn at_once(w: &World, requests: &[CreateRequest]) -> Checked<Vec<Result<ProviderId, Error>>> {
    w.wire().set_latency(LATENCY);
    let create = |request: &CreateRequest| -> BoxFuture<'static, Result<ProviderId, Error>> {
        let (provider, request) = (Arc::clone(w.provider()), request.clone());
        async move { provider.create(&request).await }.boxed()
    };
    let ended = w.together(requests.iter().map(create).collect()).await?;
    w.wire().set_latency(Duration::ZERO);
    let done: Vec<_> = ended.into_iter().filter_map(Ended::done).collect();
    for (request, answer) in requests.iter().zip(&done) {
        w.note(format!("create {}, at once with others -> {}", request.name, said(answer)));
    }
    Ok(done)
}
