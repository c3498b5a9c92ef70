//! The ledger of one case: who waits for what. It decides when the harness may move the clock.
//!
//! The rule: time moves only when every woken operation has been polled, no request is being served, every live call
//! is matched by its id to a request parked in the fake, every running closure likewise, no local work is in flight,
//! and each operation by itself waits for something. Then one thing happens: a caller is dropped, or the one earliest
//! sleeper fires. Whoever fires a sleeper does the bookkeeping, never the one that was woken.
//!
//! The clock that sleeps on it is in `clock.rs`, the loop that polls operations in `drive.rs`.
// long: everything that may happen under the ledger's one lock, which is proven together or not at all

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
    time::Duration,
};

use provider_api::{CallEnd, CallId, CallKind, OperationId, TaskId, TrackedWait, Tracker, Wait};

/// Cheap to clone; clones are one ledger.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<State>>);

/// A call of the seam, as the ledger knows it by its id.
#[derive(Clone, Debug)]
pub struct SeamCall {
    /// The operation that makes it.
    pub operation: Option<OperationId>,
    /// The seam's name for it.
    pub kind: &'static str,
}

#[derive(Default)]
struct State {
    now: Duration,
    next: u64,
    operations: BTreeMap<OperationId, Operation>,
    calls: BTreeMap<CallId, Live>,
    /// Calls that have ended, for requests that arrive late.
    ended: BTreeMap<CallId, SeamCall>,
    requests: BTreeMap<u64, Request>,
    sleepers: BTreeMap<u64, Sleeper>,
    tasks: BTreeMap<TaskId, Task>,
    dials: usize,
    /// How many of the dials were made by calls that have ended; their connections are about to close.
    stale_dials: usize,
    drops: Vec<Drop_>,
    dropped_in_transit: usize,
    sleeps_fired: u64,
    harness: Option<Waker>,
}

#[derive(Default)]
struct Operation {
    waits: usize,
    local: usize,
}

struct Live {
    seam: SeamCall,
    target: String,
    blocking: bool,
    closure: Closure,
    /// Whether the fake has read a request of it; a fake in the process forgets the request with its caller.
    arrived: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Closure {
    None,
    Running,
    /// Running, but nobody waits for it any more.
    Abandoned,
    Ended,
}

struct Request {
    call: Option<CallId>,
    blocking: bool,
    parked: bool,
}

struct Sleeper {
    deadline: Duration,
    rank: Rank,
    operation: Option<OperationId>,
    request: Option<u64>,
    waker: Option<Waker>,
    fired: bool,
}

/// Ties between sleepers of one deadline: the fake's answer, an idle wait, a guard, then the order of registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Answer,
    Idle,
    Guard,
}

struct Task {
    operation: Option<OperationId>,
    woken: bool,
}

/// A caller that is to go away once everything rests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drop_ {
    pub(crate) operation: Option<OperationId>,
    pub(crate) restart: bool,
}

/// What the harness may do next.
pub(crate) enum Next {
    /// Somebody still works; a transition of the ledger will wake the harness.
    Wait,
    /// Drop this caller.
    Drop(Drop_),
    /// A sleeper was fired; poll again.
    Fired,
    /// Everything rests and nothing is left to fire.
    Stuck,
}

impl Ledger {
    /// The time on the case's clock.
    pub fn now(&self) -> Duration {
        self.lock().now
    }

    /// How many sleepers have fired: how often time moved.
    pub fn moves(&self) -> u64 {
        self.lock().sleeps_fired
    }

    /// How many calls their own provider dropped before the fake had read them; must be none.
    pub fn dropped_in_transit(&self) -> usize {
        self.lock().dropped_in_transit
    }

    /// How many requests the fake holds now: by a fault, a condition, or for the time that their answer takes.
    pub fn parked(&self) -> usize {
        self.lock().requests.values().filter(|request| request.parked).count()
    }

    /// How many connections the fake holds now before any request was sent on them.
    pub fn held_dials(&self) -> usize {
        self.lock().dials
    }

    /// A fake has read a request whole. Until the ticket is parked or dropped, time stands.
    pub fn arrive(&self, call: Option<CallId>, blocking: bool) -> Ticket {
        self.change(|state| {
            let id = state.id();
            state.requests.insert(id, Request { call, blocking, parked: false });
            if let Some(live) = call.and_then(|call| state.calls.get_mut(&call)) {
                live.arrived = true;
            }
            Ticket { ledger: self.clone(), id }
        })
    }

    /// A fake holds a connection on purpose before any request can be sent on it.
    pub fn park_dial(&self) -> ParkedDial {
        self.change(|state| state.dials += 1);
        ParkedDial(self.clone())
    }

