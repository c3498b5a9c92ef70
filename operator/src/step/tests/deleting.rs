//! A Proxy that is being deleted.

use super::*;

fn deleted() -> Life {
    let mut life = Life::running();
    life.proxy.deleting = true;
    life.fresh = false;
    life
}

#[test]
fn deletion_deletes_on_each_poll_until_not_found() {
    let mut life = deleted();
    for wait in [1, 2, 5] {
        life.deletes(ID);
        life.deleted(Deleted::Accepted);
        life.gets(ID);
        life.is(stopped());
        assert_eq!(life.waits(), Some(Duration::from_secs(wait)));
        assert!(life.proxy.held);
        life.passes(Duration::from_secs(wait));
    }
    life.deletes(ID);
    life.deleted(Deleted::Gone);
    life.gets(ID);
    life.is_not_found();
    assert_eq!(life.goes_on(), Action::Forget);
    assert!(!life.proxy.held);
    assert_eq!(life.proxy.status.phase, Some(Phase::Deleting), "a slow one says so");
}

#[test]
fn deletes_and_releases_rest_on_live_reads() {
    let mut life = deleted();
    assert_eq!(life.decide(None).action, Action::Refresh);
    life.deletes(ID);
    life.deleted(Deleted::Gone);
    life.gets(ID);
    life.is_not_found();
    let step = life.decide(None);
    assert_eq!(step.action, Action::Refresh);
}

#[test]
fn a_failing_look_never_blocks_a_delete() {
    let mut life = deleted();
    life.deletes(ID);
    life.deleted(Deleted::Accepted);
    life.gets(ID);
    life.answer(Answer::Got(Err(Error::transient("reset").into())));
    let wait = life.waits().unwrap();
    life.passes(wait);
    life.deletes(ID);
}

#[test]
fn a_permanent_look_after_a_good_delete_releases() {
    let mut life = deleted();
    life.deletes(ID);
    life.deleted(Deleted::Accepted);
    life.gets(ID);
    life.answer(Answer::Got(Err(Error::permanent("forbidden").into())));
    assert_eq!(life.goes_on(), Action::Forget);
}

#[test]
fn abandoned_releases_with_an_event_that_names_what_was_left() {
    let mut life = deleted();
    life.deletes(ID);
    life.deleted(Deleted::Abandoned("domain proxy-x on host h2".to_owned()));
    assert_eq!(life.goes_on(), Action::Forget);
    assert!(life.notes.iter().any(|note| note.message.contains("domain proxy-x on host h2")));
}

#[test]
fn skip_cleanup_releases_without_the_backend_and_says_what_was_left() {
    let mut life = deleted();
    life.providers.0.clear();
    life.proxy.asks.skip_cleanup = true;
    assert_eq!(life.goes_on(), Action::Forget);
    assert!(
        life.notes.iter().any(|note| note.message.contains(&format!("{ID} of provider alpha"))),
        "{:?}",
        life.notes
    );
    assert_eq!(life.notes.iter().filter(|note| note.reason == "LeftBehind").count(), 1, "it is said once");
}

#[test]
fn a_proxy_whose_provider_is_gone_waits_and_says_so() {
    let mut life = deleted();
    life.providers.0.clear();
    assert_eq!(life.waits(), None);
    assert_eq!(life.condition(ConditionKind::Progressing), (Truth::False, "ProviderNotConfigured"));
    assert!(life.proxy.held);
}

#[test]
fn o14_an_intent_without_id_is_searched_for_until_nothing_is_found() {
    let mut life = Life::new();
    life.creates();
    life.proxy.deleting = true;
    assert_eq!(life.calls().what, Operation::Search);
    life.answer(Answer::Found(Ok(vec![ProviderId::new(ID)])));
    life.deletes(ID);
    life.deleted(Deleted::Accepted);
    let wait = life.waits().unwrap();
    life.passes(wait);
    assert_eq!(life.calls().what, Operation::Search, "it may not be gone yet");
    life.answer(Answer::Found(Ok(Vec::new())));
    assert_eq!(life.goes_on(), Action::Forget);
}

#[test]
fn an_id_that_was_edited_by_hand_is_found_by_the_listing() {
    let mut life = deleted();
    life.proxy.status.instance.as_mut().unwrap().id = "rubbish".to_owned();
    assert_eq!(life.calls().what, Operation::Search, "it may be another's");
    life.answer(Answer::Found(Ok(vec![ProviderId::new(ID)])));
    life.deletes(ID);
    life.deleted(Deleted::Accepted);
    let wait = life.waits().unwrap();
    life.passes(wait);
    assert_eq!(life.calls().what, Operation::Search);
    life.answer(Answer::Found(Ok(Vec::new())));
    assert_eq!(life.goes_on(), Action::Forget);
}

#[test]
fn what_was_made_meanwhile_is_recorded_before_it_is_deleted() {
    let mut life = Life::new();
    life.creates();
    life.proxy.deleting = true;
    life.made(ID);
    life.deletes(ID);
    assert_eq!(life.proxy.status.instance.as_ref().unwrap().id, ID);
}

#[test]
fn a_proxy_that_nobody_holds_is_forgotten() {
    let mut life = Life::new();
    life.proxy.deleting = true;
    assert_eq!(life.goes_on(), Action::Forget);
    assert_eq!(life.writes, 0);
}

#[test]
fn a_hand_edited_status_never_panics() {
    let parts =
        [json!(null), json!(7), json!({}), json!([]), json!("x"), json!({ "provider": "A", "id": 7 })];
    for part in &parts {
        for key in ["instance", "intent", "lastFailure", "conditions", "phase", "address"] {
            let mut life = Life::new();
            life.proxy.status = Status::read(Some(&json!({ key: part })));
            life.creates();
        }
    }
}
