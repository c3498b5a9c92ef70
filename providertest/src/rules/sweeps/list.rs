//! What must hold whatever becomes of any one call of a listing.

use std::{collections::BTreeSet, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{Error, Listing, Name, profile::ListPartial};

use super::verbs::{faulted, met, says_absent};
use crate::{
    faults::{CallerThen, Fault, FaultPlan, Then},
    hold,
    rule::{Caller, Check, Checked, Level, Rule, always},
    sweep::{DryRun, plans},
    world::World,
};

/// The sweeps over list.
pub(super) const RULES: &[Rule] = &[Rule {
    id: "list.never-silently-short",
    level: Level::Must,
    says: "Whatever becomes of any call, a listing is whole, names what it could not read, or is an error.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Sweep { plans: |w| derive(w).boxed(), run: |w, plan| whole(w, plan).boxed() },
    absent: None,
    why: "The collector and `maxInstances` believe a listing. Output in an unknown form, or a table cut at a \
          blank in a name, has been read as no machines; everything looks gone then, and is made twice.",
    tested: "A sweep over every call of a listing in pages of one: it loses its answer or meets a catalogued \
             error, once or each time, or loses its caller. Every instance must be listed, or something be \
             named in `unreachable`, or the listing fail; only what the backend calls absent may be missing. \
             Afterwards all must be listed.",
    mend: "Let no failed call become an empty list: pass the error on with `?`, or name the part in \
           `Listing::unreachable`. An answer that cannot be parsed, or lacks a field, is an error too: use \
           no `unwrap_or_default` on one.",
}];

/// One instance in each place, and one more, so that every part of the scope has something to lose.
async fn populate(w: &mut World) -> Checked<BTreeSet<Name>> {
    let mut expected = BTreeSet::new();
    let mut placements = w.backend().placements();
    placements.extend(placements.first().cloned());
    for placement in placements {
        let mut request = w.request();
        request.placement = placement;
        let id = w.creates(&request).await?;
        w.runs(&request.name, &id).await?;
        expected.insert(request.name);
    }
    w.in_pages_of_one().await?;
    Ok(expected)
}

async fn derive(w: &mut World) -> Checked<Vec<FaultPlan>> {
    populate(w).await?;
    let operation = w.next_operation();
    w.lists().await?;
    let run = DryRun::of(&w.calls(), operation);
    let mut faults = run.answers_lost();
    faults.extend(run.native_errors(&w.setup().catalogue));
    faults.extend(run.callers_gone(CallerThen::Dropped));
    let absent = |fault: &Fault| says_absent(w, &plans(vec![fault.clone()], &[Then::Repeat])[0]);
    let persistent: Vec<_> = faults
        .iter()
        .filter(|fault| fault.caller == CallerThen::Waits && !absent(fault))
        .cloned()
        .map(|mut fault| {
            fault.repeats = true;
            fault
        })
        .collect();
    faults.extend(persistent);
    Ok(plans(faults, &[Then::Repeat]))
}

fn list(w: &World) -> BoxFuture<'static, Result<Listing, Error>> {
    let provider = Arc::clone(w.provider());
    async move { provider.list_by_tag().await }.boxed()
}

async fn whole(w: &mut World, plan: &FaultPlan) -> Checked {
    let expected = populate(w).await?;
    if let Some(Ok(listing)) = faulted(w, plan, list).await? {
        let listed: BTreeSet<_> = listing.items.iter().map(|item| item.name.clone()).collect();
        let missing: Vec<_> = expected.difference(&listed).map(Name::as_str).collect();
        let said = !listing.unreachable.is_empty();
        // What the backend says to be gone while it is read one by one is no longer there to be listed.
        let gone = usize::from(says_absent(w, plan));
        hold!(
            missing.len() <= gone || said,
            "the listing (its call {}) has {} of {} instances, lacks {} and does not say so",
            met(plan),
            listed.len(),
            expected.len(),
            missing.join(", ")
        );
        // Without parts that can fail on their own, only a single instance can be left out.
        let parts = w.profile().list_partial != ListPartial::NotApplicable;
        let one = |target: &str| missing.iter().any(|name| target.contains(name));
        let whole = listing.unreachable.iter().find(|part| !parts && !one(&part.target));
        hold!(whole.is_none(), "the profile knows no partial listings, but {whole:?} was left out");
    }
    let listing = w.lists().await?;
    let listed: BTreeSet<_> = listing.items.into_iter().map(|item| item.name).collect();
    hold!(listed == expected, "after the fault was over, {listed:?} is listed, {expected:?} exists");
    Ok(())
}
