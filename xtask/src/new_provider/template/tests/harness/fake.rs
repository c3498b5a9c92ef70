//! The fake: what the API answers, byte for byte, below the provider's own client. It shares no types with the client,
//! writes its bodies by hand and refuses what makes no sense; instances, time, quota, pages and rights are the kit's
//! store.
#![expect(dead_code, reason = "for routes that are still to be written; then the compiler asks to remove it")]

//@if tasks
use std::time::Duration;

use provider_api::{NativeError, Shows};
//@if places
use provider_newcloud::{CATALOGUE, TARGET};
//@else
use provider_newcloud::CATALOGUE;
//@end
//@else
use provider_api::NativeError;
//@if places
use provider_newcloud::TARGET;
//@end
//@end
use providertest::fake::{
    catalogue::worded,
    http::{self, Answer, Fake, Reading, Refused, Request, Route},
    //@if parts tasks
    store::{
        //@if parts
        Part, Parts,
        //@end
        //@if tasks
        Failure, Outcome, Task,
        //@end
        Record, Shared, States, Store, Ways,
    },
    //@else
    store::{Record, Shared, States, Store, Ways},
    //@end
};
use serde_json::{Value, json};

/// The API's version.
pub(crate) const VERSION: &str = "v1";
/// The newzones that there are.
//@if places
pub(crate) const PLACES: [&str; 2] = ["eu-1", "eu-2"];
//@else
pub(crate) const TARGETS: [&str; 2] = ["eu-1", "eu-2"];
//@end
/// The machine types that there are.
pub(crate) const MACHINE_TYPES: [&str; 2] = ["small", "large"];
/// The image that the config's catalogue names.
const IMAGE: &str = "squid-2026-11";
/// An image that it does not name.
pub(crate) const OTHER_IMAGE: &str = "elsewhere.example/squid:7";

/// The rights that a token can have.
const READ: &str = "newmachines.read";
const WRITE: &str = "newmachines.write";

//@if places
/// Every call by its name in `src/backend.rs`, with the right that it takes. Whoever has a token may ask the API about
/// itself, and is told what the token is good for.
//@else
/// Every call by its name in `src/backend.rs`, with the right that it takes. Whoever has a token may ask a newzone about
/// itself, and is told what the token is good for.
//@end
const ROUTES: &[Route] = &[
    //@if endpoints places
    Route::new("about", "GET", "/v1/about"),
    Route::new("newmachine_list", "GET", "/v1/newmachines").needs(READ),
    //@if parts
    Route::new("newmachine_create", "POST", "/v1/newmachines").needs(WRITE).named_by("name"),
    //@else
    Route::new("newmachine_create", "POST", "/v1/newmachines").needs(WRITE).named_by("name").with_payload(),
    //@end
    Route::new("newmachine_get", "GET", "/v1/newmachines/{name}").needs(READ),
    Route::new("newmachine_delete", "DELETE", "/v1/newmachines/{name}").needs(WRITE),
    Route::new("newmachine_start", "POST", "/v1/newmachines/{name}/start").needs(WRITE),
    //@if parts
    Route::new("newdisk_list", "GET", "/v1/newdisks").needs(READ),
    Route::new("newdisk_create", "PUT", "/v1/newdisks/{name}").needs(WRITE).with_payload(),
    Route::new("newdisk_delete", "DELETE", "/v1/newdisks/{name}").needs(WRITE),
    //@end
    //@if late
    Route::new("task_list", "GET", "/v1/tasks?name={name}").needs(READ),
    //@end
    //@if wait
    Route::new("task_get", "GET", "/v1/tasks/{task}").needs(READ),
    //@end
    //@else
    Route::new("about", "GET", "/v1/newzones/{target}/about"),
    Route::new("newmachine_list", "GET", "/v1/newzones/{target}/newmachines").needs(READ),
    //@if parts
    Route::new("newmachine_create", "POST", "/v1/newzones/{target}/newmachines").needs(WRITE).named_by("name"),
    //@else
    Route::new("newmachine_create", "POST", "/v1/newzones/{target}/newmachines").needs(WRITE).named_by("name").with_payload(),
    //@end
    Route::new("newmachine_get", "GET", "/v1/newzones/{target}/newmachines/{name}").needs(READ),
    Route::new("newmachine_delete", "DELETE", "/v1/newzones/{target}/newmachines/{name}").needs(WRITE),
    Route::new("newmachine_start", "POST", "/v1/newzones/{target}/newmachines/{name}/start").needs(WRITE),
    //@if parts
    Route::new("newdisk_list", "GET", "/v1/newzones/{target}/newdisks").needs(READ),
    Route::new("newdisk_create", "PUT", "/v1/newzones/{target}/newdisks/{name}").needs(WRITE).with_payload(),
    Route::new("newdisk_delete", "DELETE", "/v1/newzones/{target}/newdisks/{name}").needs(WRITE),
    //@end
    //@if late
    Route::new("task_list", "GET", "/v1/newzones/{target}/tasks?name={name}").needs(READ),
    //@end
    //@if wait
    Route::new("task_get", "GET", "/v1/newzones/{target}/tasks/{task}").needs(READ),
    //@end
    //@end
];

