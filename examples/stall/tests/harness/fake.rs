//! The fake: what the API answers, byte for byte, below the provider's own client. It shares no types with the client,
//! writes its bodies by hand and refuses what makes no sense; instances, time, quota, pages and rights are the kit's
//! store.

use std::time::Duration;

use provider_api::{NativeError, Shows};
use provider_stall::CATALOGUE;
use providertest::{
    fake::{
        catalogue::worded,
        http::{self, Answer, Fake, Reading, Refused, Request, Route},
        store::{Failure, New, Outcome, Record, Refusal, Shared, States, Store, Task, Ways},
    },
    harness::Delivered,
};
use serde_json::{Value, json};

/// The API's version.
pub(crate) const VERSION: &str = "v2";
/// The halls that there are.
pub(crate) const TARGETS: [&str; 2] = ["north", "south"];
/// The sizes that there are.
pub(crate) const MACHINE_TYPES: [&str; 2] = ["s1", "s2"];
/// The image that the config's catalogue names.
const IMAGE: &str = "squid-2026-11";
/// An image that it does not name.
pub(crate) const OTHER_IMAGE: &str = "elsewhere.example/squid:7";

/// The rights that a key can have.
const LOOK: &str = "look";
const MAKE: &str = "make";
const DROP: &str = "drop";

/// The header with the key.
const KEY: &str = "x-stall-key";

/// Every call by its name in `src/backend.rs`, with the right that it takes. Whoever has a key may ask a hall about
/// itself, and is told what the key is good for.
const ROUTES: &[Route] = &[
    Route::new("about", "GET", "/v2/halls/{target}"),
    Route::new("machine_get", "GET", "/v2/halls/{target}/machines?name={name}").needs(LOOK),
    Route::new("machine_list", "GET", "/v2/halls/{target}/machines").needs(LOOK),
    Route::new("machine_create", "POST", "/v2/halls/{target}/machines")
        .needs(MAKE)
        .named_by("name")
        .with_payload(),
    Route::new("machine_delete", "DELETE", "/v2/halls/{target}/machines/{id}").needs(DROP),
    Route::new("machine_start", "POST", "/v2/halls/{target}/machines/{id}/start").needs(MAKE),
    Route::new("task_list", "GET", "/v2/halls/{target}/tasks?name={name}").needs(LOOK),
];

/// What the backend keeps of a machine beside the usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) machine_type: String,
}

/// The API.
pub(crate) struct Api {
    store: Shared<Machine>,
}

impl Api {
    pub(crate) fn new(store: Shared<Machine>) -> Self {
        Self { store }
    }
}

/// An empty backend.
pub(crate) fn empty(token: Vec<u8>) -> Store<Machine> {
    let ways = Ways {
        rights: &[LOOK, MAKE, DROP],
        states: States {
            making: "queued",
            booting: "booting",
            up: "up",
            stopped: "halted",
            going: Some("dropping"),
            ..States::default()
        },
        work: Duration::from_secs(4),
        tasks: true,
        locks: true,
        lag: Duration::from_secs(5),
        one_address: true,
        ..Ways::default()
    };
    Store::new(ways, TARGETS).with_token(token)
}

/// What a config says of this backend, beside the way there.
pub(crate) fn config() -> Value {
    json!({"images": {"squid": IMAGE}, "machineTypes": MACHINE_TYPES})
}

/// A request that makes no sense.
pub(crate) fn nonsense(token: &str) -> Request {
    Request::new("POST", &format!("/v2/halls/{}/machines", TARGETS[0]))
        .with_header(KEY, token)
        .with_json(&json!({"name": "", "size": "no-such-size"}))
}

impl Fake for Api {
    fn read(&self, request: &Request) -> Reading {
        Route::read(ROUTES, request, "nowhere")
    }

