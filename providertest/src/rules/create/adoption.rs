//! Creates that find their own: on its way out, stopped, or half there.

use std::time::Duration;

use futures::FutureExt;
use provider_api::{CreateRequest, FailureClass, NativeState, ProviderId, Shown, State, StateKind};

use super::verbs::fails;
use crate::{
    broken, hold,
    looks::Looks,
    rule::{Caller, Check, Checked, Level, Rule, always},
    rules::native::NativeStates,
    world::World,
};

pub(super) const NOT_WHILE_DELETING: Rule = Rule {
    id: "create.not-while-deleting",
    level: Level::Must,
    says: "An instance that is being deleted is not adopted: create is Transient until the name is free.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| not_while_deleting(w).boxed()),
    absent: None,
    why: "A proxy is deleted and made anew at once. A create that takes the dying instance for the new one \
          answers an id that is gone a minute later, and the user's proxy with it; terminating Pods have \
          been adopted so.",
    tested: "Somebody else begins a deletion and keeps it in progress. Two creates must be Transient, with \
             the old instance alone and still leaving. Once it is gone, creates must come to succeed with a \
             new instance, which runs.",
    mend: "In the look before adopting, read the deletion's own sign (a timestamp, a running task, a state) \
           before marks and state. Answer `Error::transient` for as long as the backend shows it.",
};

async fn not_while_deleting(w: &mut World) -> Checked {
    let (request, _, _) = w.running().await?;
    let leaving = w.instance(&request.name).await?;
    w.hand().begin_deletion(&request.name).await?;
    for _ in 0..2 {
        fails(w, &request, FailureClass::Transient, "the instance of that name is being deleted").await?;
        let still = w.instance(&request.name).await?;
        hold!(still.key == leaving.key, "beside the instance that is being deleted there is {}", still.key);
        hold!(still.deleting, "create ended the deletion of {}", request.name);
    }
    w.hand().finish_deletion(&request.name).await?;
    let mut last = None;
    let mut looks = Looks::new(30, Duration::from_secs(5));
    while looks.again(w).await {
        match w.create(&request).await? {
            Ok(id) => {
                let new = w.instance(&request.name).await?;
                hold!(new.key != leaving.key, "create answered {id} for the instance that was deleted");
                w.runs(&request.name, &id).await?;
                return Ok(());
            }
            Err(error) if error.class() == FailureClass::Transient => last = Some(error),
            Err(error) => broken!("create {} failed once the name was free: {error}", request.name),
        }
    }
    broken!("create {} still fails though the name is free: {last:?}", request.name)
}

pub(super) const ADOPTS_OWN_PARTIAL: Rule = Rule {
    id: "create.adopts-own-partial",
    level: Level::Must,
    says: "Its own instance is adopted in whatever state and brought to running, or the reason is reported.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| adopts_own_partial(w).boxed()),
    absent: None,
    why: "A create that crashed has defined the machine and not started it. If later creates answer only \
          that it exists, the proxy never comes up: one tool said at every retry that the domain existed \
          already.",
    tested: "For each row of the native-state table, an instance is put in that state and created again. It \
             must stay the same instance under the same id, and come to run, give a reason, or stay on its \
             way where the row says Provisioning. An error counts only where the row neither is started by \
             create without a lock nor says plainly Running.",
    mend: "After adopting, start what the table marks with `NativeState::started`, wait for locks within a \
           `BoundedWait`, and answer Permanent with the backend's reason for what nothing can bring up. Let \
           profile and code read the same rows.",
};

async fn adopts_own_partial(w: &mut World) -> Checked {
    let mut states = NativeStates::default();
    for row in w.profile().native_states.clone() {
        if let Some((request, id)) = states.instance(w, row.native).await? {
            adopts(w, row, &request, &id).await?;
        }
    }
    states.all_seen()
}

async fn adopts(w: &World, row: NativeState, request: &CreateRequest, id: &ProviderId) -> Checked {
    let made = w.instance(&request.name).await?;
    let found = format!("{} in the state {:?}", request.name, row.native);
    let answer = w.create(request).await?;
    if let Some(other) = w.instances(&request.name).await?.iter().find(|thing| thing.key != made.key) {
        broken!("create found {found}, and made {} beside it or in its place", other.key);
    }
    match answer {
        Ok(adopted) if adopted != *id => broken!("create found {found} by {id}, and answered {adopted}"),
        Ok(_) => {}
        // What lies in the table as an error, or cannot recover, may be reported so.
        Err(error) => {
            let plain = matches!(row.shown, Shown::State(StateKind::Running)) && !row.reasoned;
            let due = plain || row.started && !row.locked;
            hold!(!due && !error.message().is_empty(), "create found {found}, and failed: {error}");
            return Ok(());
        }
    }
    if matches!(row.shown, Shown::Failure(_)) {
        return Ok(());
    }
    if !row.started {
        // A harness that needs no hand for it lacks that power rightly.
        let _ = w.hand().bring_up(&request.name).await;
    }
    let mut last = None;
    let mut looks = Looks::new(30, Duration::from_secs(10));
    while looks.again(w).await {
        let state = w.gets(id).await?.state;
        let over = matches!(state, State::Stopped { .. } | State::Terminated { .. });
        let reported = over && state.reason().is_some() && !row.started;
        if reported || matches!(state, State::Running { .. }) {
            return Ok(());
        }
        last = Some(state);
    }
    let on_its_way = matches!(row.shown, Shown::State(StateKind::Provisioning));
    let seen = last.map_or_else(|| "nothing".to_owned(), |state| format!("{state:?}"));
    let due = match row.started {
        true => "Running was due, for the table says that create starts it",
        false => "Running was due, or Stopped or Terminated with a reason",
    };
    hold!(on_its_way, "create adopted {found}, but get answered {seen} to the last; {due}");
    Ok(())
}
