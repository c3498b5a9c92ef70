//! What the ledger makes of calls that block a thread. Calls that do not are tried with every fake.

use std::time::Duration;

use provider_api::{CallEnd, CallId, CallKind, OperationId, Tracker as _};

use crate::ledger::{Ledger, Next, Rank};

const KIND: CallKind = CallKind::read("ask");

/// A ledger with one operation, which has a budget that can run out.
fn ledger() -> (Ledger, crate::ledger::Sleep) {
    let ledger = Ledger::default();
    ledger.begin_operation(OperationId(0));
    let mut guard = ledger.sleep(Duration::from_secs(9), Rank::Guard, None);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::future::Future::poll(std::pin::Pin::new(&mut guard), &mut cx).is_pending());
    (ledger, guard)
}

fn begin(ledger: &Ledger) -> CallId {
    let call = ledger.begin_call(Some(OperationId(0)), &KIND, "host", true);
    ledger.begin_closure(call);
    call
}

fn rests(ledger: &Ledger) -> bool {
    matches!(ledger.next(), Next::Fired)
}

#[test]
fn a_thread_rests_when_a_request_of_its_own_is_parked() {
    let (ledger, _guard) = ledger();
    let [one, two] = [begin(&ledger), begin(&ledger)];
    let first = ledger.arrive(Some(one), false);
    first.park();
    assert!(!rests(&ledger), "the other thread is on its way");
    let second = ledger.arrive(Some(two), false);
    assert!(!rests(&ledger), "its request is being served");
    second.park();
    assert!(rests(&ledger));
}

#[test]
fn requests_of_nobody_count_for_threads_whose_client_cannot_say() {
    let (ledger, _guard) = ledger();
    let _calls = [begin(&ledger), begin(&ledger)];
    let first = ledger.arrive(None, true);
    first.park();
    assert!(!rests(&ledger));
    let second = ledger.arrive(None, true);
    second.park();
    assert!(rests(&ledger));
}

#[test]
fn a_request_whose_call_has_ended_counts_for_no_other() {
    let (ledger, _guard) = ledger();
    let one = begin(&ledger);
    let orphan = ledger.arrive(Some(one), true);
    orphan.park();
    ledger.end_call(one, CallEnd::Overlong);
    ledger.end_closure(one);
    assert!(ledger.settle());
    let two = begin(&ledger);
    assert!(!rests(&ledger), "the second is on its way, and the first one's request is nobody's");
    let request = ledger.arrive(Some(two), true);
    request.park();
    assert!(rests(&ledger));
}

#[test]
fn a_thread_may_be_held_at_a_dial() {
    let (ledger, _guard) = ledger();
    let call = begin(&ledger);
    assert!(!rests(&ledger));
    let dial = ledger.park_dial();
    assert!(rests(&ledger));
    // Its budget is used up; until the fake has seen the connection close, its dial is nobody else's.
    ledger.end_call(call, CallEnd::Overlong);
    ledger.end_closure(call);
    let next = begin(&ledger);
    assert!(!rests(&ledger));
    drop(dial);
    assert!(!rests(&ledger), "the next one is on its way");
    let request = ledger.arrive(Some(next), false);
    request.park();
    assert!(ledger.settle());
}

#[test]
fn nothing_is_settled_while_a_thread_that_nobody_waits_for_is_on_its_way() {
    let (ledger, _guard) = ledger();
    let call = begin(&ledger);
    ledger.end_call(call, CallEnd::Dropped);
    assert!(!ledger.settle());
    ledger.end_closure(call);
    assert!(ledger.settle());
}
