//! The rules of the group `create`.

use futures::FutureExt;

use crate::{
    hold,
    rule::{Caller, Check, Checked, Level, Rule, always},
    world::World,
};

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[Rule {
    id: "create.idempotent",
    level: Level::Must,
    says: "Creating again answers with the same id, and there is one instance.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| idempotent(w).boxed()),
    absent: None,
    mend: "Derive the name from the request, look for it first, and adopt what carries your own mark.",
}];

async fn idempotent(w: &mut World) -> Checked {
    let (request, id) = w.created().await?;
    let again = w.creates(&request).await?;
    hold!(id == again, "the second create answered {again}, the first {id}");
    w.instance(&request.name).await?;
    w.runs(&request.name, &id).await?;
    let later = w.creates(&request).await?;
    hold!(id == later, "a create of the running instance answered {later}, the first {id}");
    w.instance(&request.name).await?;
    Ok(())
}
