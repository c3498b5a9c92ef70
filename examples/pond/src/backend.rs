//! The seam: one async method per call to the API, and nothing goes past it. How a request is sent is `client.rs`.
//!
//! A call that is added here belongs into `CALLS` too, and the errors it can be answered with into `catalogue.rs`.

use std::{sync::Arc, time::Duration};

use provider_api::{CallKind, Gate, Scrubber, Seam};
use reqwest::Method;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::{
    client::{Client, Request},
    error::{Meaning, Refused},
    view::{Machine, NewMachine, Page, Task, Tasks},
};

/// Makes a machine. It carries user data, so of its errors only code and reason survive.
pub(crate) const MACHINE_CREATE: CallKind = CallKind::upload("machine_create");
/// Reads a machine.
pub(crate) const MACHINE_GET: CallKind = CallKind::read("machine_get");
/// Starts a machine that is stopped.
pub(crate) const MACHINE_START: CallKind = CallKind::write("machine_start");
/// Deletes a machine.
pub(crate) const MACHINE_DELETE: CallKind = CallKind::write("machine_delete");
/// Reads one page of the machines.
pub(crate) const MACHINE_LIST: CallKind = CallKind::read("machine_list");
/// Reads the tasks that make machines of a name.
pub(crate) const TASK_LIST: CallKind = CallKind::read("task_list");

/// Every kind of call, for the profile.
pub(crate) const CALLS: &[CallKind] =
    &[MACHINE_CREATE, MACHINE_GET, MACHINE_START, MACHINE_DELETE, MACHINE_LIST, TASK_LIST];

/// How often a listing is begun anew when its page token goes bad.
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
    pub(crate) async fn machine_create(&self, target: &str, new: &NewMachine<'_>) -> Answer<()> {
        self.change(MACHINE_CREATE, target, Request::new(Method::POST, &["machines"]).json(new)).await
    }

    /// Reads a machine.
    pub(crate) async fn machine_get(&self, target: &str, name: &str) -> Answer<Machine> {
        self.call(MACHINE_GET, target, Request::new(Method::GET, &["machines", name])).await
    }

    /// Starts a machine that is stopped.
    pub(crate) async fn machine_start(&self, target: &str, machine: &Machine) -> Answer<()> {
        let request = Request::new(Method::POST, &["machines", &machine.name, "start"]);
        self.change(MACHINE_START, target, request).await
    }

    /// Deletes a machine, if the one of that name is still the one that was seen (`delete.bound-to-incarnation`). The
    /// answer comes before it is gone.
    pub(crate) async fn machine_delete(&self, target: &str, machine: &Machine) -> Answer<()> {
        let request = Request::new(Method::DELETE, &["machines", &machine.name]);
        self.change(MACHINE_DELETE, target, request.query("uid", Some(&machine.uid))).await
    }

    /// Reads the operations that make machines of that name in the target, oldest first. They stand above all regions.
    pub(crate) async fn task_list(&self, target: &str, name: &str) -> Answer<Vec<Task>> {
        let request = Request::new(Method::GET, &["operations"]).query("machine", Some(name));
        let _room = self.gate.target(target).await;
        let mut tasks = self.send::<Tasks>(None, TASK_LIST, target, request).await?.items;
        tasks.retain(|task| task.region == target);
        Ok(tasks)
    }

    /// Everything that a target lists, page after page (`list.all-pages`), each item still unread, so that a broken one
    /// spoils no other.
    pub(crate) async fn every(&self, kind: CallKind, target: &str) -> Answer<Vec<Value>> {
        let (mut items, mut token, mut restarts) = (Vec::new(), None::<String>, 0);
        loop {
            match self.page(kind, target, token.as_deref()).await {
                Ok(page) => {
                    items.extend(page.items);
                    token = page.next;
                    if token.is_none() {
                        return Ok(items);
                    }
                }
                // What was read so far is of no one moment any more.
                Err(refused) if refused.meaning == Meaning::BadPage && restarts < RESTARTS => {
                    (items, token, restarts) = (Vec::new(), None, restarts + 1);
                }
                Err(refused) => return Err(refused),
            }
        }
    }

    /// One page, the first one without a token.
    async fn page(&self, kind: CallKind, target: &str, token: Option<&str>) -> Answer<Page> {
        self.call(kind, target, Request::new(Method::GET, &["machines"]).query("pageToken", token)).await
    }

    /// Reads a first page, which needs the token and changes nothing. A check must not wait behind the operations that it is to judge, so it takes no room,
    /// and its budget is its caller's (`check.does-not-disturb`, `check.prompt-at-deadline`).
    pub(crate) async fn about(&self, target: &str, budget: Duration) -> Answer<()> {
        let request = Request::new(Method::GET, &["machines"]);
        self.within::<Page>(Some(budget), MACHINE_LIST, target, request).await.map(drop)
    }

    /// A call whose answer says no more than that it worked.
    async fn change(&self, kind: CallKind, target: &str, request: Request) -> Answer<()> {
        self.call::<IgnoredAny>(kind, target, request).await.map(drop)
    }

    async fn call<T: DeserializeOwned>(&self, kind: CallKind, target: &str, request: Request) -> Answer<T> {
        let _room = self.gate.target(target).await; // runtime.per-target-limit
        self.within(None, kind, target, request).await
    }

    /// A request below the target's path.
    async fn within<T: DeserializeOwned>(
        &self,
        budget: Option<Duration>,
        kind: CallKind,
        target: &str,
        request: Request,
    ) -> Answer<T> {
        self.send(budget, kind, target, request.under(&["regions", target])).await
    }

    /// The one way out. Credentials are read before the call begins: a file is no backend.
    async fn send<T: DeserializeOwned>(
        &self,
        budget: Option<Duration>,
        kind: CallKind,
        target: &str,
        request: Request,
    ) -> Answer<T> {
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
