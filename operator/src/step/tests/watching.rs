//! An instance that exists: looks, ends, replacements, health.

use super::*;

#[test]
fn running_puts_the_address_into_the_status_and_is_looked_at_once_a_minute() {
    let mut life = Life::running();
    assert_eq!(life.proxy.status.endpoint.as_deref(), Some("10.0.0.7:3128"));
    let wait = life.waits().unwrap();
    assert!((Duration::from_secs(54)..=Duration::from_secs(60)).contains(&wait), "{wait:?}");
    let writes = life.writes;
    for _ in 0..3 {
        life.passes(Duration::from_secs(60));
        life.gets(ID);
        life.is(State::Running { address: ADDRESS });
        life.waits();
    }
    assert_eq!(life.writes, writes, "nothing is written when nothing changes");
}

#[test]
fn provisioning_is_looked_at_after_1_2_5_and_then_every_10_seconds() {
    let mut life = Life::new();
    life.creates();
    life.made(ID);
    let mut waits = Vec::new();
    for _ in 0..5 {
        life.gets(ID);
        life.is(provisioning());
        let wait = life.waits().unwrap();
        waits.push(wait.as_secs());
        life.passes(wait);
    }
    assert_eq!(waits, [1, 2, 5, 10, 10]);
}

#[test]
fn a_look_that_fails_is_repeated_no_later_than_what_runs_is_looked_at_or_the_backend_says() {
    let fails = |life: &mut Life, error: Error| life.answer(Answer::Got(Err(GetError::Failed(error))));
    let mut life = Life::new();
    life.creates();
    life.made(ID);
    let mut waits = Vec::new();
    for _ in 0..8 {
        life.gets(ID);
        fails(&mut life, Error::transient("no room at the target within 120 s"));
        let wait = life.waits().unwrap();
        waits.push(wait.as_millis());
        life.passes(wait);
    }
    assert_eq!(waits, [1_500, 3_000, 6_000, 12_000, 24_000, 48_000, 60_000, 60_000]);
    life.gets(ID);
    let hint = Duration::from_secs(100);
    fails(&mut life, Error::transient("slow down").retry_after(Some(hint)));
    assert!(life.waits().unwrap() >= hint);
}

#[test]
fn what_does_not_come_up_in_time_is_made_anew_with_the_reason() {
    let mut life = Life::new();
    life.creates();
    life.made(ID);
    life.gets(ID);
    life.is(provisioning());
    life.waits();
    life.passes(Duration::from_secs(31 * 60));
    life.gets(ID);
    life.is(State::Provisioning { reason: Some(Reason::new("ImagePullBackOff", "no such image")) });
    life.deletes(ID);
    assert!(life.noted("ProvisioningTimeout"));
    let condition = life.proxy.status.condition(ConditionKind::Provisioned).unwrap();
    assert!(condition.message.contains("ImagePullBackOff"), "{}", condition.message);
}

#[test]
fn stopped_and_terminated_are_deleted_and_made_anew() {
    for state in [stopped(), State::Terminated { reason: None }] {
        let mut life = Life::running();
        life.passes(Duration::from_secs(60));
        life.gets(ID);
        life.is(state);
        life.deletes(ID);
        assert!(!life.proxy.status.holds(ConditionKind::Ready));
        life.deleted(Deleted::Accepted);
        life.gets(ID);
        life.is(stopped());
        assert_eq!(life.waits(), Some(SECOND));
        life.passes(SECOND);
        life.deletes(ID);
        life.deleted(Deleted::Gone);
        life.gets(ID);
        life.is_not_found();
        life.creates();
    }
}

