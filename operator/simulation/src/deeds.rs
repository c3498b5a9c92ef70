//! What people do in a world: they make, edit and delete Proxies, and lay hands on what is not theirs.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::FutureExt;
use providertest::harness::{Backend, Hand};
use serde_json::{Value, json};

use crate::{
    api::{Object, Server},
    cloud::{Clouds, PROVIDERS},
    mischief::Trace,
    plan::{Deed, Scribble, Spoil},
    time::Time,
    watchdog::{Touch, Watchdog},
    world::key,
};

/// The people.
pub(crate) struct Deeds {
    server: Server,
    clouds: Clouds,
    watchdog: Watchdog,
    time: Time,
    trace: Trace,
    /// How often each Proxy was edited.
    edits: BTreeMap<u32, u32>,
}

impl Deeds {
    pub(crate) fn new(server: Server, clouds: Clouds, watchdog: Watchdog, time: Time, trace: Trace) -> Self {
        Self { server, clouds, watchdog, time, trace, edits: BTreeMap::new() }
    }

    /// Follows a script to its end.
    pub(crate) async fn follow(mut self, script: Vec<(u64, Deed)>) {
        for (at, deed) in script {
            self.time.sleep_until(Duration::from_millis(at)).await;
            self.trace.line(self.time.now(), "people", || format!("{deed:?}"));
            self.act(&deed);
        }
    }

    fn act(&mut self, deed: &Deed) {
        let now = self.time.now();
        match deed {
            Deed::Create(number) => {
                let spec = self.spec(*number);
                self.server.change(|state| {
                    state.rotate(&secret(*number), format!("user data of {number}"), now);
                    state.create(&key(*number), spec, now);
                });
            }
            Deed::Delete(number) => self.server.change(|state| state.delete(&key(*number), now)),
            Deed::Edit(number) => {
                let edits = self.edits.entry(*number).or_default();
                *edits += 1;
                let edits = *edits;
                self.respec(*number, |spec| {
                    match spec["cloudInit"].get_mut("inline") {
                        Some(inline) => *inline = json!(format!("user data {edits}")),
                        None => spec["port"] = json!(4000 + edits),
                    }
                    if let Some(name) = spec.get_mut("connectionSecret") {
                        *name = json!(connection(*number, edits));
                    }
                });
            }
            Deed::Revert(number) => {
                let spec = self.spec(*number);
                self.respec(*number, |it| *it = spec);
            }
            Deed::Move(number) => self.respec(*number, |spec| {
                let now = spec["provider"].as_str().unwrap_or_default();
                let other = if now == PROVIDERS[0] { PROVIDERS[1] } else { PROVIDERS[0] };
                spec["provider"] = json!(other);
            }),
            Deed::Ask(number, spec) => {
                let has = |bit: u32| spec >> bit & 1 == 1;
                let index = usize::from(has(0));
                let placements = self.clouds.of(index).placements();
                let placement = &placements[usize::from(has(1)).min(placements.len() - 1)];
                let placement = serde_json::to_value(placement).expect("a placement is data");
                let text = if has(2) { "this" } else { "that" };
                let port = if has(3) { 3129 } else { 3128 };
                self.respec(*number, |spec| {
                    *spec = json!({
                        "provider": PROVIDERS[index], "placement": placement, "cloudInit": { "inline": text }, "port": port,
                    });
                });
            }
            Deed::Place(number, zone) => {
                let provider = self
                    .server
                    .state()
                    .proxies
                    .get(&key(*number))
                    .map(|object| object.spec["provider"].clone());
                let index = PROVIDERS.iter().position(|name| provider.as_ref().is_some_and(|it| it == name));
                let mut placements = self.clouds.of(index.unwrap_or(0)).placements();
                let placement = placements.swap_remove(*zone as usize % placements.len());
                let placement = serde_json::to_value(placement).expect("a placement is data");
                self.respec(*number, |spec| spec["placement"] = placement);
            }
            Deed::Spoil(number, spoil) => self.respec(*number, |spec| spoils(spec, *spoil)),
            Deed::Unmake(number) => self.server.change(|state| state.unmake(&secret(*number), now)),
            Deed::Rotate(number) => {
                let edits = self.edits.entry(*number).or_default();
                *edits += 1;
                let text = format!("user data of {number}, {edits}");
                self.server.change(|state| state.rotate(&secret(*number), text, now));
            }
            Deed::Scribble(number, scribble) => {
                if let Some(touch) = touch(*scribble) {
                    self.watchdog.touched(&key(*number), touch);
                }
                let anothers = self.anothers(*number);
                self.edit(*number, |object| scribbles(&mut object.status, *scribble, anothers));
            }
            Deed::Annotate(number, name, value) => {
                if name.ends_with("skip-cleanup") {
                    self.watchdog.touched(&key(*number), Touch::Changed);
                }
                self.edit(*number, |object| {
                    let annotations = Arc::make_mut(&mut object.annotations);
                    match value {
                        Some(value) => drop(annotations.insert(name.clone(), value.clone())),
                        None => drop(annotations.remove(name)),
                    }
                });
            }
            Deed::Unhold(number) => {
                self.watchdog.touched(&key(*number), Touch::Changed);
                self.edit(*number, |object| object.held = false);
            }
            Deed::Stop(number) => {
                self.by_hand(*number, |hand, name| {
                    hand.set_native_state(name, "stopped").now_or_never().is_some_and(|done| done.is_ok())
                });
            }
            Deed::Remove(number) => {
                self.by_hand(*number, |hand, name| {
                    hand.remove(name).now_or_never().is_some_and(|done| done.is_ok())
                });
            }
        }
    }