    /// A fake's own sleep before it answers; the one that fires it marks the request busy again.
    pub async fn latency(&self, ticket: &Ticket, how_long: Duration) {
        let sleep = self.sleep(how_long, Rank::Answer, Some(ticket.id));
        ticket.park();
        sleep.await;
    }

    /// The one call whose closure runs on a thread and is waited for; `None` when there are several, or none.
    pub fn running(&self) -> Option<CallId> {
        let state = self.lock();
        let mut running = state.calls.iter().filter(|(_, live)| live.closure == Closure::Running);
        let (id, _) = running.next()?;
        running.next().is_none().then_some(*id)
    }

    /// The call with that id, live or ended.
    pub(crate) fn call(&self, call: CallId) -> Option<SeamCall> {
        let state = self.lock();
        state.calls.get(&call).map(|live| live.seam.clone()).or_else(|| state.ended.get(&call).cloned())
    }

    pub(crate) fn ask_to_drop(&self, operation: Option<OperationId>, restart: bool) {
        self.change(|state| state.drops.push(Drop_ { operation, restart }));
    }

    pub(crate) fn begin_operation(&self, operation: OperationId) {
        self.change(|state| {
            state.operations.entry(operation).or_default();
        });
    }

    pub(crate) fn end_operation(&self, operation: OperationId) {
        self.change(|state| {
            state.operations.remove(&operation);
            state.drops.retain(|drop| drop.operation != Some(operation));
        });
    }

    pub(crate) fn set_harness(&self, waker: &Waker) {
        self.lock().harness = Some(waker.clone());
    }

    /// Moves the clock by hand, between operations.
    pub(crate) fn pass(&self, how_long: Duration) {
        self.lock().now += how_long;
    }

    pub(crate) fn sleep(&self, how_long: Duration, rank: Rank, request: Option<u64>) -> Sleep {
        let operation = provider_api::current_operation();
        let mut state = self.lock();
        let id = state.id();
        let deadline = state.now.saturating_add(how_long);
        drop(state);
        Sleep { ledger: self.clone(), id, deadline, rank, operation, request, registered: false }
    }

    /// Decides what may happen next, when every woken operation of the harness has been polled.
    pub(crate) fn next(&self) -> Next {
        let mut wake = None;
        let next = {
            let mut state = self.lock();
            if !state.at_rest() {
                return Next::Wait;
            }
            if let Some(drop) = state.drops.pop() {
                return Next::Drop(drop);
            }
            match state.fire_earliest() {
                Some(waker) => {
                    wake = waker;
                    Next::Fired
                }
                None => Next::Stuck,
            }
        };
        if let Some(waker) = wake {
            waker.wake();
        }
        next
    }

    /// Whether everything that dropped callers left behind has come to an end: no request being served, no closure
    /// running that is not held. Fires what still sleeps in the fake.
    pub(crate) fn settle(&self) -> bool {
        let mut state = self.lock();
        let State { sleepers, requests, .. } = &mut *state;
        let asleep = sleepers.values_mut().filter(|sleeper| sleeper.rank == Rank::Answer && !sleeper.fired);
        let mut wake = Vec::new();
        for sleeper in asleep {
            sleeper.fired = true;
            wake.extend(sleeper.waker.take());
            // Until its task was polled the request is being served, and nothing is settled.
            if let Some(request) = sleeper.request.and_then(|id| requests.get_mut(&id)) {
                request.parked = false;
            }
        }
        let busy = state.requests.values().any(|request| !request.parked);
        let (running, parked) = (state.unmatched().closures, state.parked_for_nobody());
        let stale = state.stale_dials > 0;
        drop(state);
        let settled = wake.is_empty() && !busy && !stale && running <= parked;
        wake.into_iter().for_each(Waker::wake);
        settled
    }

    /// Everything that is waited for, for a report.
    pub fn dump(&self) -> String {
        let state = self.lock();
        let mut text = format!("clock {:?}\n", state.now);
        for (id, operation) in &state.operations {
            let _ =
                writeln!(text, "operation {}: {} waits, {} local", id.0, operation.waits, operation.local);
        }
        for (id, live) in &state.calls {
            let parked = state.parked_for(*id);
            let _ = writeln!(
                text,
                "call {} {} on {} of operation {:?}: {} parked",
                id.0, live.seam.kind, live.target, live.seam.operation, parked
            );
        }
        for (id, request) in &state.requests {
            let state = if request.parked { "parked" } else { "being served" };
            let _ = writeln!(text, "request {id} of call {:?}: {state}", request.call.map(|call| call.0));
        }
        for sleeper in state.sleepers.values() {
            let _ = writeln!(
                text,
                "sleeper {:?} due {:?} of {:?}",
                sleeper.rank, sleeper.deadline, sleeper.operation
            );
        }
        let woken = state.tasks.values().filter(|task| task.woken).count();
        let _ = writeln!(text, "{} tasks, {woken} woken; {} dials held", state.tasks.len(), state.dials);
        text
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, then wakes the harness outside the lock.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let value = change(&mut state);
        let harness = state.harness.clone();
        drop(state);
        if let Some(harness) = harness {
            harness.wake();
        }
        value
    }
}

