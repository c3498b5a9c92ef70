//! What a test's ledger is told about a provider's waits; in production there is no tracker. Authors need of it only
//! [`CallId::HEADER`] and [`current_call`], in their client; the seam and the gate do the rest.
//!
//! Which operation and which call the running code belongs to is kept per thread and set for each poll, so that
//! no executor is needed.

use std::{cell::Cell, future::Future, pin::pin, task::Poll};

use serde::{Deserialize, Serialize};

use crate::CallKind;

/// One operation under test, counted from 0 within its case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OperationId(pub u64);

/// One call of the seam. Clients put it on the wire where they can, while the [`Context`](crate::Context) has a tracker:
/// over HTTP in the header [`CallId::HEADER`]. It is how a request in the fake is matched to the call that waits for it.
///
/// ```
/// use provider_api::{CallId, current_call};
///
/// fn headers(tracked: bool) -> Vec<(&'static str, String)> {
///     let call = current_call().filter(|_| tracked);
///     call.map(|CallId(call)| (CallId::HEADER, call.to_string())).into_iter().collect()
/// }
/// assert!(headers(true).is_empty(), "no call is being polled here");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId(pub u64);

impl CallId {
    /// The HTTP header that carries the id, as a decimal number, while a tracker listens.
    pub const HEADER: &'static str = "x-conformance-call";
}

/// A future started by [`Seam::spawn`](crate::Seam::spawn).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// A wait that is neither a call nor a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrackedWait {
    /// For a name's turn or for room at a target.
    Gate,
    /// For a file or a hash on a thread.
    Local,
    /// For a task that the operation spawned.
    Task,
}

/// How a seam call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallEnd {
    /// With the backend's answer, good or bad.
    Answered,
    /// Its budget was used up.
    Overlong,
    /// Its caller went away.
    Dropped,
}

/// Hears of everything that a provider waits for (contract 7).
///
/// A call is live from before its future is first polled until its answer is read to the end or it is dropped.
pub trait Tracker: Send + Sync + 'static {
    /// A seam call begins.
    fn begin_call(
        &self,
        operation: Option<OperationId>,
        kind: &CallKind,
        target: &str,
        blocking: bool,
    ) -> CallId;
    /// It ended.
    fn end_call(&self, call: CallId, end: CallEnd);
    /// The closure of a blocking call is about to be handed to a thread.
    fn begin_closure(&self, call: CallId);
    /// It returned, whether or not anybody still waits for it.
    fn end_closure(&self, call: CallId);
    /// A wait of another kind begins.
    fn begin_wait(&self, operation: Option<OperationId>, wait: TrackedWait);
    /// It ended.
    fn end_wait(&self, operation: Option<OperationId>, wait: TrackedWait);
    /// A task is spawned.
    fn begin_task(&self, operation: Option<OperationId>) -> TaskId;
    /// It was woken, and has not been polled since.
    fn task_woken(&self, task: TaskId);
    /// It was polled.
    fn task_polled(&self, task: TaskId);
    /// It ended.
    fn end_task(&self, task: TaskId);
}

thread_local! {
    static OPERATION: Cell<Option<OperationId>> = const { Cell::new(None) };
    static CALL: Cell<Option<CallId>> = const { Cell::new(None) };
}

/// The operation that the running code belongs to; none outside of a test.
pub fn current_operation() -> Option<OperationId> {
    OPERATION.get()
}

/// The seam call that is being polled, or whose closure runs on this thread. A client asks for it where it sends a request.
pub fn current_call() -> Option<CallId> {
    CALL.get()
}

/// Runs a future as part of an operation: [`current_operation`] answers with it while the future is polled. The kit
/// does this to operations, the seam to tasks.
pub async fn within_operation<F: Future>(operation: Option<OperationId>, future: F) -> F::Output {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| {
        let _scope = Scope::enter(&OPERATION, operation);
        future.as_mut().poll(cx)
    })
    .await
}

/// Polls once as part of a call.
pub(crate) fn poll_in_call<T>(call: CallId, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
    let _scope = Scope::enter(&CALL, Some(call));
    poll()
}

/// Runs a blocking closure as part of an operation and a call.
pub(crate) fn run_in_call<T>(operation: Option<OperationId>, call: CallId, work: impl FnOnce() -> T) -> T {
    let _operation = Scope::enter(&OPERATION, operation);
    let _call = Scope::enter(&CALL, Some(call));
    work()
}

type Slot<T> = std::thread::LocalKey<Cell<Option<T>>>;

struct Scope<T: Copy + 'static> {
    slot: &'static Slot<T>,
    before: Option<T>,
}

impl<T: Copy> Scope<T> {
    fn enter(slot: &'static Slot<T>, value: Option<T>) -> Self {
        Self { slot, before: slot.replace(value) }
    }
}

impl<T: Copy> Drop for Scope<T> {
    fn drop(&mut self) {
        self.slot.set(self.before);
    }
}
