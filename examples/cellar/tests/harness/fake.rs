//! The fake: what the daemon of one host answers, byte for byte, below the provider's own client. It shares no types with
//! the client, writes its bodies by hand and refuses what makes no sense; boxes, disks, time, quota, pages and scopes are
//! the kit's store, which all hosts share.

use data_encoding::BASE64;
use provider_api::{NativeError, Secret};
use providertest::{
    fake::{
        catalogue::worded,
        http::{self, Answer, Body, Fake, Reading, Refused, Request},
        store::{New, NewPart, Part, Parts, Record, Refusal, Shared, States, Store, Ways, page},
    },
    harness::Delivered,
};
use serde_json::{Value, json};

/// The hosts that there are.
pub(crate) const HOSTS: [&str; 2] = ["eu-1", "eu-2"];
/// The base disk that the config's catalogue names.
pub(crate) const BASE: &str = "base-squid-2026-11";
/// One that it does not name.
pub(crate) const OTHER_BASE: &str = "base-lab/squid-7";
/// The scopes that a token can have.
const SCOPES: &[&str] = &["boxes:read", "boxes:write", "disks:write"];

/// What a host keeps of a box beside the usual: nothing that anybody asks for.
pub(crate) type Machine = ();

/// The daemon of one host.
pub(crate) struct Api {
    pub(crate) host: &'static str,
    pub(crate) store: Shared<Machine>,
}

/// Hosts with nothing on them but base disks.
pub(crate) fn empty(token: Vec<u8>) -> Store<Machine> {
    let states = States {
        making: "starting",
        booting: "starting",
        up: "on",
        stopped: "off",
        going: Some("removing"),
        ..States::default()
    };
    let ways = Ways { rights: SCOPES, states, parts: Parts::Explicit, ..Ways::default() };
    Store::new(ways, HOSTS).with_token(token).with_shared([BASE, OTHER_BASE])
}

impl Fake for Api {
    /// What each request is, by the names of `src/backend.rs`.
    fn read(&self, request: &Request) -> Reading {
        let (method, path) = request.route();
        let is_seed = || request.json().is_some_and(|body| !body["content"].is_null());
        match (method, &path[..]) {
            ("GET", ["info"]) => Reading::new("info", self.host),
            ("GET", ["boxes"]) => Reading::new("box_list", self.host),
            ("GET", ["disks"]) => Reading::new("disk_list", self.host),
            ("GET", ["boxes", name]) => Reading::new("box_get", self.host).about(*name),
            ("PUT", ["boxes", name]) => Reading::new("box_put", self.host).about(*name).mutates(),
            ("DELETE", ["boxes", name]) => Reading::new("box_delete", self.host).about(*name).mutates(),
            ("POST", ["boxes", name, "power"]) => Reading::new("box_power", self.host).about(*name).mutates(),
            ("PUT", ["disks", name]) if is_seed() => {
                Reading::new("seed_put", self.host).about(*name).mutates().with_payload()
            }
            ("PUT", ["disks", name]) => Reading::new("disk_put", self.host).about(*name).mutates(),
            ("DELETE", ["disks", name]) => Reading::new("disk_delete", self.host).about(*name).mutates(),
            _ => Reading::new("nonsense", self.host),
        }
    }

