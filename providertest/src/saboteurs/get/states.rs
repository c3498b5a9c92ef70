//! Saboteurs that misread native states.

use std::net::IpAddr;

use async_trait::async_trait;
use provider_api::{GetError, Instance, Provider, ProviderId, State};

use super::super::view::{Memory, View, seen_through};
use crate::{
    harness::UNKNOWN_STATE,
    memory::cloud::Described,
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "keeps-a-lost-address",
        does: "goes on with the last address of an instance that has none any more",
        breaks: "get.no-address-is-provisioning",
        cloud: |cloud| seen_through(cloud, KeepsAddresses::default()),
        ..HONEST
    },
    Saboteur {
        name: "takes-over-for-stopped",
        does: "reports Stopped what the table has as Terminated",
        breaks: "get.native-state-table",
        provider: |built, _| meddle(built, Restates(over_is_stopped)),
        ..HONEST
    },
    Saboteur {
        name: "hopes-for-unknown-states",
        does: "reports Provisioning in a native state that it does not know",
        breaks: "get.unknown-state-is-stopped",
        provider: |built, _| meddle(built, Restates(unknown_is_provisioning)),
        ..HONEST
    },
    Saboteur {
        name: "does-not-name-unknown-states",
        does: "reports Stopped in a native state that it does not know, and not what it is called",
        breaks: "get.unknown-state-is-stopped",
        provider: |built, _| meddle(built, Restates(unknown_is_nameless)),
        ..HONEST
    },
    Saboteur {
        name: "swallows-reasons",
        does: "drops the reason of every native state that it knows",
        breaks: "get.reasons-reach-the-caller",
        provider: |built, _| meddle(built, Restates(without_reason)),
        ..HONEST
    },
];

#[derive(Default)]
struct KeepsAddresses(Memory<Vec<IpAddr>>);

impl View for KeepsAddresses {
    fn show(&self, mut described: Described) -> Option<Described> {
        if described.addresses.is_empty() {
            described.addresses = self.0.get(&described.key).unwrap_or_default();
        } else {
            self.0.put(&described.key, described.addresses.clone());
        }
        Some(described)
    }
}

/// Changes the state of every answer.
struct Restates(fn(State) -> State);

#[async_trait]
impl Meddler for Restates {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let instance = honest.get(id).await?;
        Ok(Instance { state: (self.0)(instance.state), ..instance })
    }
}

fn over_is_stopped(state: State) -> State {
    match state {
        State::Terminated { reason: Some(reason) } if reason.code != "Deleting" => {
            State::Stopped { reason: Some(reason) }
        }
        other => other,
    }
}

fn is_unknown(state: &State) -> bool {
    state.reason().is_some_and(|reason| reason.message.contains(UNKNOWN_STATE))
}

fn unknown_is_provisioning(state: State) -> State {
    match state {
        State::Stopped { reason } if is_unknown(&State::Stopped { reason: reason.clone() }) => {
            State::Provisioning { reason }
        }
        other => other,
    }
}

fn unknown_is_nameless(state: State) -> State {
    if is_unknown(&state) { State::Stopped { reason: None } } else { state }
}

fn without_reason(state: State) -> State {
    match state {
        state if is_unknown(&state) => state,
        State::Provisioning { .. } => State::Provisioning { reason: None },
        State::Stopped { .. } => State::Stopped { reason: None },
        State::Terminated { .. } => State::Terminated { reason: None },
        running @ State::Running { .. } => running,
    }
}
