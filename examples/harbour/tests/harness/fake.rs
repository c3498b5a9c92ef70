//! The fake: what the API answers, byte for byte, below the provider's own client. It shares no types with the client,
//! writes its bodies by hand and refuses what makes no sense; instances, time, quota, pages and rights are the kit's
//! store.

use std::time::Duration;

use provider_api::{NativeError, Shows};
use provider_harbour::{CATALOGUE, TARGET};
use providertest::{
    fake::{
        catalogue::worded,
        http::{self, Answer, Fake, Reading, Refused, Request, Route},
        store::{Failure, New, Outcome, Record, Shared, States, Store, Task, Ways},
    },
    harness::Delivered,
};
use serde_json::{Value, json};

/// The API's version.
pub(crate) const VERSION: &str = "v2";
/// The locations that there are.
pub(crate) const PLACES: [&str; 2] = ["eu-1", "eu-2"];
/// The machine types that there are.
pub(crate) const MACHINE_TYPES: [&str; 2] = ["small", "large"];
/// The image that the config's catalogue names.
const IMAGE: &str = "squid-2026-11";
/// An image that it does not name.
pub(crate) const OTHER_IMAGE: &str = "elsewhere.example/squid:7";

/// The most rows of a page.
const MAX_PAGE: usize = 50;

/// The rights that a token can have.
const READ: &str = "servers.read";
const WRITE: &str = "servers.write";

/// Every call by its name in `src/backend.rs`, with the right that it takes.
const ROUTES: &[Route] = &[
    Route::new("server_get", "GET", "/v2/servers?name={name}").needs(READ),
    Route::new("server_list", "GET", "/v2/servers").needs(READ),
    Route::new("server_create", "POST", "/v2/servers").needs(WRITE).named_by("name").with_payload(),
    Route::new("server_delete", "DELETE", "/v2/servers/{number}").needs(WRITE),
    Route::new("action_get", "GET", "/v2/actions/{number}").needs(READ),
];

/// What the backend keeps of a machine beside the usual: nothing that it shows.
pub(crate) type Machine = ();

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
        // A check cannot see that the other one is missing: nobody is told, and to try it out is to change something.
        rights: &[READ],
        states: States {
            making: "initializing",
            booting: "starting",
            stopped: "off",
            going: Some("deleting"),
            ..States::default()
        },
        work: Duration::from_secs(4),
        tasks: true,
        locks: true,
        numbered_pages: true,
        wide_keys: true,
        lag: Duration::from_secs(4),
        one_address: true,
        ..Ways::default()
    };
    let mut store = Store::new(ways, PLACES).with_token(token);
    store.page_size = MAX_PAGE;
    store
}

/// What a config says of this backend, beside the way there.
pub(crate) fn config() -> Value {
    json!({"images": {"squid": IMAGE}, "machineTypes": MACHINE_TYPES})
}

/// A request that makes no sense.
pub(crate) fn nonsense(token: &str) -> Request {
    Request::new("POST", "/v2/servers")
        .with_header("authorization", &format!("Bearer {token}"))
        .with_json(&json!({"name": "", "type": "no-such-type"}))
}

impl Fake for Api {
    fn read(&self, request: &Request) -> Reading {
        Route::read(ROUTES, request, TARGET)
    }

