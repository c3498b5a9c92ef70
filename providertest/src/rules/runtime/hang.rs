//! Operations beside each other: one that hangs, and many at one target.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{CreateRequest, Error, Placement, ProviderId};

use crate::{
    broken,
    drive::Ended,
    faults::{Answer, CallerThen, Effect, Fault, Match},
    hold,
    rule::{Checked, Stop},
    wire::Condition,
    world::{Tweaks, World},
};

/// How many operations want to work on one target at once.
const CROWD: usize = 6;
/// How many may.
const LIMIT: usize = 2;

/// How long an operation took, and how it ended.
type Timed = (Duration, Result<ProviderId, Error>);

pub(super) async fn one_hang_does_not_block_others(w: &mut World) -> Checked {
    only_on_a_fake(w)?;
    let placement = w.request().placement;
    let undisturbed = alone(w, placement).await?;
    one_call(w, undisturbed).await?;
    let Some((hanging, target, other)) = two_targets(w).await? else {
        w.note("there is one target only".into());
        return Ok(());
    };
    let undisturbed = alone(w, other.clone()).await?;
    w.note(format!("{target} hangs"));
    w.wire().set_condition(&target, Some(Condition::Hangs));
    let victim = request_at(w, hanging);
    let beside = request_at(w, other.clone());
    let ended = both(w, victim, beside).await?;
    w.wire().set_condition(&target, None);
    judge(ended, undisturbed, &format!("while the target {target} hung"))
}

/// One call is never answered; an operation on another instance at the same target goes on.
async fn one_call(w: &mut World, undisturbed: Duration) -> Checked {
    let request = w.request();
    let operation = w.next_operation();
    w.creates(&request).await?;
    let kinds: Vec<_> =
        w.calls().into_iter().filter(|call| call.operation.is_some_and(|id| id.0 == operation)).collect();
    let mut seen = Vec::new();
    for call in kinds {
        if seen.contains(&call.kind) {
            continue;
        }
        seen.push(call.kind.clone());
        let at = Match { operation: w.next_operation(), kind: call.kind.clone(), nth: 0 };
        let (effect, answer, caller) = (Effect::Never, Answer::Silence, CallerThen::Waits);
        w.arm([Fault { at, effect, answer, caller, repeats: true }]);
        let (victim, beside) = (w.request(), w.request());
        let ended = both(w, victim, beside).await?;
        w.wire().disarm();
        judge(ended, undisturbed, &format!("while a {} of another instance's hung", call.kind))?;
    }
    Ok(())
}

fn judge(beside: Timed, undisturbed: Duration, when: &str) -> Checked {
    let (took, result) = beside;
    if let Err(error) = result {
        broken!("{when}, a create beside it failed: {error}");
    }
    // A second for the turns that are waited for; a hang costs a whole budget.
    let at_most = undisturbed + Duration::from_secs(1);
    hold!(took <= at_most, "{when}, a create beside it took {took:?}, and {undisturbed:?} when undisturbed");
    Ok(())
}

async fn alone(w: &mut World, placement: Placement) -> Checked<Duration> {
    let request = request_at(w, placement);
    let name = request.name.clone();
    match w.alone(timed(w, request)).await? {
        (took, Ok(_)) => Ok(took),
        (_, Err(error)) => broken!("create {name} failed: {error}"),
    }
}

/// Creates both at once; answers for the second.
async fn both(w: &World, victim: CreateRequest, beside: CreateRequest) -> Checked<Timed> {
    let mut ended = w.together(vec![timed(w, victim), timed(w, beside)]).await?;
    let beside = ended.pop().and_then(Ended::done);
    beside.ok_or_else(|| Stop::Error("a caller that was to wait was dropped".into()))
}

fn timed(w: &World, request: CreateRequest) -> BoxFuture<'static, Timed> {
    let (provider, clock) = (Arc::clone(w.provider()), Arc::clone(&w.case().clock));
    async move {
        let began = clock.monotonic();
        let result = provider.create(&request).await;
        (clock.monotonic().saturating_sub(began), result)
    }
    .boxed()
}

/// A placement, the target that it leads to, and a placement that leads to another.
async fn two_targets(w: &mut World) -> Checked<Option<(Placement, String, Placement)>> {
    let targets = w.backend().targets();
    let mut found: Vec<(Placement, String)> = Vec::new();
    for placement in w.backend().placements() {
        let request = request_at(w, placement.clone());
        w.creates(&request).await?;
        let target = w.instance(&request.name).await?.target;
        if targets.contains(&target) && !found.iter().any(|(_, known)| *known == target) {
            found.push((placement, target));
        }
    }
    let mut found = found.into_iter();
    Ok(found.next().zip(found.next()).map(|((hanging, target), (other, _))| (hanging, target, other)))
}

fn request_at(w: &mut World, placement: Placement) -> CreateRequest {
    let mut request = w.request();
    request.placement = placement;
    request
}

pub(super) async fn per_target_limit(w: &mut World) -> Checked {
    only_on_a_fake(w)?;
    w.restart(&Tweaks::common("maxConcurrentPerTarget", LIMIT))?;
    w.wire().set_latency(Duration::from_secs(1));
    let requests: Vec<_> = (0..CROWD).map(|_| w.request()).collect();
    let ended = w.together(requests.into_iter().map(|request| timed(w, request)).collect()).await?;
    w.wire().set_latency(Duration::ZERO);
    for (_, result) in ended.into_iter().filter_map(Ended::done) {
        if let Err(error) = result {
            broken!("one of {CROWD} creates at once failed: {error}");
        }
    }
    let mut busiest = 0;
    for target in w.backend().targets() {
        let peak = w.wire().peak(&target);
        hold!(peak <= LIMIT, "{peak} operations were at {target} at once, where the entry allows {LIMIT}");
        busiest = busiest.max(peak);
    }
    hold!(
        busiest == LIMIT,
        "of {CROWD} creates at once never more than {busiest} was at a target, where the entry allows {LIMIT}"
    );
    Ok(())
}

fn only_on_a_fake(w: &World) -> Checked {
    if w.is_fake() { Ok(()) } else { Err(Stop::Blocked("the harness cannot let a real backend hang".into())) }
}
