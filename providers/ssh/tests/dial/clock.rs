//! A clock that moves only by hand, so that every wait that ends by itself is a wait of somebody else's.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{FutureExt, channel::oneshot, future::BoxFuture};
use provider_api::{Clock, Timestamp, Wait};

/// 2026-01-01T00:00:00Z.
pub(crate) const START: i64 = 1_767_225_600;

#[derive(Default)]
pub(crate) struct HandClock(Mutex<State>);

#[derive(Default)]
struct State {
    now: Duration,
    sleepers: Vec<(Duration, oneshot::Sender<()>)>,
}

impl HandClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Moves on and wakes everybody whose time has come.
    pub(crate) fn pass(&self, how_long: Duration) {
        let mut state = self.0.lock().unwrap();
        state.now += how_long;
        let (now, sleepers) = (state.now, std::mem::take(&mut state.sleepers));
        let (due, rest): (Vec<_>, Vec<_>) = sleepers.into_iter().partition(|(deadline, _)| *deadline <= now);
        state.sleepers = rest;
        drop(state);
        for (_, wake) in due {
            let _ = wake.send(());
        }
    }

    /// How many wait.
    pub(crate) fn sleepers(&self) -> usize {
        self.0.lock().unwrap().sleepers.iter().filter(|(_, wake)| !wake.is_canceled()).count()
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix(START).after(self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        self.0.lock().unwrap().now
    }

    fn sleep(&self, how_long: Duration, _: Wait) -> BoxFuture<'static, ()> {
        let (wake, woken) = oneshot::channel();
        let mut state = self.0.lock().unwrap();
        let deadline = state.now + how_long;
        state.sleepers.push((deadline, wake));
        woken.map(drop).boxed()
    }
}