struct Unmatched {
    calls: usize,
    closures: usize,
}

impl Closure {
    fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::Abandoned)
    }
}

impl State {
    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The live calls and running closures that no parked request says to be theirs.
    fn unmatched(&self) -> Unmatched {
        let mut unmatched = Unmatched { calls: 0, closures: 0 };
        for (id, live) in &self.calls {
            if self.parked_for(*id) > 0 {
                continue;
            }
            if live.closure.is_running() {
                unmatched.closures += 1;
            } else if !live.blocking {
                unmatched.calls += 1;
            }
        }
        unmatched
    }

    /// The parked requests of clients that block a thread, and cannot say which call theirs.
    fn parked_for_nobody(&self) -> usize {
        let of_nobody = |request: &&Request| request.parked && request.blocking && request.call.is_none();
        self.requests.values().filter(of_nobody).count()
    }

    fn parked_for(&self, call: CallId) -> usize {
        self.requests.values().filter(|request| request.parked && request.call == Some(call)).count()
    }

    fn at_rest(&self) -> bool {
        if self.tasks.values().any(|task| task.woken) || self.requests.values().any(|request| !request.parked)
        {
            return false;
        }
        if self.calls.values().any(|live| live.closure == Closure::Ended) {
            return false;
        }
        // What has no request of its own is held at a dial, or on a thread whose client cannot say whose its requests are.
        let Unmatched { calls, closures } = self.unmatched();
        let at_dials = closures.checked_sub(self.parked_for_nobody()).map(|closures| calls + closures);
        if at_dials != Some(self.dials) || self.stale_dials > 0 {
            return false;
        }
        self.operations.iter().all(|(id, operation)| {
            let mine = |other: &Option<OperationId>| *other == Some(*id);
            operation.local == 0
                && (operation.waits > 0
                    || self.calls.values().any(|live| mine(&live.seam.operation))
                    || self.sleepers.values().any(|s| s.rank == Rank::Idle && !s.fired && mine(&s.operation)))
        })
    }

    /// Fires the one earliest sleeper; the waker is to be woken outside the lock.
    fn fire_earliest(&mut self) -> Option<Option<Waker>> {
        let due = |(id, sleeper): &(&u64, &mut Sleeper)| (sleeper.deadline, sleeper.rank, **id);
        let (_, sleeper) = self.sleepers.iter_mut().filter(|(_, sleeper)| !sleeper.fired).min_by_key(due)?;
        sleeper.fired = true;
        let (deadline, request, waker) = (sleeper.deadline, sleeper.request, sleeper.waker.take());
        self.now = self.now.max(deadline);
        self.sleeps_fired += 1;
        if let Some(request) = request.and_then(|id| self.requests.get_mut(&id)) {
            request.parked = false;
        }
        Some(waker)
    }
}

impl Tracker for Ledger {
    fn begin_call(
        &self,
        operation: Option<OperationId>,
        kind: &CallKind,
        target: &str,
        blocking: bool,
    ) -> CallId {
        self.change(|state| {
            let call = CallId(state.id());
            let seam = SeamCall { operation, kind: kind.name };
            state.calls.insert(
                call,
                Live { seam, target: target.to_owned(), blocking, closure: Closure::None, arrived: false },
            );
            call
        })
    }

    fn end_call(&self, call: CallId, end: CallEnd) {
        self.change(|state| {
            let in_transit = state.parked_for(call) == 0 && state.parked_for_nobody() == 0;
            if let Some(live) = state.calls.get_mut(&call) {
                // Only a call at rest ends so, and one without a request rests by its dial: without this the dial would
                // count for the next call until the fake sees it closed.
                if in_transit && live.closure != Closure::Ended && end != CallEnd::Answered {
                    state.stale_dials = state.dials.min(state.stale_dials + 1);
                }
                if end == CallEnd::Dropped && !live.blocking && !live.arrived {
                    state.dropped_in_transit += 1;
                }
                if live.closure == Closure::Running {
                    live.closure = Closure::Abandoned;
                    return;
                }
                let seam = live.seam.clone();
                state.calls.remove(&call);
                state.ended.insert(call, seam);
            }
        });
    }