    fn edit(&self, number: u32, edit: impl FnOnce(&mut Object)) {
        let now = self.time.now();
        self.server.change(|state| state.edit(&key(number), now, edit));
    }

    /// Edits a spec. One of which nothing is left is a mapping again.
    fn respec(&self, number: u32, edit: impl FnOnce(&mut Value)) {
        self.edit(number, |object| {
            let spec = Arc::make_mut(&mut object.spec);
            if !spec.is_object() {
                *spec = json!({});
            }
            edit(spec);
        });
    }

    fn by_hand(&self, number: u32, does: impl Fn(&dyn Hand, &provider_api::Name) -> bool) {
        self.watchdog.touched(&key(number), Touch::Changed);
        let name = self.server.state().proxies.get(&key(number)).map(|object| object.read().instance_name());
        let Some(name) = name else { return };
        for provider in 0..PROVIDERS.len() {
            does(self.clouds.of(provider).hand(), &name);
        }
        self.watchdog.looks();
    }

    /// What the status of another Proxy says of its instance.
    fn anothers(&self, number: u32) -> Option<Value> {
        let (state, own) = (self.server.state(), key(number));
        let others = state.proxies.values().filter(|object| object.key != own);
        others.map(|object| &object.status["instance"]).find(|instance| instance.is_object()).cloned()
    }

    /// What a Proxy asks for at first.
    fn spec(&self, number: u32) -> Value {
        let index = number as usize % PROVIDERS.len();
        let mut placements = self.clouds.of(index).placements();
        let placement = placements.swap_remove(number as usize / PROVIDERS.len() % placements.len());
        let cloud_init = match number % 3 {
            0 => json!({ "secretRef": { "name": secret(number).name, "key": "user-data" } }),
            _ => json!({ "inline": format!("user data of {number}") }),
        };
        let mut spec = json!({
            "provider": PROVIDERS[index],
            "placement": serde_json::to_value(placement).expect("a placement is data"),
            "cloudInit": cloud_init,
        });
        // Two of three are published.
        if number % 3 != 2 {
            spec["connectionSecret"] = json!(connection(number, 0));
        }
        spec
    }
}

/// The Secret in which a Proxy is published; it has another name after every edit.
fn connection(number: u32, edits: u32) -> String {
    format!("connection-{number}-{}", edits % 2)
}

fn secret(number: u32) -> proxy_operator::resource::Key {
    let proxy = key(number);
    proxy_operator::resource::Key { name: format!("data-{number}"), ..proxy }
}