/// What the backend keeps of a machine beside the usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) machine_type: String,
}

//@if endpoints
/// The API of one newzone.
pub(crate) struct Api {
    target: &'static str,
    store: Shared<Machine>,
}

impl Api {
    pub(crate) fn new(target: &'static str, store: Shared<Machine>) -> Self {
        Self { target, store }
    }
}
//@else
/// The API.
pub(crate) struct Api {
    store: Shared<Machine>,
}

impl Api {
    pub(crate) fn new(store: Shared<Machine>) -> Self {
        Self { store }
    }
}
//@end

/// An empty backend. TO ADAPT: how yours behaves, and what it calls its states.
pub(crate) fn empty(token: Vec<u8>) -> Store<Machine> {
    let ways = Ways {
        rights: &[READ, WRITE],
        states: States { making: "starting", booting: "starting", going: Some("deleting"), ..States::default() },
        //@if parts
        parts: Parts::Explicit,
        //@end
        //@if tasks
        work: Duration::from_secs(4),
        tasks: true,
        locks: true,
        //@end
        //@if numbers
        numbered_pages: true,
        //@end
        //@if places
        wide_keys: true,
        //@end
        ..Ways::default()
    };
    //@if whole
    //@if parts
    let mut store = Store::new(ways, TARGETS).with_token(token).with_shared([IMAGE, OTHER_IMAGE]);
    //@end
    //@if places
    let mut store = Store::new(ways, PLACES).with_token(token);
    //@end
    //@if not parts places
    let mut store = Store::new(ways, TARGETS).with_token(token);
    //@end
    store.page_size = usize::MAX;
    store
    //@else
    //@if parts
    Store::new(ways, TARGETS).with_token(token).with_shared([IMAGE, OTHER_IMAGE])
    //@end
    //@if places
    Store::new(ways, PLACES).with_token(token)
    //@end
    //@if not parts places
    Store::new(ways, TARGETS).with_token(token)
    //@end
    //@end
}

/// What a config says of this backend, beside the way there.
pub(crate) fn config() -> Value {
    json!({"images": {"squid": IMAGE}, "machineTypes": MACHINE_TYPES})
}

/// A request that makes no sense.
pub(crate) fn nonsense(token: &str) -> Request {
    //@if endpoints places
    Request::new("POST", "/v1/newmachines")
    //@else
    Request::new("POST", &format!("/v1/newzones/{}/newmachines", TARGETS[0]))
    //@end
        .with_header("authorization", &format!("Bearer {token}"))
        .with_json(&json!({"name": "", "machineType": "no-such-type"}))
}

impl Fake for Api {
    fn read(&self, request: &Request) -> Reading {
        //@if zones
        Route::read(ROUTES, request, "nowhere")
        //@end
        //@if endpoints
        Route::read(ROUTES, request, self.target)
        //@end
        //@if places
        Route::read(ROUTES, request, TARGET)
        //@end
    }

