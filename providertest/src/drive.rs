//! Drives operations to their end: polls those that were woken, and moves the clock when the ledger allows it.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Waker},
};

use futures::{
    future::BoxFuture,
    task::{ArcWake, AtomicWaker},
};
use provider_api::{OperationId, within_operation};

use crate::ledger::{Ledger, Next};

/// How an operation that was driven ended.
#[derive(Debug)]
pub enum Ended<T> {
    /// With its result.
    Done(T),
    /// A fault dropped its caller.
    Dropped,
    /// A fault took the whole provider away.
    Restarted,
}

impl<T> Ended<T> {
    /// The result, when there is one.
    pub fn done(self) -> Option<T> {
        match self {
            Self::Done(value) => Some(value),
            Self::Dropped | Self::Restarted => None,
        }
    }
}

/// Everything rests, and there is nothing that could wake it: a wait that the ledger does not know of.
#[derive(Debug, thiserror::Error)]
#[error("nothing is left that could go on:\n{0}")]
pub struct Stuck(pub String);

/// Drives operations together, each under its id.
pub(crate) async fn drive<T: Send>(
    ledger: &Ledger,
    operations: Vec<(OperationId, BoxFuture<'_, T>)>,
) -> Result<Vec<Ended<T>>, Stuck> {
    let mut running: Vec<Running<'_, T>> = operations
        .into_iter()
        .map(|(id, future)| {
            ledger.begin_operation(id);
            let flag = Arc::new(Flag { woken: AtomicBool::new(true), harness: AtomicWaker::new() });
            let waker = futures::task::waker(Arc::clone(&flag));
            Running {
                id,
                future: Some(Box::pin(within_operation(Some(id), future))),
                ended: None,
                flag,
                waker,
            }
        })
        .collect();
    let result = std::future::poll_fn(|cx| {
        ledger.set_harness(cx.waker());
        for operation in &running {
            operation.flag.harness.register(cx.waker());
        }
        loop {
            while poll_woken(&mut running, ledger) {}
            if running.iter().all(|operation| operation.future.is_none()) {
                return Poll::Ready(Ok(()));
            }
            match ledger.next() {
                Next::Wait => {
                    // A transition between the last poll and this check has woken the harness already.
                    return Poll::Pending;
                }
                Next::Fired => {}
                Next::Drop(drop) => {
                    for operation in
                        running.iter_mut().filter(|o| drop.restart || Some(o.id) == drop.operation)
                    {
                        if operation.future.take().is_some() {
                            operation.ended =
                                Some(if drop.restart { Ended::Restarted } else { Ended::Dropped });
                            ledger.end_operation(operation.id);
                        }
                    }
                }
                Next::Stuck => return Poll::Ready(Err(Stuck(ledger.dump()))),
            }
        }
    })
    .await;
    if result.is_err() {
        for operation in &mut running {
            operation.future = None;
            ledger.end_operation(operation.id);
        }
    }
    result?;
    Ok(running.into_iter().map(|operation| operation.ended.expect("every future has ended")).collect())
}

/// Waits until nothing that dropped callers left behind is still at work.
pub(crate) async fn settle(ledger: &Ledger) {
    std::future::poll_fn(|cx| {
        ledger.set_harness(cx.waker());
        if ledger.settle() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

struct Running<'f, T> {
    id: OperationId,
    future: Option<std::pin::Pin<Box<dyn Future<Output = T> + Send + 'f>>>,
    ended: Option<Ended<T>>,
    flag: Arc<Flag>,
    waker: Waker,
}

/// Polls every operation that was woken; says whether there was one.
fn poll_woken<T>(running: &mut [Running<'_, T>], ledger: &Ledger) -> bool {
    let mut any = false;
    for operation in running {
        let Some(future) = &mut operation.future else { continue };
        if !operation.flag.woken.swap(false, Ordering::AcqRel) {
            continue;
        }
        any = true;
        let mut cx = std::task::Context::from_waker(&operation.waker);
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            operation.future = None;
            operation.ended = Some(Ended::Done(value));
            ledger.end_operation(operation.id);
        }
    }
    any
}

struct Flag {
    woken: AtomicBool,
    harness: AtomicWaker,
}

impl ArcWake for Flag {
    fn wake_by_ref(flag: &Arc<Self>) {
        flag.woken.store(true, Ordering::Release);
        flag.harness.wake();
    }
}
