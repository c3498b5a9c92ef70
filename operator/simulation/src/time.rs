//! Time of a simulated world: it stands still while anything can go on, and then jumps to whatever waits for the nearest
//! point. Each operator sees it through a clock of its own, with an offset and a rate.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures::future::BoxFuture;
use provider_api::{Clock, Timestamp, Wait};

/// The world's time. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Time(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now: Duration,
    serial: u64,
    timers: BTreeMap<(Duration, u64), Option<Waker>>,
}

impl Time {
    /// Since the world began.
    pub(crate) fn now(&self) -> Duration {
        self.lock().now
    }

    /// Ends at a point in time.
    pub(crate) fn sleep_until(&self, at: Duration) -> Sleep {
        let mut state = self.lock();
        state.serial += 1;
        let id = (at, state.serial);
        if at > state.now {
            state.timers.insert(id, None);
        }
        drop(state);
        Sleep { time: self.clone(), id }
    }

    /// Ends after so much time.
    pub(crate) fn sleep(&self, how_long: Duration) -> Sleep {
        self.sleep_until(self.now() + how_long)
    }

    /// Jumps to the nearest point that something waits for, but not beyond `end`. Whether there was one.
    pub(crate) fn advance(&self, end: Duration) -> bool {
        let mut state = self.lock();
        let Some((&(at, _), _)) = state.timers.first_key_value() else { return false };
        if at > end {
            return false;
        }
        state.now = at;
        let later = state.timers.split_off(&(at, u64::MAX));
        let due = std::mem::replace(&mut state.timers, later);
        drop(state);
        for waker in due.into_values().flatten() {
            waker.wake();
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait. Dropping it ends it.
pub(crate) struct Sleep {
    time: Time,
    id: (Duration, u64),
}

impl Future for Sleep {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.time.lock();
        if state.now >= self.id.0 {
            return Poll::Ready(());
        }
        state.timers.insert(self.id, Some(context.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.time.lock().timers.remove(&self.id);
    }
}

/// The time as one operator, or one backend, sees it.
#[derive(Clone)]
pub(crate) struct SkewedClock {
    time: Time,
    /// How far its wall clock is off, in seconds.
    offset: i64,
    /// How fast it goes, in thousandths of the world's.
    rate: u32,
}

/// When every world begins: 2026-01-01T00:00:00Z.
const BEGINNING: i64 = 1_767_225_600;

impl SkewedClock {
    pub(crate) fn new(time: Time, offset: i64, rate: u32) -> Self {
        Self { time, offset, rate }
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix(BEGINNING + self.offset).after(self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        // A process's own clock begins somewhere.
        self.time.now() * self.rate / 1000 + Duration::from_secs(1)
    }

    fn sleep(&self, how_long: Duration, _: Wait) -> BoxFuture<'static, ()> {
        // Rounded up, so that whoever waits for a point of this clock finds it passed.
        let world = how_long.as_nanos().saturating_mul(1000).div_ceil(u128::from(self.rate));
        let world = Duration::from_nanos(u64::try_from(world).unwrap_or(u64::MAX / 4));
        Box::pin(self.time.sleep(world))
    }
}
