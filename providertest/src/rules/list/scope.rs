//! How much a listing has read: the whole scope, or what it says it has not. Pages are in `pages.rs`.

use std::collections::BTreeSet;

use futures::FutureExt;
use provider_api::{
    CreateRequest, Error, FailureClass, Listing, Operation, Profile,
    profile::{ListPartial, Timeouts},
};

use super::names;
use crate::{
    broken,
    harness::Planted,
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, always, when},
    rules::budgets::hangs_in_time,
    wire::Condition,
    world::World,
};

pub(super) const WHOLE_SCOPE: Rule = Rule {
    id: "list.whole-scope",
    level: Level::Must,
    says: "A listing has the instances of every part of the scope that the provider can create in.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| whole_scope(w).boxed()),
    absent: None,
    why: "A provider that creates in three zones and lists one hides the orphans of the other two for ever, \
          and `maxInstances` does not count what stands there. A session that sees no machines at all has \
          filled a host with doubles.",
    tested: "Makes an instance with each placement of the harness. Each must be listed exactly once, on \
             whatever target it stands.",
    mend: "List over the configured targets that create chooses from, decommissioned ones too, side by side \
           with `join_all`. Pin what a connection would otherwise choose by its user: the session, the \
           default zone, the namespace.",
};

async fn whole_scope(w: &mut World) -> Checked {
    let made = one_in_each_part(w).await?;
    let listing = w.lists().await?;
    for (request, target) in &made {
        let times = listing.items.iter().filter(|listed| listed.uid == request.uid).count();
        hold!(times == 1, "{} stands on {target}; the listing has it {times} times", request.name);
    }
    Ok(())
}

/// One instance for each part of the scope, with the target it came to stand on.
async fn one_in_each_part(w: &mut World) -> Checked<Vec<(CreateRequest, String)>> {
    let placements = w.backend().placements();
    if placements.is_empty() {
        return Err(Stop::Error("the harness names no placement".into()));
    }
    let mut made = Vec::new();
    for placement in placements {
        let mut request = w.request();
        request.placement = placement;
        w.creates(&request).await?;
        let target = w.instance(&request.name).await?.target;
        made.push((request, target));
    }
    Ok(made)
}

pub(super) const PARTIAL_AS_DECLARED: Rule = Rule {
    id: "list.partial-as-declared",
    level: Level::Must,
    says: "A part of the scope that cannot be read is named in unreachable where the profile says so, and an error \
           where it does not.",
    caller: Caller::Collector,
    applies: partial,
    check: Check::Case(|w| partial_as_declared(w).boxed()),
    absent: Some(Absence {
        check: |w| no_parts(w).boxed(),
        shows: "with the one part cut off or hanging the listing was Transient, with it slow that or whole, within its budget",
    }),
    why: "One node of a cluster is off. A short list that counts as whole misleads the collector and \
          `maxInstances`; a listing that fails as a whole where it need not stops work on every healthy \
          node.",
    tested: "With an instance in each part, one part after another is cut off or hangs. As the profile says, \
             it alone must be in `unreachable` with a reason and all else be listed, or the listing be \
             Transient, within the budget. A scope of one part that is cut off or hangs must be Transient. \
             Then one part answers so slowly, in pages of one, that it takes more than the whole budget: \
             the same is due, or a whole listing. In the end nothing answers and the config gives five \
             seconds, where budgets are declared: the listing must keep to them.",
    mend: "Read each part in a `Seam::bounded` of its own, shorter than the list's budget, and push its \
           failure into `Listing::unreachable` with a `Reason`, or return it as the error, as `ListPartial` \
           declares. Let none become an empty list. Run the whole in one too, with the entry's budget over the \
           profile's.",
};

fn partial(profile: &Profile) -> Applies {
    when(profile.list_partial != ListPartial::NotApplicable)
}

const CONDITIONS: [Condition; 2] = [Condition::Cut, Condition::Hangs];

async fn partial_as_declared(w: &mut World) -> Checked {
    w.only_on_a_fake("cut off one part of itself")?;
    let made = one_in_each_part(w).await?;
    let targets: BTreeSet<_> = made.iter().map(|(_, target)| target.clone()).collect();
    if targets.len() < 2 {
        return Err(Stop::Error(format!(
            "the profile says what a partial listing does, but all placements are on {targets:?}"
        )));
    }
    for (target, condition) in targets.iter().flat_map(|target| CONDITIONS.map(|c| (target, c))) {
        let result = list_while(w, std::slice::from_ref(target), condition).await?;
        match (w.profile().list_partial, result) {
            (ListPartial::OmitUnreachable, Ok(listing)) => {
                omits(&listing, &made, target, condition)?;
            }
            // Without a budget for each call, a part that hangs takes the whole operation's with it.
            (ListPartial::OmitUnreachable, Err(error))
                if condition == Condition::Hangs && w.profile().timeouts == Timeouts::CtxOnly =>
            {
                passing(&error, target, condition)?;
            }
            (ListPartial::OmitUnreachable, Err(error)) => {
                broken!(
                    "{target} {condition}; the rest was due with it in unreachable, but list failed: {error}"
                )
            }
            (_, Err(error)) => passing(&error, target, condition)?,
            (_, Ok(listing)) => broken!(
                "{target} {condition}; an error was due, but list answered with {} of {} instances",
                listing.items.len(),
                made.len()
            ),
        }
    }
    let listed = names(&w.lists().await?);
    hold!(listed.len() == made.len(), "after all was mended, the listing has {listed:?} of {}", made.len());
    slow_part(w, made).await?;
    hangs_in_time(w, Operation::List, None).await
}

