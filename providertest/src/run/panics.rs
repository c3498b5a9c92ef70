//! Panics of a run: each belongs to a case, wherever it comes about, and none passes unseen.
//!
//! What unwinds through a case's own code is caught in `case.rs`. An executor swallows the panic of a task, and a thread
//! takes its own along; those are heard here, by the process's panic hook. A panic on a case's thread, or in blocking work
//! that the provider has started, is the case's. One on a thread that belongs to no case is told by the next case that
//! ends, since nobody can say whose it was.

use std::{
    cell::{Cell, RefCell},
    mem,
    panic::PanicHookInfo,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use provider_api::Spawner;

use crate::rule::Stop;

/// What one case hears.
#[derive(Clone, Default)]
pub(super) struct Panics(Arc<Heard>);

#[derive(Default)]
struct Heard {
    panics: Mutex<Vec<Panic>>,
    /// How many closures of the provider's are at work on other threads.
    closures: AtomicUsize,
    /// Whether the case is over, so that nobody asks any more.
    over: AtomicBool,
}

/// One panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Panic {
    whose: Whose,
    /// Where it was and what it said.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The case's own code, an operation of the provider within it, or a task that some executor runs on its thread.
    Unknown,
    /// A task or a closure that the provider has started through its spawner.
    Provider,
    /// A thread that belongs to no case.
    Nobody,
}

thread_local! {
    // Asked in every poll of a task of the provider's.
    static WHOSE: Cell<Whose> = const { Cell::new(Whose::Unknown) };
    static CASE: RefCell<Option<Panics>> = const { RefCell::new(None) };
}

/// Those of nobody's that no case has told yet.
static STRAY: Mutex<Vec<Panic>> = Mutex::new(Vec::new());
/// Whether there are any, to be asked cheaply.
static STRAYED: AtomicBool = AtomicBool::new(false);
/// Whether every thread but the first is of this run: the process is a suite and nothing besides.
static WHOLE_PROCESS: AtomicBool = AtomicBool::new(false);

/// Says that the process does nothing but run a suite, so that named threads belong to what is tested too.
pub(crate) fn whole_process() {
    WHOLE_PROCESS.store(true, Ordering::Relaxed);
}

/// Hears panics from now on. Those of cases are results, kept for the report instead of being printed.
pub(super) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let panic = Panic { whose: WHOSE.get(), text: told(info) };
            let Some(panic) = heard_by_its_case(panic) else { return };
            // Nobody's; with the test threads of another program's that is its own affair.
            let name = std::thread::current().name().map(str::to_owned);
            if name.is_none() || (WHOLE_PROCESS.load(Ordering::Relaxed) && name.as_deref() != Some("main")) {
                lock(&STRAY).push(Panic { whose: Whose::Nobody, ..panic });
                STRAYED.store(true, Ordering::Release);
            }
            before(info);
        }));
    });
}

/// The panic back, where no case hears it.
fn heard_by_its_case(panic: Panic) -> Option<Panic> {
    CASE.with_borrow(|case| match case {
        Some(Panics(heard)) if !heard.over.load(Ordering::Acquire) => {
            lock(&heard.panics).push(panic);
            None
        }
        _ => Some(panic),
    })
}

fn told(info: &PanicHookInfo<'_>) -> String {
    let at = info.location().map(ToString::to_string).unwrap_or_default();
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    format!("at {at}: {text}")
}

impl Panics {
    /// Lets this thread work for the case until the answer is dropped; the case is over then.
    pub(super) fn here(&self) -> Here {
        Here { case: self.clone(), before: CASE.replace(Some(self.clone())) }
    }

    /// What was heard since this was last asked, the first one first.
    pub(super) fn take(&self) -> Vec<Panic> {
        let mut panics = mem::take(&mut *lock(&self.0.panics));
        if STRAYED.swap(false, Ordering::AcqRel) {
            panics.append(&mut lock(&STRAY));
        }
        panics
    }

    /// Whether closures of the provider's are still at work.
    pub(super) fn any_at_work(&self) -> bool {
        self.0.closures.load(Ordering::Acquire) > 0
    }
}

/// See [`Panics::here`].
pub(super) struct Here {
    case: Panics,
    before: Option<Panics>,
}

impl Drop for Here {
    fn drop(&mut self) {
        self.case.0.over.store(true, Ordering::Release);
        CASE.set(self.before.take());
    }
}

impl Panic {
    /// What it says of the case that heard it, when that had no other end.
    pub(super) fn stop(&self) -> Stop {
        match self.whose {
            Whose::Unknown => {
                Stop::Error(format!("a task of the fake or of the provider panicked {}", self.text))
            }
            Whose::Provider => {
                Stop::Broken(format!("a task that the provider had started panicked {}", self.text))
            }
            Whose::Nobody => Stop::Error(format!("a thread that belongs to no case panicked {}", self.text)),
        }
    }

    /// What they say of the case whose own code the last one unwound.
    pub(super) fn unwound(panics: &[Self]) -> Stop {
        let mut mine = panics.iter().filter(|panic| panic.whose != Whose::Nobody);
        let Some(last) = mine.next_back() else { return Stop::Broken("it panicked somewhere".into()) };
        // Where a blocking call panicks its caller does so too, and only the first one says why.
        let first = mine.next().map_or_else(String::new, |first| format!("; before that, {}", first.stop()));
        Stop::Broken(format!("it panicked {}{first}", last.text))
    }

    /// As a line of the case's story.
    pub(super) fn line(&self) -> String {
        format!("besides, {}", self.stop())
    }
}

/// A spawner whose tasks and closures are known as the provider's when they panic.
pub(super) struct Heeding<S> {
    pub(super) spawner: S,
    pub(super) panics: Panics,
}

impl<S: Spawner> Spawner for Heeding<S> {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.spawner.spawn(Box::pin(Task(task)));
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        let panics = self.panics.clone();
        panics.0.closures.fetch_add(1, Ordering::AcqRel);
        let at_work = AtWork(panics.clone());
        self.spawner.spawn_blocking(Box::new(move || {
            // Also when it panics, and after the hook has heard that.
            let _at_work = at_work;
            let before = CASE.replace(Some(panics));
            let whose = WHOSE.replace(Whose::Provider);
            // The thread is used again by others; one that unwinds goes to its end with what it has here.
            let _back = Back { before: Some(before), whose };
            work();
        }));
    }
}

/// One task of the provider's.
struct Task(BoxFuture<'static, ()>);

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let whose = WHOSE.replace(Whose::Provider);
        let _back = Back { before: None, whose };
        self.0.as_mut().poll(cx)
    }
}

/// Gives a thread back as it was.
struct Back {
    before: Option<Option<Panics>>,
    whose: Whose,
}

impl Drop for Back {
    fn drop(&mut self) {
        WHOSE.set(self.whose);
        if let Some(before) = self.before.take() {
            CASE.set(before);
        }
    }
}

struct AtWork(Panics);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.0.closures.fetch_sub(1, Ordering::AcqRel);
    }
}

fn lock(panics: &Mutex<Vec<Panic>>) -> MutexGuard<'_, Vec<Panic>> {
    panics.lock().unwrap_or_else(PoisonError::into_inner)
}
