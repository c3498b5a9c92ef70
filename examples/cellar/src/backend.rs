//! The seam: one async method per call to the API, and nothing goes past it. How a request is sent is `client.rs`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use data_encoding::BASE64;
use provider_api::{CallKind, Gate, Scrubber, Seam, Secret};
use reqwest::Method;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::{
    client::{Client, Request},
    error::Refused,
    view::{About, Machine, NewMachine, Page},
};

/// Makes and boots a machine, which is what a box is called in this crate: Rust has another `Box`.
pub(crate) const MACHINE_PUT: CallKind = CallKind::write("box_put");
/// Reads a machine.
pub(crate) const MACHINE_GET: CallKind = CallKind::read("box_get");
/// Boots or resumes a machine.
pub(crate) const MACHINE_POWER: CallKind = CallKind::write("box_power");
/// Deletes a machine.
pub(crate) const MACHINE_DELETE: CallKind = CallKind::write("box_delete");
/// Reads one page of the machines.
pub(crate) const MACHINE_LIST: CallKind = CallKind::read("box_list");
/// Makes a system disk. It blocks until the disk is there.
pub(crate) const DISK_PUT: CallKind = CallKind::write("disk_put").within(Duration::from_secs(120));
/// Makes a seed disk. It carries user data, so of its errors only code and reason survive.
pub(crate) const SEED_PUT: CallKind = CallKind::upload("seed_put").within(Duration::from_secs(120));
/// Deletes a disk.
pub(crate) const DISK_DELETE: CallKind = CallKind::write("disk_delete");
/// Reads one page of the disks.
pub(crate) const DISK_LIST: CallKind = CallKind::read("disk_list");
/// Asks a host about itself.
pub(crate) const ABOUT: CallKind = CallKind::read("info");

/// Every kind of call, for the profile.
pub(crate) const CALLS: [CallKind; 10] = [
    MACHINE_PUT,
    MACHINE_GET,
    MACHINE_POWER,
    MACHINE_DELETE,
    MACHINE_LIST,
    DISK_PUT,
    SEED_PUT,
    DISK_DELETE,
    DISK_LIST,
    ABOUT,
];

type Answer<T> = Result<T, Refused>;

/// The way to the hosts. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    /// By host.
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

    /// Where a host is, for readers.
    pub(crate) fn address(&self, host: &str) -> String {
        self.client(host).address()
    }

    fn client(&self, host: &str) -> &Client {
        self.clients.get(host).expect("operations look the host up in the config first")
    }

    /// Makes a machine, marks and all; it boots.
    pub(crate) async fn machine_put(&self, host: &str, name: &str, new: &NewMachine<'_>) -> Answer<()> {
        self.change(MACHINE_PUT, host, Request::new(Method::PUT, &["boxes", name]).json(new)).await
    }

    /// Reads a machine.
    pub(crate) async fn machine_get(&self, host: &str, name: &str) -> Answer<Machine> {
        self.call(MACHINE_GET, host, Request::new(Method::GET, &["boxes", name])).await
    }

    /// Boots or resumes a machine.
    pub(crate) async fn machine_power_on(&self, host: &str, name: &str) -> Answer<()> {
        let request = Request::new(Method::POST, &["boxes", name, "power"]).json(&json!({"to": "on"}));
        self.change(MACHINE_POWER, host, request).await
    }

    /// Deletes a machine, if the one of that name is still the one with that serial (`delete.bound-to-incarnation`). The
    /// answer comes before it is gone.
    pub(crate) async fn machine_delete(&self, host: &str, name: &str, serial: &str) -> Answer<()> {
        let request = Request::new(Method::DELETE, &["boxes", name]).query("serial", Some(serial));
        self.change(MACHINE_DELETE, host, request).await
    }

    /// Makes a system disk, over an unused one of that name.
    pub(crate) async fn disk_put(&self, host: &str, name: &str, base: &str) -> Answer<()> {
        let request = Request::new(Method::PUT, &["disks", name]).json(&json!({"base": base}));
        self.change(DISK_PUT, host, request).await
    }

    /// Makes a seed disk, over an unused one of that name. In base64, since it may be any bytes.
    pub(crate) async fn seed_put(&self, host: &str, name: &str, content: &Secret) -> Answer<()> {
        let body = json!({"content": BASE64.encode(content.reveal())});
        self.change(SEED_PUT, host, Request::new(Method::PUT, &["disks", name]).json(&body)).await
    }

    /// Deletes a disk that no box uses, if it is still the one with that serial.
    pub(crate) async fn disk_delete(&self, host: &str, name: &str, serial: &str) -> Answer<()> {
        let request = Request::new(Method::DELETE, &["disks", name]).query("serial", Some(serial));
        self.change(DISK_DELETE, host, request).await
    }

    /// Every machine or every disk of a host, page after page (`list.all-pages`), each still unread.
    pub(crate) async fn listed(&self, kind: CallKind, host: &str) -> Answer<Vec<Value>> {
        let path = if kind == DISK_LIST { "disks" } else { "boxes" };
        let (mut items, mut after) = (Vec::new(), None::<String>);
        loop {
            let request = Request::new(Method::GET, &[path]).query("after", after.as_deref());
            let page: Page = self.call(kind, host, request).await?;
            items.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(items);
            }
        }
    }

    /// Asks a host about itself. A check must not wait behind the operations that it is to judge, so it takes no room,
    /// and its budget is its caller's (`check.does-not-disturb`, `check.prompt-at-deadline`).
    pub(crate) async fn about(&self, host: &str, budget: Duration) -> Answer<About> {
        self.within(Some(budget), ABOUT, host, Request::new(Method::GET, &["info"])).await
    }

    /// A call whose answer says no more than that it worked.
    async fn change(&self, kind: CallKind, host: &str, request: Request) -> Answer<()> {
        self.call::<IgnoredAny>(kind, host, request).await.map(drop)
    }

    async fn call<T: DeserializeOwned>(&self, kind: CallKind, host: &str, request: Request) -> Answer<T> {
        let _room = self.gate.target(host).await; // runtime.per-target-limit
        self.within(None, kind, host, request).await
    }

    /// The one way out. Credentials are read before the call begins: a file is no backend.
    async fn within<T: DeserializeOwned>(
        &self,
        budget: Option<Duration>,
        kind: CallKind,
        host: &str,
        request: Request,
    ) -> Answer<T> {
        let ready = self.client(host).ready().map_err(Refused::before_the_call)?;
        let mut scrubber = self.scrubber.clone();
        scrubber.hide(ready.token.reveal());
        let seam = self.seam.hiding(scrubber.clone());
        let answer = match budget {
            Some(budget) => seam.call_within(budget, kind, host, ready.send(request)).await,
            None => seam.call(kind, host, ready.send(request)).await,
        };
        answer.map_err(|error| Refused::of(kind, host, &error, &scrubber))
    }
}
