//! How the backend's states are reported.

use futures::FutureExt;
use provider_api::{FailureClass, GetError, NativeState, Profile, Shown, State, StateKind};

use crate::{
    broken,
    harness::UNKNOWN_STATE,
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, always, when},
    rules::native::NativeStates,
    world::World,
};

pub(super) const NO_ADDRESS_IS_PROVISIONING: Rule = Rule {
    id: "get.no-address-is-provisioning",
    level: Level::Must,
    says: "An instance that runs and has no address yet, or no longer, is Provisioning.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| no_address(w).boxed()),
    absent: None,
    why: "A machine runs before its lease comes, and may lose it again. A provider that goes on with the old \
          address sends users' traffic to whoever has it now.",
    tested: "Takes all addresses of a running instance away: get must answer Provisioning. With the address \
             back, get must answer Running with it.",
    mend: "Read state and address in the same get, and keep no last known address. A guest agent that does \
           not answer yet is no error: without an address the answer is Provisioning, with a `Reason` such \
           as NoAddress.",
};

async fn no_address(w: &mut World) -> Checked {
    let (request, id, instance) = w.running().await?;
    let State::Running { address } = instance.state else { broken!("{id} does not run") };
    w.hand().set_addresses(&request.name, &[]).await?;
    w.catch_up().await;
    let without = w.gets(&id).await?;
    hold!(
        without.state.kind() == StateKind::Provisioning,
        "{} has no address, but get {id} answered {:?}",
        request.name,
        without.state
    );
    w.hand().set_addresses(&request.name, &[address]).await?;
    w.catch_up().await;
    let with = w.gets(&id).await?;
    hold!(
        with.state == State::Running { address },
        "{} has the address {address} again, but get {id} answered {:?}",
        request.name,
        with.state
    );
    Ok(())
}

pub(super) const NATIVE_STATE_TABLE: Rule = Rule {
    id: "get.native-state-table",
    level: Level::Must,
    says: "Every native state of the profile's table is reported as the table says.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| native_state_table(w).boxed()),
    absent: None,
    why: "The reconciler knows four states. A machine paused by a full disk that reads as booting is waited \
          for in vain; a preempted one that reads so is never replaced; one that migrates and reads as \
          stopped costs a healthy proxy.",
    tested: "Puts a running instance in each native state of the profile's table and asks get. The state, or \
             the class of the error, must be the table's; a table without a row is broken too.",
    mend: "Keep the rows as `NativeState` constants, give them to the profile, and let get look states up in \
           the same rows. Where one is red, find out whether the backend leaves that state by itself, and \
           correct the row or the code.",
};

async fn native_state_table(w: &mut World) -> Checked {
    let rows = w.profile().native_states.clone();
    hold!(!rows.is_empty(), "the profile lists no native state");
    let mut states = NativeStates::default();
    for row in rows {
        let Some((_, id)) = states.instance(w, row.native).await? else { continue };
        let answer = w.get(&id).await?;
        match (row.shown, answer) {
            (Shown::State(due), Ok(instance)) => {
                let kind = instance.state.kind();
                hold!(
                    kind == due,
                    "in native state {:?}, get {id} answered {kind:?}; {due:?} was due",
                    row.native
                );
            }
            (Shown::Failure(due), Err(GetError::Failed(error))) => {
                let class = error.class();
                hold!(
                    class == due,
                    "in native state {:?}, get {id} failed as {class:?}; {due:?} was due",
                    row.native
                );
            }
            (shown, Ok(instance)) => {
                broken!(
                    "in native state {:?}, get {id} answered {:?}; {shown} was due",
                    row.native,
                    instance.state
                )
            }
            (shown, Err(error)) => {
                broken!("in native state {:?}, get {id} failed: {error}; {shown} was due", row.native)
            }
        }
    }
    states.all_seen()
}

pub(super) const UNKNOWN_STATE_IS_STOPPED: Rule = Rule {
    id: "get.unknown-state-is-stopped",
    level: Level::Must,
    says: "A native state that the provider does not know is Stopped, with that state's name as the reason.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| unknown_state(w).boxed()),
    absent: None,
    why: "Backends grow states. One that counts as Running or Provisioning keeps a dead proxy for ever; one \
          that makes get fail hides which state it was.",
    tested: "Puts a running instance in a native state that no table lists. Get must answer Stopped, and the \
             reason's code or sentence must name that state, be it as the observer does.",
    mend: "End the look-up in the state table with `StateKind::Stopped` and a `Reason` that quotes the \
           native state. Parse states as text; a closed enum fails on new ones.",
};

