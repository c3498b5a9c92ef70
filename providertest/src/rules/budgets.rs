//! How long an operation may take while nothing answers it: what the rules of get, delete and list have in common. Those
//! of create are in `create/budgets.rs`.

use std::time::Duration;

use provider_api::{Class, Operation, ProviderId, profile::Timeouts};

use crate::{
    hold,
    rule::{Checked, Stop},
    wire::Condition,
    world::{Tweaks, World},
};

/// Bookkeeping costs no time on the case's clock; a rounded sleep may.
pub(super) const SLACK: Duration = Duration::from_millis(10);
/// What the config gives an operation: less than a single call may take.
const CONFIGURED: Duration = Duration::from_secs(5);

/// Holds that an operation ends within the profile's budget, and then within the config's, while nothing answers; a get or
/// delete as Transient. Where only callers end what takes too long, and on a real backend, there is nothing to hold.
pub(super) async fn hangs_in_time(w: &mut World, operation: Operation, id: Option<&ProviderId>) -> Checked {
    if !w.is_fake() || w.profile().timeouts != Timeouts::PerCall {
        return Ok(());
    }
    let declared = w.profile().budgets.of(operation).unwrap_or(w.profile().budgets.call);
    for (budget, whose) in [(declared, "the profile"), (CONFIGURED.min(declared), "the config")] {
        if whose == "the config" {
            let budgets = serde_json::json!({ operation.as_str(): format!("{}ms", budget.as_millis()) });
            w.restart(&Tweaks::common("budgets", budgets))?;
        }
        // Answers that may be shared are too old by then.
        w.wait_a_while().await;
        let targets = w.backend().targets();
        w.condition(&targets, Some(Condition::Hangs)).await?;
        let began = w.elapsed();
        let answered = class_of(w, operation, id).await?;
        let took = w.elapsed().saturating_sub(began);
        w.condition(&targets, None).await?;
        hold!(
            took <= budget + SLACK,
            "{whose} gives {operation} {budget:?}, and with nothing answering it took {took:?}{}",
            if whose == "the config" {
                format!(
                    ", though it kept to the {declared:?} of the profile: what the entry's `budgets` say is not heeded"
                )
            } else {
                String::new()
            }
        );
        hold!(
            id.is_none() || answered == Some(Class::Transient),
            "while nothing answers, {operation} was due to be Transient, and was {}",
            answered.map_or("a success", Class::as_str)
        );
    }
    w.restart(&Tweaks::default())
}

/// The class of the operation's error, if it is one.
async fn class_of(w: &World, operation: Operation, id: Option<&ProviderId>) -> Checked<Option<Class>> {
    match (operation, id) {
        (Operation::Get, Some(id)) => Ok(w.get(id).await?.err().map(|error| error.class())),
        (Operation::Delete, Some(id)) => Ok(w.delete(id).await?.err().map(|error| error.class().into())),
        (Operation::List, _) => Ok(w.list().await?.err().map(|error| error.class().into())),
        _ => Err(Stop::Error(format!("{operation} is not asked for here"))),
    }
}
