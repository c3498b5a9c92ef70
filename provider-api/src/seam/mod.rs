//! The seam: every backend call of a provider goes through it. It gives each call a budget, a span, a log line,
//! a count and, in tests, an entry in the ledger.
//!
//! `live.rs` has one call under way, `waits.rs` the other waits that a ledger hears of.

mod live;
mod waits;

use std::{error::Error as StdError, fmt, future::Future, pin::pin, sync::Arc, task::Poll, time::Duration};

use futures::{FutureExt, channel::oneshot};
use live::{Ended, Live};
pub(crate) use waits::Waiting;
use waits::tracked;

use crate::{
    CallKind, Clock, Context, Scrubbed, Scrubber, TrackedWait, Wait, current_operation, tracker::run_in_call,
    within_operation,
};

/// What a client's error tells the seam.
///
/// ```
/// use provider_api::BackendError;
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("{status} {code}: {text}")]
/// struct ApiError { status: u16, code: String, text: String }
///
/// impl BackendError for ApiError {
///     fn code(&self) -> String {
///         format!("{} {}", self.status, self.code)
///     }
/// }
/// ```
pub trait BackendError: StdError + Send + Sync + 'static {
    /// The backend's code and reason, never text that could quote what was sent: of a call with a payload nothing else
    /// goes on (`create.hides-secrets`).
    fn code(&self) -> String;
}

impl BackendError for std::convert::Infallible {
    fn code(&self) -> String {
        match *self {}
    }
}

/// Why a call gave no result. A provider's one `classify` turns it into an [`Error`](crate::Error).
#[derive(Debug, thiserror::Error)]
pub enum CallError<E> {
    /// It took longer than its budget, which is named. Whether it took effect is unknown, so it is Transient.
    #[error("no answer within {0:?}")]
    Overlong(Duration),
    /// The backend, or the way there, said no: the client's own error.
    #[error(transparent)]
    Backend(#[from] E),
}

/// The one way from a provider to its backend. Cheap to clone.
///
/// It gives each call a budget, a span `<type>.<call>` under the operation's, one line `backend call` at debug, a count,
/// and, in tests, an entry in the ledger. Serves `create.budget-per-call`, `observability.every-backend-call-logged-once`
/// and `observability.every-backend-call-has-a-child-span`.
///
/// Whatever a provider waits for is one of these methods, a sleep of the clock, or a wait at the [`Gate`](crate::Gate). The
/// client below has no timers, retries or spawned tasks of its own.
///
/// ```
/// use std::{convert::Infallible, time::Duration};
/// use provider_api::{CallError, CallKind, Error, Seam};
///
/// const INSERT: CallKind = CallKind::upload("insert").within(Duration::from_secs(120));
/// const DESCRIBE: CallKind = CallKind::read("describe");
///
/// async fn make(seam: &Seam, zone: &str) -> Result<(), CallError<Infallible>> {
///     seam.call(INSERT, zone, async { Ok::<_, Infallible>(()) }).await?; // the client's future
///     while seam.call(DESCRIBE, zone, async { Ok::<_, Infallible>("up") }).await? != "up" {
///         seam.pause(Duration::from_secs(2)).await;
///     }
///     Ok(())
/// }
///
/// async fn create(seam: &Seam) -> Result<(), Error> {
///     let made = seam.bounded(Duration::from_secs(600), make(seam, "eu-1")).await;
///     let made = made.map_err(|overlong| Error::transient(overlong.to_string()))?;
///     made.map_err(|error| Error::transient(error.to_string()))
/// }
/// ```
#[derive(Clone)]
pub struct Seam {
    context: Arc<Context>,
    provider_type: &'static str,
    budget: Duration,
    scrubber: Arc<Scrubber>,
}

impl Seam {
    pub(crate) fn new(context: Context, provider_type: &'static str, budget: Duration) -> Self {
        Self { context: Arc::new(context), provider_type, budget, scrubber: Arc::default() }
    }

    /// The same seam, with secrets that its log lines must not show: of the request at hand, and the credentials that the
    /// call is made with. They take the place of those that it had.
    #[must_use]
    pub fn hiding(&self, scrubber: Scrubber) -> Self {
        Self { scrubber: Arc::new(scrubber), ..self.clone() }
    }

    /// The clock, for time stamps, deadlines and how long something has been waited for.
    pub fn clock(&self) -> &dyn Clock {
        &*self.context.clock
    }

