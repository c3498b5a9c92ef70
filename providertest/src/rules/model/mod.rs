//! The rules of the group `model`: random sequences of operations, faults, restarts and outside changes, held after
//! every step against a reference model.

mod reference;
mod steps;

use std::{collections::BTreeSet, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{CreateRequest, Deleted, Name, OperationId, ProviderId};

use self::{
    reference::{Belief, Model, Who},
    steps::{Hit, Step},
};
use crate::{
    broken,
    drive::Ended,
    faults::{Fault, FaultPlan},
    hold,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::sweeps::verbs,
    story::said,
    world::{Tweaks, World},
};

pub(crate) use steps::Sequence;

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[Rule {
    id: "model.state-machine",
    level: Level::Must,
    says: "After any sequence of operations, faults, restarts and outside changes the backend is as the model says.",
    caller: Caller::Everybody,
    applies: always,
    check: Check::Model(|w, plan| sequence(w, plan).boxed()),
    absent: None,
    why: "Each other rule holds in a case of its own; users create, restart, delete and have hands in \
          between. What breaks in such an order only shows in the field, as a double, an orphan, or a proxy \
          that never goes.",
    tested: "96 random sequences over three owners: operations with and without faults, races, restarts, \
             removals by another hand, pauses. After each step every answer and the observer must agree with \
             a small model; in the end everything must be created, then deleted without a trace. A sequence \
             that fails is shrunk.",
    mend: "Replay the shrunk sequence: its last step is the one that went wrong, its first ones are what it \
           needs. Look for what is kept in memory, or decided before a wait, and read it from the backend \
           instead. Mend rules of their own that are red first.",
}];

/// How many random sequences a run tries.
pub(crate) const SEQUENCES: usize = 96;

/// One owner of a sequence.
struct Owner {
    request: CreateRequest,
    id: Option<ProviderId>,
}

struct Play<'w> {
    w: &'w mut World,
    model: Model,
    owners: Vec<Owner>,
    /// Whether an effect of before landed with the last operation.
    landed: bool,
}

async fn sequence(w: &mut World, plan: &FaultPlan) -> Checked {
    let text = plan.variant.as_deref().unwrap_or_default();
    let steps: Vec<Step> = serde_json::from_str(text)
        .map_err(|error| Stop::Error(format!("the plan holds no sequence of steps: {error}")))?;
    let owners = (0..3).map(|_| Owner { request: w.request(), id: None }).collect();
    let mut play = Play { w, model: Model::default(), owners, landed: false };
    for step in &steps {
        play.w.note(format!("step {step:?}"));
        play.step(step).await?;
        play.look().await?;
    }
    play.end().await
}