    /// What each call does.
    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let found = Route::find(ROUTES, request).ok_or(Refused("gateway-404"))?;
        let target = found.part("target");
        let life = life(found.part("id"));
        let mut store = self.store.open();
        store.allows(request.header(KEY).map(str::as_bytes), found.route.right)?;
        let result = match found.route.kind {
            "about" => about(&store, target)?,
            "machine_get" => {
                let found = store.find(target, found.part("name")).map(|record| machine(&store, record));
                json!({"machines": Vec::from_iter(found), "cursor": null})
            }
            "machine_list" => {
                let page = store.list(Some(target), request.query("cursor"))?;
                let machines: Vec<_> = page.items.iter().map(|record| machine(&store, record)).collect();
                json!({"machines": machines, "cursor": page.next})
            }
            "machine_create" => {
                let made = store.make(target, new_machine(request)?)?;
                accepted(made.task.unwrap_or_default(), made.incarnation)
            }
            "machine_start" => {
                let key = store.of_life(target, life)?.key.clone();
                store.start(target, &key)?;
                Value::Null
            }
            "machine_delete" => {
                let key = store.of_life(target, life)?.key.clone();
                store.remove(target, &key, Some(life))?;
                Value::Null
            }
            _ => {
                let tasks = store.tasks_of(found.part("name")).filter(|task| task.place == target);
                tasks.map(|it| task(&store, it)).collect()
            }
        };
        Ok(http::json(200, &json!({"ok": true, "result": result})))
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let found = Route::find(ROUTES, request);
        if error.shows == Shows::Task {
            return self.accept_in_vain(
                request,
                found.as_ref().map_or("", |found| found.part("target")),
                error,
            );
        }
        let found = found.as_ref();
        let text = worded(error, &[("name", found.map_or("", |found| found.subject()))]);
        let mut body = json!({"code": error.code, "text": text});
        if let Some(seconds) = error.field("retry-after").and_then(|seconds| seconds.parse::<u64>().ok()) {
            body["backoffMs"] = json!(seconds * 1000);
        }
        let store = self.store.open();
        match error.id {
            "forbidden" => body["right"] = json!(store.revoked.or(found.and_then(|found| found.route.right))),
            "invalid" => body["field"] = json!("name"),
            "already-exists" => {
                let standing = found.and_then(|found| store.find(found.part("target"), found.subject()));
                body["id"] = json!(standing.map(|record| format!("m-{}", record.incarnation)));
            }
            _ => {}
        }
        http::refusal(error, text, &json!({"ok": false, "error": body}))
    }

    fn refuses(&self, answer: &Answer) -> bool {
        !answer.status().is_success() || http::json_of(answer)["ok"] == false
    }

    fn refuses_login(&self, refusal: &Answer) -> bool {
        http::json_of(refusal)["error"]["code"] == "E_KEY"
    }

    fn message(&self) -> &'static str {
        "text"
    }

    fn quotes(&self) -> bool {
        self.store.open().quotes
    }

    fn credentials(&self, request: &Request) -> Option<String> {
        request.header(KEY).map(str::to_owned)
    }
}

impl Api {
    /// Accepts a making whose task fails.
    fn accept_in_vain(&self, request: &Request, target: &str, error: &NativeError) -> Answer {
        let mut store = self.store.open();
        let body = request.object().unwrap_or_default();
        let (name, tags) = (body.text("name").unwrap_or_default(), body.texts("tags").unwrap_or_default());
        let sent = || format!("{}: {}", error.text, String::from_utf8_lossy(request.body()));
        let failure = Failure { id: error.id.to_owned(), text: store.quotes.then(sent) };
        let task = store.fail_at_once(target, &name, &tags, failure);
        http::json(200, &json!({"ok": true, "result": accepted(task, store.count())}))
    }
}

/// What a hall says about itself.
fn about(store: &Store<Machine>, target: &str) -> Result<Value, Refused> {
    if store.ailing {
        return Err(Refused("internal"));
    }
    let machines = store.instances.iter().filter(|record| record.place == target).count();
    let rights: Vec<_> = store.rights().collect();
    Ok(json!({"version": "2", "machines": machines, "limit": store.quota, "rights": rights}))
}

/// A machine as the API shows it. One that cannot be read has lost its id.
fn machine(store: &Store<Machine>, record: &Record<Machine>) -> Value {
    let address = store.addresses_of(record).first().map(|(_, address)| *address);
    let phase = store.state_of(record);
    json!({
        "id": (!record.unreadable).then(|| format!("m-{}", record.incarnation)),
        "name": record.name,
        "tags": record.marks,
        "size": record.own.machine_type,
        "phase": phase,
        "why": (phase == "broken").then_some("its disk is lost"),
        "ip": address,
        "born": record.created,
    })
}

/// A task as the API shows it.
fn task(store: &Store<Machine>, task: &Task) -> Value {
    let (state, error) = match store.outcome(task) {
        Outcome::Failed(Failure { id, text }) => {
            let native = CATALOGUE.get(id);
            let text = text.clone().or(native.map(|native| worded(native, &[("name", &task.name)])));
            ("failed", json!({"code": native.map(|native| native.code), "text": text}))
        }
        Outcome::Running => ("running", Value::Null),
        Outcome::Done => ("done", Value::Null),
    };
    json!({"task": format!("t-{}", task.id), "tags": task.marks, "state": state, "error": error})
}

/// The answer to a making that was accepted.
fn accepted(task: u64, life: u64) -> Value {
    json!({"task": format!("t-{task}"), "id": format!("m-{life}")})
}

/// The life that an id stands for; what is no id stands for none.
fn life(id: &str) -> u64 {
    id.strip_prefix("m-").and_then(|life| life.parse().ok()).unwrap_or(0)
}

/// Reads the body of a making strictly.
fn new_machine(request: &Request) -> Result<New<Machine>, Refusal> {
    let body = request.object()?;
    let (name, machine_type) = (body.text("name")?, body.text("size")?);
    body.text("image")?;
    if !MACHINE_TYPES.contains(&machine_type.as_str()) {
        return Err(Refusal::Invalid);
    }
    let delivered = Delivered { cloud_init: Some(body.base64("seed")?), ..Delivered::default() };
    let (key, marks, own) = (name.clone(), body.texts("tags")?, Machine { machine_type });
    Ok(New { key, name, marks, delivered, own, ..New::default() })
}