    /// Makes one backend call with the budget of its kind, or the default one. `target` is the part of the backend that it
    /// goes to, a host, a zone, the API server, as log lines and spans name it.
    ///
    /// The future is the client's request, from sending it to having read the answer to its end. It is polled here and
    /// nowhere else, and dropped when the budget is used up or the caller goes away.
    ///
    /// # Errors
    /// [`CallError::Overlong`] when the budget is used up, otherwise the client's own error.
    pub async fn call<T, E: BackendError>(
        &self,
        kind: CallKind,
        target: &str,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, CallError<E>> {
        self.call_within(kind.budget.unwrap_or(self.budget), kind, target, future).await
    }

    /// Makes one backend call with a budget of its own: a check's, which is what its deadline leaves.
    ///
    /// # Errors
    /// As for [`Seam::call`].
    pub async fn call_within<T, E: BackendError>(
        &self,
        budget: Duration,
        kind: CallKind,
        target: &str,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, CallError<E>> {
        let mut live = Live::begin(self, kind, target, false);
        let result = live.race(budget, future).await;
        live.end(&result);
        result
    }

    /// Makes one backend call that blocks a thread, of a C library say. One closure is one call, though it may be several
    /// on the wire. Dropping the future leaves the closure to its end; what it does until then is still this call's.
    ///
    /// # Panics
    /// When the closure panicked.
    ///
    /// # Errors
    /// As for [`Seam::call`].
    pub async fn blocking<T: Send + 'static, E: BackendError>(
        &self,
        budget: Duration,
        kind: CallKind,
        target: &str,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, CallError<E>> {
        let mut live = Live::begin(self, kind, target, true);
        let (send, receive) = oneshot::channel();
        let (tracker, operation, call) = (self.context.tracker.clone(), current_operation(), live.call);
        if let Some(tracker) = &tracker {
            tracker.begin_closure(call);
        }
        // A runtime that shuts down drops the closure unrun, and that is its end too.
        let ended = Ended { tracker, call };
        self.context.spawner.spawn_blocking(Box::new(move || {
            let result = run_in_call(operation, call, work);
            // Nobody waits for the result of a dropped call.
            let _ = send.send(result);
            drop(ended);
        }));
        // The sender is dropped unsent only when the closure panicked; the panic is then the report.
        let answer =
            receive.map(|result| result.unwrap_or_else(|_| panic!("a blocking backend call panicked")));
        let result = live.race(budget, answer).await;
        live.end(&result);
        result
    }

    /// Runs something slow that is no backend call, a file or a hash, on a thread, with the budget that calls have by
    /// default. Work that is overlong is left to its end, and nobody hears of its result: it must change nothing.
    ///
    /// # Errors
    /// [`Overlong`] when the budget is used up: a file on a disk that hangs.
    ///
    /// # Panics
    /// When the closure panicked.
    pub async fn local<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Overlong> {
        let _waiting = Waiting::begin(&self.context.tracker, TrackedWait::Local);
        let (send, receive) = oneshot::channel();
        self.context.spawner.spawn_blocking(Box::new(move || {
            let _ = send.send(work());
        }));
        let done = receive.map(|done| done.unwrap_or_else(|_| panic!("local work panicked")));
        self.bounded(self.budget, done).await
    }

    /// Starts a task that belongs to the running operation. Dropping the answer does not end it, so it must change nothing
    /// on the backend once its operation is gone (`runtime.no-work-after-drop`). The answer is `None` when it panicked.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send + 'static {
        let (send, receive) = oneshot::channel();
        let operation = current_operation();
        let tracker = self.context.tracker.clone();
        let body = within_operation(operation, async move {
            let _ = send.send(future.await);
        });
        let task: futures::future::BoxFuture<'static, ()> = match tracker.clone() {
            Some(tracker) => Box::pin(tracked(tracker.begin_task(operation), tracker, body)),
            None => Box::pin(body),
        };
        self.context.spawner.spawn(task);
        async move {
            let _waiting = Waiting::begin(&tracker, TrackedWait::Task);
            receive.await.ok()
        }
    }

    /// A pause between two polls, or a back-off, or before a listing that lags behind. What polls wait for is a
    /// [`BoundedWait`](crate::BoundedWait) of the profile; the lag of a listing is none.
    pub async fn pause(&self, how_long: Duration) {
        self.context.clock.sleep(how_long, Wait::Idle).await;
    }

    /// Runs a whole operation, or a part of it, within a budget: every wait inside ends with it (`create.bounded`).
    ///
    /// # Errors
    /// [`Overlong`] when the budget is used up; the future is then dropped. It is Transient.
    pub async fn bounded<T>(&self, budget: Duration, future: impl Future<Output = T>) -> Result<T, Overlong> {
        let mut guard = self.context.clock.sleep(budget, Wait::Guard);
        let mut future = pin!(future);
        std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending => guard.poll_unpin(cx).map(|()| Err(Overlong(budget))),
        })
        .await
    }
}

impl fmt::Debug for Seam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seam")
            .field("provider", &self.context.name)
            .field("type", &self.provider_type)
            .finish()
    }
}

/// A budget was used up: the one that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not done within {0:?}")]
pub struct Overlong(pub Duration);

impl<E: BackendError> CallError<E> {
    /// The error as a scrubbed cause for [`Error::caused_by`](crate::Error::caused_by): whole for calls without a payload,
    /// [`BackendError::code`] alone for calls with one (`errors.hides-secrets`, `errors.source-chain`).
    pub fn scrubbed(&self, kind: CallKind, scrubber: &Scrubber) -> Scrubbed {
        match self {
            Self::Overlong(_) => Scrubbed::text(self.to_string()),
            Self::Backend(error) if kind.payload => Scrubbed::text(scrubber.scrub(&error.code())),
            Self::Backend(error) => Scrubbed::chain(error, scrubber),
        }
    }
}
