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
    timers: BTreeMap<(Duration, u64), Waker>,
    /// How often anybody has asked for the time since it moved last.
    asked: u32,
}

/// How often the time may be asked for without moving. Whoever asks more often goes round in circles, and would for ever.
const ASKED: u32 = 500_000;
/// What the panic says that ends it.
pub(crate) const CIRCLES: &str = "the operator goes round in circles";

impl Time {
    /// Since the world began.
    pub(crate) fn now(&self) -> Duration {
        let mut state = self.lock();
        state.asked += 1;
        let (now, asked) = (state.now, state.asked);
        if asked >= ASKED {
            // Whoever tells of it asks for the time too.
            state.asked = 0;
        }
        drop(state);
        assert!(asked < ASKED, "{CIRCLES}: the time was asked for {asked} times at {now:?}");
        now
    }

    /// Ends at a point in time.
    pub(crate) fn sleep_until(&self, at: Duration) -> Sleep {
        let mut state = self.lock();
        state.serial += 1;
        let id = (at, state.serial);
        drop(state);
        Sleep { time: self.clone(), id, waker: None }
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
        state.asked = 0;
        let mut due = Vec::new();
        while let Some(first) = state.timers.first_entry().filter(|first| first.key().0 == at) {
            due.push(first.remove());
        }
        drop(state);
        for waker in due {
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
    /// Who was told to be woken, once it is waited for.
    waker: Option<Waker>,
}

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut state = this.time.lock();
        if state.now >= this.id.0 {
            return Poll::Ready(());
        }
        if this.waker.as_ref().is_none_or(|waker| !waker.will_wake(context.waker())) {
            state.timers.insert(this.id, context.waker().clone());
            this.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if self.waker.is_some() {
            self.time.lock().timers.remove(&self.id);
        }
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
    /// When somebody sets its wall clock, and by how many seconds.
    jumps: Arc<[(Duration, i64)]>,
}

/// When every world begins: 2026-01-01T00:00:00Z.
const BEGINNING: i64 = 1_767_225_600;

impl SkewedClock {
    pub(crate) fn new(time: Time, offset: i64, rate: u32) -> Self {
        Self { time, offset, rate, jumps: Arc::default() }
    }

    /// With a wall clock that somebody sets.
    pub(crate) fn jumping(self, jumps: Arc<[(Duration, i64)]>) -> Self {
        Self { jumps, ..self }
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        let monotonic = self.monotonic();
        let jumped: i64 = match self.jumps.is_empty() {
            true => 0,
            false => {
                let now = self.time.now();
                self.jumps.iter().filter(|(at, _)| *at <= now).map(|(_, by)| by).sum()
            }
        };
        Timestamp::from_unix(BEGINNING + self.offset + jumped).after(monotonic)
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
