//! What stands on an error: the configured name, operation and subject, the cause, the hint, the late failure's id.

use std::{error::Error as StdError, time::Duration};

use provider_api::{Error, FailureClass, NativeError, Operation, ProviderId, Shows};

use super::{
    acts::{Act, Outcome},
    table,
};
use crate::{
    broken,
    faults::{Answer, FaultPlan},
    harness::Planted,
    hold,
    rule::{Checked, Stop},
    wire::Condition,
    world::{Tweaks, World},
};

/// An id that no provider can ever resolve.
pub(super) const MALFORMED: &str = "no such/ id//";

/// An error and what it should say.
struct Provoked {
    error: Error,
    operation: Operation,
    /// The id or name that it is about; a listing is about none.
    subject: Option<String>,
}

pub(super) async fn configured_name(w: &mut World) -> Checked {
    for Provoked { error, operation, .. } in provoke(w).await? {
        match error.provider().map(|name| name.as_str()) {
            Some(World::PROVIDER) => {}
            Some(other) => broken!("an error of {operation} names {other}, not {}: {error}", World::PROVIDER),
            None => broken!("an error of {operation} names no provider: {error}"),
        }
        hold!(
            error.to_string().contains(World::PROVIDER),
            "the text of an error of {operation} leaves the provider out: {error}"
        );
    }
    Ok(())
}

pub(super) async fn operation_and_id(w: &mut World) -> Checked {
    for Provoked { error, operation, subject } in provoke(w).await? {
        let said = error.operation();
        hold!(said == Some(operation), "an error of {operation} says that {said:?} failed: {error}");
        let Some(subject) = subject else { continue };
        let said = error.subject();
        hold!(
            said == Some(&subject),
            "an error of {operation} about {subject:?} says that it is about {}: {error}",
            said.map_or_else(|| "nothing".to_owned(), |said| format!("{said:?}"))
        );
    }
    Ok(())
}

/// One error at least of each operation: of the provider's own making, and of the backend's.
async fn provoke(w: &mut World) -> Checked<Vec<Provoked>> {
    let mut provoked = Vec::new();
    let id = ProviderId::new(MALFORMED);
    let about = |operation, subject: String, error| Provoked { error, operation, subject: Some(subject) };
    if let Err(provider_api::GetError::Failed(error)) = w.get(&id).await? {
        provoked.push(about(Operation::Get, id.to_string(), error));
    }
    if let Err(error) = w.delete(&id).await? {
        provoked.push(about(Operation::Delete, id.to_string(), error));
    }
    for (placement, _) in w.backend().unsatisfiable() {
        let mut request = w.request();
        request.placement = placement;
        if let Err(error) = w.create(&request).await? {
            provoked.push(about(Operation::Create, request.name.to_string(), error));
        }
    }
    let request = w.request();
    let planted = Planted {
        name: request.name.to_string(),
        marks: Default::default(),
        placement: request.placement.clone(),
    };
    if w.hand().plant(&planted).await.is_ok()
        && let Err(error) = w.create(&request).await?
    {
        provoked.push(about(Operation::Create, request.name.to_string(), error));
    }
    if w.is_fake() {
        for act in Act::all(w).into_iter().filter(|act| !matches!(act, Act::Check | Act::Watch)) {
            let prepared = act.prepare(w).await?;
            let subject = act.subject(&prepared);
            match outage(w, async |w| act.perform(w, &prepared).await).await? {
                Outcome::Failed(error) => {
                    provoked.push(Provoked { error, operation: act.operation(), subject });
                }
                Outcome::Partly => {}
                other => broken!("with the backend out of reach {act} ended with {other:?}"),
            }
        }
    }
    for operation in [Operation::Create, Operation::Get, Operation::Delete] {
        if !provoked.iter().any(|one| one.operation == operation) {
            return Err(Stop::Error(format!("no error of {operation} was provoked")));
        }
    }
    Ok(provoked)
}

/// Does something while no part of the backend can be reached.
pub(super) async fn outage<T>(w: &World, work: impl AsyncFnOnce(&World) -> Checked<T>) -> Checked<T> {
    let targets = w.backend().targets();
    w.note("the backend is cut off".into());
    w.condition(&targets, Some(Condition::Cut)).await?;
    let result = work(w).await;
    w.condition(&targets, None).await?;
    w.note("the backend is back".into());
    result
}

pub(super) async fn source_chain(w: &mut World) -> Checked {
    w.only_on_a_fake("be made to answer with what its catalogue lists")?;
    // Connections are made by now: the first call of an act is then the same each time.
    w.running().await?;
    for act in [Act::Create, Act::Get, Act::Delete] {
        let told = |native: &NativeError| {
            native.shows == Shows::Answer
                && native.class != provider_api::Class::NotFound
                && !native.tolerated_by.contains(&act.operation())
                && !words(native).is_empty()
        };
        let Some((plan, native)) = first(w, act, told).await? else {
            return Err(Stop::Error(format!("the catalogue lists no error for any call of {act}")));
        };
        let (_, _, outcome) = table::run(w, &plan).await?;
        w.wire().disarm();
        let Outcome::Failed(error) = outcome else {
            broken!("{act} ended with {outcome:?}, though its first call was answered {}", native.id)
        };
        let chain = chain(&error);
        hold!(
            !chain.is_empty(),
            "an error of {act} has no source, though the backend answered {}: {error}",
            native.id
        );
        let words = words(native);
        hold!(
            words.iter().any(|word| chain.contains(word.as_str())),
            "an error of {act} has the source {chain:?}, which has none of what the backend said: {words:?}"
        );
    }
    Ok(())
}

