//! The fake: what the API answers, byte for byte, below the provider's own client. It shares no types with the client,
//! writes its bodies by hand and refuses what makes no sense; instances, time, quota, pages and rights are the kit's
//! store.

use provider_api::{NativeError, Secret};
use providertest::fake::{
    catalogue::worded,
    http::{self, Answer, Fake, Reading, Refused, Request, Route},
    store::{New, NewPart, Part, Parts, Record, Refusal, Shared, States, Store, Ways},
};
use serde_json::{Value, json};

/// The API's version.
pub(crate) const VERSION: &str = "r7";
/// The hosts that there are.
pub(crate) const TARGETS: [&str; 2] = ["eu-1", "eu-2"];
/// The sizes that the config names.
pub(crate) const MACHINE_TYPES: [&str; 2] = ["small", "large"];
/// The image that the config's catalogue names.
const IMAGE: &str = "base-squid-2026-11";
/// An image that it does not name.
pub(crate) const OTHER_IMAGE: &str = "base-lab/squid-7";

/// The rights that a token can have.
const READ: &str = "boxes:read";
const WRITE: &str = "boxes:write";
const DISKS: &str = "disks:write";

/// Every call by its name in `src/backend.rs`, with the right that it takes. Whoever has a token may ask a host about
/// itself, and is told what the token is good for.
const ROUTES: &[Route] = &[
    Route::new("about", "GET", "/info"),
    Route::new("box_list", "GET", "/boxes").needs(READ),
    Route::new("box_create", "PUT", "/boxes/{name}").needs(WRITE),
    Route::new("box_get", "GET", "/boxes/{name}").needs(READ),
    Route::new("box_delete", "DELETE", "/boxes/{name}").needs(WRITE),
    Route::new("box_start", "POST", "/boxes/{name}/power").needs(WRITE),
    Route::new("disk_list", "GET", "/disks").needs(READ),
    Route::new("seed_create", "PUT", "/disks/{name}").needs(DISKS).with_field("content").with_payload(),
    Route::new("system_create", "PUT", "/disks/{name}").needs(DISKS),
    Route::new("disk_delete", "DELETE", "/disks/{name}").needs(DISKS),
];

/// What a host keeps of a box beside the usual: nothing that anybody asks for.
pub(crate) type Machine = ();

/// The API of one host.
pub(crate) struct Api {
    target: &'static str,
    store: Shared<Machine>,
}

impl Api {
    pub(crate) fn new(target: &'static str, store: Shared<Machine>) -> Self {
        Self { target, store }
    }
}

/// Hosts with nothing on them but base disks.
pub(crate) fn empty(token: Vec<u8>) -> Store<Machine> {
    let ways = Ways {
        rights: &[READ, WRITE, DISKS],
        states: States {
            making: "starting",
            booting: "starting",
            up: "on",
            stopped: "off",
            going: Some("removing"),
            ..States::default()
        },
        parts: Parts::Explicit,
        parts_need_room: true,
        ..Ways::default()
    };
    Store::new(ways, TARGETS).with_token(token).with_shared([IMAGE, OTHER_IMAGE])
}

/// What a config says of this backend, beside the way there.
pub(crate) fn config() -> Value {
    json!({"images": {"squid": IMAGE}, "machineTypes": {MACHINE_TYPES[0]: 1, MACHINE_TYPES[1]: 4}})
}

/// A request that makes no sense.
pub(crate) fn nonsense(token: &str) -> Request {
    Request::new("PUT", "/boxes/nonsense")
        .with_header("authorization", &format!("Bearer {token}"))
        .with_json(&json!({"labels": {}, "cpus": 0, "disks": ["no-such-disk"]}))
}

impl Fake for Api {
    fn read(&self, request: &Request) -> Reading {
        Route::read(ROUTES, request, self.target)
    }

