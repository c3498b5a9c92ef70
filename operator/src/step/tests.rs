//! The rules of the step, each by its name. A [`Life`] is one Proxy, whose writes succeed and whose calls a test answers.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use provider_api::{
    Deleted, Error, FailureId, GetError, Instance, ProviderId, ProviderName, Reason, State, Timestamp, Uid,
};
use serde_json::{Value, json};

use super::*;
use crate::resource::{Asks, ConditionKind, InstanceRecord, Key, ResourceVersion, Spec, Truth};

/// One Proxy and everything that a step is told of it.
struct Life {
    proxy: Proxy,
    memory: Memory,
    inputs: Result<Inputs, Missing>,
    providers: Providers,
    health: Health,
    fresh: bool,
    tick: Duration,
    settings: Settings,
    notes: Vec<Note>,
    writes: usize,
}

#[derive(Default)]
struct Providers(BTreeMap<ProviderName, Fact>);

impl Facts for Providers {
    fn of(&self, provider: &ProviderName) -> Option<Fact> {
        self.0.get(provider).cloned()
    }
}

const SECOND: Duration = Duration::from_secs(1);
const ADDRESS: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 7));

fn name(text: &str) -> ProviderName {
    ProviderName::parse(text).unwrap()
}

fn fact() -> Fact {
    Fact {
        digest: Digest::of(b"config"),
        settle: Duration::ZERO,
        ready_again: None,
        allowed_namespaces: Vec::new(),
        brake: Brake::Open,
    }
}

fn spec(provider: &str, text: &str) -> Value {
    json!({ "provider": provider, "cloudInit": { "inline": text } })
}

fn timestamp(tick: Duration) -> Timestamp {
    Timestamp::from_unix(1_700_000_000).after(tick)
}

impl Life {
    /// A Proxy that was just made, and providers alpha and beta.
    fn new() -> Self {
        let providers = [(name("alpha"), fact()), (name("beta"), fact())];
        let mut life = Self {
            proxy: Proxy {
                key: Key { namespace: "team".to_owned(), name: "px".to_owned() },
                uid: Uid::parse("uid-1").unwrap(),
                version: ResourceVersion("1".to_owned()),
                generation: 0,
                deleting: false,
                held: false,
                asks: Asks::default(),
                spec: Arc::new(Spec::read(&Value::Null)),
                status: Status::default(),
            },
            memory: Memory::default(),
            inputs: Ok(Inputs {
                cloud_init: Digest::of(b""),
                credentials: None,
                allowed_sources: Vec::new(),
            }),
            providers: Providers(providers.into()),
            health: Health::Off,
            fresh: false,
            tick: Duration::from_secs(100),
            settings: Settings::default(),
            notes: Vec::new(),
            writes: 0,
        };
        life.edit(spec("alpha", "a"));
        life
    }

    /// One that runs.
    fn running() -> Self {
        let mut life = Self::new();
        life.creates();
        life.made("id-1");
        life.gets("id-1");
        life.is(State::Running { address: ADDRESS });
        life.waits();
        assert_eq!(life.proxy.status.phase, Some(Phase::Running));
        life
    }

    fn edit(&mut self, spec: Value) {
        self.proxy.generation += 1;
        self.proxy.spec = Arc::new(Spec::read(&spec));
        if let Some(Spec { cloud_init: crate::resource::CloudInit::Inline { digest, .. }, .. }) =
            self.proxy.usable()
        {
            let cloud_init = digest.clone();
            self.inputs = Ok(Inputs { cloud_init, credentials: None, allowed_sources: Vec::new() });
        }
        self.fresh = false;
    }

    fn decide(&mut self, in_flight: Option<&Call>) -> Step {
        let situation = Situation {
            proxy: &self.proxy,
            fresh: self.fresh,
            inputs: self.inputs.as_ref(),
            providers: &self.providers,
            health: self.health.clone(),
            in_flight,
            now: timestamp(self.tick),
            tick: self.tick,
            chance: 0.5,
            settings: &self.settings,
        };
        step(&situation, std::mem::take(&mut self.memory))
    }