/// What the answer is known by: its code, its status, the longest part of its text that is always the same.
fn words(native: &NativeError) -> Vec<String> {
    let fixed = native.text.split(['{', '}']).step_by(2).max_by_key(|part| part.len()).unwrap_or_default();
    let status = native.status.map(|status| status.to_string()).unwrap_or_default();
    let words = [native.code.to_owned(), status, fixed.trim().to_owned()];
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

fn chain(error: &Error) -> String {
    let mut text = String::new();
    let mut link = error.source();
    while let Some(cause) = link {
        text += &format!("{cause}; ");
        link = cause.source();
    }
    text
}

/// The first kind of call of an act with the first error listed for it that is wanted, as a plan.
async fn first(
    w: &mut World,
    act: Act,
    wanted: impl Fn(&NativeError) -> bool,
) -> Checked<Option<(FaultPlan, &'static NativeError)>> {
    let catalogue = w.setup().catalogue;
    let kinds = act.kinds(w).await?;
    Ok(kinds.iter().find_map(|(kind, known_as)| {
        let native = catalogue.on(known_as).find(|native| wanted(native))?;
        Some((table::plan(act, kind, Answer::Native(native.id.to_owned()), true), native))
    }))
}

pub(super) async fn retry_after_kept(w: &mut World) -> Checked {
    w.only_on_a_fake("be made to answer with what its catalogue lists")?;
    let catalogue = w.setup().catalogue;
    let hinted = |native: &NativeError| hint(native).is_some() && native.shows == Shows::Answer;
    let mut seen = 0;
    for act in [Act::Create, Act::Get, Act::Delete, Act::List] {
        let Some((plan, native)) = first(w, act, hinted).await? else { continue };
        let (_, _, outcome) = table::run(w, &plan).await?;
        w.wire().disarm();
        // A listing may name the part instead.
        let Outcome::Failed(error) = outcome else { continue };
        seen += 1;
        let (said, due) = (error.retry_hint(), hint(native));
        hold!(
            said == due,
            "{} tells {act} to wait for {}, and the error says {}: {error}",
            native.id,
            due.map_or_else(|| "no time".to_owned(), |due| format!("{due:?}")),
            said.map_or_else(|| "nothing".to_owned(), |said| format!("{said:?}"))
        );
    }
    let listed = catalogue.iter().any(hinted);
    if listed && seen == 0 {
        return Err(Stop::Error("the catalogue lists errors with a hint, and none was provoked".into()));
    }
    // A connection that breaks gives no hint, so there is none to hand on.
    let prepared = Act::Get.prepare(w).await?;
    match outage(w, async |w| Act::Get.perform(w, &prepared).await).await? {
        Outcome::Failed(error) => {
            let said = error.retry_hint();
            hold!(said.is_none(), "nobody gave a hint, and the error says to wait {said:?}: {error}");
            Ok(())
        }
        other => broken!("with the backend out of reach get ended with {other:?}"),
    }
}

/// How long the backend says to wait, where the catalogue gives it.
fn hint(native: &NativeError) -> Option<Duration> {
    let (_, value) = native.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"))?;
    value.parse().ok().map(Duration::from_secs)
}

pub(super) async fn failure_id_kept(w: &mut World) -> Checked {
    let late = w.setup().catalogue.iter().find(|native| native.shows == Shows::Task);
    let late =
        late.ok_or_else(|| Stop::Error("the profile has late failures, the catalogue has none".into()))?;
    w.hand().fail_late(Some(late.id)).await?;
    let request = w.request();
    let mut error = None;
    for _ in 0..4 {
        match w.create(&request).await? {
            Err(failed) => {
                error = Some(failed);
                break;
            }
            Ok(_) => w.pass(Duration::from_secs(30)).await,
        }
    }
    w.hand().fail_late(None).await?;
    let Some(error) = error else {
        broken!("a create was accepted and failed late, and no later create says so")
    };
    let Some(id) = error.failure() else {
        broken!("the error about a late failure has no failure id: {error}")
    };
    for restarted in [false, true] {
        if restarted {
            w.restart(&Tweaks::default())?;
        }
        match w.create(&request).await? {
            Ok(_) => broken!("create tried anew, though nobody acknowledged failure {id}"),
            Err(again) => {
                let (said, class) = (again.failure(), again.class());
                hold!(
                    said == Some(id),
                    "the failure {id} was due under the same id, but is called {} later: {again}",
                    said.map_or_else(|| "nothing".to_owned(), |said| said.to_string())
                );
                hold!(
                    class == error.class(),
                    "the failure {id} was {:?}, and is {class:?} later",
                    error.class()
                );
            }
        }
    }
    Ok(())
}

/// Where failures do not come late, no error carries such an id.
pub(super) async fn no_failure_id(w: &mut World) -> Checked {
    for Provoked { error, operation, .. } in provoke(w).await? {
        let id = error.failure();
        hold!(
            id.is_none(),
            "late failures are declared absent, and an error of {operation} carries {id:?}: {error}"
        );
    }
    // Nor does a refusal of the backend's.
    let refused = |native: &NativeError| native.class == FailureClass::Permanent.into();
    if let Some((plan, _)) = first(w, Act::Create, refused).await?
        && let (_, _, Outcome::Failed(error)) = table::run(w, &plan).await?
    {
        hold!(
            error.failure().is_none(),
            "late failures are declared absent, and a create's error carries one: {error}"
        );
    }
    w.wire().disarm();
    Ok(())
}
