//! The waits of a provider that are no calls, and the tasks it starts, as a ledger hears of them.

use std::{future::Future, pin::pin, sync::Arc};

use crate::{TaskId, TrackedWait, Tracker, current_operation};

/// A wait that the ledger knows of, until it is dropped.
pub(crate) struct Waiting {
    tracker: Option<Arc<dyn Tracker>>,
    operation: Option<crate::OperationId>,
    wait: TrackedWait,
}

impl Waiting {
    pub(crate) fn begin(tracker: &Option<Arc<dyn Tracker>>, wait: TrackedWait) -> Self {
        let operation = current_operation();
        if let Some(tracker) = tracker {
            tracker.begin_wait(operation, wait);
        }
        Self { tracker: tracker.clone(), operation, wait }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(tracker) = &self.tracker {
            tracker.end_wait(self.operation, self.wait);
        }
    }
}

/// Tells the ledger when a spawned task was woken, was polled and ended.
pub(super) async fn tracked(task: TaskId, tracker: Arc<dyn Tracker>, body: impl Future<Output = ()>) {
    struct Flag {
        task: TaskId,
        tracker: Arc<dyn Tracker>,
        inner: std::task::Waker,
    }
    impl futures::task::ArcWake for Flag {
        fn wake_by_ref(flag: &Arc<Self>) {
            flag.tracker.task_woken(flag.task);
            flag.inner.wake_by_ref();
        }
    }
    struct Over(TaskId, Arc<dyn Tracker>);
    impl Drop for Over {
        fn drop(&mut self) {
            self.1.end_task(self.0);
        }
    }
    let _over = Over(task, Arc::clone(&tracker));
    let mut body = pin!(body);
    std::future::poll_fn(|cx| {
        tracker.task_polled(task);
        let flag = Flag { task, tracker: Arc::clone(&tracker), inner: cx.waker().clone() };
        let waker = futures::task::waker(Arc::new(flag));
        body.as_mut().poll(&mut std::task::Context::from_waker(&waker))
    })
    .await;
}