/// A scope of one part is read, or listing fails.
async fn no_parts(w: &mut World) -> Checked {
    w.created().await?;
    let targets = w.backend().targets();
    for condition in CONDITIONS {
        let result = list_while(w, &targets, condition).await?;
        match result {
            Err(error) => passing(&error, &targets.join(", "), condition)?,
            Ok(listing) => broken!("{} {condition}, but list answered {listing:?}", targets.join(", ")),
        }
    }
    let listed = w.lists().await?.items.len();
    hold!(listed == 1, "after all was mended, the listing has {listed} instances of 1");
    if w.is_fake() {
        let made = one_in_each_part(w).await?;
        slow_part(w, made).await?;
        hangs_in_time(w, Operation::List, None).await?;
    }
    Ok(())
}

/// The most pages that a slow part is given.
const MANY_PAGES: u32 = 12;

/// One part answers each call in good time, and has so many pages that together they take longer than a listing may. It
/// is no part that hangs, so only a budget of its own keeps it from taking the others along.
async fn slow_part(w: &mut World, mut made: Vec<(CreateRequest, String)>) -> Checked {
    let budgets = w.profile().budgets;
    let each = budgets.call * 3 / 4;
    let Some((first, target)) = made.first().cloned() else { return Ok(()) };
    if !w.profile().listing_pages || each * MANY_PAGES < budgets.list {
        return Ok(());
    }
    w.in_pages_of_one().await?;
    let pages = u32::try_from(budgets.list.as_nanos() / each.as_nanos().max(1)).unwrap_or(MANY_PAGES) + 1;
    let ours = w.identity().installation.clone();
    for _ in 0..pages {
        let mut request = w.request();
        request.placement = first.placement.clone();
        let planted = w.marked(request.name.as_str(), &request.uid, &ours);
        w.hand().plant(&Planted { placement: first.placement.clone(), ..planted }).await?;
        made.push((request, target.clone()));
    }
    let condition = Condition::Slow(each);
    let result = list_while(w, std::slice::from_ref(&target), condition).await?;
    let omit = w.profile().list_partial == ListPartial::OmitUnreachable;
    match result {
        Ok(listing) if omit && !listing.unreachable.is_empty() => omits(&listing, &made, &target, condition),
        Ok(listing) => {
            let listed = names(&listing);
            let lacks: Vec<_> =
                made.iter().filter(|(it, _)| !listed.contains(&it.name.to_string())).collect();
            hold!(
                lacks.is_empty() && listing.unreachable.is_empty(),
                "{target} {condition}, and the listing lacks {} of {} instances and does not say so",
                lacks.len(),
                made.len()
            );
            Ok(())
        }
        Err(error) if omit && w.profile().timeouts == Timeouts::PerCall => broken!(
            "{target} {condition}, and has {pages} pages; the rest was due with it in unreachable, but list failed: {error}"
        ),
        Err(error) => passing(&error, &target, condition),
    }
}

async fn list_while(w: &World, targets: &[String], condition: Condition) -> Checked<Result<Listing, Error>> {
    w.note(format!("{} {condition}", targets.join(", ")));
    w.condition(targets, Some(condition)).await?;
    let clock = &w.case().clock;
    let before = clock.monotonic();
    let result = w.list().await;
    let took = clock.monotonic().saturating_sub(before);
    w.condition(targets, None).await?;
    let budget = w.profile().budgets.list;
    hold!(
        took <= budget,
        "while each of {targets:?} {condition}, list took {took:?}; its budget is {budget:?}"
    );
    result
}

fn omits(listing: &Listing, made: &[(CreateRequest, String)], target: &str, condition: Condition) -> Checked {
    let Some(part) = listing.unreachable.iter().find(|part| part.target == target) else {
        broken!("{target} {condition}, but list does not have it in unreachable: {:?}", listing.unreachable)
    };
    let reason = &part.reason;
    hold!(
        !reason.code.is_empty() && !reason.message.trim().is_empty(),
        "list has {target} in unreachable without a reason: {reason:?}"
    );
    hold!(
        listing.unreachable.len() == 1,
        "{target} alone {condition}, but list has in unreachable {:?}",
        listing.unreachable
    );
    for (request, stands_on) in made {
        let listed = listing.items.iter().any(|listed| listed.uid == request.uid);
        hold!(
            listed || stands_on == target,
            "{target} {condition}; {} stands on {stands_on}, but is not listed",
            request.name
        );
        hold!(!listed || stands_on != target, "{target} {condition}, but {} on it is listed", request.name);
    }
    Ok(())
}

fn passing(error: &Error, target: &str, condition: Condition) -> Checked {
    let class = error.class();
    hold!(
        class == FailureClass::Transient,
        "{target} {condition}, which may pass, but list failed as {class:?}: {error}"
    );
    Ok(())
}
