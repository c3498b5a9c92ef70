//! The fake: what the API answers, byte for byte, below the provider's own client. It shares no types with the client,
//! writes its bodies by hand and refuses what makes no sense; instances, time, quota, pages and rights are the kit's
//! store.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use data_encoding::BASE64;
use provider_api::{NativeError, Shows};
use provider_stall::CATALOGUE;
use providertest::{
    fake::{
        catalogue::worded,
        http::{self, Answer, Fake, Reading, Refused, Request},
        store::{
            Failure, Marks, New, Outcome, Record, Refusal, Shared, Source, States, Store, Task, Ways, leases,
            page,
        },
    },
    harness::Delivered,
};
use serde_json::{Value, json};

/// The halls that there are.
pub(crate) const ZONES: [&str; 2] = ["north", "south"];
/// The sizes that there are.
pub(crate) const MACHINE_TYPES: [&str; 2] = ["s1", "s2"];
/// The image that the config's catalogue names.
pub(crate) const IMAGE: &str = "squid-2026-11";
/// The rights that a key can have.
const RIGHTS: &[&str] = &["look", "make", "drop"];
/// How far the list is behind at most.
const LAG: Duration = Duration::from_secs(5);

/// What the backend keeps of a machine beside the usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) machine_type: String,
    pub(crate) image: String,
}

/// The list of a hall as it was at some time, machines by name.
type View = (Duration, Vec<(String, Value)>);

/// The API.
pub(crate) struct Api {
    pub(crate) store: Shared<Machine>,
    views: Mutex<BTreeMap<String, View>>,
}

/// An empty backend.
pub(crate) fn empty(token: Vec<u8>) -> Store<Machine> {
    let states = States {
        making: "queued",
        booting: "booting",
        up: "up",
        stopped: "halted",
        going: Some("dropping"),
        ..States::default()
    };
    let ways = Ways {
        work: Duration::from_secs(4),
        tasks: true,
        locks: true,
        rights: RIGHTS,
        states,
        addresses: ip,
        ..Ways::default()
    };
    Store::new(ways, ZONES).with_token(token)
}

/// The one address that a machine has.
fn ip(hall: usize, number: u16) -> Vec<(Source, IpAddr)> {
    leases(hall, number).into_iter().filter(|(_, address)| address.is_ipv4()).collect()
}

impl Api {
    pub(crate) fn new(store: Shared<Machine>) -> Self {
        Self { store, views: Mutex::default() }
    }

    /// The right that a request takes.
    fn right(request: &Request) -> Option<&'static str> {
        let (method, path) = request.route();
        match (method, path.len()) {
            ("GET", 3) => None,
            ("GET", _) => Some("look"),
            ("DELETE", _) => Some("drop"),
            _ => Some("make"),
        }
    }

    /// One page of the list, which is as old as it may be.
    fn list(&self, store: &mut Store<Machine>, hall: &str, cursor: Option<&str>) -> Result<Value, Refusal> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        let view = views.entry(hall.to_owned()).or_default();
        if store.now() >= view.0 + LAG {
            let (mut machines, mut next) = (Vec::new(), None);
            loop {
                let page = store.list(Some(hall), next.as_deref())?;
                machines.extend(page.items.iter().map(|it| (it.key.clone(), machine(store, it))));
                next = page.next;
                if next.is_none() {
                    break;
                }
            }
            *view = (store.now(), machines);
        }
        let page = page(view.1.clone(), |(key, _)| key.clone(), cursor, store.page_size)?;
        let machines: Vec<_> = page.items.into_iter().map(|(_, machine)| machine).collect();
        Ok(json!({"machines": machines, "cursor": page.next}))
    }
}

