//! A call through the seam: its budget, its span, its one line, its end (`observability.every-backend-call-logged-once`,
//! `observability.every-backend-call-has-a-child-span`, `create.budget-per-call`).

use std::{fmt, future::pending, time::Duration};

use futures::{FutureExt as _, executor::block_on};
use provider_api::{
    BackendError, CallError, CallId, CallKind, OperationId, Overlong, Scrubber, Seam, Wait, current_call,
    within_operation,
};
use tracing::Instrument as _;

use crate::{
    doubles::{Rig, name, rig},
    recorder,
};

const SECOND: Duration = Duration::from_secs(1);
const LOOK: CallKind = CallKind::read("look");
const FILL: CallKind = CallKind::upload("fill").within(Duration::from_secs(60));

/// An error that quotes what was sent, as backends do.
#[derive(Debug)]
struct Quoting;

impl fmt::Display for Quoting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bad value 'hunter2-hunter2 and then some'")
    }
}
impl std::error::Error for Quoting {}
impl BackendError for Quoting {
    fn code(&self) -> String {
        "400 invalid".into()
    }
}

fn seam(rig: &Rig) -> Seam {
    let mut scrubber = Scrubber::default();
    scrubber.hide(b"hunter2-hunter2");
    rig.context.seam("toy", SECOND).hiding(scrubber)
}

/// Runs a future under a span, as an operation is.
fn under_parent<T>(future: impl Future<Output = T>) -> T {
    block_on(future.instrument(tracing::info_span!("parent")))
}

#[test]
fn an_answer_is_passed_on_and_told_once() {
    recorder::start();
    let rig = rig();
    let call = async { Ok::<_, Quoting>(current_call()) };
    let answer =
        under_parent(within_operation(Some(OperationId(5)), seam(&rig).call(LOOK, "x", call))).unwrap();
    assert_eq!(answer, Some(CallId(7)), "what runs inside knows its call");
    assert_eq!(current_call(), None);
    assert_eq!(rig.notes.take(), ["call look x of 5", "call 7 Answered"]);
    let lines = recorder::events("backend call");
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    let fields = ["provider", "call", "target", "error"].map(|field| line.field(field));
    assert_eq!(fields, [Some("here"), Some("look"), Some("x"), None]);
    assert_eq!(
        (line.level.as_str(), line.within.as_slice()),
        ("DEBUG", &["parent".into(), "backend.call".into()][..])
    );
    assert_eq!(rig.context.metrics.calls(&name("here"), "look"), 1);
}

#[test]
fn a_span_is_named_by_type_and_call_and_needs_a_parent() {
    recorder::start();
    let rig = rig();
    block_on(seam(&rig).call(LOOK, "x", async { Ok::<_, Quoting>(()) })).unwrap();
    assert!(recorder::spans().is_empty(), "a call of nobody's is no trace of its own");
    assert_eq!(recorder::events("backend call").len(), 1, "but it is logged");
    under_parent(seam(&rig).call(LOOK, "x", async { Ok::<_, Quoting>(()) })).unwrap();
    let spans = recorder::spans();
    let call = spans.iter().find(|span| span.name == "backend.call").unwrap();
    let fields = ["otel.name", "otel.kind", "otel.status_code"].map(|field| call.field(field));
    assert_eq!(fields, [Some("toy.look"), Some("client"), None]);
    assert_eq!(call.within, ["parent"]);
}

#[test]
fn an_error_is_scrubbed_and_of_a_payload_only_the_code_is_left() {
    for (kind, shown) in [(LOOK, "bad value '[redacted] and then some'"), (FILL, "400 invalid")] {
        recorder::start();
        let rig = rig();
        let error = under_parent(seam(&rig).call(kind, "x", async { Err::<(), _>(Quoting) })).unwrap_err();
        assert_eq!(recorder::events("backend call")[0].field("error"), Some(shown));
        assert!(!recorder::all_text().contains("hunter2"));
        let spans = recorder::spans();
        let call = spans.iter().find(|span| span.name == "backend.call").unwrap();
        assert_eq!(call.field("otel.status_code"), Some("ERROR"));
        let mut scrubber = Scrubber::default();
        scrubber.hide(b"hunter2-hunter2");
        assert_eq!(error.scrubbed(kind, &scrubber).to_string(), shown);
        assert!(matches!(error, CallError::Backend(Quoting)), "the provider still has the error to classify");
        assert_eq!(rig.notes.take().last().unwrap(), "call 7 Answered", "no is an answer too");
    }
}

