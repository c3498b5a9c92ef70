//! The rules of the step, each by its name. A [`Life`] is one Proxy, whose writes succeed and whose calls a test answers.

mod deleting;
mod failing;
mod making;
mod publishing;
mod watching;

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

/// As a provider writes them: the instance's name is a segment (`create.id-self-contained`).
const ID: &str = "zones/z1/instances/proxy-jje2z6fgxvzhokcj";

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
                others: Vec::new(),
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
        life.made(ID);
        life.gets(ID);
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
        self.answer(Answer::Got(Ok(instance(state))));
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

/// The Proxy's own instance.
fn instance(state: State) -> Instance {
    let uid = Uid::parse("uid-1").unwrap();
    let name = provider_api::Name::from_uid(&uid);
    Instance { id: ProviderId::new(ID), name, uid, created_at: None, state, decommissioned: false }
}

fn stopped() -> State {
    State::Stopped { reason: Some(Reason::new("Halted", "it was halted")) }
}

fn provisioning() -> State {
    State::Provisioning { reason: None }
}