impl Fake for Api {
    /// What each request is, by the names of `src/backend.rs`.
    fn read(&self, request: &Request) -> Reading {
        let (method, path) = request.route();
        match (method, &path[..]) {
            ("GET", ["v2", "halls", hall]) => Reading::new("about", *hall),
            ("GET", ["v2", "halls", hall, "machines"]) => match request.query("name") {
                Some(name) => Reading::new("machine_find", *hall).about(name),
                None => Reading::new("machine_list", *hall),
            },
            ("GET", ["v2", "halls", hall, "tasks"]) => {
                Reading::new("task_list", *hall).about(request.query("name").unwrap_or_default())
            }
            ("POST", ["v2", "halls", hall, "machines"]) => {
                Reading::new("machine_create", *hall).about(name_in(request)).mutates().with_payload()
            }
            ("DELETE", ["v2", "halls", hall, "machines", id]) => {
                Reading::new("machine_delete", *hall).about(*id).mutates()
            }
            ("POST", ["v2", "halls", hall, "machines", id, "start"]) => {
                Reading::new("machine_start", *hall).about(*id).mutates()
            }
            _ => Reading::new("nonsense", "nowhere"),
        }
    }

    /// What each request does.
    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let (method, path) = request.route();
        let mut store = self.store.open();
        store.allows(request.header("x-stall-key").map(str::as_bytes), Self::right(request))?;
        let result = match (method, &path[..]) {
            ("GET", ["v2", "halls", hall]) => {
                // Whoever has a key may ask, and is told what it is good for.
                if store.ailing {
                    return Err(Refused("internal"));
                }
                let machines = store.instances.iter().filter(|record| record.place == *hall).count();
                let rights: Vec<_> = store.rights().collect();
                json!({"version": "2", "machines": machines, "limit": store.quota, "rights": rights})
            }
            ("GET", ["v2", "halls", hall, "machines"]) => match request.query("name") {
                Some(name) => {
                    let found = store.find(hall, name).map(|record| machine(&store, record));
                    json!({"machines": Vec::from_iter(found), "cursor": null})
                }
                None => self.list(&mut store, hall, request.query("cursor"))?,
            },
            ("GET", ["v2", "halls", hall, "machines", id]) => machine(&store, by_id(&store, hall, id)?),
            ("GET", ["v2", "halls", hall, "tasks"]) => {
                let tasks = store.tasks_of(request.query("name").unwrap_or_default());
                tasks.filter(|task| task.place == *hall).map(|it| self.task(&store, it)).collect()
            }
            ("POST", ["v2", "halls", hall, "machines"]) => {
                let new = new_machine(request).ok_or(Refused("invalid"))?;
                let made = store.make(hall, new)?;
                accepted(made.task.unwrap_or_default(), made.incarnation)
            }
            ("POST", ["v2", "halls", hall, "machines", id, "start"]) => {
                let name = by_id(&store, hall, id)?.key.clone();
                store.start(hall, &name)?;
                Value::Null
            }
            ("DELETE", ["v2", "halls", hall, "machines", id]) => {
                let (name, life) = by_id(&store, hall, id).map(|it| (it.key.clone(), it.incarnation))?;
                store.remove(hall, &name, Some(life))?;
                Value::Null
            }
            _ => return Err(Refused("gateway-404")),
        };
        Ok(http::json(200, &json!({"ok": true, "result": result})))
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let mut store = self.store.open();
        let path = request.route().1;
        if error.shows == Shows::Task {
            let new = new_machine(request).unwrap_or_default();
            let text = store.quotes.then(|| format!("{}: {}", error.text, sent(request)));
            let failure = Failure { id: error.id.to_owned(), text };
            let task = store.fail_at_once(path.get(2).unwrap_or(&""), &new.name, &new.marks, failure);
            let result = accepted(task, store.count());
            return http::json(200, &json!({"ok": true, "result": result}));
        }
        let named = name_in(request);
        let mut text = worded(error, &[("name", path.get(4).unwrap_or(&named.as_str()))]);
        if error.code.is_empty() {
            // Not the API's own.
            let status = error.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(502);
            return http::text(status, text);
        }
        if store.quotes {
            // The server quotes in what has a status of failure, and these have 200.
            text = format!("{text}: {}", sent(request));
        }
        let mut body = json!({"code": error.code, "text": text});
        if let Some(seconds) = error.field("retry-after").and_then(|seconds| seconds.parse::<u64>().ok()) {
            body["backoffMs"] = json!(seconds * 1000);
        }
        match error.id {
            "forbidden" => body["right"] = json!(store.revoked.or(Self::right(request))),
            "invalid" => body["field"] = json!("name"),
            "already-exists" => {
                let standing = store.find(path.get(2).unwrap_or(&""), &named);
                body["id"] = json!(standing.map(|record| format!("m-{}", record.incarnation)));
            }
            _ => {}
        }
        http::json(200, &json!({"ok": false, "error": body}))
    }

    fn quotes(&self) -> bool {
        self.store.open().quotes
    }

    fn credentials(&self, request: &Request) -> Option<String> {
        request.header("x-stall-key").map(str::to_owned)
    }
}

