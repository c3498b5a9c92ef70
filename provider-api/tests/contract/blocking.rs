//! Calls that block a thread, local work and tasks, as a tracker hears of them (contract 7).

use std::{
    convert::Infallible,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt as _, executor::block_on};
use provider_api::{
    CallError, CallId, CallKind, OperationId, Overlong, Wait, current_call, current_operation,
    within_operation,
};

use crate::{doubles::rig, recorder};

const SECOND: Duration = Duration::from_secs(1);
const LOOK: CallKind = CallKind::read("look");

#[test]
fn a_closure_knows_its_call_and_its_operation() {
    let rig = rig();
    let seam = rig.context.seam("toy", SECOND);
    let work = || Ok::<_, Infallible>((current_operation(), current_call()));
    let mut call = Box::pin(within_operation(Some(OperationId(5)), seam.blocking(SECOND, LOOK, "x", work)));
    assert!(call.as_mut().now_or_never().is_none());
    rig.held.run_closures();
    let answer = call.now_or_never().unwrap().unwrap();
    assert_eq!(answer, (Some(OperationId(5)), Some(CallId(7))));
    assert_eq!((current_operation(), current_call()), (None, None));
    let told = rig.notes.take();
    assert_eq!(
        told,
        ["call look x of 5, blocking", "closure of 7 begins", "closure of 7 ends", "call 7 Answered"]
    );
}

#[test]
fn a_closure_outlives_its_caller_and_the_tracker_hears_when_it_ends() {
    recorder::start();
    let rig = rig();
    let seam = rig.context.seam("toy", SECOND);
    let ran = Arc::<AtomicBool>::default();
    let inner = Arc::clone(&ran);
    let work = move || {
        inner.store(true, Ordering::Relaxed);
        Ok::<_, Infallible>(())
    };
    let mut call = Box::pin(seam.blocking(SECOND, LOOK, "x", work));
    assert!(call.as_mut().now_or_never().is_none());
    drop(call);
    rig.held.run_closures();
    assert!(ran.load(Ordering::Relaxed));
    let told = rig.notes.take();
    assert_eq!(
        told,
        ["call look x of -, blocking", "closure of 7 begins", "call 7 Dropped", "closure of 7 ends"]
    );
    assert_eq!(recorder::events("backend call").len(), 1);
}

#[test]
fn an_overlong_closure_is_left_to_its_end() {
    let rig = rig();
    let seam = rig.context.seam("toy", SECOND);
    let mut call = Box::pin(seam.blocking(SECOND * 2, LOOK, "x", || Ok::<_, Infallible>(())));
    assert!(call.as_mut().now_or_never().is_none());
    rig.clock.advance(SECOND * 2);
    assert!(matches!(call.now_or_never(), Some(Err(CallError::Overlong(_)))));
    rig.held.run_closures();
    assert_eq!(rig.notes.take()[2..], ["call 7 Overlong", "closure of 7 ends"]);
}

#[test]
fn a_panic_in_a_closure_is_a_panic_of_the_call_and_still_its_end() {
    let rig = rig();
    let seam = rig.context.seam("toy", SECOND);
    let mut call =
        Box::pin(seam.blocking(SECOND, LOOK, "x", || -> Result<(), Infallible> { panic!("inside") }));
    assert!(call.as_mut().now_or_never().is_none());
    assert!(catch_unwind(AssertUnwindSafe(|| rig.held.run_closures())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| call.as_mut().now_or_never())).is_err());
    drop(call);
    assert_eq!(rig.notes.take()[1..], ["closure of 7 begins", "closure of 7 ends", "call 7 Dropped"]);
}

#[test]
fn local_work_is_a_wait_and_no_call() {
    let rig = rig();
    let seam = rig.context.seam("toy", SECOND);
    let mut work = Box::pin(seam.local(|| 5));
    assert!(work.as_mut().now_or_never().is_none());
    assert_eq!(rig.notes.take(), ["Local wait begins"]);
    rig.held.run_closures();
    assert_eq!(work.now_or_never(), Some(Ok(5)));
    assert_eq!(rig.notes.take(), ["Local wait ends"]);
}

#[test]
fn local_work_that_hangs_ends_with_its_budget() {
    let rig = rig();
    let seam = rig.context.seam("toy", SECOND);
    let mut work = Box::pin(seam.local(|| 5));
    assert!(work.as_mut().now_or_never().is_none());
    assert_eq!(rig.clock.asked(), [(SECOND, Wait::Guard)]);
    rig.clock.advance(SECOND / 2);
    assert!(work.as_mut().now_or_never().is_none());
    rig.clock.advance(SECOND / 2);
    assert_eq!(work.now_or_never(), Some(Err(Overlong(SECOND))));
    assert_eq!(rig.notes.take(), ["Local wait begins", "Local wait ends"]);
    rig.held.run_closures();
}

#[test]
fn a_task_belongs_to_the_operation_that_started_it() {
    let rig = rig();
    let seam = rig.context.seam("toy", SECOND);
    let operation = async { seam.spawn(async { current_operation() }).await };
    let mut answer = Box::pin(within_operation(Some(OperationId(5)), operation));
    assert!(answer.as_mut().now_or_never().is_none());
    assert_eq!(rig.notes.take(), ["task of Some(OperationId(5)) begins", "Task wait begins"]);
    let task = rig.held.tasks.lock().unwrap().remove(0);
    block_on(task);
    assert_eq!(answer.now_or_never(), Some(Some(Some(OperationId(5)))));
    assert_eq!(rig.notes.take(), ["task polled", "task ends", "Task wait ends"]);
}

#[test]
fn a_task_tells_when_it_is_woken_and_goes_on_without_its_asker() {
    let rig = rig();
    let seam = rig.context.seam("toy", SECOND);
    let pausing = seam.clone();
    drop(seam.spawn(async move { pausing.pause(SECOND).await }));
    let mut task = rig.held.tasks.lock().unwrap().remove(0);
    assert!(task.as_mut().now_or_never().is_none());
    rig.clock.advance(SECOND);
    assert_eq!(task.as_mut().now_or_never(), Some(()));
    let told = rig.notes.take();
    assert_eq!(told, ["task of None begins", "task polled", "task woken", "task polled", "task ends"]);
}

#[test]
fn a_task_that_its_runtime_drops_answers_nothing() {
    let rig = rig();
    let seam = rig.context.seam("toy", SECOND);
    let answer = seam.spawn(async { 5 });
    rig.held.tasks.lock().unwrap().clear();
    assert_eq!(block_on(answer), None);
}