    /// What each request does.
    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let (method, path) = request.route();
        let mut store = self.store.open();
        store.allows(request.bearer().map(str::as_bytes), scope(request))?;
        let serial =
            || request.query("serial").and_then(|serial| serial.parse().ok()).ok_or(Refused("invalid"));
        let done = || Ok(http::json(200, &json!({})));
        match (method, &path[..]) {
            ("GET", ["info"]) if store.ailing => Err(Refused("unavailable")),
            ("GET", ["info"]) => {
                let boxes = store.instances.iter().filter(|record| record.place == self.host).count();
                let scopes: Vec<_> = store.rights().collect();
                let free = if store.quota.is_some_and(|quota| store.instances.len() >= quota) {
                    0
                } else {
                    1u64 << 40
                };
                Ok(http::json(
                    200,
                    &json!({"revision": 7, "boxes": boxes, "poolFree": free, "scopes": scopes}),
                ))
            }
            ("GET", ["boxes"]) => {
                let page = store.list(Some(self.host), request.query("after")).map_err(refused)?;
                let boxes: Vec<_> = page.items.iter().map(|record| machine(&store, record)).collect();
                Ok(http::json(200, &json!({"boxes": boxes, "next": page.next})))
            }
            ("GET", ["boxes", name]) => {
                let record = store.find(self.host, name).ok_or(Refused("not-found"))?;
                Ok(http::json(200, &machine(&store, record)))
            }
            ("PUT", ["boxes", name]) => self.put_box(&mut store, name, request).and_then(|()| done()),
            ("DELETE", ["boxes", name]) => {
                store.remove(self.host, name, Some(serial()?)).map_err(refused)?;
                done()
            }
            ("POST", ["boxes", name, "power"]) => {
                request.json().filter(|body| body["to"] == "on").ok_or(Refused("invalid"))?;
                store.start(self.host, name).map_err(refused)?;
                done()
            }
            ("GET", ["disks"]) => {
                let here = store.parts.iter().filter(|part| part.place == self.host);
                let base = |name| json!({"name": name, "serial": "1", "usedBy": null, "made": "2026-11-01T00:00:00Z"});
                let disks =
                    here.map(|part| disk(&store, part)).chain(store.shared.iter().map(base)).collect();
                let key = |disk: &Value| disk["name"].as_str().unwrap_or_default().to_owned();
                let page = page(disks, key, request.query("after"), store.page_size).map_err(refused)?;
                Ok(http::json(200, &json!({"disks": page.items, "next": page.next})))
            }
            ("PUT", ["disks", name]) => self.put_disk(&mut store, name, request).and_then(|()| done()),
            ("DELETE", ["disks", name]) => {
                store.remove_part(self.host, name, Some(serial()?)).map_err(refused)?;
                done()
            }
            _ => Ok(http::text(404, "404 page not found")),
        }
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let name = request.route().1.get(1).copied().unwrap_or_default().to_owned();
        let text = worded(error, &[("name", &name), ("scope", scope(request).unwrap_or_default())]);
        let status = error.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
        let mut answer = match error.code {
            // Not the daemon's own.
            "" => http::text(status, text),
            code => http::json(status, &json!({"errno": code.parse().unwrap_or(95), "error": text})),
        };
        if let Some(seconds) = error.field("retry-after").and_then(|seconds| seconds.parse().ok()) {
            answer.headers_mut().insert("retry-after", seconds);
        }
        answer
    }

    fn quote(&self, refusal: Answer, quoted: &str) -> Answer {
        refusal.map(|body| match body {
            Body::Whole(bytes) => match serde_json::from_slice::<Value>(&bytes) {
                Ok(mut body) => {
                    body["error"] =
                        format!("{}: {quoted}", body["error"].as_str().unwrap_or_default()).into();
                    Body::from(body.to_string())
                }
                Err(_) => Body::from(format!("{}: {quoted}", String::from_utf8_lossy(&bytes))),
            },
            stream @ Body::Stream(_) => stream,
        })
    }

    fn quotes(&self) -> bool {
        self.store.open().quotes
    }

    fn credentials(&self, request: &Request) -> Option<String> {
        request.bearer().map(str::to_owned)
    }
}

