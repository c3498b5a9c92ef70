//! Creates that run at the same time.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{CreateRequest, Error, FailureClass, Provider, ProviderId, profile::PrimaryKey};

use super::verbs::LATENCY;
use crate::{
    broken,
    drive::Ended,
    hold,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::sweeps::verbs::{nothing_left, one_whole_instance},
    story::said,
    world::{Tweaks, World},
};

type Result = std::result::Result<ProviderId, Error>;

pub(super) const CONCURRENT_SAME_NAME: Rule = Rule {
    id: "create.concurrent-same-name",
    level: Level::Must,
    says: "Creates for one owner at the same time answer with one id, and make one instance.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| concurrent_same_name(w).boxed()),
    absent: None,
    why: "Two reconciles of one owner, the second on a stale cache, create at the same moment. Without a \
          turn at the name they make doubles, and a clean-up then deletes either of them, perhaps the one in \
          use.",
    tested: "With slow answers, four creates of one request run at once: all must succeed with one id and \
             one marked instance, and a delete must leave nothing. Where the name is the key, two processes \
             then do the same: each may be Transient, and a create afterwards must agree with the ids that \
             were answered.",
    mend: "Begin create and delete with `Gate::name` and hold the turn to the end. When the backend says \
           that the name is taken, look again and adopt what `Ownership::of` calls ours: another process may \
           have been first.",
};

async fn concurrent_same_name(w: &mut World) -> Checked {
    let request = w.request();
    let one = Arc::clone(w.provider());
    let first = at_once(w, [&one, &one, &one, &one].map(|provider| (provider, &request)).to_vec()).await?;
    let mut ids = BTreeSet::new();
    for result in first {
        match result {
            Ok(id) => ids.insert(id),
            Err(error) => broken!("of four creates for {} at once one failed: {error}", request.name),
        };
    }
    hold!(
        ids.len() == 1,
        "four creates for {} at once answered with {} ids, where one was due: {}",
        request.name,
        ids.len(),
        ids.iter().map(ProviderId::as_str).collect::<Vec<_>>().join(", ")
    );
    one_whole_instance(w, &request.name).await?;
    if let Some(id) = ids.first() {
        w.runs(&request.name, id).await?;
        w.goes(id).await?;
    }
    nothing_left(w, "after a delete of what four creates made").await?;
    match w.profile().primary_key {
        PrimaryKey::NameIsKey => two_processes(w).await,
        // Without a key that both know, only the election of one leader keeps two processes apart.
        PrimaryKey::AllocatedId => Ok(()),
    }
}

/// A process that was paused and its successor know nothing of each other's gates.
async fn two_processes(w: &mut World) -> Checked {
    let request = w.request();
    let one = Arc::clone(w.provider());
    let two = w.build(&Tweaks::default())?.provider;
    let results = at_once(w, vec![(&one, &request), (&two, &request)]).await?;
    for result in &results {
        match result {
            Err(error) if error.class() != FailureClass::Transient => {
                broken!("two processes created {} at once, and one answered: {error}", request.name)
            }
            _ => {}
        }
    }
    let id = w.creates(&request).await?;
    let other = results.into_iter().flatten().find(|answered| *answered != id);
    hold!(
        other.is_none(),
        "two processes created {} at once and answered with {other:?} and {id}",
        request.name
    );
    one_whole_instance(w, &request.name).await?;
    w.runs(&request.name, &id).await?;
    w.goes(&id).await?;
    nothing_left(w, "after a delete of what two processes made").await
}

pub(super) const DISTINCT_NAMES_IN_PARALLEL: Rule = Rule {
    id: "create.distinct-names-in-parallel",
    level: Level::Must,
    says: "Creates for different owners do not wait for each other, and each makes its own instance.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| distinct_names_in_parallel(w).boxed()),
    absent: None,
    why: "A provider that makes one instance at a time turns a scale-up of fifty proxies into an hour of \
          waiting: each create waits for the boot of the one before.",
    tested: "With slow answers, creates for at least four owners, and one more than there are targets, run \
             at once. Each must get an id of its own and an instance with its owner's uid; on a fake, two \
             operations must have been at one target at the same time.",
    mend: "Serialise by `Gate::name` and limit by `Gate::target` alone, and hold no other lock across a \
           backend call. Numbers that the backend gives out are tried again when they are taken, not guarded \
           by one lock for all.",
};

async fn distinct_names_in_parallel(w: &mut World) -> Checked {
    // One more than there are targets: two meet at one of them.
    let count = (w.backend().targets().len() + 1).max(4);
    let requests: Vec<CreateRequest> = (0..count).map(|_| w.request()).collect();
    let provider = Arc::clone(w.provider());
    let results = at_once(w, requests.iter().map(|request| (&provider, request)).collect()).await?;
    let mut ids = BTreeSet::new();
    for (request, result) in requests.iter().zip(results) {
        let id = match result {
            Ok(id) => id,
            Err(error) => broken!("of {count} creates at once that of {} failed: {error}", request.name),
        };
        hold!(ids.insert(id.clone()), "{id} was answered for two owners");
        let thing = w.instance(&request.name).await?;
        let uid = thing.marks.get(provider_api::mark::UID);
        hold!(
            uid.is_some_and(|uid| uid == request.uid.as_str()),
            "{} is marked with {uid:?}, its owner is {}",
            request.name,
            request.uid
        );
    }
    if w.is_fake() {
        let targets = w.backend().targets();
        let peak = targets.iter().map(|target| w.wire().peak(target)).max().unwrap_or(0);
        hold!(
            peak > 1,
            "of {count} creates for different owners at once, with slow answers, never more than {peak} was at work at one \
             target; two at the same time were due"
        );
    }
    Ok(())
}

/// Runs creates together, with answers that take long enough for them to overlap.
async fn at_once(w: &World, creates: Vec<(&Arc<dyn Provider>, &CreateRequest)>) -> Checked<Vec<Result>> {
    w.wire().set_latency(LATENCY);
    let names: Vec<_> = creates.iter().map(|(_, request)| request.name.clone()).collect();
    let create = |(provider, request): (&Arc<dyn Provider>, &CreateRequest)| -> BoxFuture<'static, Result> {
        let (provider, request) = (Arc::clone(provider), request.clone());
        async move { provider.create(&request).await }.boxed()
    };
    let ended = w.together(creates.into_iter().map(create).collect()).await?;
    w.wire().set_latency(Duration::ZERO);
    let done = ended.into_iter().map(Ended::done).collect::<Option<Vec<Result>>>();
    let done = done.ok_or_else(|| Stop::Error("a create was dropped that nobody was to drop".into()))?;
    for (name, answer) in names.iter().zip(&done) {
        w.note(format!("create {name}, at once with others -> {}", said(answer)));
    }
    Ok(done)
}
