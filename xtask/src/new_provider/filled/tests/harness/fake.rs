//! The fake: what the API answers, byte for byte, below the provider's own client. It shares no types with the client,
//! writes its bodies by hand and refuses what makes no sense; instances, time, quota, pages and rights are the kit's
//! store.

// long: it has the lines of every shape, of which a crate gets one

//@if tasks
use std::time::Duration;

//@end
use provider_api::{
    NativeError,
    //@if parts
    Secret,
    //@end
    //@if tasks
    Shows,
    //@end
};
//@if tasks
//@if places
use provider_newcloud::{CATALOGUE, TARGET};
//@else
use provider_newcloud::CATALOGUE;
//@end
//@else
//@if places
use provider_newcloud::TARGET;
//@end
//@end
use providertest::{
    fake::{
        catalogue::worded,
        http::{self, Answer, Fake, Reading, Refused, Request, Route},
        store::{
            //@if parts
            NewPart, Part, Parts,
            //@end
            //@if tasks
            Failure, Outcome, Task,
            //@end
            New, Page, Record, Refusal, Shared, States, Store, Ways,
        },
    },
    //@if not parts
    harness::Delivered,
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
    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let found = Route::find(ROUTES, request).ok_or(Refused("gateway-404"))?;
        //@if zones
        let (target, name) = (found.part("target"), found.part("name"));
        //@end
        //@if endpoints
        let (target, name) = (self.target, found.part("name"));
        //@end
        //@if places
        let name = found.part("name");
        //@end
        let mut store = self.store.open();
        store.allows(request.bearer().map(str::as_bytes), found.route.right)?;
        //@if places
        // A name is one of the whole API.
        let place = store.named(name).map(|record| record.place.clone()).unwrap_or_default();
        let target = place.as_str();
        //@end
        let mut result = Value::Null;
        match found.route.kind {
            //@if places
            "about" => result = about(&store)?,
            //@else
            "about" => result = about(&store, target)?,
            //@end
            "newmachine_get" => result = machine(&store, store.find(target, name).ok_or(Refusal::NotFound)?),
            //@if places
            "newmachine_create" => {
                let place = request.object()?.text("newzone")?;
                //@if wait
                result = json!({"task": store.make(&place, new_machine(request)?)?.task});
                //@else
                store.make(&place, new_machine(request)?)?;
                //@end
            }
            //@else
            //@if wait
            "newmachine_create" => result = json!({"task": store.make(target, new_machine(request)?)?.task}),
            //@else
            "newmachine_create" => drop(store.make(target, new_machine(request)?)?),
            //@end
            //@end
            //@if wait
            "task_get" => {
                let number = found.part("task").parse().map_err(|_| Refusal::TaskNotFound)?;
                result = task(&store, store.task(number)?);
            }
            //@end
            "newmachine_start" => store.start(target, name)?,
            "newmachine_delete" => store.remove(target, name, Some(life(request)?))?,
            //@if parts
            "newdisk_create" => {
                let new = new_part(&store, name, request)?;
                store.put_part(target, new)?;
            }
            "newdisk_delete" => store.remove_part(target, name, Some(life(request)?))?,
            "newdisk_list" => {
                //@if whole
                let page = store.list_parts(target, None)?;
                //@else
                let page = store.list_parts(target, request.query("page"))?;
                //@end
                let items: Vec<_> = page.items.iter().map(|it| part(&store, it)).collect();
                result = listed(&items, &page);
            }
            //@end
            //@if late
            //@if places
            "task_list" => result = store.tasks_of(name).map(|it| task(&store, it)).collect(),
            //@else
            "task_list" => {
                let tasks = store.tasks_of(name).filter(|task| task.place == target);
                result = tasks.map(|it| task(&store, it)).collect();
            }
            //@end
            //@end
            _ => {
                //@if places
                let place = None;
                //@else
                let place = Some(target);
                //@end
                //@if whole
                let page = store.list(place, None)?;
                //@else
                let page = store.list(place, request.query("page"))?;
                //@end
                let items: Vec<_> = page.items.iter().map(|record| machine(&store, record)).collect();
                result = listed(&items, &page);
            }
        }
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

/// A page of a listing as the API shows it.
//@if whole
fn listed<T>(items: &[Value], _: &Page<T>) -> Value {
//@else
fn listed<T>(items: &[Value], page: &Page<T>) -> Value {
//@end
    //@if tokens
    json!({"items": items, "nextPage": page.next})
    //@end
    //@if numbers
    let next = page.next.as_deref().and_then(|next| next.parse::<u64>().ok());
    json!({"items": items, "nextPage": next, "total": page.total})
    //@end
    //@if whole
    json!({"items": items})
    //@end
}

/// The life that the id of a deletion stands for. Without one it is refused.
fn life(request: &Request) -> Result<u64, Refused> {
    let id = request.query("id").and_then(|id| id.split_once('-')?.1.parse().ok());
    id.ok_or(Refused("changed"))
}

/// Reads the body of a new machine strictly.
fn new_machine(request: &Request) -> Result<New<Machine>, Refusal> {
    let body = request.object()?;
    let (name, machine_type) = (body.text("name")?, body.text("machineType")?);
    if !MACHINE_TYPES.contains(&machine_type.as_str()) {
        return Err(Refusal::Invalid);
    }
    let (key, marks, own) = (name.clone(), body.texts("labels")?, Machine { machine_type });
    //@if parts
    Ok(New { key, name, marks, own, parts: body.list("newdisks")?, ..New::default() })
    //@else
    body.text("image")?;
    let delivered = Delivered { cloud_init: Some(body.base64("userData")?), ..Delivered::default() };
    Ok(New { key, name, marks, own, delivered, ..New::default() })
    //@end
}
//@if parts

/// Reads the body of a new part strictly: a copy of an image, or one with that content.
fn new_part(store: &Store<Machine>, name: &str, request: &Request) -> Result<NewPart<()>, Refusal> {
    let body = request.object()?;
    let (shared, payload) = match (body.text("image"), body.base64("content")) {
        (Ok(image), Err(_)) if store.has_shared(&image) => (vec![image], None),
        (Err(_), Ok(content)) => (Vec::new(), Some(Secret::new(content))),
        _ => return Err(Refusal::Invalid),
    };
    Ok(NewPart { name: name.to_owned(), shared, payload, own: () })
}
//@end
