//! Creates that fail: classes, latches, acknowledgements.

use super::*;

fn failed(error: Error) -> Life {
    let mut life = Life::new();
    life.creates();
    life.fails(error);
    life
}

#[test]
fn quota_is_told_with_the_backends_reason_and_tried_again_after_its_hint_or_five_minutes() {
    let mut life = failed(Error::quota("no room in z1").coded("STOCKOUT"));
    assert_eq!(life.waits(), Some(Duration::from_secs(300)));
    assert_eq!(life.condition(ConditionKind::Provisioned), (Truth::False, "QuotaExceeded"));
    let failure = life.proxy.status.last_failure.clone().unwrap();
    assert_eq!((failure.reason.as_str(), failure.message.as_str()), ("STOCKOUT", "no room in z1"));
    let mut life = failed(Error::quota("slow down").retry_after(Some(Duration::from_secs(42))));
    assert_eq!(life.waits(), Some(Duration::from_secs(42)));
    life.passes(Duration::from_secs(42));
    life.creates();
}

#[test]
fn transient_backs_off_longer_each_time_and_writes_once() {
    let mut life = failed(Error::transient("reset"));
    let mut waits = Vec::new();
    let mut writes = None;
    for _ in 0..4 {
        let wait = life.waits().unwrap();
        waits.push(wait.as_millis());
        assert_eq!(*writes.get_or_insert(life.writes), life.writes, "the same failure again is no write");
        life.passes(wait);
        life.creates();
        life.fails(Error::transient("reset"));
    }
    assert_eq!(waits, [1_500, 3_000, 6_000, 12_000]);
}

#[test]
fn o13_a_refused_create_is_tried_once_an_hour_and_told_once() {
    let mut life = failed(Error::permanent("no such image").coded("ImageNotFound"));
    life.waits();
    assert_eq!(life.proxy.status.phase, Some(Phase::Failed));
    assert_eq!(life.condition(ConditionKind::Provisioned), (Truth::False, "PermanentError"));
    assert!(life.notes.iter().filter(|note| note.reason == "PermanentError").count() == 1);
    for _ in 0..55 {
        life.passes(Duration::from_secs(60));
        life.waits();
    }
    life.passes(Duration::from_secs(600));
    life.creates();
    life.fails(Error::permanent("no such image").coded("ImageNotFound"));
    life.waits();
    assert!(life.notes.iter().filter(|note| note.reason == "PermanentError").count() == 1);
}

#[test]
fn a_latch_holds_over_a_restart() {
    let mut life = failed(Error::permanent("no such image"));
    life.waits();
    life.restarts();
    assert!(life.waits().is_some());
    assert_eq!(life.proxy.status.phase, Some(Phase::Failed));
}

#[test]
fn a_latch_is_released_by_the_spec_the_config_the_annotation_and_recovery() {
    let latched = || {
        let mut life = failed(Error::permanent("no such image"));
        life.waits();
        life
    };
    let mut life = latched();
    life.edit(spec("alpha", "b"));
    assert_eq!(life.calls().what, Operation::Search, "something may stand of the old intent");
    life.answer(Answer::Found(Ok(Vec::new())));
    life.creates();
    let mut life = latched();
    life.providers.0.get_mut(&name("alpha")).unwrap().digest = Digest::of(b"another config");
    life.creates();
    let mut life = latched();
    life.proxy.asks.retry = Some("now".to_owned());
    life.creates();
    life.fails(Error::permanent("no such image"));
    life.waits();
    let mut life = latched();
    life.providers.0.get_mut(&name("alpha")).unwrap().ready_again = Some(life.tick + SECOND);
    life.passes(SECOND);
    life.waits();
    life.passes(Duration::from_secs(60));
    life.creates();
}

#[test]
fn late_failures_are_acknowledged_with_the_next_attempt() {
    let mut life = failed(Error::quota("it failed after all").for_failure(FailureId::new("task-7")));
    let wait = life.waits().unwrap();
    assert_eq!(life.proxy.status.last_failure.as_ref().unwrap().id.as_deref(), Some("task-7"));
    life.restarts();
    life.passes(wait);
    let call = life.creates();
    let Operation::Create { acknowledged, .. } = call.what else { panic!("no create") };
    assert_eq!(acknowledged.as_deref(), Some("task-7"));
}

#[test]
fn a_success_takes_the_failure_away() {
    let mut life = failed(Error::transient("reset"));
    let wait = life.waits().unwrap();
    life.passes(wait);
    life.creates();
    life.made(ID);
    life.gets(ID);
    assert_eq!(life.proxy.status.last_failure, None);
}

#[test]
fn a_delete_that_fails_for_good_is_not_repeated_at_once() {
    let mut life = Life::running();
    life.edit(spec("alpha", "b"));
    life.deletes(ID);
    life.answer(Answer::Deleted(Err(Error::permanent("the token lacks a right"))));
    let wait = life.waits().unwrap();
    assert!(wait > Duration::from_secs(60), "{wait:?}");
}