#[test]
fn what_ends_again_and_again_is_made_anew_ever_more_slowly() {
    let mut life = Life::running();
    let mut waits = Vec::new();
    for _ in 0..4 {
        life.passes(Duration::from_secs(60));
        life.gets(ID);
        life.is(stopped());
        life.deletes(ID);
        life.deleted(Deleted::Gone);
        life.gets(ID);
        life.is_not_found();
        let wait = match life.goes_on() {
            Action::Call(_) => Duration::ZERO,
            Action::Wait(Some(wait)) => {
                life.passes(wait);
                life.creates();
                wait
            }
            action => panic!("{action:?}"),
        };
        waits.push(wait.as_millis());
        life.made(ID);
        life.gets(ID);
        life.is(State::Running { address: ADDRESS });
        life.waits();
    }
    assert_eq!(waits, [0, 1_500, 3_000, 6_000]);
}

#[test]
fn o07_not_found_within_the_settle_time_is_asked_again() {
    let mut life = Life::new();
    life.providers.0.get_mut(&name("alpha")).unwrap().settle = Duration::from_secs(30);
    life.creates();
    life.made(ID);
    life.gets(ID);
    life.is_not_found();
    assert_eq!(life.waits(), Some(SECOND));
    life.passes(Duration::from_secs(31));
    life.gets(ID);
    life.is_not_found();
    life.deletes(ID);
    assert!(life.noted("InstanceMissing"));
}

#[test]
fn o08_not_found_still_deletes_the_parts_once() {
    let mut life = Life::running();
    life.passes(Duration::from_secs(60));
    life.gets(ID);
    life.is_not_found();
    life.deletes(ID);
    life.deleted(Deleted::Gone);
    life.gets(ID);
    life.is_not_found();
    life.creates();
    assert_eq!(life.proxy.status.instance, None);
}

#[test]
fn a_changed_hash_waits_for_not_found_on_the_old_provider_and_then_intends_anew() {
    let mut life = Life::running();
    life.edit(spec("beta", "a"));
    let call = life.calls();
    assert_eq!((call.provider.as_str(), call.what), ("alpha", Operation::Delete(ProviderId::new(ID))));
    life.deleted(Deleted::Accepted);
    life.gets(ID);
    life.is(stopped());
    life.waits();
    assert!(life.proxy.status.intent.is_none() && life.proxy.status.instance.is_some());
    life.passes(SECOND);
    life.deletes(ID);
    life.deleted(Deleted::Gone);
    life.gets(ID);
    life.is_not_found();
    let call = life.creates();
    assert_eq!(call.provider.as_str(), "beta");
    assert!(life.proxy.status.intent.is_some() && life.proxy.status.instance.is_none());
}

#[test]
fn a_failing_look_changes_nothing_of_what_is_ready() {
    let mut life = Life::running();
    let status = life.proxy.status.clone();
    for _ in 0..3 {
        life.passes(Duration::from_secs(300));
        life.gets(ID);
        life.answer(Answer::Got(Err(Error::transient("reset").into())));
        life.waits();
    }
    assert_eq!(life.proxy.status, status);
}

#[test]
fn a_spec_that_cannot_be_used_leaves_what_runs_alone() {
    let mut life = Life::running();
    life.edit(json!({ "provider": "alpha" }));
    life.waits();
    assert!(life.proxy.status.holds(ConditionKind::Ready));
    assert_eq!(life.condition(ConditionKind::Progressing), (Truth::False, "InvalidSpec"));
    life.edit(spec("alpha", "a"));
    life.waits();
    assert_eq!(life.condition(ConditionKind::Progressing), (Truth::False, "Settled"));
}

#[test]
fn paused_stops_everything_but_deletion() {
    let mut life = Life::running();
    life.proxy.asks.paused = true;
    life.edit(spec("beta", "b"));
    life.passes(Duration::from_secs(3_600));
    assert_eq!(life.waits(), None);
    assert_eq!(life.condition(ConditionKind::Progressing), (Truth::False, "Paused"));
    life.proxy.deleting = true;
    life.deletes(ID);
}