async fn unknown_state(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    w.hand().set_native_state(&request.name, UNKNOWN_STATE).await?;
    w.catch_up().await;
    let (name, state) = match w.get(&id).await? {
        Ok(instance) => (instance.name, instance.state),
        Err(error) => broken!("in a native state that it does not know, get {id} failed: {error}"),
    };
    hold!(
        state.kind() == StateKind::Stopped,
        "in native state {UNKNOWN_STATE:?}, which no table lists, get {id} answered {state:?}; Stopped was due"
    );
    // A backend whose states are numbers has a number for it.
    let native = w.instance(&name).await?.native_state;
    let told = |text: &str| text.contains(UNKNOWN_STATE) || text.contains(&native);
    let named = state.reason().is_some_and(|reason| told(&reason.code) || told(&reason.message));
    hold!(named, "get {id} answered {state:?}, whose reason does not name the native state {native:?}");
    Ok(())
}

pub(super) const REASONS_REACH_THE_CALLER: Rule = Rule {
    id: "get.reasons-reach-the-caller",
    level: Level::Must,
    says: "Where the table says that a native state comes with a reason, get's answer carries a code and a sentence.",
    caller: Caller::Reconciler,
    applies: some_reasons,
    check: Check::Case(|w| reasons_reach_the_caller(w).boxed()),
    absent: Some(Absence {
        check: |w| no_reasons(w).boxed(),
        shows: "in no native state did get give a reason",
    }),
    why: "A proxy stays in Provisioning, and its user wants to know why. If get swallows that the image \
          cannot be pulled, only an admin who can reach the backend finds out.",
    tested: "For each row of the table that is marked as reasoned, an instance is put in that state: the \
             answer must have a reason whose code is one word and whose sentence is not empty, an error must \
             have a message. Where no row is so marked, no state may come with a reason.",
    mend: "Build a `Reason` from the backend's own code and text in the function that makes the `State`; \
           where there is none, use the native state's name. Mark these rows with `NativeState::reasoned`.",
};

fn some_reasons(profile: &Profile) -> Applies {
    when(profile.native_states.iter().any(|row| row.reasoned))
}

async fn reasons_reach_the_caller(w: &mut World) -> Checked {
    let reasoned = |row: &NativeState| row.reasoned;
    let rows: Vec<_> = w.profile().native_states.iter().copied().filter(reasoned).collect();
    let mut states = NativeStates::default();
    for row in rows {
        let Some((_, id)) = states.instance(w, row.native).await? else { continue };
        match w.get(&id).await? {
            Ok(instance) => {
                let Some(reason) = instance.state.reason() else {
                    broken!(
                        "in native state {:?}, get {id} answered {:?}, without a reason",
                        row.native,
                        instance.state
                    )
                };
                hold!(
                    !reason.code.is_empty() && !reason.code.contains(char::is_whitespace),
                    "in native state {:?}, get {id} gave the reason code {:?}, which is no word",
                    row.native,
                    reason.code
                );
                hold!(
                    !reason.message.trim().is_empty(),
                    "in native state {:?}, get {id} gave the reason {:?} without a sentence",
                    row.native,
                    reason.code
                );
            }
            Err(GetError::Failed(error)) if error.class() != FailureClass::QuotaExceeded => {
                hold!(
                    !error.message().trim().is_empty(),
                    "in native state {:?}, get {id} failed without a message",
                    row.native
                );
            }
            Err(error) => broken!("in native state {:?}, get {id} failed: {error}", row.native),
        }
    }
    states.all_seen()
}

/// A table without reasons is true: no state comes with one.
async fn no_reasons(w: &mut World) -> Checked {
    let mut states = NativeStates::default();
    for row in w.profile().native_states.clone() {
        let Some((_, id)) = states.instance(w, row.native).await? else { continue };
        if let Some(reason) = w.get(&id).await?.ok().as_ref().and_then(|instance| instance.state.reason()) {
            broken!("the profile says that no native state comes with a reason, but get {id} gave {reason}")
        }
    }
    states.all_seen()
}
