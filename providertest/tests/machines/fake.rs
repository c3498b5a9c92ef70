//! A fake of a small REST service that keeps machines: a store behind HTTP, with tasks, pages, rights and a token. It
//! is what the blocks leave an author to write.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use provider_api::{Catalogue, NativeError, Shows};
use providertest::{
    fake::{
        On, Reading, Refused, Serving, catalogue,
        hand::StoreHand,
        http::{Answer, Fake, Request, Server, json},
        store::{Failure, Marks, New, Outcome, Record, Refusal, Shared, States, Store, Task, Ways},
    },
    harness::{Case, Delivered, Hand, HarnessError, Unable},
};
use serde_json::{Value, json};

pub(crate) static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    catalogue::load(&[("errors.yaml", include_str!("errors.yaml"))])
        .unwrap_or_else(|report| panic!("{report}"))
});

/// What the service keeps of a machine beside the usual.
#[derive(Clone, Default)]
pub(crate) struct Machine {
    size: String,
}

pub(crate) struct Machines {
    pub(crate) store: Shared<Machine>,
}

/// The service of one case, on a socket, with the hand of others on it.
pub(crate) struct Backend {
    pub(crate) store: Shared<Machine>,
    pub(crate) server: Server,
    pub(crate) serving: Serving,
    hand: StoreHand<Machine>,
}

impl Backend {
    pub(crate) fn open(case: &Case, on: On) -> Result<Self, HarnessError> {
        let ways = Ways {
            work: Duration::from_secs(2),
            tasks: true,
            rights: &["machines.read", "machines.write"],
            states: States { making: "CREATING", booting: "BOOTING", up: "UP", ..States::default() },
            ..Ways::default()
        };
        let token = StoreHand::<Machine>::token(case, 0);
        let store = Store::new(ways, ["north", "south"]).with_token(token);
        let store = Shared::new(store, Arc::clone(&case.clock));
        let hand = StoreHand::new(store.clone(), case).with_token_file(case.folder.path()?.join("token"))?;
        let machines = Arc::new(Machines { store: store.clone() });
        let server = Server::new(machines, case.wire.clone(), *CATALOGUE);
        let serving = server.serve(on).map_err(|error| HarnessError(error.to_string()))?;
        Ok(Self { store, server, serving, hand })
    }
}