    /// Carries out what concerns the cluster, and gives the first action that does not.
    fn goes_on(&mut self) -> Action {
        for _ in 0..20 {
            let decided = self.decide(None);
            self.memory = decided.memory;
            self.notes.extend(decided.notes);
            match decided.action {
                Action::Hold => self.proxy.held = true,
                Action::Release => {
                    self.proxy.held = false;
                    self.writes += 1;
                    continue;
                }
                Action::Write(status) => self.proxy.status = *status,
                Action::Refresh => {
                    self.fresh = true;
                    continue;
                }
                action => return action,
            }
            self.writes += 1;
            self.fresh = true;
        }
        panic!("it goes in circles: {:?}", self.proxy.status);
    }

    /// It calls now; the answer is for the test to give.
    fn calls(&mut self) -> Call {
        match self.goes_on() {
            Action::Call(call) => {
                self.fresh = false;
                call
            }
            action => panic!("{action:?} instead of a call"),
        }
    }

    fn creates(&mut self) -> Call {
        let call = self.calls();
        assert!(matches!(call.what, Operation::Create { .. }), "{call:?}");
        call
    }

    fn gets(&mut self, id: &str) {
        let call = self.calls();
        assert_eq!(call.what, Operation::Get(ProviderId::new(id)));
    }

    fn deletes(&mut self, id: &str) {
        let call = self.calls();
        assert_eq!(call.what, Operation::Delete(ProviderId::new(id)));
    }

    fn waits(&mut self) -> Option<Duration> {
        match self.goes_on() {
            Action::Wait(how_long) => how_long,
            action => panic!("{action:?} instead of waiting"),
        }
    }

    fn passes(&mut self, how_long: Duration) {
        self.tick += how_long;
        self.fresh = false;
    }

    fn answer(&mut self, answer: Answer) {
        self.memory.answer = Some(answer);
    }

    fn made(&mut self, id: &str) {
        self.answer(Answer::Created(Ok(ProviderId::new(id))));
    }

    fn fails(&mut self, error: Error) {
        self.answer(Answer::Created(Err(error)));
    }

    fn is(&mut self, state: State) {
        let instance = Instance {
            id: ProviderId::new("id-1"),
            name: self.proxy.instance_name(),
            uid: self.proxy.uid.clone(),
            created_at: None,
            state,
        };
        self.answer(Answer::Got(Ok(instance)));
    }

    fn is_not_found(&mut self) {
        self.answer(Answer::Got(Err(GetError::NotFound)));
    }

    fn deleted(&mut self, deleted: Deleted) {
        self.answer(Answer::Deleted(Ok(deleted)));
    }

    /// Another process takes over.
    fn restarts(&mut self) {
        self.memory = Memory::default();
        self.fresh = false;
    }

    fn condition(&self, kind: ConditionKind) -> (Truth, &str) {
        let condition = self.proxy.status.condition(kind).unwrap();
        (condition.status, &condition.reason)
    }

    fn noted(&self, reason: &str) -> bool {
        self.notes.iter().any(|note| note.reason == reason)
    }
}

fn stopped() -> State {
    State::Stopped { reason: Some(Reason::new("Halted", "it was halted")) }
}

fn provisioning() -> State {
    State::Provisioning { reason: None }
}

mod making {
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
        life.made("id-1");
        life.gets("id-1");
        let InstanceRecord { provider, id, spec_hash, .. } = life.proxy.status.instance.clone().unwrap();
        assert_eq!((provider.as_str(), id.as_str(), spec_hash), ("alpha", "id-1", intent.spec_hash));
        assert_eq!(life.proxy.status.intent, None, "cleared by the write that stores the id");
    }

    #[test]
    fn five_writes_and_one_more_take_a_proxy_through_its_life() {
        let mut life = Life::running();
        assert_eq!(life.writes, 4, "finalizer, intent, id, and that it runs");
        life.proxy.deleting = true;
        life.deletes("id-1");
        life.deleted(Deleted::Gone);
        life.gets("id-1");
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
        life.made("id-1");
        life.edit(spec("alpha", "b"));
        life.deletes("id-1");
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
            life.answer(Answer::Found(Ok(vec![ProviderId::new("id-1")])));
            life.deletes("id-1");
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
}

