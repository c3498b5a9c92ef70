//! The clock that every wait, poll, budget and time stamp of a provider goes through.

use std::time::Duration;

use futures::future::BoxFuture;

use crate::Timestamp;

/// What a wait is for. A test's clock moves when every operation waits idly or for its backend; a guard alone
/// is no reason to move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// A poll or a back-off: nothing else goes on until it ends.
    Idle,
    /// A budget: it runs beside work, and normally never ends.
    Guard,
}

/// Time, as a provider sees it. A provider takes it from [`Context::clock`](crate::Context), and sleeps on nothing else:
/// a wait that a test's ledger does not know of ends the case as an error.
///
/// # Guarantees
/// [`Clock::monotonic`] never goes back. A sleep counts from its creation, not from its first poll.
pub trait Clock: Send + Sync + 'static {
    /// The present, for time stamps such as a written creation time. It may jump; no wait is measured by it.
    fn now(&self) -> Timestamp;

    /// Time since some fixed point of this clock's own, for budgets, deadlines and what took how long.
    fn monotonic(&self) -> Duration;

    /// Ends after `how_long`; dropping it ends the wait. Providers pause by [`Seam::pause`](crate::Seam::pause) and keep
    /// budgets by [`Seam::bounded`](crate::Seam::bounded), which say which kind of wait it is.
    fn sleep(&self, how_long: Duration, wait: Wait) -> BoxFuture<'static, ()>;
}

/// Where futures and blocking closures run. A program gives its executor, a test gives its own. Providers use it by
/// [`Seam::spawn`](crate::Seam::spawn), [`Seam::blocking`](crate::Seam::blocking) and [`Seam::local`](crate::Seam::local) only.
pub trait Spawner: Send + Sync + 'static {
    /// Runs a future to its end.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Runs a closure on a thread that may block.
    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>);
}

#[cfg(feature = "tokio")]
mod system {
    use std::time::Instant;

    use super::*;

    /// The machine's own clock, with tokio's timer. Feature `tokio`.
    #[derive(Debug)]
    pub struct SystemClock(Instant);

    impl Default for SystemClock {
        fn default() -> Self {
            Self(Instant::now())
        }
    }

    impl Clock for SystemClock {
        fn now(&self) -> Timestamp {
            jiff::Timestamp::now().into()
        }

        fn monotonic(&self) -> Duration {
            self.0.elapsed()
        }

        fn sleep(&self, how_long: Duration, _: Wait) -> BoxFuture<'static, ()> {
            // The timer is made inside the future, since making it needs the runtime; its end is fixed here.
            let until = tokio::time::Instant::now().checked_add(how_long);
            Box::pin(async move {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            })
        }
    }

    /// The tokio runtime that the program runs on. Feature `tokio`.
    #[derive(Debug, Default)]
    pub struct TokioSpawner;

    impl Spawner for TokioSpawner {
        fn spawn(&self, task: BoxFuture<'static, ()>) {
            tokio::spawn(task);
        }

        fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
            tokio::task::spawn_blocking(work);
        }
    }
}
#[cfg(feature = "tokio")]
pub use system::{SystemClock, TokioSpawner};