impl Fake for Machines {
    fn read(&self, request: &Request) -> Reading {
        let (method, path) = request.route();
        match (method, &path[..]) {
            ("GET", ["zones", zone]) => Reading::new("zone", *zone),
            ("GET", ["zones", zone, "machines"]) => Reading::new("list", *zone),
            ("GET", ["zones", zone, "machines", name]) => Reading::new("get", *zone).about(*name),
            ("PUT", ["zones", zone, "machines", name]) => {
                Reading::new("put", *zone).about(*name).mutates().with_payload()
            }
            ("DELETE", ["zones", zone, "machines", name]) => {
                Reading::new("delete", *zone).about(*name).mutates()
            }
            ("GET", ["zones", zone, "tasks", id]) => Reading::new("task", *zone).about(*id),
            _ => Reading::new("nonsense", "nowhere").about(request.uri().path()),
        }
    }

    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        let mut store = self.store.open();
        let (method, path) = request.route();
        let right = if method == "GET" { "machines.read" } else { "machines.write" };
        store.allows(request.bearer().map(str::as_bytes), Some(right))?;
        let body = match (method, &path[..]) {
            ("GET", ["zones", zone]) if store.places.iter().any(|place| place == zone) => {
                if store.ailing {
                    return Err(Refused("unavailable"));
                }
                json!({"zone": zone, "machines": store.instances.len(), "quota": store.quota})
            }
            ("GET", ["zones", zone, "machines"]) => {
                let page = store.list(Some(zone), request.query("page"))?;
                let items: Vec<_> = page.items.iter().map(|record| shown(&store, record)).collect();
                json!({"items": items, "next": page.next})
            }
            ("GET", ["zones", zone, "machines", name]) => shown(&store, store.read(zone, name)?),
            ("PUT", ["zones", zone, "machines", name]) => {
                let new = read_new(name, request).ok_or(Refusal::Invalid)?;
                json!({"task": store.make(zone, new)?.task})
            }
            ("DELETE", ["zones", zone, "machines", name]) => {
                let life = request.query("life").map(str::parse).transpose().map_err(|_| Refusal::Invalid)?;
                store.remove(zone, name, life)?;
                json!({})
            }
            ("GET", ["zones", _, "tasks", id]) => {
                let id = id.parse().map_err(|_| Refusal::Invalid)?;
                told(&store, store.task(id)?)
            }
            _ => return Err(Refusal::Invalid.into()),
        };
        Ok(json(200, &body))
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let (_, path) = request.route();
        let name = path.last().copied().unwrap_or_default();
        if error.shows == Shows::Task {
            let zone = path.get(1).copied().unwrap_or_default();
            let failure = Failure { id: error.id.to_owned(), text: None };
            let task = self.store.open().fail_at_once(zone, name, &Marks::new(), failure);
            return json(200, &json!({"task": task}));
        }
        let text = catalogue::worded(error, &[("name", name)]);
        let mut answer = json(
            error.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(500),
            &json!({"error": {"code": error.code, "message": text}}),
        );
        if let Some(seconds) = error.field("retry-after").and_then(|text| text.parse().ok()) {
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

/// A body that says what a machine is made from; `None` where it makes no sense.
fn read_new(name: &str, request: &Request) -> Option<New<Machine>> {
    let body = request.json()?;
    let body = body.as_object()?;
    if body.keys().any(|key| !["size", "marks", "userData", "port"].contains(&key.as_str())) {
        return None;
    }
    let size = body.get("size")?.as_str()?.to_owned();
    let marks = body.get("marks").map_or(Some(Marks::new()), |marks| {
        let pair = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        marks.as_object()?.iter().map(pair).collect()
    })?;
    let delivered = Delivered {
        cloud_init: body.get("userData").and_then(Value::as_str).map(|text| text.as_bytes().to_vec()),
        port: body.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok()),
        allowed_sources: None,
    };
    let name = name.to_owned();
    Some(New { key: name.clone(), name, marks, delivered, own: Machine { size }, ..New::default() })
}

fn shown(store: &Store<Machine>, record: &Record<Machine>) -> Value {
    let addresses: Vec<_> = store.addresses_of(record).into_iter().map(|(_, address)| address).collect();
    json!({
        "name": record.name,
        "life": record.incarnation,
        "state": store.state_of(record),
        "deleting": record.gone_at.is_some(),
        "size": record.own.size,
        "marks": record.marks,
        "created": record.created,
        "addresses": addresses,
    })
}

fn told(store: &Store<Machine>, task: &Task) -> Value {
    match store.outcome(task) {
        Outcome::Running => json!({"state": "RUNNING"}),
        Outcome::Done => json!({"state": "DONE"}),
        Outcome::Failed(Failure { id, text }) => {
            let error = CATALOGUE.get(id);
            let message =
                text.clone().or(error.map(|error| catalogue::worded(error, &[("name", &task.name)])));
            json!({"state": "FAILED", "error": {"code": error.map(|error| error.code), "message": message}})
        }
    }
}

#[async_trait]
impl Hand for Backend {
    fn below(&self) -> Option<&dyn Hand> {
        Some(&self.hand)
    }

    async fn send_nonsense(&self) -> Result<bool, Unable> {
        let body = r#"{"size": 7}"#.into();
        let request = http::Request::put("/zones/north/machines/x").body(body).map_err(|_| Unable("ask"))?;
        Ok(read_new("x", &Request::of(request)).is_none())
    }
}
