//! What the rules of create and delete have in common: a create that must fail, and a create one of whose calls meets an
//! answer of the catalogue.

use std::collections::BTreeSet;

use provider_api::{CreateRequest, Error, FailureClass, NativeError, ProviderId};

use crate::{
    broken,
    faults::{Answer, Call, Fault},
    hold,
    rule::{Checked, Stop},
    sweep::DryRun,
    world::World,
};

/// How long each answer takes where operations are to overlap.
pub(in crate::rules) const LATENCY: std::time::Duration = std::time::Duration::from_secs(1);

/// How long an answer takes while it lasts that long on a fake: a real one takes what it takes, about so long.
pub(in crate::rules) fn answer_time(w: &World) -> std::time::Duration {
    if w.is_fake() { LATENCY } else { std::time::Duration::from_millis(10) }
}

/// Creates, and must fail with that class.
pub(in crate::rules) async fn fails(
    w: &World,
    request: &CreateRequest,
    class: FailureClass,
    why: &str,
) -> Checked<Error> {
    match w.create(request).await? {
        Ok(id) => broken!("create {} answered {id}, though {why}", request.name),
        Err(error) if error.class() == class => Ok(error),
        Err(error) => {
            let seen = error.class();
            broken!("create {} failed as {seen:?} and not as {class:?}, though {why}: {error}", request.name)
        }
    }
}

/// Creates, and must be refused for good, before any backend call, with nothing changed.
pub(in crate::rules) async fn refused_at_once(
    w: &World,
    request: &CreateRequest,
    why: &str,
) -> Checked<Error> {
    let before = w.picture().await?;
    let (moment, count) = (w.moment(), w.wire().call_count());
    let error = fails(w, request, FailureClass::Permanent, why).await?;
    let cost = w.cost(moment);
    let calls = w.calls_since(count);
    let first = calls.first().map_or("none that the wire saw", |call| call.kind.as_str());
    hold!(cost == 0, "create made {cost} calls before it refused, first {first}; none was due, since {why}");
    if let Some(change) = w.picture().await?.change_since(&before) {
        broken!("create was refused, since {why}, yet {change}");
    }
    Ok(error)
}

/// The calls of a create, once the provider has done what it does only once; polls count as first, second and last.
pub(in crate::rules) async fn calls_of_a_create(w: &mut World) -> Checked<Vec<Call>> {
    w.only_on_a_fake("have its calls broken")?;
    w.created().await?;
    let operation = w.next_operation();
    w.created().await?;
    Ok(DryRun::of(&w.calls(), operation).calls().to_vec())
}

/// What came of a create one of whose calls met an answer.
pub(in crate::rules) struct Met {
    pub(in crate::rules) request: CreateRequest,
    pub(in crate::rules) result: Result<ProviderId, Error>,
}

/// A create for `request` whose call like `call` meets that answer and takes no effect; `None` when it made no such
/// call.
pub(in crate::rules) async fn meets(
    w: &World,
    request: CreateRequest,
    call: &Call,
    answer: Answer,
) -> Checked<Option<Met>> {
    w.arm([Fault::answering(call, w.next_operation(), answer)]);
    let result = w.create(&request).await?;
    let met = w.wire().missed().is_empty();
    w.wire().disarm();
    Ok(met.then_some(Met { request, result }))
}

/// Each distinct kind of call with each native error that the catalogue lists for it and `wanted` picks. There must be
/// one, lest a rule hold because nothing happened.
pub(in crate::rules) fn native_errors(
    w: &World,
    calls: &[Call],
    wanted: impl Fn(&NativeError) -> bool,
) -> Checked<Vec<(Call, &'static NativeError)>> {
    let mut seen = BTreeSet::new();
    let catalogue = w.setup().catalogue;
    let mut pairs = Vec::new();
    for call in calls.iter().filter(|call| seen.insert((call.kind.clone(), call.known_as().to_owned()))) {
        let errors = catalogue.on(call.known_as()).filter(|error| wanted(error));
        pairs.extend(errors.map(|error| (call.clone(), error)));
    }
    if pairs.is_empty() {
        let text = "the catalogue lists no error of the wanted kind for any call of a create";
        return Err(Stop::Error(text.into()));
    }
    Ok(pairs)
}

/// Holds that nothing that bears a request's name stands on the backend.
pub(in crate::rules) async fn nothing_of(w: &World, request: &CreateRequest, when: &str) -> Checked {
    let name = request.name.as_str();
    let left = w.left().await?;
    let of_it = left.iter().find(|thing| thing.name.contains(name));
    hold!(
        of_it.is_none(),
        "{when}; this is left of {name}: {}",
        of_it.map(|thing| format!("{:?} {} on {}", thing.kind, thing.name, thing.target)).unwrap_or_default()
    );
    Ok(())
}