impl Api {
    /// A task as the API shows it.
    fn task(&self, store: &Store<Machine>, task: &Task) -> Value {
        let (state, error) = match store.outcome(task) {
            Outcome::Running => ("running", Value::Null),
            Outcome::Done => ("done", Value::Null),
            Outcome::Failed(Failure { id, text }) => {
                let native = CATALOGUE.get(id);
                let text = text.clone().or(native.map(|native| worded(native, &[("name", &task.name)])));
                ("failed", json!({"code": native.map(|native| native.code), "text": text}))
            }
        };
        json!({"task": format!("t-{}", task.id), "tags": task.marks, "state": state, "error": error})
    }
}

/// What was sent, as a refusal quotes it.
fn sent(request: &Request) -> String {
    let key = request.header("x-stall-key").unwrap_or_default();
    format!("{key} {}", String::from_utf8_lossy(request.body()))
}

/// The answer to a making that was accepted.
fn accepted(task: u64, life: u64) -> Value {
    json!({"task": format!("t-{task}"), "id": format!("m-{life}")})
}

/// The machine with that id.
fn by_id<'s>(store: &'s Store<Machine>, hall: &str, id: &str) -> Result<&'s Record<Machine>, Refusal> {
    let mut here = store.instances.iter().filter(|record| record.place == hall);
    here.find(|record| format!("m-{}", record.incarnation) == id).ok_or(Refusal::NotFound)
}

/// The body of a making; `None` where it makes no sense.
fn new_machine(request: &Request) -> Option<New<Machine>> {
    let body = request.json()?;
    let text = |field: &str| body[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let tag = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    let marks: Marks = body["tags"].as_object()?.iter().map(tag).collect::<Option<_>>()?;
    let size = text("size").filter(|size| MACHINE_TYPES.contains(&size.as_str()))?;
    let seed = BASE64.decode(body["seed"].as_str()?.as_bytes()).ok()?;
    let name = text("name")?;
    let delivered = Delivered { cloud_init: Some(seed), ..Delivered::default() };
    let own = Machine { machine_type: size, image: text("image")? };
    Some(New { key: name.clone(), name, marks, delivered, own, ..New::default() })
}

/// A machine as the API shows it. One that cannot be read has lost its id.
fn machine(store: &Store<Machine>, record: &Record<Machine>) -> Value {
    let address = store.addresses_of(record).into_iter().map(|(_, address)| address).next();
    let phase = store.state_of(record);
    let mut machine = json!({
        "id": format!("m-{}", record.incarnation),
        "name": record.name,
        "tags": record.marks,
        "size": record.own.machine_type,
        "image": record.own.image,
        "phase": phase,
        "why": (phase == "broken").then_some("its disk is lost"),
        "ip": address,
        "born": record.created,
    });
    if record.unreadable {
        machine["id"] = Value::Null;
    }
    machine
}

/// The name in the body of a request, if there is one.
fn name_in(request: &Request) -> String {
    let name = request.json().and_then(|body| Some(body["name"].as_str()?.to_owned()));
    name.unwrap_or_default()
}