impl Api {
    /// Defines a box. Its user data is what is on its seed disk.
    fn put_box(&self, store: &mut Store<Machine>, name: &str, request: &Request) -> Result<(), Refused> {
        let body = request.json().ok_or(Refused("invalid"))?;
        let texts = |value: &Value| value.as_str().map(str::to_owned).ok_or(Refused("invalid"));
        let labels = body["labels"].as_object().ok_or(Refused("invalid"))?.iter();
        let marks =
            labels.map(|(key, value)| Ok((key.clone(), texts(value)?))).collect::<Result<_, Refused>>()?;
        let parts = body["disks"].as_array().ok_or(Refused("invalid"))?.iter().map(texts);
        let parts = parts.collect::<Result<Vec<_>, Refused>>()?;
        if body["cpus"].as_u64().is_none_or(|cpus| cpus == 0) {
            return Err(Refused("invalid"));
        }
        // Whether the name is taken is told first.
        if store.find(self.host, name).is_none() && parts.iter().any(|part| store.is_used(self.host, part)) {
            return Err(Refused("invalid"));
        }
        let seed = parts.iter().find_map(|part| store.part(self.host, part)?.payload.clone());
        let cloud_init = seed.map(|seed| seed.reveal().to_vec());
        let delivered = Delivered { cloud_init, ..Delivered::default() };
        let (key, name) = (name.to_owned(), name.to_owned());
        // Only disks need room in the pool.
        let quota = store.quota.take();
        let made = store.make(self.host, New { key, name, marks, parts, delivered, ..New::default() });
        store.quota = quota;
        made.map(drop).map_err(refused)
    }

    /// Makes a disk: a child of a base disk, or one with that content.
    fn put_disk(&self, store: &mut Store<Machine>, name: &str, request: &Request) -> Result<(), Refused> {
        let body = request.json().ok_or(Refused("invalid"))?;
        let (shared, payload) = match (body["base"].as_str(), body["content"].as_str()) {
            (Some(base), None) if store.has_shared(base) => (vec![base.to_owned()], None),
            (None, Some(content)) => {
                let content = BASE64.decode(content.as_bytes()).map_err(|_| Refused("invalid"))?;
                (Vec::new(), Some(Secret::new(content)))
            }
            _ => return Err(Refused("invalid")),
        };
        if store.quota.is_some_and(|quota| store.instances.len() >= quota) {
            return Err(Refused("quota"));
        }
        match store.put_part(self.host, NewPart { name: name.to_owned(), shared, payload, own: () }) {
            Err(Refusal::InUse) => Err(Refused("already-exists")),
            made => made.map(drop).map_err(refused),
        }
    }
}

/// The scope that a request needs.
fn scope(request: &Request) -> Option<&'static str> {
    match (request.method().as_str(), request.route().1.first().copied()) {
        (_, Some("info")) => None,
        ("GET", _) => Some("boxes:read"),
        (_, Some("disks")) => Some("disks:write"),
        _ => Some("boxes:write"),
    }
}

/// What the daemon makes of a refusal of the store's: it has fewer words.
fn refused(refusal: Refusal) -> Refused {
    match refusal {
        // Another life under that name is none of that serial.
        Refusal::PartNotFound | Refusal::Changed => Refused("not-found"),
        Refusal::PartsMissing | Refusal::BadPage => Refused("invalid"),
        other => other.into(),
    }
}

/// A box as the daemon shows it. One that cannot be read has lost its serial.
fn machine(store: &Store<Machine>, record: &Record<Machine>) -> Value {
    let leases: Vec<_> = store.addresses_of(record).into_iter().map(|(_, address)| address).collect();
    let state = store.state_of(record);
    let (power, note) = match state.split_once(": ") {
        Some((power, note)) => (power, Some(note)),
        None => (state, (state == "paused").then_some("by hand")),
    };
    let serial = (!record.unreadable).then(|| record.incarnation.to_string());
    json!({
        "name": record.name, "serial": serial, "labels": record.marks, "power": power, "note": note,
        "leases": leases, "made": record.created,
    })
}

/// A disk as the daemon shows it.
fn disk(store: &Store<Machine>, part: &Part<()>) -> Value {
    let here = store.instances.iter().filter(|record| record.place == part.place);
    let user = here.filter(|record| record.parts.contains(&part.name)).map(|record| &record.name).next();
    json!({
        "name": part.name, "serial": part.incarnation.to_string(), "usedBy": user,
        "made": part.created.to_string(),
    })
}