mod failing {
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
        life.made("id-1");
        life.gets("id-1");
        assert_eq!(life.proxy.status.last_failure, None);
    }
}

mod watching {
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
            life.gets("id-1");
            life.is(State::Running { address: ADDRESS });
            life.waits();
        }
        assert_eq!(life.writes, writes, "nothing is written when nothing changes");
    }

    #[test]
    fn provisioning_is_looked_at_after_1_2_5_and_then_every_10_seconds() {
        let mut life = Life::new();
        life.creates();
        life.made("id-1");
        let mut waits = Vec::new();
        for _ in 0..5 {
            life.gets("id-1");
            life.is(provisioning());
            let wait = life.waits().unwrap();
            waits.push(wait.as_secs());
            life.passes(wait);
        }
        assert_eq!(waits, [1, 2, 5, 10, 10]);
    }

    #[test]
    fn what_does_not_come_up_in_time_is_made_anew_with_the_reason() {
        let mut life = Life::new();
        life.creates();
        life.made("id-1");
        life.gets("id-1");
        life.passes(Duration::from_secs(31 * 60));
        life.is(State::Provisioning { reason: Some(Reason::new("ImagePullBackOff", "no such image")) });
        life.deletes("id-1");
        assert!(life.noted("ProvisioningTimeout"));
        let condition = life.proxy.status.condition(ConditionKind::Provisioned).unwrap();
        assert!(condition.message.contains("ImagePullBackOff"), "{}", condition.message);
    }

    #[test]
    fn stopped_and_terminated_are_deleted_and_made_anew() {
        for state in [stopped(), State::Terminated { reason: None }] {
            let mut life = Life::running();
            life.passes(Duration::from_secs(60));
            life.gets("id-1");
            life.is(state);
            life.deletes("id-1");
            assert!(!life.proxy.status.holds(ConditionKind::Ready));
            life.deleted(Deleted::Accepted);
            life.gets("id-1");
            life.is(stopped());
            assert_eq!(life.waits(), Some(SECOND));
            life.passes(SECOND);
            life.deletes("id-1");
            life.deleted(Deleted::Gone);
            life.gets("id-1");
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
            life.gets("id-1");
            life.is(stopped());
            life.deletes("id-1");
            life.deleted(Deleted::Gone);
            life.gets("id-1");
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
            life.made("id-1");
            life.gets("id-1");
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
        life.made("id-1");
        life.gets("id-1");
        life.is_not_found();
        assert_eq!(life.waits(), Some(SECOND));
        life.passes(Duration::from_secs(31));
        life.gets("id-1");
        life.is_not_found();
        life.deletes("id-1");
        assert!(life.noted("InstanceMissing"));
    }

    #[test]
    fn o08_not_found_still_deletes_the_parts_once() {
        let mut life = Life::running();
        life.passes(Duration::from_secs(60));
        life.gets("id-1");
        life.is_not_found();
        life.deletes("id-1");
        life.deleted(Deleted::Gone);
        life.gets("id-1");
        life.is_not_found();
        life.creates();
        assert_eq!(life.proxy.status.instance, None);
    }

    #[test]
    fn a_changed_hash_waits_for_not_found_on_the_old_provider_and_then_intends_anew() {
        let mut life = Life::running();
        life.edit(spec("beta", "a"));
        let call = life.calls();
        assert_eq!(
            (call.provider.as_str(), call.what),
            ("alpha", Operation::Delete(ProviderId::new("id-1")))
        );
        life.deleted(Deleted::Accepted);
        life.gets("id-1");
        life.is(stopped());
        life.waits();
        assert!(life.proxy.status.intent.is_none() && life.proxy.status.instance.is_some());
        life.passes(SECOND);
        life.deletes("id-1");
        life.deleted(Deleted::Gone);
        life.gets("id-1");
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
            life.gets("id-1");
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
        life.deletes("id-1");
    }

    #[test]
    fn an_unhealthy_one_is_not_ready_and_is_replaced_after_a_while() {
        let mut life = Life::running();
        life.health = Health::Unhealthy { since: life.tick, why: "connection refused".to_owned() };
        life.waits();
        assert_eq!(life.condition(ConditionKind::Ready), (Truth::False, "Unhealthy"));
        life.passes(Duration::from_secs(299));
        let call = life.calls();
        assert_eq!(call.what, Operation::Get(ProviderId::new("id-1")));
        life.is(State::Running { address: ADDRESS });
        life.waits();
        life.passes(SECOND);
        life.deletes("id-1");
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
            life.gets("id-1");
            life.is(State::Running { address: ADDRESS });
            life.waits();
            let frozen = life.condition(ConditionKind::Healthy).1 == "ReplacementFrozen";
            assert_eq!(frozen, brake == Brake::Frozen);
            assert_eq!(life.noted("ReplacementFrozen"), frozen);
            life.edit(spec("alpha", "b"));
            life.deletes("id-1");
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
        life.gets("id-1");
        life.is(State::Running { address: ADDRESS });
        life.waits();
        assert_eq!(life.writes, writes);
        assert!(life.proxy.status.holds(ConditionKind::Ready));
    }
}

