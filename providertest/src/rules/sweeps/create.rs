//! What must hold whatever becomes of any one call of a create.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use provider_api::{Class, CreateRequest, Error, ProviderId, profile::Quota};

use super::verbs::{
    collect, creates_in_the_end, everything_marked, faulted, met, nothing_left, one_whole_instance,
};
use crate::{
    broken,
    faults::{Answer, CallerThen, FaultPlan, Then},
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    sweep::{DryRun, plans},
    world::World,
};

/// The sweeps over create.
pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "create.cancel-safe",
        level: Level::Must,
        says: "Dropped at any call, a create can be repeated to one instance, or deleted without a trace.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Sweep {
            plans: |w| {
                derive(w, |run| plans(run.callers_gone(CallerThen::Dropped), &[Then::Repeat, Then::Delete]))
                    .boxed()
            },
            run: |w, plan| resumes(w, plan).boxed(),
        },
        absent: None,
        why: "The operator is stopped in the middle of a create, or the reconciler gives up on it. What the \
              last call did must still be found; otherwise the retry makes a second instance, or fails over \
              its own half.",
        tested: "A sweep: the create is dropped at every call of a dry run, and a changing call takes effect \
                 never, at once, or after the next operation. Every instance must be marked; then creates \
                 must end with one running instance and nothing beside it, or two rounds of the collector \
                 must leave nothing.",
        mend: "Begin every create by looking for what an earlier one left, and mark things in the call that \
               makes them. Name parts after the instance, keep turns and locks in guards that go with the \
               future, and spawn nothing that goes on.",
    },
    Rule {
        id: "create.crash-resumable",
        level: Level::Must,
        says: "After a crash at any call, a create by a new process ends with one instance and nothing beside it.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Sweep {
            plans: |w| {
                derive(w, |run| plans(run.callers_gone(CallerThen::Restarts), &[Then::Repeat])).boxed()
            },
            run: |w, plan| resumes(w, plan).boxed(),
        },
        absent: None,
        why: "A process dies, or loses its lease, after the backend has made something and before the id is \
              saved. Controllers that could not take it up again leaked that instance and made another at \
              each restart.",
        tested: "A sweep: the whole provider goes away at every call of a create, and a changing call takes \
                 effect never, at once, or after the next operation. The creates of a new one must end with \
                 one running instance under one id and nothing that it does not need; then a delete must \
                 leave nothing.",
        mend: "Keep nothing in memory that a create needs to go on: find the instance by its name, its parts \
               by theirs, its number by the mark or by a hash of the name. Whether a step is done, only the \
               backend says.",
    },
    Rule {
        id: "create.classifies-faults",
        level: Level::Must,
        says: "A create that fails answers with the class of what went wrong, and can be repeated once it is over.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Sweep {
            plans: |w| classify_plans(w).boxed(),
            run: |w, plan| classifies(w, plan).boxed(),
        },
        absent: None,
        why: "The reconciler acts on the class alone. A quota read as Permanent stops a proxy until somebody \
              edits it; a missing right read as Transient was retried for forty minutes before anybody heard \
              of it.",
        tested: "A sweep: every call loses its answer, before, at and after its effect, and every kind of \
                 call meets every catalogued error. A create that fails must be Transient after a lost \
                 answer, otherwise of the catalogue's class (Transient or Permanent for what is absent); \
                 afterwards creates must end with one running instance.",
        mend: "Let one `classify` function map code and reason to a `FailureClass`, with Transient as its \
               last arm, and test it against each row of the `Catalogue`. After a lost answer look at what \
               stands, instead of guessing what the call did.",
    },
];

async fn derive(w: &mut World, faults: impl FnOnce(&DryRun) -> Vec<FaultPlan>) -> Checked<Vec<FaultPlan>> {
    let run = dry_run(w).await?;
    Ok(faults(&run))
}

pub(super) async fn dry_run(w: &mut World) -> Checked<DryRun> {
    let request = w.request();
    let operation = w.next_operation();
    w.creates(&request).await?;
    Ok(DryRun::of(&w.calls(), operation))
}

async fn classify_plans(w: &mut World) -> Checked<Vec<FaultPlan>> {
    let catalogue = w.setup().catalogue;
    derive(w, |run| {
        let mut faults = run.answers_lost();
        faults.extend(run.native_errors(&catalogue));
        plans(faults, &[Then::Repeat])
    })
    .await
}

fn create(request: CreateRequest) -> impl FnOnce(&World) -> BoxFuture<'static, Result<ProviderId, Error>> {
    move |w| {
        let provider = Arc::clone(w.provider());
        async move { provider.create(&request).await }.boxed()
    }
}

pub(super) async fn resumes(w: &mut World, plan: &FaultPlan) -> Checked {
    let request = w.request();
    faulted(w, plan, create(request.clone())).await?;
    everything_marked(w).await?;
    match plan.then {
        Then::Repeat => {
            let id = creates_in_the_end(w, &request).await?;
            one_whole_instance(w, &request.name).await?;
            super::verbs::deletes_in_the_end(w, &id).await?;
            nothing_left(w, "after the delete").await
        }
        Then::Delete => {
            let first = collect(w, &request).await?;
            // What lands now still carries its marks, and one round more takes it.
            if w.wire().land(None) > 0 {
                everything_marked(w).await?;
            }
            let second = collect(w, &request).await?;
            let name = &request.name;
            let when = format!("in two rounds the collector found {first} of {name} listed, then {second}");
            nothing_left(w, &when).await
        }
    }
}

async fn classifies(w: &mut World, plan: &FaultPlan) -> Checked {
    let request = w.request();
    let result = faulted(w, plan, create(request.clone())).await?;
    let result = result.ok_or_else(|| Stop::Error("a caller that was to wait was dropped".into()))?;
    if let Err(error) = &result {
        let expected = expected(w, plan)?;
        let class = Class::from(error.class());
        if !expected.contains(&class) {
            let due = expected.iter().map(|class| class.as_str()).collect::<Vec<_>>().join(" or ");
            broken!("create answered {class} (its call {}); {due} was due: {error}", met(plan));
        }
    }
    creates_in_the_end(w, &request).await?;
    one_whole_instance(w, &request.name).await
}

/// The classes that the plan's fault may be answered with. A create that gets over it by itself is right too.
fn expected(w: &World, plan: &FaultPlan) -> Checked<Vec<Class>> {
    let Some(Answer::Native(id)) = plan.faults.first().map(|fault| &fault.answer) else {
        return Ok(vec![Class::Transient]);
    };
    let native = w.setup().catalogue.get(id);
    let native = native.ok_or_else(|| Stop::Error(format!("the catalogue has no native error {id}")))?;
    Ok(match native.class {
        // A create cannot answer NotFound; something it needs being absent may pass, or be a matter of config.
        Class::NotFound => vec![Class::Transient, Class::Permanent],
        Class::QuotaExceeded if w.profile().quota == Quota::Absent => {
            vec![Class::Transient, Class::Permanent]
        }
        class => vec![class],
    })
}
