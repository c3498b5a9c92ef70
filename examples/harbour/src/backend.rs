//! The seam: one async method per call to the API, and nothing goes past it. How a request is sent is `client.rs`.

use std::{sync::Arc, time::Duration};

use provider_api::{CallKind, Error, Gate, Scrubber, Seam};
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    client::{Client, Request},
    error::{Meaning, Refused},
    view::{Accepted, Found, Machine, NewMachine, Page, Task, Within},
};

/// Makes a machine. It carries user data, so of its errors only code and reason survive.
pub(crate) const MACHINE_CREATE: CallKind = CallKind::upload("server_create");
/// Reads a machine.
pub(crate) const MACHINE_GET: CallKind = CallKind::read("server_get");
/// Deletes a machine.
pub(crate) const MACHINE_DELETE: CallKind = CallKind::write("server_delete");
/// Reads one page of the machines.
pub(crate) const MACHINE_LIST: CallKind = CallKind::read("server_list");
/// Reads a task.
pub(crate) const TASK_GET: CallKind = CallKind::read("action_get");

/// Every kind of call, for the profile.
pub(crate) const CALLS: &[CallKind] = &[MACHINE_CREATE, MACHINE_GET, MACHINE_DELETE, MACHINE_LIST, TASK_GET];

/// How often a listing is begun anew when its pages have shifted.
const RESTARTS: usize = 3;

type Answer<T> = Result<T, Refused>;

/// The way to the API. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    client: Arc<Client>,
    seam: Seam,
    gate: Arc<Gate>,
    /// The secrets of the request at hand.
    scrubber: Scrubber,
}

impl Backend {
    pub(crate) fn new(client: Client, seam: Seam, gate: Arc<Gate>) -> Self {
        Self { client: Arc::new(client), seam, gate, scrubber: Scrubber::default() }
    }

    /// The same way, for a request with secrets of its own (`create.hides-secrets`).
    pub(crate) fn hiding(&self, scrubber: Scrubber) -> Self {
        Self { scrubber, ..self.clone() }
    }

    /// Where a target is, for readers.
    pub(crate) fn address(&self, _target: &str) -> String {
        self.client.address()
    }

    /// Makes a machine, marks and all.
    pub(crate) async fn machine_create(&self, target: &str, new: &NewMachine<'_>) -> Answer<Accepted> {
        let request = Request::new(Method::POST, &["servers"]).json(new);
        self.call(MACHINE_CREATE, target, request).await.map(|Within { action }| action)
    }

    /// Reads the machine of that name; `None` is the API's own word that there is none.
    pub(crate) async fn machine_get(&self, target: &str, name: &str) -> Answer<Option<Machine>> {
        let request = Request::new(Method::GET, &["servers"]).query("name", Some(name));
        let Found { mut servers } = self.call(MACHINE_GET, target, request).await?;
        let found = servers.pop();
        if servers.is_empty() && found.as_ref().is_none_or(|machine| machine.name == name) {
            return Ok(found);
        }
        let error = Error::transient("the API answered with another server").coded("Unreadable");
        Err(Refused { meaning: Meaning::Other, error })
    }

    /// Deletes the machine that was seen, by its number (`delete.bound-to-incarnation`). The answer comes before it is
    /// gone.
    pub(crate) async fn machine_delete(&self, target: &str, machine: &Machine) -> Answer<()> {
        let request = Request::new(Method::DELETE, &["servers", &machine.id.to_string()]);
        self.call::<Within<Accepted>>(MACHINE_DELETE, target, request).await.map(drop)
    }

    /// Reads the task of that number.
    pub(crate) async fn task_get(&self, target: &str, number: u64) -> Answer<Task> {
        let request = Request::new(Method::GET, &["actions", &number.to_string()]);
        self.call(TASK_GET, target, request).await.map(|Within { action }| action)
    }

    /// Everything that a target lists, page after page (`list.all-pages`), each item still unread, so that a broken one
    /// spoils no other.
    pub(crate) async fn every(&self, kind: CallKind, target: &str) -> Answer<Vec<Value>> {
        let (mut items, mut number, mut total, mut restarts) = (Vec::new(), 1, None, 0);
        loop {
            let page = self.page(kind, target, number).await?;
            items.extend(page.items);
            let as_before = total.replace(page.meta.total).is_none_or(|total| total == page.meta.total);
            match page.meta.next {
                Some(next) if as_before => number = next,
                None if as_before && items.len() == page.meta.total => return Ok(items),
                // What comes or goes between two pages shifts the others, so that one of them is never seen.
                _ if restarts < RESTARTS => {
                    (items, number, total, restarts) = (Vec::new(), 1, None, restarts + 1);
                }
                _ => {
                    let text = format!("{} changes faster than its pages can be read", kind.name);
                    let error = Error::transient(text).coded("Shifting");
                    return Err(Refused { meaning: Meaning::Other, error });
                }
            }
        }
    }

    /// The page of that number, from 1 on, as large as they can be had.
    async fn page(&self, kind: CallKind, target: &str, number: u64) -> Answer<Page> {
        self.call(kind, target, page(number, 50)).await
    }

    /// Asks for the shortest list there is, which says what a target is good for. A check must not wait behind the operations that it is to judge, so it takes no room,
    /// and its budget is its caller's (`check.does-not-disturb`, `check.prompt-at-deadline`).
    pub(crate) async fn about(&self, target: &str, budget: Duration) -> Answer<Page> {
        self.within(Some(budget), MACHINE_LIST, target, page(1, 1)).await
    }

    async fn call<T: DeserializeOwned>(&self, kind: CallKind, target: &str, request: Request) -> Answer<T> {
        let _room = self.gate.target(target).await; // runtime.per-target-limit
        self.within(None, kind, target, request).await
    }

    /// The one way out. Credentials are read before the call begins: a file is no backend.
    async fn within<T: DeserializeOwned>(
        &self,
        budget: Option<Duration>,
        kind: CallKind,
        target: &str,
        request: Request,
    ) -> Answer<T> {
        let request = request.under(&["v2"]);
        let ready = self.client.ready().map_err(Refused::before_the_call)?;
        let mut scrubber = self.scrubber.clone();
        scrubber.hide(ready.token.reveal());
        let seam = self.seam.hiding(scrubber.clone());
        let answer = match budget {
            Some(budget) => seam.call_within(budget, kind, target, ready.send(request)).await,
            None => seam.call(kind, target, ready.send(request)).await,
        };
        let now = self.seam.clock().now();
        answer.map_err(|error| Refused::of(kind, target, &error, &scrubber, now))
    }
}

fn page(number: u64, size: u64) -> Request {
    let request = Request::new(Method::GET, &["servers"]).query("page", Some(&number.to_string()));
    request.query("per_page", Some(&size.to_string()))
}
