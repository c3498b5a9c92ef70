//! A tour of a provider: every operation, with success, with failures, and cancelled; and what each one left in the
//! logs and on the wire.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{Built, Deadline, Operation, OperationId, ProviderId};

use crate::{
    capture::{self, Captured},
    drive::Ended,
    faults::{Answer, Call, CallerThen, Effect, Fault, Match},
    rule::{Checked, Stop},
    wire::Condition,
    world::World,
};

/// One operation as it went.
pub(super) struct Visit {
    pub(super) operation: Operation,
    /// The id or name that it was about; empty for listings and checks.
    pub(super) subject: String,
    /// The class that it has to be counted under.
    pub(super) class: &'static str,
    pub(super) captured: Captured,
    pub(super) calls: Vec<Call>,
}

impl std::fmt::Display for Visit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({})", self.operation, self.subject, self.class)
    }
}

/// Goes through every operation of what was built.
pub(super) async fn tour(w: &mut World, built: &Built) -> Checked<Vec<Visit>> {
    let mut visits = Vec::new();
    let request = w.request();
    let name = request.name.to_string();

    let (provider, wanted) = (Arc::clone(&built.provider), request.clone());
    let create = async move { provider.create(&wanted).await };
    let (visit, created) = visit(w, Operation::Create, &name, "OK", create.boxed()).await?;
    visits.push(visit);
    let id = match created {
        Some(Ok(id)) => id,
        Some(Err(error)) => return Err(Stop::Broken(format!("create {name} failed: {error}"))),
        None => return Err(Stop::Error("a caller that was to wait was dropped".into())),
    };
    w.runs(&request.name, &id).await?;

    visits.push(get(w, built, &id, "OK").await?);
    let provider = Arc::clone(&built.provider);
    let list = async move { drop(provider.list_by_tag().await) };
    visits.push(self::visit(w, Operation::List, "", "OK", list.boxed()).await?.0);
    if let Some(leftovers) = built.leftovers.clone() {
        let list = async move { drop(leftovers.list().await) };
        visits.push(self::visit(w, Operation::Leftovers, "", "OK", list.boxed()).await?.0);
    }
    if let Some(checker) = built.checker.clone() {
        let by = Deadline::within(&*w.case().clock, Duration::from_secs(30));
        let check = async move { drop(checker.check(by).await) };
        visits.push(self::visit(w, Operation::Check, "", "OK", check.boxed()).await?.0);
    }
    visits.push(get(w, built, &ProviderId::new("no such/ id//"), "Permanent").await?);
    if w.is_fake() {
        visits.extend(disturbed(w, built, &id).await?);
    }

    let (provider, wanted) = (Arc::clone(&built.provider), id.clone());
    let delete = async move { drop(provider.delete(&wanted).await) };
    visits.push(self::visit(w, Operation::Delete, id.as_str(), "OK", delete.boxed()).await?.0);
    w.goes(&id).await?;
    visits.push(get(w, built, &id, "NotFound").await?);
    Ok(visits)
}

/// A get while the backend is away, and one whose caller goes away at its first call.
async fn disturbed(w: &World, built: &Built, id: &ProviderId) -> Checked<[Visit; 2]> {
    let stale = || w.pass(w.profile().listing_max_age + Duration::from_secs(1));
    let targets = w.backend().targets();
    stale().await;
    targets.iter().for_each(|target| w.wire().set_condition(target, Some(Condition::Cut)));
    let failed = get(w, built, id, "Transient").await?;
    targets.iter().for_each(|target| w.wire().set_condition(target, None));

    // The first one after an outage may have to connect anew.
    stale().await;
    get(w, built, id, "OK").await?;
    stale().await;
    let undisturbed = get(w, built, id, "OK").await?;
    let call = undisturbed.calls.first();
    let call = call.ok_or_else(|| Stop::Error("a get made no call".into()))?;
    stale().await;
    let at = Match { operation: w.next_operation(), kind: call.kind.clone(), nth: 0 };
    let (effect, answer, caller) = (Effect::Never, Answer::Normal, CallerThen::Dropped);
    w.arm([Fault { at, effect, answer, caller, repeats: false }]);
    let cancelled = get(w, built, id, "Cancelled").await?;
    Ok([failed, cancelled])
}

async fn get(w: &World, built: &Built, id: &ProviderId, class: &'static str) -> Checked<Visit> {
    let (provider, wanted) = (Arc::clone(&built.provider), id.clone());
    let get = async move { drop(provider.get(&wanted).await) };
    Ok(visit(w, Operation::Get, id.as_str(), class, get.boxed()).await?.0)
}

/// Runs one operation and hears it; there is no result when its caller was dropped.
async fn visit<T: Send>(
    w: &World,
    operation: Operation,
    subject: &str,
    class: &'static str,
    future: BoxFuture<'_, T>,
) -> Checked<(Visit, Option<T>)> {
    let first = w.next_operation();
    capture::start();
    let ended = w.together(vec![future]).await;
    let captured = capture::take();
    let value = ended?.pop().and_then(Ended::done);
    let calls = w.calls().into_iter().filter(|call| call.operation == Some(OperationId(first))).collect();
    let visit = Visit { operation, subject: subject.to_owned(), class, captured, calls };
    w.note(format!("{visit}: {} lines, {} calls", visit.captured.events.len(), visit.calls.len()));
    Ok((visit, value))
}
