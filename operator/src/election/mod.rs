//! Who of several operators works: a small state machine on a Lease, and what drives it.
//!
//! # Guarantees
//! Never do two operators *start* a call at once, for any offset of their clocks and up to 5 % difference in their rates: a
//! leader stops by itself [`Terms::deadline`] after it *began* its last successful renewal, and others wait until they have
//! seen the lease unchanged for [`Terms::lease`], each by its own monotonic clock.

mod machine;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, StreamExt, future::BoxFuture, select_biased};
use provider_api::{Clock, Wait};

pub use machine::{Election, Move};

use crate::cluster::Cluster;

/// How long leadership holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long others wait after the last sign of a leader: 15 s.
    pub lease: Duration,
    /// How long a leader goes on without having renewed: 10 s.
    pub deadline: Duration,
    /// What lies between renewals, and between attempts: 2 s.
    pub retry: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease: seconds(15), deadline: seconds(10), retry: seconds(2) }
    }
}

/// Until when this operator may start things, by its monotonic clock. It is asked before each thing that is started, so a
/// process that was stopped for a while starts nothing when it goes on.
#[derive(Clone, Debug)]
pub struct Term(Arc<AtomicU64>);

impl Term {
    /// For an operator that is alone.
    pub fn unlimited() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// One that is over.
    #[cfg(test)]
    pub(crate) fn over() -> Self {
        Self::until(Duration::ZERO)
    }

    /// Whether it still holds.
    pub fn holds(&self, clock: &dyn Clock) -> bool {
        nanos(clock.monotonic()) < self.0.load(Ordering::SeqCst)
    }

    fn until(tick: Duration) -> Self {
        Self(Arc::new(AtomicU64::new(nanos(tick))))
    }

    fn extend(&self, tick: Duration) {
        self.0.store(nanos(tick), Ordering::SeqCst);
    }
}

fn nanos(tick: Duration) -> u64 {
    u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX - 1)
}

/// Stands for election for ever. For each term `work` is begun; it is dropped, with everything in flight, as soon as the term
/// is over. When `stop` ends, a lease that is held is released, so that another takes over at once.
pub async fn elect(
    cluster: Arc<dyn Cluster>,
    clock: Arc<dyn Clock>,
    me: String,
    terms: Terms,
    mut work: impl FnMut(Term) -> BoxFuture<'static, ()>,
    stop: impl Future<Output = ()>,
) {
    let mut election = Election::new(me, terms);
    let mut lease = cluster.watch_lease().fuse();
    let mut stop = Box::pin(stop.fuse());
    let mut working: Option<(Term, BoxFuture<'static, ()>)> = None;
    let mut writing: Option<BoxFuture<'static, _>> = None;
    loop {
        let tick = clock.monotonic();
        match election.leads_until(tick) {
            Some(until) => match &working {
                Some((term, _)) => term.extend(until),
                None => {
                    let term = Term::until(until);
                    working = Some((term.clone(), work(term)));
                }
            },
            None => {
                if let Some((term, work)) = working.take() {
                    term.extend(Duration::ZERO);
                    drop(work);
                }
            }
        }
        let mut sleep: BoxFuture<'static, ()> = Box::pin(std::future::pending());
        if writing.is_none() {
            match election.next(tick, clock.now()) {
                Move::Write(write) => {
                    let cluster = Arc::clone(&cluster);
                    writing = Some(Box::pin(async move { (tick, cluster.write_lease(&write).await) }));
                }
                Move::Wait(Some(how_long)) => sleep = clock.sleep(how_long, Wait::Idle),
                Move::Wait(None) => {}
            }
        } else if let Some(until) = election.leads_until(tick) {
            // A renewal that hangs does not prolong the term.
            sleep = clock.sleep(until.saturating_sub(tick), Wait::Guard);
        }
        let mut sleep = sleep.fuse();
        let mut written = async {
            match &mut writing {
                Some(writing) => writing.await,
                None => std::future::pending().await,
            }
        }
        .boxed()
        .fuse();
        let mut worked = async {
            match &mut working {
                Some((_, work)) => work.await,
                None => std::future::pending().await,
            }
        }
        .boxed()
        .fuse();
        select_biased! {
            () = stop => break,
            seen = lease.select_next_some() => {
                let tick = clock.monotonic();
                election.seen(seen, tick);
            }
            (began, result) = written => {
                drop(written);
                writing = None;
                let tick = clock.monotonic();
                election.wrote(result, began, tick);
            }
            () = sleep => {}
            () = worked => {
                drop(worked);
                working = None;
            }
        }
    }
    // Before anybody else can lead: what still has the term starts nothing any more.
    if let Some((term, work)) = working.take() {
        term.extend(Duration::ZERO);
        drop(work);
    }
    if let Some(release) = election.release(clock.now()) {
        let result = cluster.write_lease(&release).await;
        if let Err(error) = result {
            tracing::warn!(%error, "the lease could not be released; another operator takes over when it has run out");
        }
    }
}