impl Play<'_> {
    async fn step(&mut self, step: &Step) -> Checked {
        match step {
            Step::Create(who, hit) => self.create(*who, hit.as_ref()).await,
            Step::Get(who, hit) => self.get(*who, hit.as_ref()).await,
            Step::Delete(who, hit) => self.delete(*who, hit.as_ref()).await,
            Step::Race(who) => self.race(*who).await,
            Step::List => self.list().await,
            Step::Restart => self.w.restart(&Tweaks::default()),
            Step::Remove(who) => {
                // A harness without that power plays the sequence without the step.
                if self.w.hand().remove(&self.name(*who)).await.is_ok()
                    && self.model.of(*who) != Belief::Absent
                {
                    self.model.removed(*who);
                }
                Ok(())
            }
            Step::BringUp(who) => {
                let _ = self.w.hand().bring_up(&self.name(*who)).await;
                Ok(())
            }
            Step::Pass(seconds) => {
                self.w.pass(std::time::Duration::from_secs((*seconds).into())).await;
                Ok(())
            }
        }
    }

    async fn create(&mut self, who: Who, hit: Option<&Hit>) -> Checked {
        let (provider, request) = (Arc::clone(self.w.provider()), self.owner(who).request.clone());
        let (ended, cut) = self.hit(hit, async move { provider.create(&request).await }.boxed()).await?;
        self.tell("create", who, ended.as_ref().map(said));
        match ended {
            Some(Ok(id)) => {
                if let Some(before) = self.owner(who).id.replace(id.clone()) {
                    let same = before == id || self.model.of(who) != Belief::Exists;
                    hold!(same, "create of owner {who} answered {id}, before {before}");
                }
                self.model.created(who, Ok(()), cut)?;
                if self.landed {
                    // A deletion of before may have met what this create answered with.
                    self.model.unsure(who);
                }
                Ok(())
            }
            Some(Err(error)) => self.model.created(who, Err(&error), cut),
            None => {
                self.model.unsure(who);
                Ok(())
            }
        }
    }

    async fn get(&mut self, who: Who, hit: Option<&Hit>) -> Checked {
        let Some(id) = self.owner(who).id.clone() else { return Ok(()) };
        let provider = Arc::clone(self.w.provider());
        let (ended, cut) = self.hit(hit, async move { provider.get(&id).await }.boxed()).await?;
        let shown =
            ended.as_ref().map(|answer| answer.as_ref().map(|instance| format!("{:?}", instance.state)));
        self.tell("get", who, shown.as_ref().map(said));
        match ended {
            Some(answer) => {
                let answer = answer.map(|instance| instance.state.kind()).map_err(|error| error.class());
                self.model.got(who, answer, cut)
            }
            None => Ok(()),
        }
    }

    async fn delete(&mut self, who: Who, hit: Option<&Hit>) -> Checked {
        let Some(id) = self.owner(who).id.clone() else { return Ok(()) };
        let provider = Arc::clone(self.w.provider());
        let (ended, cut) = self.hit(hit, async move { provider.delete(&id).await }.boxed()).await?;
        let shown = ended.as_ref().map(|answer| answer.as_ref().map(|deleted| format!("{deleted:?}")));
        self.tell("delete", who, shown.as_ref().map(said));
        match ended {
            Some(answer) => {
                let answer = answer.as_ref().map_err(|error| error.class());
                // An id names what an interrupted create may have left elsewhere only in part.
                let sure = self.model.of(who) != Belief::Unsure;
                let answer =
                    if sure || answer != Ok(&Deleted::Gone) { answer } else { Ok(&Deleted::Accepted) };
                self.model.deleted(who, answer, cut)
            }
            None => {
                self.model.unsure(who);
                Ok(())
            }
        }
    }

    async fn race(&mut self, who: Who) -> Checked {
        let Some(id) = self.owner(who).id.clone() else { return Ok(()) };
        let (provider, request) = (Arc::clone(self.w.provider()), self.owner(who).request.clone());
        let other = Arc::clone(&provider);
        let create: BoxFuture<'static, ()> = async move { drop(provider.create(&request).await) }.boxed();
        let delete: BoxFuture<'static, ()> = async move { drop(other.delete(&id).await) }.boxed();
        self.w.together(vec![create, delete]).await?;
        self.model.unsure(who);
        Ok(())
    }

    async fn list(&mut self) -> Checked {
        let listing = self.w.lists().await?;
        let who = |name: &Name| self.owners.iter().position(|owner| owner.request.name == *name);
        let mut listed = BTreeSet::new();
        for item in &listing.items {
            let Some(who) = who(&item.name) else {
                broken!("the listing shows {}, which nobody asked for", item.name)
            };
            hold!(listed.insert(who as Who), "the listing shows {} twice", item.name);
        }
        self.model.listed(&listed)
    }

    /// Runs an operation, hit or not; says how it ended, and whether a fault met it.
    async fn hit<T: Send + 'static>(
        &mut self,
        hit: Option<&Hit>,
        operation: BoxFuture<'static, T>,
    ) -> Checked<(Option<T>, bool)> {
        let before = self.w.wire().hits();
        if let Some(hit) = hit {
            self.w.wire().arm_nth(OperationId(self.w.next_operation()), hit.nth.into(), |at| Fault {
                at,
                effect: hit.effect,
                answer: hit.answer.clone(),
                caller: hit.caller,
                repeats: false,
            });
        }
        let ended = self.w.together(vec![operation]).await?.pop();
        // An operation may be over before its `nth` call; the fault is then spent.
        self.w.wire().disarm();
        self.landed = self.w.wire().landed_late();
        let cut = self.w.wire().hits() > before || self.landed;
        Ok(match ended {
            Some(Ended::Done(value)) => (Some(value), cut),
            Some(Ended::Restarted) => {
                self.w.restart(&Tweaks::default())?;
                (None, true)
            }
            Some(Ended::Dropped) | None => (None, true),
        })
    }

    /// Compares what stands on the backend with what is believed.
    async fn look(&mut self) -> Checked {
        if self.w.wire().has_late() {
            // What is still to land may yet change any of it.
            return Ok(());
        }
        for who in 0..self.owners.len() {
            let instances = self.w.instances(&self.name(who as Who)).await?.len();
            self.model.seen(who as Who, instances)?;
        }
        Ok(())
    }

    /// In the end everything can be created, and everything can be deleted without a trace.
    async fn end(mut self) -> Checked {
        self.w.wire().land(None);
        let requests: Vec<_> = self.owners.drain(..).map(|owner| owner.request).collect();
        for request in &requests {
            verbs::creates_in_the_end(self.w, request).await?;
        }
        for request in &requests {
            verbs::collect(self.w, request).await?;
        }
        verbs::nothing_left(self.w, "after everything was deleted").await
    }

    /// Writes into the story what came of an operation; its caller may have gone away.
    fn tell(&self, operation: &str, who: Who, said: Option<String>) {
        let said = said.as_deref().unwrap_or("nobody waits for the answer");
        self.w.note(format!("{operation} of owner {who}, {} -> {said}", self.name(who)));
    }

    fn owner(&mut self, who: Who) -> &mut Owner {
        let count = self.owners.len();
        &mut self.owners[usize::from(who) % count]
    }

    fn name(&self, who: Who) -> Name {
        self.owners[usize::from(who) % self.owners.len()].request.name.clone()
    }
}
