//! The seam: one async method per call to the API, and nothing goes past it. How a request is sent is `client.rs`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use provider_api::{CallKind, Gate, Scrubber, Seam};
use reqwest::Method;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::{
    client::{Client, Request},
    error::Refused,
    view::{About, Machine, NewMachine, NewPart, Page},
};

/// Makes a machine.
pub(crate) const MACHINE_CREATE: CallKind = CallKind::write("box_create");
/// Reads a machine.
pub(crate) const MACHINE_GET: CallKind = CallKind::read("box_get");
/// Starts a machine that is stopped.
pub(crate) const MACHINE_START: CallKind = CallKind::write("box_start");
/// Deletes a machine.
pub(crate) const MACHINE_DELETE: CallKind = CallKind::write("box_delete");
/// Reads one page of the machines.
pub(crate) const MACHINE_LIST: CallKind = CallKind::read("box_list");
/// Makes a system disk. It blocks until the disk is there.
pub(crate) const SYSTEM_CREATE: CallKind = CallKind::write("system_create").within(BLOCKING);
/// Makes a seed disk. It carries user data, so of its errors only code and reason survive.
pub(crate) const SEED_CREATE: CallKind = CallKind::upload("seed_create").within(BLOCKING);
/// Deletes a part.
pub(crate) const PART_DELETE: CallKind = CallKind::write("disk_delete");
/// Reads one page of the parts.
pub(crate) const PART_LIST: CallKind = CallKind::read("disk_list");
/// Asks a target about itself.
pub(crate) const ABOUT: CallKind = CallKind::read("about");

/// Every kind of call, for the profile.
pub(crate) const CALLS: &[CallKind] = &[
    MACHINE_CREATE,
    MACHINE_GET,
    MACHINE_START,
    MACHINE_DELETE,
    MACHINE_LIST,
    SYSTEM_CREATE,
    SEED_CREATE,
    PART_DELETE,
    PART_LIST,
    ABOUT,
];

/// How long a disk may take to be there.
const BLOCKING: Duration = Duration::from_secs(120);

type Answer<T> = Result<T, Refused>;

/// The way to the API. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    /// By target.
    clients: Arc<BTreeMap<String, Client>>,
    seam: Seam,
    gate: Arc<Gate>,
    /// The secrets of the request at hand.
    scrubber: Scrubber,
}

impl Backend {
    pub(crate) fn new(clients: BTreeMap<String, Client>, seam: Seam, gate: Arc<Gate>) -> Self {
        Self { clients: Arc::new(clients), seam, gate, scrubber: Scrubber::default() }
    }

    /// The same way, for a request with secrets of its own (`create.hides-secrets`).
    pub(crate) fn hiding(&self, scrubber: Scrubber) -> Self {
        Self { scrubber, ..self.clone() }
    }

    /// Where a target is, for readers.
    pub(crate) fn address(&self, target: &str) -> String {
        self.client(target).address()
    }

    fn client(&self, target: &str) -> &Client {
        self.clients.get(target).expect("operations look the target up in the config first")
    }

    /// Makes a machine of its parts, marks and all.
    pub(crate) async fn machine_create(&self, target: &str, name: &str, new: &NewMachine<'_>) -> Answer<()> {
        self.change(MACHINE_CREATE, target, Request::new(Method::PUT, &["boxes", name]).json(new)).await
    }

    /// Reads a machine.
    pub(crate) async fn machine_get(&self, target: &str, name: &str) -> Answer<Machine> {
        self.call(MACHINE_GET, target, Request::new(Method::GET, &["boxes", name])).await
    }

    /// Boots or resumes a machine.
    pub(crate) async fn machine_start(&self, target: &str, machine: &Machine) -> Answer<()> {
        let request = Request::new(Method::POST, &["boxes", &machine.name, "power"]);
        self.change(MACHINE_START, target, request.json(&json!({"to": "on"}))).await
    }

    /// Deletes a machine, if the one of that name is still the one that was seen (`delete.bound-to-incarnation`). The
    /// answer comes before it is gone.
    pub(crate) async fn machine_delete(&self, target: &str, machine: &Machine) -> Answer<()> {
        let request = Request::new(Method::DELETE, &["boxes", &machine.name]);
        self.change(MACHINE_DELETE, target, request.query("serial", Some(&machine.id))).await
    }

    /// Makes a part, over an unused one of that name.
    pub(crate) async fn part_create(&self, target: &str, name: &str, new: &NewPart) -> Answer<()> {
        let kind = if matches!(new, NewPart::Base(_)) { SYSTEM_CREATE } else { SEED_CREATE };
        self.change(kind, target, Request::new(Method::PUT, &["disks", name]).json(new)).await
    }

    /// Deletes a part that no machine uses, if the one of that name is still the one with that id.
    pub(crate) async fn part_delete(&self, target: &str, name: &str, id: &str) -> Answer<()> {
        let request = Request::new(Method::DELETE, &["disks", name]).query("serial", Some(id));
        self.change(PART_DELETE, target, request).await
    }

    /// Everything that a target lists, page after page (`list.all-pages`), each item still unread, so that a broken one
    /// spoils no other.
    pub(crate) async fn every(&self, kind: CallKind, target: &str) -> Answer<Vec<Value>> {
        let (mut items, mut token) = (Vec::new(), None::<String>);
        loop {
            let page = self.page(kind, target, token.as_deref()).await?;
            items.extend(page.items);
            token = page.next;
            if token.is_none() {
                return Ok(items);
            }
        }
    }

    /// One page, the first one without a token.
    async fn page(&self, kind: CallKind, target: &str, token: Option<&str>) -> Answer<Page> {
        let path = if kind == PART_LIST { "disks" } else { "boxes" };
        self.call(kind, target, Request::new(Method::GET, &[path]).query("after", token)).await
    }

    /// Asks a target about itself. A check must not wait behind the operations that it is to judge, so it takes no room,
    /// and its budget is its caller's (`check.does-not-disturb`, `check.prompt-at-deadline`).
    pub(crate) async fn about(&self, target: &str, budget: Duration) -> Answer<About> {
        self.within(Some(budget), ABOUT, target, Request::new(Method::GET, &["info"])).await
    }

    /// A call whose answer says no more than that it worked.
    async fn change(&self, kind: CallKind, target: &str, request: Request) -> Answer<()> {
        self.call::<IgnoredAny>(kind, target, request).await.map(drop)
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
        let ready = self.client(target).ready().map_err(Refused::before_the_call)?;
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