    fn begin_closure(&self, call: CallId) {
        self.change(|state| {
            if let Some(live) = state.calls.get_mut(&call) {
                live.closure = Closure::Running;
            }
        });
    }

    fn end_closure(&self, call: CallId) {
        self.change(|state| {
            if let Some(live) = state.calls.get_mut(&call) {
                if live.closure == Closure::Abandoned {
                    let seam = live.seam.clone();
                    state.calls.remove(&call);
                    state.ended.insert(call, seam);
                } else {
                    live.closure = Closure::Ended;
                }
            }
        });
    }

    fn begin_wait(&self, operation: Option<OperationId>, wait: TrackedWait) {
        self.change(|state| {
            if let Some(operation) = operation.and_then(|id| state.operations.get_mut(&id)) {
                *operation.waits_of(wait) += 1;
            }
        });
    }

    fn end_wait(&self, operation: Option<OperationId>, wait: TrackedWait) {
        self.change(|state| {
            if let Some(operation) = operation.and_then(|id| state.operations.get_mut(&id)) {
                *operation.waits_of(wait) = operation.waits_of(wait).saturating_sub(1);
            }
        });
    }

    fn begin_task(&self, operation: Option<OperationId>) -> TaskId {
        self.change(|state| {
            let task = TaskId(state.id());
            state.tasks.insert(task, Task { operation, woken: true });
            task
        })
    }

    fn task_woken(&self, task: TaskId) {
        self.change(|state| {
            if let Some(task) = state.tasks.get_mut(&task) {
                task.woken = true;
            }
        });
    }

    fn task_polled(&self, task: TaskId) {
        self.change(|state| {
            if let Some(task) = state.tasks.get_mut(&task) {
                task.woken = false;
            }
        });
    }

    fn end_task(&self, task: TaskId) {
        self.change(|state| state.tasks.remove(&task).map(|task| task.operation));
    }
}

impl Operation {
    fn waits_of(&mut self, wait: TrackedWait) -> &mut usize {
        match wait {
            TrackedWait::Local => &mut self.local,
            TrackedWait::Gate | TrackedWait::Task => &mut self.waits,
        }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.dump())
    }
}

/// A request in a fake: being served until parked, gone when dropped.
#[derive(Debug)]
pub struct Ticket {
    ledger: Ledger,
    id: u64,
}

impl Ticket {
    /// The request is held: by a fault, or for its answer's latency.
    pub fn park(&self) {
        self.set(true);
    }

    /// The request is being served again.
    pub fn unpark(&self) {
        self.set(false);
    }

    fn set(&self, parked: bool) {
        self.ledger.change(|state| {
            if let Some(request) = state.requests.get_mut(&self.id) {
                request.parked = parked;
            }
        });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.ledger.change(|state| state.requests.remove(&self.id));
    }
}

/// A connection that a fake accepted and holds, until it is dropped.
#[derive(Debug)]
pub struct ParkedDial(Ledger);

impl Drop for ParkedDial {
    fn drop(&mut self) {
        self.0.change(|state| {
            state.dials = state.dials.saturating_sub(1);
            state.stale_dials = state.stale_dials.saturating_sub(1);
        });
    }
}

/// A sleep on the case's clock: registered at its first poll, its deadline counted from its creation.
pub(crate) struct Sleep {
    ledger: Ledger,
    id: u64,
    deadline: Duration,
    rank: Rank,
    operation: Option<OperationId>,
    request: Option<u64>,
    registered: bool,
}

impl std::future::Future for Sleep {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        let this = &mut *self;
        let mut state = this.ledger.lock();
        let sleeper = state.sleepers.entry(this.id).or_insert_with(|| Sleeper {
            deadline: this.deadline,
            rank: this.rank,
            // A sleep made outside belongs to the operation that waits for it.
            operation: this.operation.or_else(provider_api::current_operation),
            request: this.request,
            waker: None,
            fired: false,
        });
        if sleeper.fired {
            return std::task::Poll::Ready(());
        }
        sleeper.waker = Some(cx.waker().clone());
        drop(state);
        this.registered = true;
        std::task::Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if self.registered {
            self.ledger.change(|state| state.sleepers.remove(&self.id));
        }
    }
}

impl From<Wait> for Rank {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::Idle => Self::Idle,
            Wait::Guard => Self::Guard,
        }
    }
}
