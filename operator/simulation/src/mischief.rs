//! What goes wrong, as one operator meets it.

use std::{
    future::pending,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use rand::{Rng, rngs::StdRng};

use crate::{
    plan::{Fault, Mishap},
    time::Time,
};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Struck {
    /// It fails and is not executed.
    Before,
    /// It is executed and fails.
    After,
    /// It is executed, and no answer comes.
    Silence,
    /// It is executed, and the operator is dead.
    Dead,
    /// Somebody else writes the same object just before.
    Outpaced,
}

/// The mischief that one operator is in for. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Mischief(Arc<Inner>);

struct Inner {
    operator: u32,
    faults: Arc<[Fault]>,
    time: Time,
    chance: Arc<Mutex<StdRng>>,
    /// Counts requests and calls that change something, over all of the operator's lives.
    number: AtomicU32,
    /// It is to be killed as soon as nothing runs.
    is_doomed: AtomicBool,
    /// Which ones had an effect, by number.
    effective: Mutex<Vec<(u32, String)>>,
    /// Whether its watches are prompt: at most 20 ms late.
    is_calm: bool,
    trace: Trace,
}

/// The story of a world, told as it happens where somebody wants to hear it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Trace(pub(crate) bool);

impl Trace {
    pub(crate) fn line(self, now: Duration, who: &str, line: impl FnOnce() -> String) {
        if self.0 {
            println!("{:>11.3} {who:<10} {}", now.as_secs_f64(), line());
        }
    }
}

impl Mischief {
    pub(crate) fn new(
        operator: u32,
        faults: Arc<[Fault]>,
        time: Time,
        chance: Arc<Mutex<StdRng>>,
        is_calm: bool,
        trace: Trace,
    ) -> Self {
        Self(Arc::new(Inner {
            operator,
            faults,
            time,
            chance,
            number: AtomicU32::new(0),
            is_doomed: AtomicBool::new(false),
            effective: Mutex::default(),
            is_calm,
            trace,
        }))
    }

    pub(crate) fn now(&self) -> Duration {
        self.0.time.now()
    }

    pub(crate) fn trace(&self, line: impl FnOnce() -> String) {
        if self.0.trace.0 {
            self.0.trace.line(self.now(), &format!("operator-{}", self.0.operator), line);
        }
    }

    fn chance(&self) -> MutexGuard<'_, StdRng> {
        self.0.chance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a way to a server takes.
    pub(crate) async fn latency(&self) {
        let micros = self.chance().random_range(100..5_000);
        self.pass(Duration::from_micros(micros)).await;
    }

    pub(crate) async fn pass(&self, how_long: Duration) {
        self.0.time.sleep(how_long).await;
    }

    pub(crate) async fn pass_until(&self, at: Duration) {
        self.0.time.sleep_until(at).await;
    }

    /// Waits until a watch may tell what happened at `at`.
    pub(crate) async fn lag(&self, at: Duration) {
        let is_slow = self.chance().random_range(0..50) == 0 && !self.0.is_calm;
        let millis = if is_slow { 2_000 } else { 20 };
        let lag = Duration::from_millis(self.chance().random_range(1..millis));
        self.pass_until(at + lag).await;
    }

    pub(crate) fn is_api_down(&self) -> bool {
        self.has(|fault| match fault {
            Fault::ApiDown { from, until } => Some((*from, *until)),
            Fault::Cut { operator, from, until } if *operator == self.0.operator => Some((*from, *until)),
            _ => None,
        })
    }

    /// Whether this operator's probes reach nobody.
    pub(crate) fn is_blind(&self) -> bool {
        self.has(|fault| match fault {
            Fault::Blind { operator, from, until } if *operator == self.0.operator => Some((*from, *until)),
            _ => None,
        })
    }

    fn has(&self, which: impl Fn(&Fault) -> Option<(u64, u64)>) -> bool {
        if self.0.faults.is_empty() {
            return false;
        }
        let now = self.now();
        self.0.faults.iter().filter_map(which).any(|(from, until)| is_within(now, from, until))
    }

    /// By how much the list is behind from which a watch begins anew now, if it breaks.
    pub(crate) fn breaks(&self) -> Option<Duration> {
        let now = self.now();
        self.0.faults.iter().find_map(|fault| match fault {
            Fault::Breaks { operator, from, until, percent, behind }
                if *operator == self.0.operator && is_within(now, *from, *until) =>
            {
                let mut chance = self.chance();
                let breaks = chance.random_range(0..100) < *percent;
                breaks.then(|| Duration::from_millis(chance.random_range(0..=*behind)))
            }
            _ => None,
        })
    }

    /// Until when this operator's watches stand still.
    pub(crate) fn frozen_until(&self) -> Option<Duration> {
        let now = self.now();
        self.0.faults.iter().find_map(|fault| match fault {
            Fault::Frozen { operator, from, until } if *operator == self.0.operator => {
                is_within(now, *from, *until).then(|| Duration::from_millis(*until))
            }
            _ => None,
        })
    }

    /// What happens to the next request.
    pub(crate) fn strike(&self, what: impl Fn() -> String, mutates: bool) -> Option<Struck> {
        if self.0.is_doomed.load(Ordering::Relaxed) {
            return Some(Struck::Dead);
        }
        let number = mutates.then(|| self.0.number.fetch_add(1, Ordering::Relaxed));
        if let Some(number) = number {
            self.0.effective.lock().unwrap_or_else(PoisonError::into_inner).push((number, what()));
        }
        let now = self.now();
        let struck = self.0.faults.iter().find_map(|fault| match fault {
            Fault::Request { operator, number: at, how }
                if *operator == self.0.operator && number == Some(*at) =>
            {
                Some(Struck::from(*how))
            }
            Fault::Storm { from, until, percent } if is_within(now, *from, *until) => {
                let mut chance = self.chance();
                let is_hit = chance.random_range(0..100) < *percent;
                let mishaps = [Mishap::Fails, Mishap::FailsAfter, Mishap::Lost, Mishap::Outpaced];
                is_hit.then(|| Struck::from(mishaps[chance.random_range(0..mishaps.len())]))
            }
            _ => None,
        });
        self.trace(|| {
            let number = number.map(|number| format!("#{number} ")).unwrap_or_default();
            let struck = struck.map(|struck| format!("  ◀ {struck:?}")).unwrap_or_default();
            format!("{number}{}{struck}", what())
        });
        struck
    }

    /// The operator is dead; whoever runs the world takes it away.
    pub(crate) async fn die<T>(&self) -> T {
        self.0.is_doomed.store(true, Ordering::Relaxed);
        pending().await
    }

    /// Whether it is to be killed now.
    pub(crate) fn is_doomed(&self) -> bool {
        self.0.is_doomed.load(Ordering::Relaxed)
    }

    /// It starts again.
    pub(crate) fn reborn(&self) {
        self.0.is_doomed.store(false, Ordering::Relaxed);
    }

    /// The requests and calls that changed something.
    pub(crate) fn effective(&self) -> Vec<(u32, String)> {
        self.0.effective.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl From<Mishap> for Struck {
    fn from(mishap: Mishap) -> Self {
        match mishap {
            Mishap::Fails => Self::Before,
            Mishap::FailsAfter => Self::After,
            Mishap::Lost => Self::Silence,
            Mishap::Crash => Self::Dead,
            Mishap::Outpaced => Self::Outpaced,
        }
    }
}

fn is_within(now: Duration, from: u64, until: u64) -> bool {
    now >= Duration::from_millis(from) && now < Duration::from_millis(until)
}
