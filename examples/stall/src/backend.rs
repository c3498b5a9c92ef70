//! The seam: one async method per call to the API, and nothing goes past it. How a request is sent is `client.rs`.

use std::{sync::Arc, time::Duration};

use provider_api::{CallKind, Gate, Scrubber, Seam};
use reqwest::Method;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::{
    client::{Client, Request},
    error::Refused,
    view::{About, Machine, NewMachine, Page, Task},
};

/// Makes a machine. It carries user data, so of its errors only code and reason survive.
pub(crate) const MACHINE_CREATE: CallKind = CallKind::upload("machine_create");
/// Looks a machine up by its name.
pub(crate) const MACHINE_FIND: CallKind = CallKind::read("machine_find");
/// Reads the tasks that made machines of a name.
pub(crate) const TASK_LIST: CallKind = CallKind::read("task_list");
/// Starts a machine that is stopped.
pub(crate) const MACHINE_START: CallKind = CallKind::write("machine_start");
/// Deletes a machine.
pub(crate) const MACHINE_DELETE: CallKind = CallKind::write("machine_delete");
/// Reads one page of a listing.
pub(crate) const MACHINE_LIST: CallKind = CallKind::read("machine_list");
/// Asks a zone about itself.
pub(crate) const ABOUT: CallKind = CallKind::read("about");

/// Every kind of call, for the profile.
pub(crate) const CALLS: [CallKind; 7] =
    [MACHINE_CREATE, MACHINE_FIND, TASK_LIST, MACHINE_START, MACHINE_DELETE, MACHINE_LIST, ABOUT];

/// How far the list of machines may be behind.
pub(crate) const LIST_LAG: Duration = Duration::from_secs(5);

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

    /// Where the API is, for readers.
    pub(crate) fn address(&self) -> String {
        self.client.address()
    }

    /// Makes a machine, marks and all. The answer comes before it is made.
    pub(crate) async fn machine_create(&self, zone: &str, new: &NewMachine<'_>) -> Answer<()> {
        let request = Request::new(Method::POST, &["v2", "halls", zone, "machines"]).json(new);
        self.call::<IgnoredAny>(MACHINE_CREATE, zone, request).await.map(drop)
    }

    /// Looks a machine up by its name. An empty list is the API's own word that there is none.
    pub(crate) async fn machine_find(&self, zone: &str, name: &str) -> Answer<Option<Machine>> {
        let request = Request::new(Method::GET, &["v2", "halls", zone, "machines"]).query("name", Some(name));
        let found: Page<Machine> = self.call(MACHINE_FIND, zone, request).await?;
        Ok(found.machines.into_iter().next())
    }

    /// Reads the tasks that made machines of that name, oldest first.
    pub(crate) async fn task_list(&self, zone: &str, name: &str) -> Answer<Vec<Task>> {
        let request = Request::new(Method::GET, &["v2", "halls", zone, "tasks"]).query("name", Some(name));
        self.call(TASK_LIST, zone, request).await
    }

    /// Starts a machine that is stopped.
    pub(crate) async fn machine_start(&self, zone: &str, id: &str) -> Answer<()> {
        let request = Request::new(Method::POST, &["v2", "halls", zone, "machines", id, "start"]);
        self.call::<IgnoredAny>(MACHINE_START, zone, request).await.map(drop)
    }

    /// Drops the machine with that id, which no other ever has (`delete.bound-to-incarnation`). The answer comes before
    /// it is gone.
    pub(crate) async fn machine_delete(&self, zone: &str, id: &str) -> Answer<()> {
        let request = Request::new(Method::DELETE, &["v2", "halls", zone, "machines", id]);
        self.call::<IgnoredAny>(MACHINE_DELETE, zone, request).await.map(drop)
    }

    /// Reads one page of a zone's machines, the first one without a cursor. It may be [`LIST_LAG`] behind.
    pub(crate) async fn machine_list(&self, zone: &str, cursor: Option<&str>) -> Answer<Page<Value>> {
        let request = Request::new(Method::GET, &["v2", "halls", zone, "machines"]).query("cursor", cursor);
        self.call(MACHINE_LIST, zone, request).await
    }

    /// Asks a zone about itself. A check must not wait behind the operations that it is to judge, so it takes no room,
    /// and its budget is its caller's (`check.does-not-disturb`, `check.prompt-at-deadline`).
    pub(crate) async fn about(&self, zone: &str, budget: Duration) -> Answer<About> {
        self.within(Some(budget), ABOUT, zone, Request::new(Method::GET, &["v2", "halls", zone])).await
    }

    async fn call<T: DeserializeOwned>(&self, kind: CallKind, zone: &str, request: Request) -> Answer<T> {
        let _room = self.gate.target(zone).await; // runtime.per-target-limit
        self.within(None, kind, zone, request).await
    }

    /// The one way out. Credentials are read before the call begins: a file is no backend.
    async fn within<T: DeserializeOwned>(
        &self,
        budget: Option<Duration>,
        kind: CallKind,
        zone: &str,
        request: Request,
    ) -> Answer<T> {
        let ready = self.client.ready().map_err(Refused::before_the_call)?;
        let mut scrubber = self.scrubber.clone();
        scrubber.hide(ready.token.reveal());
        let seam = self.seam.hiding(scrubber.clone());
        let answer = match budget {
            Some(budget) => seam.call_within(budget, kind, zone, ready.send(request)).await,
            None => seam.call(kind, zone, ready.send(request)).await,
        };
        answer.map_err(|error| Refused::of(kind, zone, &error, &scrubber))
    }
}
