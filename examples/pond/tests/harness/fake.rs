//! The fake: what the API answers, byte for byte, below the provider's own client. It shares no types with the client,
//! writes its bodies by hand and refuses what makes no sense; instances, time, quota, pages and rights are the kit's
//! store.

use std::time::Duration;

use provider_api::{NativeError, Shows};
use provider_pond::CATALOGUE;
use providertest::{
    fake::{
        catalogue::worded,
        http::{self, Answer, Fake, Reading, Refused, Request, Route},
        store::{Failure, New, Outcome, Record, Refusal, Shared, States, Store, Task, Ways, uuid},
    },
    harness::Delivered,
};
use serde_json::{Value, json};

/// The API's version.
pub(crate) const VERSION: &str = "v1";
/// The regions that there are.
pub(crate) const TARGETS: [&str; 3] = ["eu-1", "eu-2", "eu-3"];
/// The machine types that there are.
pub(crate) const MACHINE_TYPES: [&str; 2] = ["small", "large"];
/// The image that the config's catalogue names.
const IMAGE: &str = "squid-2026-11";
/// An image that it does not name.
pub(crate) const OTHER_IMAGE: &str = "elsewhere.example/squid:7";

/// Every call by its name in `src/backend.rs`. No call says what a token may do.
const ROUTES: &[Route] = &[
    Route::new("machine_list", "GET", "/regions/{target}/machines"),
    Route::new("machine_create", "POST", "/regions/{target}/machines").named_by("name").with_payload(),
    Route::new("machine_get", "GET", "/regions/{target}/machines/{name}"),
    Route::new("machine_delete", "DELETE", "/regions/{target}/machines/{name}"),
    Route::new("machine_start", "POST", "/regions/{target}/machines/{name}/start"),
    Route::new("task_list", "GET", "/operations?machine={name}"),
];

/// What the backend keeps of a machine beside the usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) size: String,
    pub(crate) image: String,
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
        states: States {
            making: "creating",
            booting: "booting",
            up: "ready",
            stopped: "halted",
            going: Some("deleting"),
            ..States::default()
        },
        work: Duration::from_secs(4),
        tasks: true,
        locks: true,
        locking: &["creating", "booting"],
        lag: Duration::from_secs(4),
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
    Request::new("POST", &format!("/regions/{}/machines", TARGETS[0]))
        .with_header("authorization", &format!("Bearer {token}"))
        .with_json(&json!({"name": "", "size": "no-such-size"}))
}

impl Fake for Api {
    fn read(&self, request: &Request) -> Reading {
        Route::read(ROUTES, request, "nowhere")
    }

    /// What each call does.
    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let found = Route::find(ROUTES, request).ok_or(Refused("gateway-404"))?;
        let (target, name) = (found.part("target"), found.subject());
        let mut store = self.store.open();
        store.allows(request.bearer().map(str::as_bytes), found.route.right)?;
        let (status, result) = match found.route.kind {
            "machine_get" => (200, machine(&store, store.read(target, name)?)),
            "machine_list" if store.ailing => return Err(Refused("unavailable")),
            "machine_list" => {
                let page = store.list(Some(target), request.query("pageToken"))?;
                let items: Vec<_> = page.items.iter().map(|record| machine(&store, record)).collect();
                (200, json!({"items": items, "nextPageToken": page.next}))
            }
            "machine_create" => {
                let body = request.object()?;
                let (name, size, image) = (body.text("name")?, body.text("size")?, body.text("image")?);
                let (marks, data) = (body.texts("labels")?, body.base64("userData")?);
                if !MACHINE_TYPES.contains(&size.as_str()) {
                    return Err(Refusal::Invalid.into());
                }
                let delivered = Delivered { cloud_init: Some(data), ..Delivered::default() };
                let own = Machine { size, image };
                let new = New { key: name.clone(), name, marks, delivered, own, ..New::default() };
                let made = store.make(target, new)?;
                (202, operation(made.task.unwrap_or_default()))
            }
            "machine_start" => {
                store.start(target, name)?;
                (202, Value::Null)
            }
            "machine_delete" => {
                let life = life(&store, target, name, request)?;
                store.remove(target, name, life)?;
                (202, Value::Null)
            }
            "task_list" => {
                let tasks: Vec<_> = store.tasks_of(name).map(|known| task(&store, known)).collect();
                (200, json!({"items": tasks}))
            }
            _ => return Err(Refused("gateway-404")),
        };
        Ok(http::json(status, &result))
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
        let text = worded(error, &[("name", found.as_ref().map_or("", |found| found.subject()))]);
        let body = problem(error, &text);
        let mut answer = http::refusal(error, text, &body);
        let kind = if error.code.is_empty() { "text/html" } else { "application/problem+json" };
        answer.headers_mut().insert("content-type", kind.parse().expect("it is a header"));
        answer
    }

    fn message(&self) -> &'static str {
        "detail"
    }

    fn quotes(&self) -> bool {
        self.store.open().quotes
    }

    fn credentials(&self, request: &Request) -> Option<String> {
        request.bearer().map(str::to_owned)
    }
}