    /// What each call does.
    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let found = Route::find(ROUTES, request).ok_or(Refused("gateway-404"))?;
        let (target, name) = (self.target, found.part("name"));
        let mut store = self.store.open();
        store.allows(request.bearer().map(str::as_bytes), found.route.right)?;
        let result = match found.route.kind {
            "about" => about(&store, target)?,
            "box_list" => {
                let page = store.list(Some(target), request.query("after"))?;
                let boxes: Vec<_> = page.items.iter().map(|record| machine(&store, record)).collect();
                json!({"boxes": boxes, "next": page.next})
            }
            "box_get" => machine(&store, store.find(target, name).ok_or(Refusal::NotFound)?),
            "disk_list" => {
                let page = store.list_parts(target, request.query("after"))?;
                let disks: Vec<_> = page.items.iter().map(|it| part(&store, it)).collect();
                json!({"disks": disks, "next": page.next})
            }
            change => {
                self.change(&mut store, change, name, request)?;
                json!({})
            }
        };
        Ok(http::json(200, &result))
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let found = Route::find(ROUTES, request);
        let name = found.as_ref().map_or("", |found| found.subject());
        let scope = found.as_ref().and_then(|found| found.route.right).unwrap_or_default();
        let text = worded(error, &[("name", name), ("scope", scope)]);
        let body = json!({"errno": error.code.parse().unwrap_or(95), "error": text});
        http::refusal(error, text, &body)
    }

    /// It has fewer errors than the store has refusals.
    fn error_for(&self, Refused(id): Refused) -> &'static str {
        match id {
            // Another life under that name is none of that serial.
            "part-not-found" | "changed" => "not-found",
            "parts-missing" | "bad-page" => "invalid",
            id => id,
        }
    }

    fn message(&self) -> &'static str {
        "error"
    }

    fn quotes(&self) -> bool {
        self.store.open().quotes
    }

    fn credentials(&self, request: &Request) -> Option<String> {
        request.bearer().map(str::to_owned)
    }
}

impl Api {
    /// What changes something, and answers with no more than that it worked.
    fn change(
        &self,
        store: &mut Store<()>,
        kind: &str,
        name: &str,
        request: &Request,
    ) -> Result<(), Refusal> {
        match kind {
            "box_create" => {
                let body = request.object()?;
                let (marks, parts) = (body.texts("labels")?, body.list("disks")?);
                if body.number("cpus")? == 0 {
                    return Err(Refusal::Invalid);
                }
                let (key, name) = (name.to_owned(), name.to_owned());
                store.make(self.target, New { key, name, marks, parts, ..New::default() })?;
            }
            "box_delete" => store.remove(self.target, name, Some(serial(request)?))?,
            "box_start" if request.object()?.text("to")? == "on" => store.start(self.target, name)?,
            "system_create" | "seed_create" => {
                let body = request.object()?;
                let (shared, payload) = match (body.text("base"), body.base64("content")) {
                    (Ok(base), Err(_)) if store.has_shared(&base) => (vec![base], None),
                    (Err(_), Ok(content)) => (Vec::new(), Some(Secret::new(content))),
                    _ => return Err(Refusal::Invalid),
                };
                store.put_part(self.target, NewPart { name: name.to_owned(), shared, payload, own: () })?;
            }
            "disk_delete" => store.remove_part(self.target, name, Some(serial(request)?))?,
            _ => return Err(Refusal::Invalid),
        }
        Ok(())
    }
}

/// What a host says about itself.
fn about(store: &Store<Machine>, target: &str) -> Result<Value, Refused> {
    if store.ailing {
        return Err(Refused("unavailable"));
    }
    let boxes = store.instances.iter().filter(|record| record.place == target).count();
    let (scopes, free) = (store.rights().collect::<Vec<_>>(), if store.is_full() { 0 } else { 1u64 << 40 });
    Ok(json!({"revision": 7, "boxes": boxes, "poolFree": free, "scopes": scopes}))
}

/// A box as the daemon shows it. One that cannot be read has lost its serial.
fn machine(store: &Store<Machine>, record: &Record<Machine>) -> Value {
    let leases: Vec<_> = store.addresses_of(record).into_iter().map(|(_, address)| address).collect();
    let state = store.state_of(record);
    let (power, note) = match state.split_once(": ") {
        Some((power, note)) => (power, Some(note)),
        None => (state, (state == "paused").then_some("by hand")),
    };
    json!({
        "name": record.name,
        "serial": (!record.unreadable).then(|| record.incarnation.to_string()),
        "labels": record.marks,
        "power": power,
        "note": note,
        "leases": leases,
        "made": record.created,
    })
}

/// A disk as the daemon shows it.
fn part(store: &Store<Machine>, part: &Part<()>) -> Value {
    json!({
        "name": part.name,
        "serial": part.incarnation.to_string(),
        "usedBy": store.user_of(part).map(|record| &record.name),
        "made": part.created.to_string(),
    })
}

/// The life that a deletion is bound to.
fn serial(request: &Request) -> Result<u64, Refusal> {
    request.query("serial").and_then(|serial| serial.parse().ok()).ok_or(Refusal::Invalid)
}
