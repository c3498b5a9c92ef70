//! Counts.

use prometheus_client::{encoding::text::encode, registry::Registry};
use provider_api::{Operation, ProviderName};

use super::tour::tour;
use crate::{
    broken, hold,
    rule::{Checked, Stop},
    world::World,
};

/// Every class that an operation can be counted under.
const CLASSES: [&str; 8] =
    ["OK", "NotFound", "QuotaExceeded", "Transient", "Permanent", "Cancelled", "Panicked", "NotReady"];

pub(super) async fn metrics_by_class(w: &mut World) -> Checked {
    let provider = ProviderName::parse(World::PROVIDER).map_err(|error| Stop::Error(error.to_string()))?;
    let built = w.built().clone();
    let mut due = vec![];
    let mut subjects = vec![];
    // Whatever the tour does between its visits is counted too, so only a visit's own share is told apart below.
    let before = w.metrics().clone();
    let visits = tour(w, &built).await?;
    for visit in &visits {
        due.push((visit.operation, visit.class));
        subjects.push(visit.subject.clone());
    }
    let total: u64 = Operation::ALL
        .into_iter()
        .flat_map(|operation| CLASSES.map(|class| before.operations(&provider, operation, class)))
        .sum();
    let driven = w.next_operation();
    for (operation, class) in &due {
        let wanted = due.iter().filter(|other| *other == &(*operation, *class)).count() as u64;
        let counted = before.operations(&provider, *operation, class);
        hold!(
            counted >= wanted,
            "of {wanted} {operation} operations that ended with {class} the `Metrics` of the `Context` count {counted}; \
             of all {driven} that were driven they count {total} for {provider}"
        );
    }
    hold!(
        total == driven,
        "{driven} operations were driven, and the `Metrics` of the `Context` count {total} for {provider}"
    );
    for operation in Operation::ALL {
        let flying = before.in_flight(&provider, operation);
        hold!(flying == 0, "nothing is under way, and {flying} {operation} operations are counted as such");
    }
    labels(w, &subjects)
}

/// No label bears an instance or a message.
fn labels(w: &World, subjects: &[String]) -> Checked {
    let mut registry = Registry::default();
    w.metrics().register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry)
        .map_err(|error| Stop::Error(format!("the metrics cannot be written: {error}")))?;
    for subject in subjects.iter().filter(|subject| !subject.is_empty()) {
        if let Some(line) = text.lines().find(|line| line.contains(subject.as_str())) {
            broken!("a label of the metrics bears an instance: {line}");
        }
    }
    hold!(text.contains(World::PROVIDER), "the metrics do not bear the provider's configured name");
    Ok(())
}
