//! One call under way, from its begin to its one end: answered, overlong or dropped.

use std::{future::Future, pin::pin, sync::Arc, task::Poll, time::Duration};

use futures::FutureExt;
use tracing::Span;

use super::{BackendError, CallError, Seam};
use crate::{CallEnd, CallId, CallKind, Tracker, Wait, current_operation, tracker::poll_in_call};

/// One call under way. Dropped before its end it is a call whose caller went away.
pub(super) struct Live<'s> {
    seam: &'s Seam,
    kind: CallKind,
    target: &'s str,
    pub(super) call: CallId,
    span: Span,
    started: Duration,
    ended: bool,
}

impl<'s> Live<'s> {
    pub(super) fn begin(seam: &'s Seam, kind: CallKind, target: &'s str, blocking: bool) -> Self {
        let context = &seam.context;
        let call = match &context.tracker {
            Some(tracker) => tracker.begin_call(current_operation(), &kind, target, blocking),
            None => CallId(0),
        };
        context.metrics.call_started(&context.name, kind.name);
        // Only under a parent: a call of nobody's would be a trace of its own.
        let span = if Span::current().is_none() {
            Span::none()
        } else {
            tracing::info_span!(
                "backend.call",
                otel.name = format_args!("{}.{}", seam.provider_type, kind.name),
                otel.kind = "client",
                otel.status_code = tracing::field::Empty,
                call = kind.name,
                target = target,
            )
        };
        Self { seam, kind, target, call, span, started: context.clock.monotonic(), ended: false }
    }

    pub(super) async fn race<T, E>(
        &mut self,
        budget: Duration,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, CallError<E>> {
        let mut guard = self.seam.context.clock.sleep(budget, Wait::Guard);
        let mut future = pin!(future);
        let (call, span) = (self.call, self.span.clone());
        std::future::poll_fn(|cx| {
            let _entered = span.enter();
            match poll_in_call(call, || future.as_mut().poll(cx)) {
                Poll::Ready(result) => Poll::Ready(result.map_err(CallError::Backend)),
                Poll::Pending => guard.poll_unpin(cx).map(|()| Err(CallError::Overlong(budget))),
            }
        })
        .await
    }

    pub(super) fn end<T, E: BackendError>(&mut self, result: &Result<T, CallError<E>>) {
        match result {
            Ok(_) => self.close(CallEnd::Answered, None),
            Err(CallError::Overlong(_)) => {
                self.close(CallEnd::Overlong, Some("no answer within its budget".into()))
            }
            Err(error) => {
                let text = error.scrubbed(self.kind, &self.seam.scrubber).to_string();
                self.close(CallEnd::Answered, Some(text));
            }
        }
    }

    fn close(&mut self, end: CallEnd, error: Option<String>) {
        self.ended = true;
        let context = &self.seam.context;
        if let Some(tracker) = &context.tracker {
            tracker.end_call(self.call, end);
        }
        let elapsed = context.clock.monotonic().saturating_sub(self.started);
        let _entered = self.span.enter();
        if error.is_some() {
            self.span.record("otel.status_code", "ERROR");
        }
        tracing::debug!(
            provider = %context.name,
            call = self.kind.name,
            target = self.target,
            elapsed_ms = elapsed.as_millis() as u64,
            error = error.as_deref(),
            "backend call"
        );
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let how = if std::thread::panicking() { "dropped in a panic" } else { "dropped by its caller" };
            self.close(CallEnd::Dropped, Some(how.into()));
        }
    }
}

/// Says that a closure ended, also when it panicked.
pub(super) struct Ended {
    pub(super) tracker: Option<Arc<dyn Tracker>>,
    pub(super) call: CallId,
}

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(tracker) = &self.tracker {
            tracker.end_closure(self.call);
        }
    }
}