    /// What each call does.
    // TO WRITE: the result of each call, about 50 lines together, in the order in which the provider comes to make them.
    //
    //@if places
    // #. newmachine_get: `store.named`, shown by `machine`; `Refusal::NotFound` where there is none. The others need its place.
    //@else
    // #. newmachine_get: `store.find`, shown by `machine`; `Refusal::NotFound` where there is none.
    //@end
    //@if late
    //@if places
    // #. task_list: `store.tasks_of` the name, each shown by `task`.
    //@else
    // #. task_list: `store.tasks_of` the name, in the target, each shown by `task`.
    //@end
    //@end
    //@if parts
    // #. newdisk_create: read the body by `request.object()` and refuse what makes no sense with `Refused("invalid")`: neither
    //    an image that there is nor content. Then `store.put_part`.
    // #. newmachine_create: read the body by `request.object()`, of which `Refusal::Invalid` comes by itself; refuse an unknown
    //    machine type too. Then `store.make`, of its parts.
    //@else
    // #. newmachine_create: read the body by `request.object()`, of which `Refusal::Invalid` comes by itself; refuse an unknown
    //    machine type too. Then `store.make`, whose `delivered` has what reaches the machine.
    //@end
    //@if wait
    //    The answer has the number of its task, which `store.make` gives.
    // #. task_get: `store.task` of that number, shown by `task`.
    //@end
    // #. newmachine_start: `store.start`.
    // #. newmachine_delete: `store.remove`, of the `life` of its id only.
    //@if parts
    // #. newdisk_list: `store.list_parts`, each shown by `part`; newdisk_delete: `store.remove_part`, likewise of its `life`.
    //@end
    //@if tokens
    // #. newmachine_list: `store.list`, whose `next` is the next page's token.
    //@end
    //@if numbers
    // #. newmachine_list: `store.list`, whose `next` is the next page's number, and its `total`.
    //@end
    //@if whole
    // #. newmachine_list: `store.list`, which is whole.
    //@end
    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let found = Route::find(ROUTES, request).ok_or(Refused("gateway-404"))?;
        //@if zones
        let target = found.part("target");
        //@end
        //@if endpoints
        let target = self.target;
        //@end
        let store = self.store.open();
        store.allows(request.bearer().map(str::as_bytes), found.route.right)?;
        let result = match found.route.kind {
            //@if places
            "about" => about(&store)?,
            //@else
            "about" => about(&store, target)?,
            //@end
            _ => return Ok(unwritten(&found.route)),
        };
        Ok(http::json(200, &result))
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let found = Route::find(ROUTES, request);
        //@if tasks
        if error.shows == Shows::Task {
            //@if zones
            return self.accept_in_vain(request, found.as_ref().map_or("", |found| found.part("target")), error);
            //@end
            //@if endpoints
            return self.accept_in_vain(request, self.target, error);
            //@end
            //@if places
            return self.accept_in_vain(request, error);
            //@end
        }
        //@end
        let text = worded(error, &[("name", found.as_ref().map_or("", |found| found.subject()))]);
        let body = json!({"error": {"code": error.code, "message": text}});
        //@if reset
        let mut refusal = http::refusal(error, text, &body);
        if let Some(seconds) = error.field("retry-after").and_then(|seconds| seconds.parse::<i64>().ok()) {
            // It says at which time the limit is lifted, and not in how long.
            let time = self.store.open().stamp().as_unix() + seconds;
            refusal.headers_mut().remove("retry-after");
            refusal.headers_mut().insert("newreset", time.into());
        }
        refusal
        //@else
        http::refusal(error, text, &body)
        //@end
    }

    //@if parts
    /// It has fewer errors than the store has refusals.
    fn error_for(&self, Refused(id): Refused) -> &'static str {
        match id {
            "part-not-found" => "not-found",
            "parts-missing" => "invalid",
            id => id,
        }
    }

    //@end
    fn quotes(&self) -> bool {
        self.store.open().quotes
    }

    fn credentials(&self, request: &Request) -> Option<String> {
        request.bearer().map(str::to_owned)
    }
}