#[test]
fn an_unhealthy_one_is_not_ready_and_is_replaced_after_a_while() {
    let mut life = Life::running();
    life.health = Health::Unhealthy { since: life.tick, why: "connection refused".to_owned() };
    life.waits();
    assert_eq!(life.condition(ConditionKind::Ready), (Truth::False, "Unhealthy"));
    life.passes(Duration::from_secs(299));
    let call = life.calls();
    assert_eq!(call.what, Operation::Get(ProviderId::new(ID)));
    life.is(State::Running { address: ADDRESS });
    life.waits();
    life.passes(SECOND);
    life.deletes(ID);
    assert!(life.memory.is_mending());
    assert!(life.noted("Unhealthy"));
}

#[test]
fn brakes_hold_a_replacement_for_health_and_only_that() {
    for brake in [Brake::Full, Brake::Frozen] {
        let mut life = Life::running();
        life.providers.0.get_mut(&name("alpha")).unwrap().brake = brake;
        life.health = Health::Unhealthy { since: life.tick, why: "connection refused".to_owned() };
        life.passes(Duration::from_secs(400));
        life.gets(ID);
        life.is(State::Running { address: ADDRESS });
        life.waits();
        let frozen = life.condition(ConditionKind::Healthy).1 == "ReplacementFrozen";
        assert_eq!(frozen, brake == Brake::Frozen);
        assert_eq!(life.noted("ReplacementFrozen"), frozen);
        life.edit(spec("alpha", "b"));
        life.deletes(ID);
    }
}

#[test]
fn whoever_takes_over_goes_on_from_what_the_last_one_said() {
    let mut life = Life::running();
    life.health = Health::Healthy;
    life.waits();
    life.restarts();
    life.health = Health::Unknown;
    let writes = life.writes;
    life.gets(ID);
    life.is(State::Running { address: ADDRESS });
    life.waits();
    assert_eq!(life.writes, writes);
    assert!(life.proxy.status.holds(ConditionKind::Ready));
}

#[test]
fn the_time_of_a_condition_moves_only_with_its_truth() {
    let mut life = Life::running();
    let since = life.proxy.status.condition(ConditionKind::Progressing).unwrap().last_transition_time;
    life.passes(Duration::from_secs(600));
    life.edit(json!({ "provider": "alpha" }));
    life.gets(ID);
    let refused = life.proxy.status.condition(ConditionKind::Progressing).unwrap().clone();
    assert_eq!((refused.reason.as_str(), refused.last_transition_time), ("InvalidSpec", since));
    life.is(stopped());
    life.deletes(ID);
    let moved = life.proxy.status.condition(ConditionKind::Progressing).unwrap().clone();
    assert_eq!((moved.status, moved.last_transition_time), (Truth::True, timestamp(life.tick)));
}

#[test]
fn an_instance_of_another_that_a_status_names_is_never_deleted() {
    const ANOTHERS: &str = "zones/z1/instances/proxy-aaaaaaaaaaaaaaaa";
    for deletes in [false, true] {
        let mut life = Life::running();
        life.proxy.status.instance.as_mut().unwrap().id = ANOTHERS.to_owned();
        life.edit(spec("beta", "b"));
        life.proxy.deleting = deletes;
        if deletes {
            assert_eq!(life.calls().what, Operation::Search, "what is its own is found by its UID");
            continue;
        }
        life.passes(life.settings.running_poll);
        life.gets(ANOTHERS);
        let mut instance = instance(State::Running { address: ADDRESS });
        instance.uid = Uid::parse("uid-2").unwrap();
        instance.id = ProviderId::new(ANOTHERS);
        life.answer(Answer::Got(Ok(instance)));
        assert_eq!(life.calls().what, Operation::Search);
        assert!(life.noted("NotItsInstance"));
    }
}

#[test]
fn what_was_made_from_nobody_knows_what_is_made_anew_once_the_status_named_anothers() {
    let mut life = Life::running();
    life.proxy.status.instance.as_mut().unwrap().id = "zones/z1/instances/proxy-aaaaaaaaaaaaaaaa".to_owned();
    life.passes(life.settings.running_poll);
    life.gets("zones/z1/instances/proxy-aaaaaaaaaaaaaaaa");
    life.is_not_found();
    let call = life.calls();
    assert_eq!((call.provider.as_str(), call.what), ("alpha", Operation::Search));
    life.answer(Answer::Found(Ok(vec![ProviderId::new(ID)])));
    life.deletes(ID);
    life.deleted(Deleted::Accepted);
    life.creates();
}

