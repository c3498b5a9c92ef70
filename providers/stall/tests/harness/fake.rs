//! The fake: what the API answers, byte for byte, below the provider's own client. It shares no types with the client,
//! writes its bodies by hand and refuses what makes no sense; instances, time, quota, pages and rights are the kit's
//! store.
#![expect(dead_code, reason = "for routes that are still to be written; then the compiler asks to remove it")]

use provider_api::NativeError;
use providertest::fake::{
    catalogue::worded,
    http::{self, Answer, Fake, Reading, Refused, Request},
    store::{Record, Shared, States, Store, Ways},
};
use serde_json::{Value, json};

/// The zones that there are.
pub(crate) const ZONES: [&str; 2] = ["eu-1", "eu-2"];
/// The machine types that there are.
pub(crate) const MACHINE_TYPES: [&str; 2] = ["small", "large"];
/// The image that the config's catalogue names.
pub(crate) const IMAGE: &str = "squid-2026-11";
/// The rights that a token can have.
const RIGHTS: &[&str] = &["machines.read", "machines.write"];

/// What the backend keeps of a machine beside the usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) machine_type: String,
    pub(crate) image: String,
}

/// The API.
pub(crate) struct Api {
    pub(crate) store: Shared<Machine>,
}

/// An empty backend. TO ADAPT: how yours behaves, and what it calls its states.
pub(crate) fn empty(token: Vec<u8>) -> Store<Machine> {
    let states =
        States { making: "starting", booting: "starting", going: Some("deleting"), ..States::default() };
    Store::new(Ways { rights: RIGHTS, states, ..Ways::default() }, ZONES).with_token(token)
}

impl Fake for Api {
    /// What each request is, by the names of `src/backend.rs`.
    fn read(&self, request: &Request) -> Reading {
        let (method, path) = request.route();
        match (method, &path[..]) {
            ("GET", ["v1", "zones", zone]) => Reading::new("about", *zone),
            ("GET", ["v1", "zones", zone, "machines"]) => Reading::new("machine_list", *zone),
            ("POST", ["v1", "zones", zone, "machines"]) => {
                Reading::new("machine_create", *zone).about(name_in(request)).mutates().with_payload()
            }
            ("GET", ["v1", "zones", zone, "machines", name]) => {
                Reading::new("machine_get", *zone).about(*name)
            }
            ("DELETE", ["v1", "zones", zone, "machines", name]) => {
                Reading::new("machine_delete", *zone).about(*name).mutates()
            }
            ("POST", ["v1", "zones", zone, "machines", name, "start"]) => {
                Reading::new("machine_start", *zone).about(*name).mutates()
            }
            _ => Reading::new("nonsense", "nowhere"),
        }
    }

    /// What each request does.
    // TO WRITE: a route for each call, about 50 lines together, in the order in which the provider comes to make them.
    //
    // 1. GET …/machines/{name}: `store.find`, shown by `machine`; `Refusal::NotFound` where there is none.
    // 2. POST …/machines: read the body by hand and refuse what makes no sense with `Refused("invalid")`: a name or labels
    //    that are none, an unknown machine type, user data that is no base64. Then `store.make`, whose `delivered` has what
    //    reaches the machine; answer with it.
    // 3. POST …/machines/{name}/start: `store.start`.
    // 4. DELETE …/machines/{name}?id=…: `store.remove`, of that life only. Without an id it is refused.
    // 5. GET …/machines?page=…: `store.list`, whose `next` is the next page's token.
    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let (method, path) = request.route();
        let store = self.store.open();
        let right = if method == "GET" { "machines.read" } else { "machines.write" };
        let token = request.bearer().map(str::as_bytes);
        match (method, &path[..]) {
            ("GET", ["v1", "zones", zone]) => {
                // Whoever has a token may ask, and is told what it is good for.
                store.allows(token, None)?;
                if store.ailing {
                    return Err(Refused("unavailable"));
                }
                let machines = store.instances.iter().filter(|record| record.place == *zone).count();
                let rights: Vec<_> = store.rights().collect();
                let about =
                    json!({"version": "1", "machines": machines, "quota": store.quota, "rights": rights});
                Ok(http::json(200, &about))
            }
            _ => {
                store.allows(token, Some(right))?;
                Ok(unwritten(request))
            }
        }
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let named = name_in(request);
        let name = request.route().1.get(4).map_or(named.clone(), |name| (*name).to_owned());
        let text = worded(error, &[("name", &name)]);
        let status = error.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
        let mut answer = match error.code {
            // Not the API's own.
            "" => http::text(status, text),
            code => http::json(status, &json!({"error": {"code": code, "message": text}})),
        };
        if let Some(seconds) = error.field("retry-after").and_then(|seconds| seconds.parse().ok()) {
            answer.headers_mut().insert("retry-after", seconds);
        }
        answer
    }

    fn quotes(&self) -> bool {
        self.store.open().quotes
    }

    fn credentials(&self, request: &Request) -> Option<String> {
        request.bearer().map(str::to_owned)
    }
}

/// A machine as the API shows it. One that cannot be read has lost its id.
fn machine(store: &Store<Machine>, record: &Record<Machine>) -> Value {
    let addresses: Vec<_> = store.addresses_of(record).into_iter().map(|(_, address)| address).collect();
    let mut machine = json!({
        "id": format!("m-{}", record.incarnation),
        "name": record.name,
        "labels": record.marks,
        "machineType": record.own.machine_type,
        "image": record.own.image,
        "status": store.state_of(record),
        "addresses": addresses,
        "createdAt": record.created,
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

/// The answer of a route that is still to be written.
fn unwritten(request: &Request) -> Answer {
    let (method, path) = request.route();
    let shown = match &path[..] {
        ["v1", "zones", _, "machines"] => "/v1/zones/{zone}/machines",
        ["v1", "zones", _, "machines", _] => "/v1/zones/{zone}/machines/{name}",
        ["v1", "zones", _, "machines", _, "start"] => "/v1/zones/{zone}/machines/{name}/start",
        _ => return http::text(404, "404 page not found"),
    };
    let text = format!("{method} {shown} is not written yet: write it in {}", file!());
    http::json(501, &json!({"error": {"code": "routeOfFakeNotWritten", "message": text}}))
}