mod deleting {
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
            life.deletes("id-1");
            life.deleted(Deleted::Accepted);
            life.gets("id-1");
            life.is(stopped());
            assert_eq!(life.waits(), Some(Duration::from_secs(wait)));
            assert!(life.proxy.held);
            life.passes(Duration::from_secs(wait));
        }
        life.deletes("id-1");
        life.deleted(Deleted::Gone);
        life.gets("id-1");
        life.is_not_found();
        assert_eq!(life.goes_on(), Action::Forget);
        assert!(!life.proxy.held);
        assert_eq!(life.proxy.status.phase, Some(Phase::Deleting), "a slow one says so");
    }

    #[test]
    fn deletes_and_releases_rest_on_live_reads() {
        let mut life = deleted();
        assert_eq!(life.decide(None).action, Action::Refresh);
        life.deletes("id-1");
        life.deleted(Deleted::Gone);
        life.gets("id-1");
        life.is_not_found();
        let step = life.decide(None);
        assert_eq!(step.action, Action::Refresh);
    }

    #[test]
    fn a_failing_look_never_blocks_a_delete() {
        let mut life = deleted();
        life.deletes("id-1");
        life.deleted(Deleted::Accepted);
        life.gets("id-1");
        life.answer(Answer::Got(Err(Error::transient("reset").into())));
        let wait = life.waits().unwrap();
        life.passes(wait);
        life.deletes("id-1");
    }

    #[test]
    fn a_permanent_look_after_a_good_delete_releases() {
        let mut life = deleted();
        life.deletes("id-1");
        life.deleted(Deleted::Accepted);
        life.gets("id-1");
        life.answer(Answer::Got(Err(Error::permanent("forbidden").into())));
        assert_eq!(life.goes_on(), Action::Forget);
    }

    #[test]
    fn abandoned_releases_with_an_event_that_names_what_was_left() {
        let mut life = deleted();
        life.deletes("id-1");
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
            life.notes.iter().any(|note| note.message.contains("id-1 of provider alpha")),
            "{:?}",
            life.notes
        );
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
        life.answer(Answer::Found(Ok(vec![ProviderId::new("id-1")])));
        life.deletes("id-1");
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
        life.deletes("rubbish");
        life.answer(Answer::Deleted(Err(Error::permanent("that is no id of ours"))));
        assert_eq!(life.calls().what, Operation::Search);
        life.answer(Answer::Found(Ok(vec![ProviderId::new("id-1")])));
        life.deletes("id-1");
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
        life.made("id-1");
        life.deletes("id-1");
        assert_eq!(life.proxy.status.instance.as_ref().unwrap().id, "id-1");
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
}
