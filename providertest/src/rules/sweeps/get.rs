//! What must hold whatever becomes of any one call of a get.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use provider_api::{Class, GetError, Instance, ProviderId};

use super::verbs::{faulted, met};
use crate::{
    broken,
    faults::{Answer, CallerThen, FaultPlan, Then},
    hold,
    rule::{Caller, Check, Checked, Level, Rule, always},
    sweep::{DryRun, plans},
    world::World,
};

/// The sweeps over get.
pub(super) const RULES: &[Rule] = &[Rule {
    id: "get.not-found-only-with-proof",
    level: Level::Must,
    says: "Whatever becomes of any call, get answers NotFound only when the backend proves the instance gone.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Sweep { plans: |w| derive(w).boxed(), run: |w, plan| proves(w, plan).boxed() },
    absent: None,
    why: "NotFound makes the reconciler forget an instance and make another. A closed connection, a missing \
          right and the wrong node have each been read as gone: then there are two, and nobody owns the \
          first.",
    tested: "A sweep: every call of a get loses its answer or its caller, and every kind meets every \
             catalogued error. NotFound counts only where the catalogue says that this proves absence; any \
             other failure must be Transient or of the catalogue's class. Afterwards get must answer as \
             before.",
    mend: "Answer `GetError::NotFound` in one place only, where the backend's own code of absence is read, \
           from the right place. All else goes through `classify`; an empty list or a broken connection \
           proves nothing.",
}];

async fn derive(w: &mut World) -> Checked<Vec<FaultPlan>> {
    let (_, id, _) = w.running().await?;
    w.catch_up().await;
    let operation = w.next_operation();
    w.gets(&id).await?;
    let run = DryRun::of(&w.calls(), operation);
    let mut faults = run.answers_lost();
    faults.extend(run.native_errors(&w.setup().catalogue));
    faults.extend(run.callers_gone(CallerThen::Dropped));
    Ok(plans(faults, &[Then::Repeat]))
}

fn get(id: ProviderId) -> impl FnOnce(&World) -> BoxFuture<'static, Result<Instance, GetError>> {
    move |w| {
        let provider = Arc::clone(w.provider());
        async move { provider.get(&id).await }.boxed()
    }
}

async fn proves(w: &mut World, plan: &FaultPlan) -> Checked {
    let (request, id, before) = w.running().await?;
    w.catch_up().await;
    let result = faulted(w, plan, get(id.clone())).await?;
    if let Some(Err(error)) = result {
        let class = error.class();
        let native = plan.faults.iter().find_map(|fault| match &fault.answer {
            Answer::Native(id) => w.setup().catalogue.get(id),
            _ => None,
        });
        let due = native.map_or(Class::Transient, |native| native.class);
        match (class, due) {
            (Class::NotFound, Class::NotFound) => {}
            (Class::NotFound, _) => {
                broken!(
                    "get answered NotFound for {}, which runs (its call {}); {due} was due",
                    request.name,
                    met(plan)
                )
            }
            // A quota that the profile does not tell apart is something that may pass.
            (_, Class::QuotaExceeded | Class::NotFound) => {}
            (class, due) => {
                hold!(class == due, "get answered {class} (its call {}); {due} was due: {error}", met(plan))
            }
        }
    }
    let after = w.gets(&id).await?;
    hold!(after == before, "after the fault was over, get answered {after:?}, before it {before:?}");
    Ok(())
}