#[test]
fn a_call_that_outlasts_its_budget_is_overlong() {
    recorder::start();
    let rig = rig();
    let seam = seam(&rig);
    let mut call = Box::pin(seam.call(LOOK, "x", pending::<Result<(), Quoting>>()));
    assert!(call.as_mut().now_or_never().is_none());
    assert_eq!(rig.clock.asked(), [(SECOND, Wait::Guard)], "a budget is a guard");
    rig.clock.advance(SECOND / 2);
    assert!(call.as_mut().now_or_never().is_none());
    rig.clock.advance(SECOND / 2);
    let error = call.as_mut().now_or_never().unwrap().unwrap_err();
    assert!(matches!(error, CallError::Overlong(SECOND)));
    assert_eq!(rig.notes.take(), ["call look x of -", "call 7 Overlong"]);
    drop(call);
    let lines = recorder::events("backend call");
    assert_eq!(lines.len(), 1, "one end, one line");
    assert_eq!(
        (lines[0].field("error"), lines[0].field("elapsed_ms")),
        (Some("no answer within its budget"), Some("1000"))
    );
}

#[test]
fn a_kind_may_have_a_budget_of_its_own() {
    let rig = rig();
    let seam = seam(&rig);
    let mut call = Box::pin(seam.call(FILL, "x", pending::<Result<(), Quoting>>()));
    assert!(call.as_mut().now_or_never().is_none());
    assert_eq!(rig.clock.asked(), [(Duration::from_secs(60), Wait::Guard)]);
    drop(call);
    let mut call = Box::pin(seam.call_within(SECOND * 2, FILL, "x", pending::<Result<(), Quoting>>()));
    assert!(call.as_mut().now_or_never().is_none());
    assert_eq!(rig.clock.asked()[1], (SECOND * 2, Wait::Guard));
}

#[test]
fn an_answer_at_the_last_moment_counts() {
    let rig = rig();
    let seam = seam(&rig);
    let (send, receive) = futures::channel::oneshot::channel();
    let mut call = Box::pin(seam.call(LOOK, "x", receive.map(|sent| Ok::<_, Quoting>(sent.unwrap()))));
    assert!(call.as_mut().now_or_never().is_none());
    rig.clock.advance(SECOND);
    send.send("there").unwrap();
    assert_eq!(call.now_or_never().unwrap().unwrap(), "there");
}

#[test]
fn a_caller_that_goes_away_ends_its_call() {
    recorder::start();
    let rig = rig();
    let seam = seam(&rig);
    let mut call = Box::pin(seam.call(LOOK, "x", pending::<Result<(), Quoting>>()));
    assert!(call.as_mut().now_or_never().is_none());
    drop(call);
    assert_eq!(rig.notes.take(), ["call look x of -", "call 7 Dropped"]);
    assert_eq!(recorder::events("backend call")[0].field("error"), Some("dropped by its caller"));
}

#[test]
fn a_call_that_was_never_polled_is_no_call() {
    recorder::start();
    let rig = rig();
    let seam = seam(&rig);
    drop(seam.call(LOOK, "x", pending::<Result<(), Quoting>>()));
    assert_eq!(rig.notes.take(), Vec::<String>::new());
    assert!(recorder::events("backend call").is_empty());
}

#[test]
fn an_operation_is_bounded_and_pauses_idly() {
    let rig = rig();
    let seam = seam(&rig);
    assert_eq!(block_on(seam.bounded(SECOND, async { 5 })), Ok(5));
    let mut work = Box::pin(seam.bounded(SECOND * 3, seam.pause(SECOND * 5)));
    assert!(work.as_mut().now_or_never().is_none());
    assert_eq!(rig.clock.asked()[1..], [(SECOND * 3, Wait::Guard), (SECOND * 5, Wait::Idle)]);
    rig.clock.advance(SECOND * 3);
    assert_eq!(work.now_or_never(), Some(Err(Overlong(SECOND * 3))));
}
