//! Failures that a backend reports only after it has accepted the call.

use std::time::Duration;

use futures::FutureExt;
use provider_api::{Class, CreateRequest, Error, FailureId, GetError, NativeError, Profile, Shows, State};

use super::verbs::{calls_of_a_create, meets, native_errors};
use crate::{
    broken,
    faults::Answer,
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, when},
    world::{Tweaks, World},
};

pub(super) const REPORTED_UNTIL_ACKNOWLEDGED: Rule = Rule {
    id: "create.late-failure-reported-until-acknowledged",
    level: Level::Must,
    says: "A failure after the call was accepted is answered by every next create, by new processes too, with its id.",
    caller: Caller::Reconciler,
    applies: fails_late,
    check: Check::Case(|w| reported_until_acknowledged(w).boxed()),
    absent: Some(Absence {
        check: |w| never_names_a_failure(w).boxed(),
        shows: "no catalogued error of any call was answered with the id of a late failure",
    }),
    why: "Some clouds accept a create, run out of room minutes later and then answer 404. If no later create \
          says why, the user reads only that nothing is there, and the reconciler makes the same failing \
          call for ever.",
    tested: "For each catalogued error that shows in a task, a create is accepted and fails late. Until then \
             get must be Provisioning; then three more creates, two of them by a new process, must answer \
             its class under one failure id, with no instance there. Where late failures are declared \
             absent, no error of a create may carry a failure id.",
    mend: "At the start of create ask the backend for its newest operation with this name and mark. Where \
           that failed, answer its class with `Error::for_failure` and an id made from the operation's own; \
           keep nothing in memory.",
};

pub(super) const THEN_RETRIED: Rule = Rule {
    id: "create.late-failure-then-retried",
    level: Level::Must,
    says: "Once its failure is acknowledged a create tries anew, and a newer failure is reported again.",
    caller: Caller::Reconciler,
    applies: fails_late,
    check: Check::Case(|w| then_retried(w).boxed()),
    absent: Some(Absence {
        check: |w| acknowledging_changes_nothing(w).boxed(),
        shows: "an acknowledged failure made no difference to a create",
    }),
    why: "The user has read of the failure, and the reconciler tries again. A provider that is deaf to the \
          acknowledgement keeps the proxy dead for good; one that takes it for all failures hides the next \
          one.",
    tested: "Lets a create fail late twice and acknowledges the first failure between. The second must have \
             another id and be reported in spite of that; with it acknowledged too, create must succeed, and \
             an old acknowledgement must change nothing then; and once the instance is deleted, create must \
             succeed without an acknowledgement. A create of another installation that fails late \
             must not keep ours from its own. Where late failures are declared absent, an acknowledgement must \
             not change the id.",
    mend: "Read `acknowledged_failure` before anything is answered from an older operation: compare the \
           backend's operations, by number or time, with the one that it names, and count those that are not \
           newer as absent. An acknowledgement that cannot be read, or that the backend no longer knows, \
           acknowledges nothing. Whose an operation is its mark tells, not the name alone, and the newest of \
           ours decides, however it went.",
};

fn fails_late(profile: &Profile) -> Applies {
    when(profile.late_failures)
}

async fn reported_until_acknowledged(w: &mut World) -> Checked {
    for native in late_errors(w)? {
        let request = w.request();
        let error = fail_once(w, &request, native).await?;
        let id = failure_of(&error)?;
        for round in 0..3 {
            if round == 1 {
                w.restart(&Tweaks::default())?;
            }
            let error = w.create(&request).await?;
            let Err(error) = error else {
                broken!(
                    "{} failed late, nobody acknowledged it, and create {} succeeded",
                    native.id,
                    request.name
                )
            };
            expect(&error, native)?;
            let again = failure_of(&error)?;
            hold!(again == id, "{} is one failure, and was reported as {id} and as {again}", native.id);
        }
        let stands = w.instances(&request.name).await?;
        hold!(stands.is_empty(), "the create failed late with {}, and {} stands", native.id, request.name);
    }
    Ok(())
}

