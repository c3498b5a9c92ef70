//! What people do in a world: they make, edit and delete Proxies, and lay hands on what is not theirs.

use std::{collections::BTreeMap, time::Duration};

use futures::FutureExt;
use serde_json::{Value, json};

use crate::{
    api::{Object, Server},
    cloud::{Clouds, PROVIDERS},
    mischief::Trace,
    plan::{Deed, Scribble},
    time::Time,
    watchdog::Watchdog,
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
                self.edit(*number, |object| {
                    match object.spec["cloudInit"].get_mut("inline") {
                        Some(inline) => *inline = json!(format!("user data {edits}")),
                        None => object.spec["port"] = json!(4000 + edits),
                    }
                    if let Some(name) = object.spec.get_mut("connectionSecret") {
                        *name = json!(connection(*number, edits));
                    }
                });
            }
            Deed::Revert(number) => {
                let spec = self.spec(*number);
                self.edit(*number, |object| object.spec = spec);
            }
            Deed::Move(number) => self.edit(*number, |object| {
                let now = object.spec["provider"].as_str().unwrap_or_default();
                let other = if now == PROVIDERS[0] { PROVIDERS[1] } else { PROVIDERS[0] };
                object.spec["provider"] = json!(other);
            }),
            Deed::Spoil(number) => self.edit(*number, |object| object.spec["port"] = json!("none")),
            Deed::Rotate(number) => {
                let edits = self.edits.entry(*number).or_default();
                *edits += 1;
                let text = format!("user data of {number}, {edits}");
                self.server.change(|state| state.rotate(&secret(*number), text, now));
            }
            Deed::Scribble(number, scribble) => {
                self.watchdog.touched(&key(*number));
                self.edit(*number, |object| scribbles(object, *scribble));
            }
            Deed::Annotate(number, name, value) => {
                if name.ends_with("skip-cleanup") {
                    self.watchdog.touched(&key(*number));
                }
                self.edit(*number, |object| match value {
                    Some(value) => drop(object.annotations.insert(name.clone(), value.clone())),
                    None => drop(object.annotations.remove(name)),
                });
            }
            Deed::Unhold(number) => {
                self.watchdog.touched(&key(*number));
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

    fn by_hand(
        &self,
        number: u32,
        does: impl Fn(&dyn providertest::harness::Hand, &provider_api::Name) -> bool,
    ) {
        self.watchdog.touched(&key(number));
        let name = self.server.state().proxies.get(&key(number)).map(|object| object.read().instance_name());
        let Some(name) = name else { return };
        for provider in 0..PROVIDERS.len() {
            does(self.clouds.of(provider).hand(), &name);
        }
        self.watchdog.looks();
    }

    /// What a Proxy asks for at first.
    fn spec(&self, number: u32) -> Value {
        let index = number as usize % PROVIDERS.len();
        let placement = self.clouds.of(index).placements().swap_remove(0);
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
    format!("{}-connection-{}", key(number).name, edits % 2)
}

fn secret(number: u32) -> proxy_operator::resource::Key {
    let proxy = key(number);
    proxy_operator::resource::Key { name: format!("{}-data", proxy.name), ..proxy }
}

fn scribbles(object: &mut Object, scribble: Scribble) {
    match scribble {
        Scribble::Empty => object.status = Value::Null,
        Scribble::Id => object.status["instance"]["id"] = json!("no/such/thing/at all"),
        Scribble::Provider => object.status["instance"]["provider"] = json!("nobody"),
        Scribble::AllIsWell => {
            object.status["phase"] = json!("Running");
            object.status["conditions"] = json!([{
                "type": "Ready", "status": "True", "reason": "Hand", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]);
        }
        Scribble::Types => {
            object.status = json!({
                "phase": 7, "instance": "none", "intent": [], "conditions": {}, "lastFailure": true, "address": {},
            });
        }
    }
}