//@if tasks
impl Api {
    /// Accepts a making whose task fails.
    //@if places
    fn accept_in_vain(&self, request: &Request, error: &NativeError) -> Answer {
        let mut store = self.store.open();
        let body = request.object().unwrap_or_default();
        let place = body.text("newzone").unwrap_or_default();
    //@else
    fn accept_in_vain(&self, request: &Request, target: &str, error: &NativeError) -> Answer {
        let mut store = self.store.open();
        let body = request.object().unwrap_or_default();
    //@end
        let (name, labels) = (body.text("name").unwrap_or_default(), body.texts("labels").unwrap_or_default());
        let sent = || format!("{}: {}", error.text, String::from_utf8_lossy(request.body()));
        let failure = Failure { id: error.id.to_owned(), text: store.quotes.then(sent) };
        //@if places
        let task = store.fail_at_once(&place, &name, &labels, failure);
        //@else
        let task = store.fail_at_once(target, &name, &labels, failure);
        //@end
        http::json(200, &json!({"task": task}))
    }
}

//@end
//@if places
/// What the API says about itself.
fn about(store: &Store<Machine>) -> Result<Value, Refused> {
//@else
/// What a newzone says about itself.
fn about(store: &Store<Machine>, target: &str) -> Result<Value, Refused> {
//@end
    if store.ailing {
        return Err(Refused("unavailable"));
    }
    //@if places
    let machines = store.instances.len();
    //@else
    let machines = store.instances.iter().filter(|record| record.place == target).count();
    //@end
    let rights: Vec<_> = store.rights().collect();
    Ok(json!({"version": "1", "newmachines": machines, "quota": store.quota, "rights": rights}))
}

/// A machine as the API shows it. One that cannot be read has lost its id.
fn machine(store: &Store<Machine>, record: &Record<Machine>) -> Value {
    let addresses: Vec<_> = store.addresses_of(record).into_iter().map(|(_, address)| address).collect();
    json!({
        "id": (!record.unreadable).then(|| format!("m-{}", record.incarnation)),
        "name": record.name,
        "labels": record.marks,
        "machineType": record.own.machine_type,
        //@if places
        "newzone": record.place,
        //@end
        "status": store.state_of(record),
        "addresses": addresses,
        "createdAt": record.created,
    })
}
//@if parts

/// A part as the API shows it.
fn part(store: &Store<Machine>, part: &Part<()>) -> Value {
    json!({
        "id": format!("d-{}", part.incarnation),
        "name": part.name,
        "usedBy": store.user_of(part).map(|record| &record.name),
        "createdAt": part.created.to_string(),
    })
}
//@end
//@if tasks

/// A task as the API shows it.
fn task(store: &Store<Machine>, task: &Task) -> Value {
    let error = match store.outcome(task) {
        Outcome::Failed(Failure { id, text }) => CATALOGUE.get(id).map(|native| {
            let text = text.clone().unwrap_or_else(|| worded(native, &[("name", &task.name)]));
            json!({"code": native.code, "message": text})
        }),
        Outcome::Running | Outcome::Done => None,
    };
    //@if wait
    json!({"id": task.id, "done": store.outcome(task) != Outcome::Running, "error": error})
    //@else
    json!({"id": format!("t-{}", task.id), "labels": task.marks, "error": error})
    //@end
}
//@end

/// The life that the id of a deletion stands for. Without one it is refused.
fn life(request: &Request) -> Result<u64, Refused> {
    let id = request.query("id").and_then(|id| id.split_once('-')?.1.parse().ok());
    id.ok_or(Refused("changed"))
}

/// The answer of a route that is still to be written.
fn unwritten(route: &Route) -> Answer {
    let text = format!("{} {} is not written yet: write it in {}", route.method, route.path, file!());
    http::json(501, &json!({"error": {"code": "routeOfFakeNotWritten", "message": text}}))
}