#[test]
fn what_was_made_from_nobody_knows_what_goes_also_while_a_secret_is_missing() {
    let mut life = Life::running();
    life.proxy.status.instance.as_mut().unwrap().id = "zones/z1/instances/proxy-aaaaaaaaaaaaaaaa".to_owned();
    let missing = Missing { reason: "SecretMissing", message: "there is no Secret".to_owned() };
    let inputs = std::mem::replace(&mut life.inputs, Err(missing));
    life.passes(life.settings.running_poll);
    life.gets("zones/z1/instances/proxy-aaaaaaaaaaaaaaaa");
    life.is_not_found();
    assert_eq!(life.calls().what, Operation::Search);
    life.answer(Answer::Found(Ok(vec![ProviderId::new(ID)])));
    life.deletes(ID);
    life.deleted(Deleted::Accepted);
    assert_eq!(life.waits(), None);
    assert_eq!(life.condition(ConditionKind::Provisioned), (Truth::False, "SecretMissing"));
    assert_eq!((&life.proxy.status.intent, &life.proxy.status.instance), (&None, &None));
    life.inputs = inputs;
    life.creates();
}

#[test]
fn an_intent_that_stands_beside_an_instance_was_written_by_hand_and_goes() {
    let mut life = Life::running();
    let (provider, since) = (name("beta"), timestamp(life.tick));
    life.proxy.status.intent = Some(crate::resource::Intent { provider, spec_hash: Digest::of(b""), since });
    life.waits();
    assert_eq!(life.proxy.status.intent, None);
    assert!(life.proxy.status.instance.is_some());
}

#[test]
fn an_id_without_the_name_counts_once_a_look_has_shown_whose_it_is() {
    let mut life = Life::running();
    life.proxy.status.instance.as_mut().unwrap().id = "42".to_owned();
    life.restarts();
    life.edit(spec("alpha", "b"));
    life.gets("42");
    let mut instance = instance(State::Running { address: ADDRESS });
    instance.id = ProviderId::new("42");
    life.answer(Answer::Got(Ok(instance)));
    life.deletes("42");
}

#[test]
fn a_clock_that_is_ahead_ends_no_instance_that_has_just_begun_to_come_up() {
    let mut life = Life::new();
    life.creates();
    life.made(ID);
    life.gets(ID);
    life.is(provisioning());
    life.waits();
    // Another operator made it, by a clock that is an hour behind ours.
    let made = life.proxy.status.instance.as_mut().unwrap();
    made.created_at = Timestamp::from_unix(1_700_000_000 - 3_600);
    life.restarts();
    life.gets(ID);
    life.is(provisioning());
    life.waits();
    life.passes(Duration::from_secs(5 * 60));
    life.gets(ID);
    life.is(provisioning());
    life.deletes(ID);
    assert!(life.noted("ProvisioningTimeout"));
}

#[test]
fn one_that_the_brakes_hold_back_waits_for_the_next_poll_and_says_so_once() {
    for brake in [Brake::Frozen, Brake::Full] {
        let mut life = Life::running();
        life.providers.0.get_mut(&name("alpha")).unwrap().brake = brake;
        life.health = Health::Unhealthy { since: life.tick, why: "connection refused".to_owned() };
        life.passes(life.settings.unhealthy_after + SECOND);
        for _ in 0..3 {
            life.gets(ID);
            life.is(State::Running { address: ADDRESS });
            let wait = life.waits().unwrap();
            assert!(wait > Duration::from_secs(30), "{brake:?}: {wait:?}");
            life.passes(wait);
        }
        let told = life.notes.iter().filter(|note| note.reason == "ReplacementFrozen").count();
        assert_eq!(told, usize::from(brake == Brake::Frozen));
    }
}
