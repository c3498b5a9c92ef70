//! A clock moved by hand, a spawner that holds what it is given, and a tracker that writes down what it hears. The
//! provider that goes with them is in `canned.rs`.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
    time::Duration,
};

use futures::future::BoxFuture;
use provider_api::{
    CallEnd, CallId, CallKind, Clock, Context, Identity, InstallationId, OperationId, ProviderName, Spawner,
    TaskId, Timestamp, TrackedWait, Tracker, Wait,
};

/// Time that stands still until it is moved.
#[derive(Default)]
pub(crate) struct HandClock(Mutex<Hands>);

#[derive(Default)]
struct Hands {
    now: Duration,
    wakers: Vec<Waker>,
    asked: Vec<(Duration, Wait)>,
}

impl HandClock {
    pub(crate) fn advance(&self, by: Duration) {
        let mut hands = self.0.lock().unwrap();
        hands.now += by;
        mem::take(&mut hands.wakers).into_iter().for_each(Waker::wake);
    }

    /// The sleeps that were asked for so far.
    pub(crate) fn asked(&self) -> Vec<(Duration, Wait)> {
        self.0.lock().unwrap().asked.clone()
    }
}

/// The clock as a context takes it; the test keeps the inner one.
pub(crate) struct Shared(pub(crate) Arc<HandClock>);

impl Clock for Shared {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH.after(self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        self.0.0.lock().unwrap().now
    }

    fn sleep(&self, how_long: Duration, wait: Wait) -> BoxFuture<'static, ()> {
        let clock = Arc::clone(&self.0);
        let until = {
            let mut hands = clock.0.lock().unwrap();
            hands.asked.push((how_long, wait));
            hands.now + how_long
        };
        Box::pin(std::future::poll_fn(move |cx| {
            let mut hands = clock.0.lock().unwrap();
            if hands.now >= until {
                return Poll::Ready(());
            }
            hands.wakers.push(cx.waker().clone());
            Poll::Pending
        }))
    }
}

/// Holds tasks and closures until the test runs them.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) closures: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    pub(crate) tasks: Mutex<Vec<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl Held {
    /// Runs the closures that were handed over so far.
    pub(crate) fn run_closures(&self) {
        let closures = mem::take(&mut *self.closures.lock().unwrap());
        closures.into_iter().for_each(|closure| closure());
    }
}

pub(crate) struct SharedHeld(pub(crate) Arc<Held>);

impl Spawner for SharedHeld {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.0.tasks.lock().unwrap().push(task);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.0.closures.lock().unwrap().push(work);
    }
}

/// Writes down what it hears.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<String>>);

impl Notes {
    pub(crate) fn take(&self) -> Vec<String> {
        mem::take(&mut *self.0.lock().unwrap())
    }

    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl Tracker for Notes {
    fn begin_call(
        &self,
        operation: Option<OperationId>,
        kind: &CallKind,
        target: &str,
        blocking: bool,
    ) -> CallId {
        let operation = operation.map_or("-".to_owned(), |OperationId(id)| id.to_string());
        let how = if blocking { ", blocking" } else { "" };
        self.note(format!("call {} {target} of {operation}{how}", kind.name));
        CallId(7)
    }
    fn end_call(&self, CallId(id): CallId, end: CallEnd) {
        self.note(format!("call {id} {end:?}"));
    }
    fn begin_closure(&self, CallId(id): CallId) {
        self.note(format!("closure of {id} begins"));
    }
    fn end_closure(&self, CallId(id): CallId) {
        self.note(format!("closure of {id} ends"));
    }
    fn begin_wait(&self, _: Option<OperationId>, wait: TrackedWait) {
        self.note(format!("{wait:?} wait begins"));
    }
    fn end_wait(&self, _: Option<OperationId>, wait: TrackedWait) {
        self.note(format!("{wait:?} wait ends"));
    }
    fn begin_task(&self, operation: Option<OperationId>) -> TaskId {
        self.note(format!("task of {operation:?} begins"));
        TaskId(3)
    }
    fn task_woken(&self, _: TaskId) {
        self.note("task woken".into());
    }
    fn task_polled(&self, _: TaskId) {
        self.note("task polled".into());
    }
    fn end_task(&self, _: TaskId) {
        self.note("task ends".into());
    }
}

/// A context with all of them, and the handles to move them by.
pub(crate) struct Rig {
    pub(crate) clock: Arc<HandClock>,
    pub(crate) held: Arc<Held>,
    pub(crate) notes: Arc<Notes>,
    pub(crate) context: Context,
}

pub(crate) fn name(text: &str) -> ProviderName {
    ProviderName::parse(text).unwrap()
}

pub(crate) fn identity(text: &str) -> Identity {
    Identity::new(InstallationId::parse(text).unwrap())
}

pub(crate) fn rig() -> Rig {
    let (clock, held, notes) = (Arc::<HandClock>::default(), Arc::<Held>::default(), Arc::<Notes>::default());
    let mut context = Context::new(
        name("here"),
        identity("us"),
        Arc::new(Shared(Arc::clone(&clock))),
        Arc::new(SharedHeld(Arc::clone(&held))),
    );
    context.tracker = Some(Arc::clone(&notes) as _);
    Rig { clock, held, notes, context }
}
