//! Ids that people have edited.

use futures::FutureExt;
use provider_api::{Class, GetError, ProviderId};

use crate::{
    broken,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::ids,
    world::World,
};

pub(super) const MALFORMED_ID_IS_PERMANENT: Rule = Rule {
    id: "get.malformed-id-is-permanent",
    level: Level::Must,
    says: "For an id that it can never resolve, get answers Permanent without a backend call; it panics on no input.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| malformed(w).boxed()),
    absent: None,
    why: "Ids stand in a status that people can edit. A mangled one that is taken for absence makes the \
          reconciler forget a running instance; put into a URL as it is, it may climb to another path; a \
          panic takes the caller's task down.",
    tested: "Draws 192 ids from the case's seed: edits of a real one, odd segments, random text, ids without \
             end. What can never be resolved must be Permanent without a backend call, no other text may \
             answer with the real instance, and nothing may change. An id that fails is shortened for the \
             report.",
    mend: "Parse with `Grammar::parse`, `Name::parse` and a strict parser for each other field (a number in \
           its one spelling, a name as the config allows) before anything else, before the first call too, \
           and turn `Malformed` into `Error::permanent`. Never index or slice the text.",
};

async fn malformed(w: &mut World) -> Checked {
    let (_, real, _) = w.running().await?;
    let pattern = w.profile().id_pattern;
    if ids::is_malformed(pattern, real.as_str()) {
        broken!("create answered {real:?}, which the profile's pattern {pattern:?} does not write");
    }
    let before = w.snapshot().await?;
    let moment = w.moment();
    for mut text in ids::drawn(w.case().seed, &real) {
        let Err(mut worst) = judge(w, pattern, &real, &text).await else { continue };
        // A shorter id that fails too makes a better report.
        'search: loop {
            for shorter in ids::shorter(&text) {
                if let Err(stop @ Stop::Broken(_)) = judge(w, pattern, &real, &shorter).await {
                    (text, worst) = (shorter, stop);
                    continue 'search;
                }
            }
            return Err(worst);
        }
    }
    w.untouched(moment, &before, "get by edited ids").await
}

/// Holds what must hold for one id, malformed or not.
async fn judge(w: &World, pattern: &str, real: &ProviderId, text: &str) -> Checked {
    let (moment, count) = (w.moment(), w.wire().call_count());
    let id = ProviderId::new(text);
    let answer = w.get(&id).await?;
    let class = answer.as_ref().err().map(GetError::class);
    if !ids::is_malformed(pattern, text) {
        return match answer {
            Ok(instance) if id != *real => broken!("get {text:?} answered {instance:?}, which is {real}"),
            Ok(_) | Err(_) => Ok(()),
        };
    }
    let shown: String = text.chars().take(120).collect();
    match (class, w.cost(moment)) {
        (Some(Class::Permanent), 0) => Ok(()),
        (Some(Class::Permanent), calls) => {
            let made = w.calls().into_iter().nth(count);
            let first = made.map_or("none that the wire saw".into(), |call| call.kind);
            broken!(
                "get {shown:?} can never be resolved, and failed as Permanent, but only after {calls} backend calls, \
                 first {first}; none was due"
            )
        }
        (Some(class), _) => {
            broken!("get {shown:?} can never be resolved, but failed as {class}; Permanent was due")
        }
        (None, _) => {
            broken!("get {shown:?} can never be resolved, but answered {answer:?}; Permanent was due")
        }
    }
}