fn spoils(spec: &mut Value, spoil: Spoil) {
    match spoil {
        Spoil::Port => spec["port"] = json!("none"),
        Spoil::Provider => spec["provider"] = json!("nobody"),
        Spoil::Secret => {
            spec["cloudInit"] = json!({ "secretRef": { "name": "not-there", "key": "user-data" } })
        }
        Spoil::Both => {
            spec["cloudInit"] =
                json!({ "inline": "text", "secretRef": { "name": "not-there", "key": "user-data" } });
        }
        Spoil::Nothing => *spec = Value::Null,
        Spoil::Types => {
            *spec = json!({
                "provider": 7, "placement": "there", "cloudInit": [], "port": {}, "access": true, "connectionSecret": [1],
            });
        }
        Spoil::Length => {
            let long = "x".repeat(100_000);
            *spec = json!({
                "provider": long, "placement": { "region": long, "zone": long }, "cloudInit": { "inline": long },
                "connectionSecret": long, "access": { "allowedSources": vec!["no range"; 1000] },
            });
        }
    }
}

/// What it does to what the operator knows of instances: what follows is for whoever has written it.
fn touch(scribble: Scribble) -> Option<Touch> {
    use Scribble::{
        AnothersId, CreatedAt, Empty, Id, Intent, NoInstance, NoIntent, Provider, SpecHash, Types,
    };
    match scribble {
        AnothersId | CreatedAt | Id | Intent | Provider | SpecHash => Some(Touch::Changed),
        Empty | NoInstance | NoIntent | Types => Some(Touch::Wiped),
        _ => None,
    }
}

fn scribbles(status: &mut Value, scribble: Scribble, anothers: Option<Value>) {
    // About the last one that can be read; what cannot is as if it were not there.
    const FAR: &str = "9999-12-30T12:00:00Z";
    if !status.is_object() {
        *status = json!({});
    }
    let condition = |kind: &str, holds: &str| {
        json!({
            "type": kind, "status": holds, "reason": "Hand", "message": "", "lastTransitionTime": FAR,
        })
    };
    match scribble {
        Scribble::Empty => *status = Value::Null,
        Scribble::Id if status["instance"].is_object() => {
            status["instance"]["id"] = json!("no/such/thing/at all")
        }
        Scribble::Provider if status["instance"].is_object() => {
            status["instance"]["provider"] = json!("nobody")
        }
        Scribble::SpecHash if status["instance"].is_object() => {
            status["instance"]["specHash"] = json!("00000000000000000000");
        }
        Scribble::CreatedAt if status["instance"].is_object() => status["instance"]["createdAt"] = json!(FAR),
        Scribble::Id | Scribble::Provider | Scribble::SpecHash | Scribble::CreatedAt => {}
        Scribble::AnothersId => {
            if let Some(anothers) = anothers {
                status["instance"] = anothers;
            }
        }
        Scribble::NoInstance => drop(status.as_object_mut().and_then(|status| status.remove("instance"))),
        Scribble::Intent => {
            status["intent"] =
                json!({ "provider": PROVIDERS[0], "specHash": "00000000000000000000", "since": FAR });
        }
        Scribble::NoIntent => drop(status.as_object_mut().and_then(|status| status.remove("intent"))),
        Scribble::AllIsWell | Scribble::AllIsLost => {
            let (phase, holds) = match scribble {
                Scribble::AllIsWell => ("Running", "True"),
                _ => ("Failed", "False"),
            };
            status["phase"] = json!(phase);
            let kinds = ["Ready", "Provisioned", "Healthy", "Progressing"];
            status["conditions"] = kinds.map(|kind| condition(kind, holds)).to_vec().into();
        }
        Scribble::Address => {
            status["address"] = json!("192.0.2.1");
            status["endpoint"] = json!("192.0.2.1:1");
        }
        Scribble::ReadySince => status["readySince"] = json!(FAR),
        Scribble::Failure => {
            status["lastFailure"] = json!({
                "id": "nobody-knows", "class": "Permanent", "reason": "Hand", "message": "by hand", "time": FAR,
                "retryAt": FAR, "retried": "never",
            });
        }
        Scribble::Generation => status["observedGeneration"] = json!(i64::MAX),
        Scribble::InputDigest => status["inputDigest"] = json!("00000000000000000000"),
        Scribble::Conditions => {
            let mut all = ["Progressing", "Ready", "Ready", "NeverHeardOf"]
                .map(|kind| condition(kind, "True"))
                .to_vec();
            all.push(condition("Healthy", "Maybe"));
            status["conditions"] = all.into();
        }
        Scribble::Types => {
            *status = json!({
                "phase": 7, "instance": "none", "intent": [], "conditions": {}, "lastFailure": true, "address": {},
                "endpoint": [], "readySince": 1, "observedGeneration": "one", "inputDigest": {},
            });
        }
    }
}
