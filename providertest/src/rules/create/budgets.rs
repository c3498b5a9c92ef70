//! How long a create may take, and how long one of its calls.

use std::time::Duration;

use futures::FutureExt;
use provider_api::{FailureClass, Profile, profile::Timeouts};

use super::verbs::{LATENCY, calls_of_a_create, meets};
use crate::{
    broken,
    faults::{Answer, CallerThen, Effect, Fault, Match},
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, when},
    rules::budgets::SLACK,
    wire::Condition,
    world::{Tweaks, World},
};

pub(super) const BOUNDED: Rule = Rule {
    id: "create.bounded",
    level: Level::Must,
    says: "A create ends within its budget, the config's where that gives one, as Transient.",
    caller: Caller::Reconciler,
    applies: has_budgets,
    check: Check::Case(|w| bounded(w).boxed()),
    absent: Some(Absence {
        check: |w| the_caller_ends_it(w).boxed(),
        shows: "a create whose call hung went on until its caller dropped it, and the next one succeeded",
    }),
    why: "A create without an end holds the turn at its name: the delete of that proxy waits behind it, and \
          the user sees no reason. One that ends as Transient is tried again and shows in its status.",
    tested: "With slow answers and half the time that it takes as the configured budget, a create must end \
             within that, as Transient; so it must within the profile's budget while nothing answers, and \
             succeed later. Where only callers end a create, one whose call hangs must go on until it is \
             dropped, and the next one succeed.",
    mend: "Run each whole operation in `Seam::bounded`, with the entry's budget over the profile's \
           (`BudgetOverrides::over`), and turn `Overlong` into `Error::transient`. Waits inside, at the gate \
           too, then end with it.",
};

fn has_budgets(profile: &Profile) -> Applies {
    when(profile.timeouts == Timeouts::PerCall)
}

async fn bounded(w: &mut World) -> Checked {
    w.only_on_a_fake("be made slow")?;
    // Slow as the backend is now, a create takes twice as long as it will be allowed to.
    w.wire().set_latency(LATENCY * 4);
    w.note(format!("each answer takes {:?} from here on", LATENCY * 4));
    w.created().await?;
    let began = w.elapsed();
    let (request, id) = w.created().await?;
    let usual = w.elapsed() - began;
    w.goes(&id).await?;
    let budget = usual / 2;
    let millis = format!("{}ms", budget.as_millis());
    w.restart(&Tweaks::common("budgets", serde_json::json!({ "create": millis })))?;
    let began = w.elapsed();
    let answer = w.create(&request).await?;
    let took = w.elapsed() - began;
    hold!(
        took <= budget + SLACK,
        "the config gives create {budget:?}, half of what it takes with answers as slow as these, and it took {took:?}{}; \
         it was due to end at its budget, as Transient",
        if took == usual { ", as without that: what the entry's `budgets` say is not heeded" } else { "" }
    );
    match answer {
        Ok(id) => broken!("a create that takes {took:?} answered {id} within {budget:?}"),
        Err(error) => hold!(
            error.class() == FailureClass::Transient,
            "a create beyond its budget answered {:?}: {error}",
            error.class()
        ),
    }
    w.wire().set_latency(Duration::ZERO);
    w.note("answers take no time again".into());
    w.restart(&Tweaks::default())?;

    // Nothing answers at all.
    let request = w.request();
    for target in w.backend().targets() {
        w.wire().set_condition(&target, Some(Condition::Hangs));
    }
    let budget = w.profile().budgets.create;
    let began = w.elapsed();
    let answer = w.create(&request).await?;
    let took = w.elapsed() - began;
    let class = answer.as_ref().err().map(|error| error.class());
    hold!(class == Some(FailureClass::Transient), "while nothing answers, create answered {answer:?}");
    hold!(
        took <= budget + SLACK,
        "the profile gives create {budget:?}, and with nothing answering it took {took:?}"
    );
    for target in w.backend().targets() {
        w.wire().set_condition(&target, None);
    }
    w.creates(&request).await?;
    Ok(())
}

/// Without budgets it is the caller who ends a create that takes too long; the next one goes on.
async fn the_caller_ends_it(w: &mut World) -> Checked {
    let calls = calls_of_a_create(w).await?;
    let Some(call) = calls.first() else { return Err(Stop::Error("a create made no call".into())) };
    let request = w.request();
    let at = Match { operation: w.next_operation(), kind: call.kind.clone(), nth: call.nth };
    let (effect, answer, caller) = (Effect::Never, Answer::Silence, CallerThen::Dropped);
    w.arm([Fault { at, effect, answer, caller, repeats: false }]);
    let (provider, dropped) = (w.provider().clone(), request.clone());
    let ended = w.together(vec![async move { provider.create(&dropped).await }.boxed()]).await?;
    let ended = ended.into_iter().find_map(|ended| ended.done());
    hold!(ended.is_none(), "a create whose call hangs answered by itself, without a budget: {ended:?}");
    w.creates(&request).await?;
    Ok(())
}

pub(super) const BUDGET_PER_CALL: Rule = Rule {
    id: "create.budget-per-call",
    level: Level::Must,
    says: "A backend call that hangs costs a create its own budget and no more, and is Transient.",
    caller: Caller::Reconciler,
    applies: has_budgets,
    check: Check::Case(|w| budget_per_call(w).boxed()),
    absent: Some(Absence {
        check: |w| the_caller_ends_it(w).boxed(),
        shows: "a create whose call hung went on until its caller dropped it, and the next one succeeded",
    }),
    why: "One call hangs on a host that is half dead. If it eats the whole create's time, every try ends at \
          the full budget, and nothing says which call it was.",
    tested: "Each call of a create in turn is never answered. The create may take its usual time, that \
             call's budget, and one more budget for a look at what became of it; if it fails it must be \
             Transient. Where only callers end a create, one whose call hangs must go on until it is \
             dropped, and the next one succeed.",
    mend: "Make every backend call through `Seam::call`, which ends it, and give slow kinds a budget of \
           their own with `CallKind::within`. Call C libraries through `Seam::blocking`, and switch off the \
           client's own timers and retries.",
};

async fn budget_per_call(w: &mut World) -> Checked {
    let calls = calls_of_a_create(w).await?;
    let began = w.elapsed();
    w.created().await?;
    let normal = w.elapsed() - began;
    let budgets = w.profile().budgets;
    for call in calls {
        let kind = w.profile().call(call.known_as()).copied();
        let own = kind.map_or(budgets.call, |kind| budgets.of_call(kind));
        // Another call may follow, to see what became of the one that hung.
        let due = normal + own + budgets.call + SLACK;
        let request = w.request();
        let began = w.elapsed();
        let Some(met) = meets(w, request, &call, Answer::Silence).await? else { continue };
        let took = w.elapsed() - began;
        hold!(
            took <= due,
            "the budget of {} is {own:?} and a create takes {normal:?}; with that call hanging it took {took:?}",
            call.known_as()
        );
        if let Err(error) = met.result {
            let class = error.class();
            hold!(
                class == FailureClass::Transient,
                "{} hung, and create answered {class:?}: {error}",
                call.kind
            );
        }
    }
    Ok(())
}
