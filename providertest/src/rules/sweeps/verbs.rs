//! What the sweeps have in common: how a planned operation is run, and how a provider is brought to rest after it.

use std::time::Duration;

use futures::future::BoxFuture;
use provider_api::{
    Class, CreateRequest, Deleted, Error, FailureClass, GetError, Instance, Listing, Name, ProviderId,
};

use crate::{
    broken,
    drive::Ended,
    faults::{Answer, Fault, FaultPlan},
    harness::{Thing, ThingKind},
    hold,
    looks::Looks,
    rule::{Checked, Stop},
    world::{Tweaks, World},
};

/// How often an operation is tried again after the faults before it counts as not converging.
const TRIES: usize = 12;

/// Whether the plan's fault is the backend's own word that something does not exist. Who believes it is right, though
/// here it is a lie.
pub(in crate::rules) fn says_absent(w: &World, plan: &FaultPlan) -> bool {
    plan.faults.iter().any(|fault| match &fault.answer {
        Answer::Native(id) => {
            w.setup().catalogue.get(id).is_some_and(|native| native.class == Class::NotFound)
        }
        _ => false,
    })
}

/// What an operation answered, as the steps of its case tell it.
pub(in crate::rules) trait Told {
    /// That answer in words.
    fn told(&self) -> String;
}

impl Told for Result<ProviderId, Error> {
    fn told(&self) -> String {
        self.as_ref().map_or_else(|error| failed(error.class(), error), ToString::to_string)
    }
}

impl Told for Result<Deleted, Error> {
    fn told(&self) -> String {
        self.as_ref().map_or_else(|error| failed(error.class(), error), |deleted| format!("{deleted:?}"))
    }
}

impl Told for Result<Instance, GetError> {
    fn told(&self) -> String {
        let state = |instance: &Instance| format!("{:?}", instance.state);
        self.as_ref().map_or_else(|error| failed(error.class(), error), state)
    }
}

impl Told for Result<Listing, Error> {
    fn told(&self) -> String {
        let count =
            |list: &Listing| format!("{} items, {} unreachable", list.items.len(), list.unreachable.len());
        self.as_ref().map_or_else(|error| failed(error.class(), error), count)
    }
}

fn failed(class: impl Into<Class>, error: &impl std::fmt::Display) -> String {
    format!("{}: {error}", class.into())
}

/// The call that a plan disturbs, and how, in words that go on from "its call".
pub(in crate::rules) fn met(plan: &FaultPlan) -> String {
    let told = |fault: &Fault| format!("{} {fault}", fault.at.kind);
    plan.faults.iter().map(told).collect::<Vec<_>>().join(", and ")
}

/// Runs one operation under a plan's faults; a restart is carried out.
pub(in crate::rules) async fn faulted<T, F>(
    w: &mut World,
    plan: &FaultPlan,
    operation: F,
) -> Checked<Option<T>>
where
    T: Told + Send + 'static,
    F: FnOnce(&World) -> BoxFuture<'static, T>,
{
    let first = w.next_operation();
    w.arm(plan.faults.iter().cloned().map(|mut fault| {
        fault.at.operation += first;
        fault
    }));
    let operation = operation(w);
    let ended = w.together(vec![operation]).await?.pop();
    match ended {
        Some(Ended::Done(value)) => {
            w.note(format!("the faulted operation -> {}", value.told()));
            Ok(Some(value))
        }
        Some(Ended::Dropped) => {
            w.note("the faulted operation was dropped".into());
            Ok(None)
        }
        Some(Ended::Restarted) => {
            w.restart(&Tweaks::default())?;
            Ok(None)
        }
        None => Err(Stop::Error("no operation was driven".into())),
    }
}

/// Creates until it succeeds, and the instance runs; what landed late is then settled by one create more.
pub(in crate::rules) async fn creates_in_the_end(
    w: &mut World,
    request: &CreateRequest,
) -> Checked<ProviderId> {
    let id = create_until_done(w, request).await?;
    let id = match w.wire().land(None) {
        0 => id,
        _ => create_until_done(w, request).await?,
    };
    w.runs(&request.name, &id).await?;
    let again = create_until_done(w, request).await?;
    hold!(id == again, "create answered {id}, and {again} for the same request later");
    Ok(id)
}