    /// What each call does.
    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let found = Route::find(ROUTES, request).ok_or(Refused("gateway-404"))?;
        let mut store = self.store.open();
        store.allows(request.bearer().map(str::as_bytes), found.route.right)?;
        let number = found.part("number").parse();
        let (status, result) = match found.route.kind {
            "server_get" => {
                let found = store.named(found.part("name")).map(|record| server(&store, record));
                (200, json!({"servers": Vec::from_iter(found)}))
            }
            "server_create" => {
                let made = store.make(&request.object()?.text("location")?, new(request)?)?;
                let record = store.instances.iter().find(|record| record.incarnation == made.incarnation);
                let server = record.map(|record| server(&store, record));
                (202, json!({"server": server, "action": {"id": made.task, "status": "running"}}))
            }
            "action_get" => {
                let task = store.task(number.map_err(|_| Refused("task-not-found"))?)?;
                (200, json!({"action": action(&store, task)}))
            }
            "server_delete" => {
                let record = store.instances.iter().find(|record| Ok(record.incarnation) == number);
                let record = record.ok_or(Refused("not-found"))?.clone();
                store.remove(&record.place, &record.key, Some(record.incarnation))?;
                (202, json!({"action": {"id": store.count(), "status": "running"}}))
            }
            _ if store.ailing => return Err(Refused("unavailable")),
            _ => {
                let size = request.query("per_page").and_then(|size| size.parse().ok());
                size.filter(|size| (1..=MAX_PAGE).contains(size)).ok_or(Refused("bad-page"))?;
                let page = store.list(None, request.query("page"))?;
                let servers: Vec<_> = page.items.iter().map(|record| server(&store, record)).collect();
                let next = page.next.and_then(|next| next.parse::<u64>().ok());
                (200, json!({"servers": servers, "meta": {"total": page.total, "next_page": next}}))
            }
        };
        Ok(http::json(status, &result))
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let found = Route::find(ROUTES, request);
        if error.shows == Shows::Task {
            return self.accept_in_vain(request, error);
        }
        let text = worded(error, &[("name", found.as_ref().map_or("", |found| found.subject()))]);
        let body = json!({"error": {"code": error.code, "message": text}});
        let mut refusal = http::refusal(error, text, &body);
        if let Some(seconds) = error.field("retry-after").and_then(|seconds| seconds.parse::<i64>().ok()) {
            // It says at which time the limit is lifted, and not in how long.
            let time = self.store.open().stamp().as_unix() + seconds;
            refusal.headers_mut().remove("retry-after");
            refusal.headers_mut().insert("ratelimit-reset", time.into());
        }
        refusal
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
    fn accept_in_vain(&self, request: &Request, error: &NativeError) -> Answer {
        let mut store = self.store.open();
        let body = request.object().unwrap_or_default();
        let place = body.text("location").unwrap_or_default();
        let (name, labels) =
            (body.text("name").unwrap_or_default(), body.texts("labels").unwrap_or_default());
        let sent = || format!("{}: {}", error.text, String::from_utf8_lossy(request.body()));
        let failure = Failure { id: error.id.to_owned(), text: store.quotes.then(sent) };
        let task = store.fail_at_once(&place, &name, &labels, failure);
        http::json(202, &json!({"action": {"id": task, "status": "running"}}))
    }
}

/// What a making asks for.
fn new(request: &Request) -> Result<New<Machine>, Refused> {
    let (body, label) = (request.object()?, |text: &str| {
        text.len() <= 63 && text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
    });
    let (name, marks) = (body.text("name")?, body.texts("labels")?);
    let known = MACHINE_TYPES.contains(&&*body.text("type")?)
        && [IMAGE, OTHER_IMAGE].contains(&&*body.text("image")?);
    if !known || !marks.iter().all(|(key, value)| label(key) && label(value)) {
        return Err(Refused("invalid"));
    }
    let delivered = Delivered { cloud_init: Some(body.base64("user_data")?), ..Delivered::default() };
    Ok(New { key: name.clone(), name, marks, delivered, ..New::default() })
}

/// A server as the API shows it. One that cannot be read has lost its number.
fn server(store: &Store<Machine>, record: &Record<Machine>) -> Value {
    json!({
        "id": (!record.unreadable).then_some(record.incarnation),
        "name": record.name,
        "status": store.state_of(record),
        "location": record.place,
        "created": record.created,
        "labels": record.marks,
        "public_ip": store.addresses_of(record).first().map(|(_, address)| address),
    })
}

/// An action as the API shows it.
fn action(store: &Store<Machine>, task: &Task) -> Value {
    let (status, error) = match store.outcome(task) {
        Outcome::Running => ("running", None),
        Outcome::Done => ("success", None),
        Outcome::Failed(Failure { id, text }) => {
            let error = CATALOGUE.get(id).map(|native| {
                let text = text.clone().unwrap_or_else(|| worded(native, &[("name", &task.name)]));
                json!({"code": native.code, "message": text})
            });
            ("error", error)
        }
    };
    json!({"id": task.id, "status": status, "error": error})
}
