//! The gate as a tracker hears of it: a wait is told only when there is one, and ends with its caller.

use futures::{FutureExt as _, executor::block_on};
use provider_api::{Error, Listing, Name, Reason, Unreachable};

use crate::{canned::uid, doubles::rig};

#[test]
fn only_real_waits_are_told_and_they_end_with_the_caller() {
    let rig = rig();
    let gate = rig.context.gate(1);
    let turn = block_on(gate.name("a"));
    assert_eq!(rig.notes.take(), Vec::<String>::new(), "nobody waited");
    let mut waiting = Box::pin(gate.name("a"));
    assert!(waiting.as_mut().now_or_never().is_none());
    assert_eq!(rig.notes.take(), ["Gate wait begins"]);
    drop(waiting);
    assert_eq!(rig.notes.take(), ["Gate wait ends"]);
    drop(turn);
    assert!(gate.name("a").now_or_never().is_some(), "a waiter that went away holds nothing");
}

#[test]
fn a_turn_passes_to_the_one_that_waits() {
    let gate = rig().context.gate(1);
    let turn = block_on(gate.target("host"));
    let mut second = Box::pin(gate.target("host"));
    assert!(second.as_mut().now_or_never().is_none());
    drop(turn);
    assert!(second.as_mut().now_or_never().is_some());
}

#[test]
fn names_that_nobody_holds_are_forgotten_and_held_ones_are_not() {
    let gate = rig().context.gate(1);
    let held = block_on(gate.name("held"));
    for index in 0..1_000 {
        block_on(gate.name(&format!("n{index}")));
    }
    assert!(gate.name("held").now_or_never().is_none());
    drop(held);
}

#[test]
fn no_admission_while_a_part_cannot_be_counted() {
    let gate = rig().context.gate(1);
    let part = Unreachable { target: "z1".into(), reason: Reason::new("Timeout", "no answer") };
    let listing = async { Ok(Listing { items: vec![], unreachable: vec![part] }) };
    let error = block_on(gate.admit(Some(5), &Name::from_uid(&uid()), listing)).unwrap_err();
    assert_eq!(error.message(), "maxInstances cannot be kept while z1 cannot be read: Timeout: no answer");
    let unasked = async { Err(Error::transient("must not be asked")) };
    assert!(block_on(gate.admit(None, &Name::from_uid(&uid()), unasked)).unwrap().is_none());
}
