//! Making an instance: what is stored before what.

use super::*;

#[test]
fn finalizer_then_intent_then_create_then_id_each_stored_before_the_next() {
    let mut life = Life::new();
    assert_eq!(life.decide(None).action, Action::Hold);
    life.proxy.held = true;
    let Action::Write(status) = life.decide(None).action else { panic!("no write") };
    let intent = status.intent.clone().unwrap();
    assert_eq!((intent.provider.as_str(), status.instance.as_ref()), ("alpha", None));
    let call = life.creates();
    assert!(life.proxy.held && life.proxy.status.intent.is_some());
    let Operation::Create { spec_hash, acknowledged } = call.what else { panic!("no create") };
    assert_eq!((spec_hash, acknowledged), (intent.spec_hash.clone(), None));
    life.made(ID);
    life.gets(ID);
    let InstanceRecord { provider, id, spec_hash, .. } = life.proxy.status.instance.clone().unwrap();
    assert_eq!((provider.as_str(), id.as_str(), spec_hash), ("alpha", ID, intent.spec_hash));
    assert_eq!(life.proxy.status.intent, None, "cleared by the write that stores the id");
}

#[test]
fn five_writes_and_one_more_take_a_proxy_through_its_life() {
    let mut life = Life::running();
    assert_eq!(life.writes, 4, "finalizer, intent, id, and that it runs");
    life.proxy.deleting = true;
    life.deletes(ID);
    life.deleted(Deleted::Gone);
    life.gets(ID);
    life.is_not_found();
    assert_eq!(life.goes_on(), Action::Forget);
    assert_eq!(life.writes, 5);
}

#[test]
fn a_crash_after_the_create_is_repaired_by_creating_again_under_the_same_intent() {
    let mut life = Life::new();
    life.creates();
    life.restarts();
    let intent = life.proxy.status.intent.clone().unwrap();
    let call = life.creates();
    let Operation::Create { spec_hash, .. } = call.what else { panic!("no create") };
    assert_eq!(spec_hash, intent.spec_hash);
}

#[test]
fn a_spec_edited_between_intent_and_answer_is_seen_as_a_change_and_replaced() {
    let mut life = Life::new();
    life.creates();
    life.made(ID);
    life.edit(spec("alpha", "b"));
    life.deletes(ID);
    assert!(life.noted("Replacing"));
    assert_eq!(life.proxy.status.phase, Some(Phase::Replacing));
}

#[test]
fn a_running_create_is_dropped_when_the_proxy_is_deleted_or_its_hash_changes() {
    let mut life = Life::new();
    let call = life.creates();
    assert_eq!(life.decide(Some(&call)).action, Action::Wait(None));
    let mut deleted = Life { memory: Memory::default(), ..Life::new() };
    deleted.proxy.held = true;
    deleted.proxy.deleting = true;
    assert_eq!(deleted.decide(Some(&call)).action, Action::Drop);
    life.edit(spec("alpha", "b"));
    assert_eq!(life.decide(Some(&call)).action, Action::Drop);
    life.edit(spec("beta", "a"));
    assert_eq!(life.decide(Some(&call)).action, Action::Drop);
}

#[test]
fn an_open_intent_that_no_longer_matches_is_searched_for_on_its_own_provider_and_removed_first() {
    for edited in [spec("beta", "a"), spec("alpha", "b")] {
        let mut life = Life::new();
        life.creates();
        life.restarts();
        life.edit(edited.clone());
        let call = life.calls();
        assert_eq!((call.provider.as_str(), call.what), ("alpha", Operation::Search));
        life.answer(Answer::Found(Ok(vec![ProviderId::new(ID)])));
        life.deletes(ID);
        life.deleted(Deleted::Accepted);
        let call = life.creates();
        assert_eq!(call.provider.as_str(), edited["provider"].as_str().unwrap());
    }
}

#[test]
fn what_cannot_be_searched_keeps_the_intent() {
    let mut life = Life::new();
    life.creates();
    life.edit(spec("beta", "a"));
    life.calls();
    life.answer(Answer::Found(Err(Error::transient("no listing"))));
    assert!(life.waits().is_some());
    assert_eq!(life.proxy.status.intent.as_ref().unwrap().provider.as_str(), "alpha");
}

#[test]
fn a_create_is_only_asked_of_a_proxy_that_was_read_live() {
    let mut life = Life::new();
    life.creates();
    life.restarts();
    assert_eq!(life.decide(None).action, Action::Refresh);
}

#[test]
fn a_spec_that_cannot_be_used_says_which_field() {
    let mut life = Life::new();
    life.edit(json!({ "provider": "alpha", "cloudInit": {}, "port": 0 }));
    assert_eq!(life.waits(), None);
    assert_eq!(life.condition(ConditionKind::Provisioned), (Truth::False, "InvalidSpec"));
    let message = &life.proxy.status.condition(ConditionKind::Provisioned).unwrap().message;
    assert!(message.contains("spec.cloudInit") && message.contains("spec.port"), "{message}");
}

#[test]
fn a_proxy_whose_provider_is_not_configured_waits_and_says_so() {
    let mut life = Life::new();
    life.providers.0.clear();
    assert_eq!(life.waits(), None);
    assert_eq!(life.condition(ConditionKind::Provisioned), (Truth::False, "ProviderNotConfigured"));
    assert!(life.noted("ProviderNotConfigured"));
    let notes = life.notes.len();
    life.waits();
    assert_eq!(life.notes.len(), notes, "said once");
    life.providers.0.insert(name("alpha"), fact());
    life.creates();
}

#[test]
fn a_namespace_that_may_not_use_a_provider_is_told() {
    let mut life = Life::new();
    life.providers.0.get_mut(&name("alpha")).unwrap().allowed_namespaces = vec!["other".to_owned()];
    assert_eq!(life.waits(), None);
    assert_eq!(life.condition(ConditionKind::Provisioned), (Truth::False, "NamespaceNotAllowed"));
}

#[test]
fn a_missing_secret_is_told_and_waited_for() {
    let mut life = Life::new();
    life.inputs =
        Err(Missing { reason: "SecretMissing", message: "there is no Secret team/data".to_owned() });
    assert_eq!(life.waits(), None);
    assert_eq!(life.condition(ConditionKind::Provisioned), (Truth::False, "SecretMissing"));
}

#[test]
fn a_retry_in_the_year_9999_is_put_off_no_longer_than_the_slowest_one() {
    let mut life = Life::new();
    life.proxy.status = Status::read(Some(&json!({ "lastFailure": {
        "class": "Permanent", "reason": "Hand", "message": "", "time": "2026-01-01T00:00:00Z",
        "retryAt": "9999-12-30T12:00:00Z",
    } })));
    assert!(life.proxy.status.last_failure.is_some());
    let mut waited = Duration::ZERO;
    while let Action::Wait(Some(wait)) = life.goes_on() {
        life.passes(wait);
        waited += wait;
        assert!(waited < Duration::from_secs(2 * 60 * 60), "it waits for ever");
    }
    assert!(life.proxy.status.intent.is_some());
}