async fn create_until_done(w: &World, request: &CreateRequest) -> Checked<ProviderId> {
    let mut last = None;
    let mut request = request.clone();
    let mut looks = Looks::new(TRIES, Duration::from_secs(15));
    while looks.again(w).await {
        match w.create(&request).await? {
            Ok(id) => return Ok(id),
            // A late failure is reported until the caller says that it has seen it.
            Err(error) if error.failure() != request.acknowledged_failure.as_ref() => {
                request.acknowledged_failure = error.failure().cloned();
            }
            Err(error) if error.class() == FailureClass::Permanent => {
                broken!("with nothing wrong any more, create {} failed for good: {error}", request.name)
            }
            Err(error) => {
                w.pass(error.retry_hint().unwrap_or_default()).await;
                last = Some(error);
            }
        }
    }
    let last = last.map(|error| error.to_string()).unwrap_or_default();
    broken!(
        "with nothing wrong any more, create {} did not succeed within {TRIES} tries; the last failed: {last}",
        request.name
    )
}

/// Deletes until `get` proves the instance gone.
pub(in crate::rules) async fn deletes_in_the_end(w: &World, id: &ProviderId) -> Checked {
    let mut last = String::new();
    let mut looks = Looks::new(TRIES * 4, Duration::from_secs(10));
    while looks.again(w).await {
        match w.delete(id).await? {
            Err(error) if error.class() == FailureClass::Permanent => {
                broken!("with nothing wrong any more, delete {id} failed for good: {error}")
            }
            Err(error) => last = format!("delete failed: {error}"),
            Ok(deleted) => {
                let seen = match w.get(id).await? {
                    Err(GetError::NotFound) => return Ok(()),
                    Err(error) => format!("get failed: {error}"),
                    Ok(instance) => format!("get {:?}", instance.state),
                };
                last = format!("delete answered {deleted:?} and {seen}");
            }
        }
    }
    broken!("with nothing wrong any more, {id} did not go within {} deletes; in the end {last}", TRIES * 4)
}

/// One round of the collector for one owner: deletes what is listed for it, then the leftovers under its name. Answers
/// in words what that was.
pub(in crate::rules) async fn collect(w: &World, request: &CreateRequest) -> Checked<String> {
    let mut listed = w.lists().await?.items;
    listed.retain(|listed| listed.uid == request.uid);
    for listed in &listed {
        deletes_in_the_end(w, &listed.id).await?;
    }
    let mut leftovers = w.leftovers().await?.items;
    leftovers.retain(|leftover| leftover.owner == request.name);
    for leftover in &leftovers {
        if let Err(error) = w.delete_leftover(leftover).await? {
            broken!("leftover {} cannot be deleted: {error}", leftover.id);
        }
    }
    Ok(format!("{} instances and {} leftovers", listed.len(), leftovers.len()))
}

/// Holds that nothing is left but what is shared.
pub(in crate::rules) async fn nothing_left(w: &World, when: &str) -> Checked {
    let left = w.left().await?;
    hold!(left.is_empty(), "{when}, this is left: {}", names(&left));
    Ok(())
}

/// Holds that there is one instance of that name, marked, and nothing beside it that it does not need.
pub(in crate::rules) async fn one_whole_instance(w: &World, name: &Name) -> Checked {
    let instance = w.instance(name).await?;
    hold!(
        instance.marks.contains_key(provider_api::mark::UID),
        "{name} stands without its mark: {:?}",
        instance.marks
    );
    let mut left = w.left().await?;
    left.retain(|thing| thing.key != instance.key && !instance.references.contains(&thing.key));
    hold!(left.is_empty(), "beside the one instance there stands what it does not need: {}", names(&left));
    Ok(())
}

/// Holds that every instance carries a mark.
pub(in crate::rules) async fn everything_marked(w: &World) -> Checked {
    let things = w.left().await?;
    let bare = things.iter().find(|thing| {
        thing.kind == ThingKind::Instance && !thing.marks.contains_key(provider_api::mark::INSTALLATION)
    });
    hold!(
        bare.is_none(),
        "an instance stands without its mark: {}",
        names(&bare.cloned().into_iter().collect::<Vec<_>>())
    );
    Ok(())
}

pub(in crate::rules) fn names(things: &[Thing]) -> String {
    let name = |thing: &Thing| format!("{:?} {} ({})", thing.kind, thing.name, thing.native_state);
    things.iter().map(name).collect::<Vec<_>>().join(", ")
}