impl Api {
    /// Accepts a making whose task fails.
    fn accept_in_vain(&self, request: &Request, target: &str, error: &NativeError) -> Answer {
        let mut store = self.store.open();
        let body = request.object().unwrap_or_default();
        let (name, labels) =
            (body.text("name").unwrap_or_default(), body.texts("labels").unwrap_or_default());
        let sent = || format!("{}: {}", error.text, String::from_utf8_lossy(request.body()));
        let failure = Failure { id: error.id.to_owned(), text: store.quotes.then(sent) };
        let task = store.fail_at_once(target, &name, &labels, failure);
        http::json(202, &operation(task))
    }
}

/// An error as RFC 7807 has it.
fn problem(error: &NativeError, detail: &str) -> Value {
    json!({"type": "about:blank", "status": error.status, "detail": detail, "code": error.code})
}

/// How an operation that was accepted is told.
fn operation(task: u64) -> Value {
    json!({"operation": format!("op-{task}")})
}

/// A machine as the API shows it. One that cannot be read has lost its uid.
fn machine(store: &Store<Machine>, record: &Record<Machine>) -> Value {
    let addresses: Vec<_> = store.addresses_of(record).into_iter().map(|(_, address)| address).collect();
    json!({
        "uid": (!record.unreadable).then(|| uuid(record.incarnation)),
        "name": record.name,
        "labels": record.marks,
        "size": record.own.size,
        "image": record.own.image,
        "state": store.state_of(record),
        "addresses": addresses,
        "createdAt": record.created,
    })
}

/// A task as the API shows it.
fn task(store: &Store<Machine>, task: &Task) -> Value {
    let error = match store.outcome(task) {
        Outcome::Failed(Failure { id, text }) => CATALOGUE.get(id).map(|native| {
            let text = text.clone().unwrap_or_else(|| worded(native, &[("name", &task.name)]));
            problem(native, &text)
        }),
        Outcome::Running | Outcome::Done => None,
    };
    let state = match store.outcome(task) {
        Outcome::Running => "pending",
        Outcome::Done => "done",
        Outcome::Failed(_) => "failed",
    };
    let mut shown = operation(task.id);
    shown["machine"] = json!(task.name);
    shown["region"] = json!(task.place);
    shown["labels"] = json!(task.marks);
    shown["status"] = json!(state);
    shown["error"] = json!(error);
    shown
}

/// The life that a deletion is bound to, where it is bound to one.
fn life(store: &Store<Machine>, target: &str, name: &str, request: &Request) -> Result<Option<u64>, Refused> {
    let Some(uid) = request.query("uid") else { return Ok(None) };
    let life = store.find(target, name).ok_or(Refused("not-found"))?.incarnation;
    if uuid(life) == uid { Ok(Some(life)) } else { Err(Refused("changed")) }
}
