//! What there is at the end of a world, to be compared with the end of another: what is asked for, what exists, and what is
//! said of it. What two worlds cannot have alike, since they came here by other ways, is left out: UIDs, versions, times,
//! and with them names, ids and addresses.

use std::collections::BTreeMap;

use provider_api::Timestamp;
use proxy_operator::resource::{ConditionKind, Key, Phase, Truth};
use serde_json::Value;

use crate::{
    api::Server,
    cloud::{Clouds, PROVIDERS, owner},
};

/// The end of a world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ending(pub BTreeMap<Key, One>);

/// One Proxy at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct One {
    /// What it asks for.
    pub spec: Value,
    /// Its instances.
    pub instances: Vec<Instance>,
    /// Its phase.
    pub phase: Option<Phase>,
    /// The digest of what its instance was made from, as the status has it.
    pub spec_hash: Option<String>,
    /// Whether it has an address and an endpoint, an open intent, a failure.
    pub has: [bool; 4],
    /// Its conditions, without their times.
    pub conditions: Vec<(ConditionKind, Truth, String, String)>,
}

/// An instance at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its provider.
    pub provider: &'static str,
    /// Its zone.
    pub zone: String,
    /// Its native state.
    pub native_state: String,
    /// The user data that has reached it.
    pub cloud_init: Option<Vec<u8>>,
    /// The port that is open.
    pub port: Option<u16>,
    /// How many parts it needs.
    pub references: usize,
}

impl Ending {
    pub(crate) fn of(server: &Server, clouds: &Clouds) -> Self {
        let things: Vec<_> = clouds.belongings().collect();
        let objects: Vec<_> = server.state().proxies.values().cloned().collect();
        let one = |object: &std::sync::Arc<crate::api::Object>| {
            let own = things.iter().filter(|(_, thing)| owner(thing) == Some(&object.uid));
            let instances = own.map(|(provider, thing)| Instance {
                provider: PROVIDERS[*provider],
                zone: thing.target.clone(),
                native_state: thing.native_state.clone(),
                cloud_init: thing.delivered.cloud_init.clone(),
                port: thing.delivered.port,
                references: thing.references.len(),
            });
            let status = &object.read().status;
            let conditions = status.conditions.iter().map(|condition| {
                (condition.kind, condition.status, condition.reason.clone(), condition.message.clone())
            });
            let one = One {
                spec: Value::clone(&object.spec),
                instances: instances.collect(),
                phase: status.phase,
                spec_hash: status.instance.as_ref().map(|instance| instance.spec_hash.to_string()),
                has: [
                    status.address.is_some() && status.endpoint.is_some(),
                    status.intent.is_some(),
                    status.last_failure.is_some(),
                    status.ready_since.is_some_and(|since| since > Timestamp::UNIX_EPOCH),
                ],
                conditions: conditions.collect(),
            };
            (object.key.clone(), one)
        };
        Self(objects.iter().map(one).collect())
    }
}
