//! What a get changes, costs and disturbs: nothing, little and nobody.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use provider_api::{GetError, Instance, Operation, ProviderId, Shown};

use crate::{
    broken,
    drive::Ended,
    faults::{Answer, CallerThen, Effect, Fault, Match},
    harness::UNKNOWN_STATE,
    hold,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::budgets::hangs_in_time,
    world::World,
};

pub(super) const READ_ONLY: Rule = Rule {
    id: "get.read-only",
    level: Level::Must,
    says: "Get changes nothing on the backend, whatever state the instance is in.",
    caller: Caller::Everybody,
    applies: always,
    check: Check::Case(|w| read_only(w).boxed()),
    absent: None,
    why: "Get is asked every few seconds. One that starts or relabels what it sees fights an admin who \
          stopped a machine on purpose, and every look at a status becomes a change.",
    tested: "Asks for a running instance, for one in each native state and an unknown one, and for one that \
             is gone. No call on the wire may be one that changes something, and the observer must see \
             everything as it stood.",
    mend: "Let get make only calls whose kind is built with `CallKind::read`. Move a start, a relabelling or \
           a repair into the part of create that adopts.",
};

async fn read_only(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    let before = w.snapshot().await?;
    let moment = w.moment();
    w.gets(&id).await?;
    w.untouched(moment, &before, "get of a running instance").await?;

    let states: Vec<_> = w.profile().native_states.iter().map(|row| (row.native, row.shown)).collect();
    for (native, shown) in
        states.into_iter().map(|(native, shown)| (native, Some(shown))).chain([(UNKNOWN_STATE, None)])
    {
        let (request, id, _) = w.running().await?;
        // A real backend keeps its instances running; what a get leaves of a running one was seen above.
        if w.hand().set_native_state(&request.name, native).await.is_err() {
            break;
        }
        w.catch_up().await;
        let before = w.snapshot().await?;
        let moment = w.moment();
        let answer = w.get(&id).await?;
        hold!(
            answer.is_ok() || matches!(shown, Some(Shown::Failure(_))),
            "get {id} failed in native state {native:?}"
        );
        w.untouched(moment, &before, &format!("get of an instance in native state {native:?}")).await?;
    }

    w.goes(&id).await?;
    let before = w.snapshot().await?;
    let moment = w.moment();
    w.is_gone(&id, "a delete").await?;
    w.untouched(moment, &before, &format!("get of {}, which is gone,", request.name)).await
}

pub(super) const CALL_BUDGET: Rule = Rule {
    id: "get.call-budget",
    level: Level::Must,
    says: "A get makes no more backend calls than the profile says, and ends within its budget, the config's where that \
           gives one.",
    caller: Caller::Operator,
    applies: always,
    check: Check::Case(|w| call_budget(w).boxed()),
    absent: None,
    why: "Get runs for every proxy, again and again. A call more for each uses up rate limits and sessions; \
          a provider that ran one command for each machine was too slow on real hosts. A get that waits \
          longer than its budget for a host that is away keeps a reconcile from all others.",
    tested: "Asks for a running instance, and for one that is gone, a while after the last look. Each get \
             may make at most as many backend calls as the profile says, and must make one: an answer \
             without a call is a memory. Where budgets are declared, nothing answers then: get must be \
             Transient within the profile's budget, and within five seconds where the config gives those.",
    mend: "Ask for all that get needs in one call, or share one listing among gets for up to \
           `listing_max_age`. Where more calls are due, raise `CallBudget::get` and say why. Run each \
           operation in `Seam::bounded`, with the entry's budgets over the profile's \
           (`BudgetOverrides::over`).",
};