async fn then_retried(w: &mut World) -> Checked {
    let natives = late_errors(w)?;
    let native = natives[0];
    let mut request = w.request();
    let first = failure_of(&fail_once(w, &request, native).await?)?;
    request.acknowledged_failure = Some(first.clone());
    let called = w.wire().call_count();
    let second = failure_of(&fail_once(w, &request, native).await?)?;
    if first == second {
        let tried = w.calls().iter().skip(called).any(|call| call.mutates);
        let how = if tried { "a new try failed under that id again" } else { "nothing new was tried" };
        broken!(
            "{first} was acknowledged, and create of {} answered it once more; {how}, where a new try and a failure \
             with an id of its own were due",
            request.name
        );
    }
    // The older acknowledgement does not cover the newer failure.
    let still = w.create(&request).await?;
    let Err(still) = still else {
        broken!("{second} is newer than the acknowledged {first}, and create {} succeeded", request.name)
    };
    hold!(failure_of(&still)? == second, "after {second} create reports {:?}", still.failure());
    request.acknowledged_failure = Some(second.clone());
    let id = match w.create(&request).await? {
        Ok(id) => id,
        Err(error) => broken!("{second} is acknowledged, and create {} fails: {error}", request.name),
    };
    w.runs(&request.name, &id).await?;
    // A state may be edited, or hold what no backend remembers.
    request.acknowledged_failure = Some(first);
    let again = w.creates(&request).await?;
    hold!(again == id, "an old acknowledgement led from {id} to {again}");
    // What failed is history once a newer try has succeeded, also for somebody who remembers nothing.
    w.goes(&id).await?;
    request.acknowledged_failure = None;
    if let Err(error) = w.create(&request).await? {
        broken!(
            "the newest try of {} succeeded, and once that was deleted create fails: {error}",
            request.name
        )
    }
    // Another installation's failure says nothing of ours, though name and uid are the same.
    let (other, request) = (w.other_installation()?, w.request());
    w.restart(&Tweaks { installation: Some(other.clone()), ..Tweaks::default() })?;
    fail_once(w, &request, native).await?;
    w.restart(&Tweaks::default())?;
    if let Err(error) = w.create(&request).await? {
        broken!(
            "a create of {} by the installation {other} failed late, and ours fails: {error}",
            request.name
        )
    }
    Ok(())
}

/// The errors of the catalogue that show in a task.
fn late_errors(w: &World) -> Checked<Vec<&'static NativeError>> {
    let late: Vec<_> = w.setup().catalogue.iter().filter(|error| error.shows == Shows::Task).collect();
    if late.is_empty() {
        let text =
            "the profile declares late failures, and the catalogue lists no error that shows in a task";
        return Err(Stop::Error(text.into()));
    }
    Ok(late)
}

/// Lets a create of `request` be accepted and fail; answers what the create that reports it says.
async fn fail_once(w: &World, request: &CreateRequest, native: &'static NativeError) -> Checked<Error> {
    w.hand().fail_late(Some(native.id)).await?;
    let first = w.create(request).await?;
    w.hand().fail_late(None).await?;
    let id = match first {
        // One that waits for the task tells at once.
        Err(error) => {
            expect(&error, native)?;
            return Ok(error);
        }
        Ok(id) => id,
    };
    for _ in 0..90 {
        match w.get(&id).await? {
            Ok(instance) => {
                let state = instance.state;
                hold!(
                    matches!(state, State::Provisioning { .. }),
                    "{} is to fail late, and get answers {state:?}",
                    request.name
                );
            }
            Err(GetError::NotFound) => {
                let Err(error) = w.create(request).await? else {
                    broken!("{} failed late, and the next create of {} succeeded", native.id, request.name)
                };
                expect(&error, native)?;
                return Ok(error);
            }
            Err(error) => broken!("{} is to fail late, and get fails: {error}", request.name),
        }
        w.pass(Duration::from_secs(2)).await;
    }
    Err(Stop::Error(format!("{} was to fail the create of {} late, and did not", native.id, request.name)))
}

fn expect(error: &Error, native: &NativeError) -> Checked {
    let class = Class::from(error.class());
    let right = match native.class {
        Class::NotFound => matches!(class, Class::Transient | Class::Permanent),
        expected => class == expected,
    };
    hold!(right, "the late failure {} is {}, and was reported as {class}: {error}", native.id, native.class);
    Ok(())
}

fn failure_of(error: &Error) -> Checked<FailureId> {
    let id = error.failure().cloned();
    id.ok_or_else(|| {
        Stop::Broken(format!("a late failure was reported without an id to acknowledge: {error}"))
    })
}

async fn never_names_a_failure(w: &mut World) -> Checked {
    let calls = calls_of_a_create(w).await?;
    for (call, native) in native_errors(w, &calls, |_| true)? {
        let request = w.request();
        let Some(met) = meets(w, request, &call, Answer::Native(native.id.into())).await? else { continue };
        let failure = met.result.err().and_then(|error| error.failure().cloned());
        hold!(
            failure.is_none(),
            "no failure is late by the profile, and {} was reported as {failure:?}",
            native.id
        );
    }
    Ok(())
}

async fn acknowledging_changes_nothing(w: &mut World) -> Checked {
    let mut request = w.request();
    request.acknowledged_failure = Some(FailureId::new("operation-1700000000000-0f0c9b2e"));
    let id = w.creates(&request).await?;
    request.acknowledged_failure = None;
    let again = w.creates(&request).await?;
    hold!(again == id, "no failure is late by the profile, and an acknowledgement led from {id} to {again}");
    w.runs(&request.name, &id).await?;
    Ok(())
}