async fn call_budget(w: &mut World) -> Checked {
    let budget = u64::from(w.profile().call_budget.get);
    let (request, id, _) = w.running().await?;
    // Connections are made and shared answers are old by now: what follows is what every get costs.
    w.wait_a_while().await;
    let moment = w.moment();
    w.gets(&id).await?;
    let cost = w.cost(moment);
    hold!(
        cost <= budget,
        "get of a running instance made {cost} backend calls; the profile says {budget} at most"
    );
    hold!(cost > 0, "get {id} answered a while after the last look without asking the backend");
    hangs_in_time(w, Operation::Get, Some(&id)).await?;
    w.goes(&id).await?;
    w.wait_a_while().await;
    let moment = w.moment();
    w.is_gone(&id, "a delete").await?;
    let cost = w.cost(moment);
    hold!(
        cost <= budget,
        "get of {}, which is gone, made {cost} backend calls; the profile says {budget} at most",
        request.name
    );
    hold!(cost > 0, "get {id} answered NotFound without asking the backend");
    Ok(())
}

pub(super) const CANCEL_DOES_NOT_DISTURB: Rule = Rule {
    id: "get.cancel-does-not-disturb",
    level: Level::Must,
    says: "A get that is dropped while it waits ends nothing but itself.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| cancel_does_not_disturb(w).boxed()),
    absent: None,
    why: "Several callers wait for one shared listing, and the first goes away. If the work went with it, \
          the others hang or fail; if the drop closes a shared connection, everything on that host fails \
          too.",
    tested: "Each call of a get in turn is held and its caller dropped, while three more gets, of the same \
             and another instance, run beside it. These must succeed, and so must gets afterwards; nothing \
             on the backend may change.",
    mend: "Let whoever waits redo shared work when its author goes away: wait for a turn of `Gate::name`, \
           then look into the cache again. Cancel the request, and leave open the connection that others \
           use.",
};

async fn cancel_does_not_disturb(w: &mut World) -> Checked {
    w.only_on_a_fake("hold a call and drop its caller")?;
    let (first, first_id, _) = w.running().await?;
    let (second, second_id, _) = w.running().await?;
    w.wait_a_while().await;
    let dry = w.next_operation();
    w.gets(&first_id).await?;
    let calls: Vec<_> =
        w.calls().into_iter().filter(|call| call.operation.is_some_and(|id| id.0 == dry)).collect();
    if calls.is_empty() {
        return Err(Stop::Error("a get made no call that could be held".into()));
    }
    let before = w.snapshot().await?;
    for held in calls {
        w.wait_a_while().await;
        let moment = w.moment();
        let at = Match { operation: w.next_operation(), kind: held.kind.clone(), nth: held.nth };
        let fault = Fault {
            at,
            effect: Effect::Now,
            answer: Answer::Silence,
            caller: CallerThen::Dropped,
            repeats: false,
        };
        w.arm([fault]);
        let ids = [&first_id, &second_id, &first_id, &second_id];
        let ended = w.together(ids.map(|id| get(w, id)).into()).await?;
        let what = format!("a get of {} was dropped in its call {}", first.name, held.kind);
        for (at, (ended, id)) in ended.into_iter().zip(ids).enumerate() {
            match ended {
                Ended::Dropped if at == 0 => {}
                Ended::Done(Ok(instance)) if at > 0 => {
                    hold!(instance.id == *id, "{what}; get {id} answered {instance:?}")
                }
                Ended::Done(Err(error)) => broken!("{what}, and get {id} beside it failed: {error}"),
                other => return Err(Stop::Error(format!("{what}; get {id} ended as {other:?}"))),
            }
        }
        for (request, id) in [(&first, &first_id), (&second, &second_id)] {
            match w.get(id).await? {
                Ok(instance) => w.is_of(&instance, request, id)?,
                Err(error) => broken!("{what}, and get {id} after it failed: {error}"),
            }
        }
        w.untouched(moment, &before, &what).await?;
    }
    Ok(())
}

fn get(w: &World, id: &ProviderId) -> BoxFuture<'static, Result<Instance, GetError>> {
    let (provider, id) = (Arc::clone(w.provider()), id.clone());
    async move { provider.get(&id).await }.boxed()
}
