//! The seam: one async method per call to the API, and nothing goes past it. How a request is sent is `client.rs`.
//!
//! TO ADAPT: method, path and parameters of each call. A call that you add here belongs into `CALLS` too, and the errors
//! it can be answered with into `catalogue.rs`.

//@if endpoints
use std::{collections::BTreeMap, sync::Arc, time::Duration};
//@else
use std::{sync::Arc, time::Duration};
//@end

//@if numbers
use provider_api::{CallKind, Error, Gate, Scrubber, Seam};
//@else
use provider_api::{CallKind, Gate, Scrubber, Seam};
//@end
use reqwest::Method;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::{
    client::{Client, Request},
    //@if whole
    error::Refused,
    //@else
    error::{Meaning, Refused},
    //@end
    //@if parts tasks
    view::{
        About, Machine, NewMachine, Page,
        //@if parts
        NewPart,
        //@end
        //@if tasks
        Task,
        //@end
        //@if wait
        Accepted,
        //@end
    },
    //@else
    view::{About, Machine, NewMachine, Page},
    //@end
};

//@if parts
/// Makes a machine.
pub(crate) const MACHINE_CREATE: CallKind = CallKind::write("newmachine_create");
//@else
/// Makes a machine. It carries user data, so of its errors only code and reason survive.
pub(crate) const MACHINE_CREATE: CallKind = CallKind::upload("newmachine_create");
//@end
/// Reads a machine.
pub(crate) const MACHINE_GET: CallKind = CallKind::read("newmachine_get");
/// Starts a machine that is stopped.
pub(crate) const MACHINE_START: CallKind = CallKind::write("newmachine_start");
/// Deletes a machine.
pub(crate) const MACHINE_DELETE: CallKind = CallKind::write("newmachine_delete");
//@if whole
/// Reads the machines.
//@else
/// Reads one page of the machines.
//@end
pub(crate) const MACHINE_LIST: CallKind = CallKind::read("newmachine_list");
//@if parts
/// Makes a part. It may carry user data, so of its errors only code and reason survive.
pub(crate) const PART_CREATE: CallKind = CallKind::upload("newdisk_create");
/// Deletes a part.
pub(crate) const PART_DELETE: CallKind = CallKind::write("newdisk_delete");
//@if whole
/// Reads the parts.
//@else
/// Reads one page of the parts.
//@end
pub(crate) const PART_LIST: CallKind = CallKind::read("newdisk_list");
//@end
//@if late
/// Reads the tasks that make machines of a name.
pub(crate) const TASK_LIST: CallKind = CallKind::read("task_list");
//@end
//@if wait
/// Reads a task.
pub(crate) const TASK_GET: CallKind = CallKind::read("task_get");
//@end
/// Asks a target about itself.
pub(crate) const ABOUT: CallKind = CallKind::read("about");

/// Every kind of call, for the profile.
pub(crate) const CALLS: &[CallKind] = &[
    MACHINE_CREATE,
    MACHINE_GET,
    MACHINE_START,
    MACHINE_DELETE,
    MACHINE_LIST,
    //@if parts
    PART_CREATE,
    PART_DELETE,
    PART_LIST,
    //@end
    //@if late
    TASK_LIST,
    //@end
    //@if wait
    TASK_GET,
    //@end
    ABOUT,
];

//@if tokens
/// How often a listing is begun anew when its page token goes bad.
const RESTARTS: usize = 3;

//@end
//@if numbers
/// How often a listing is begun anew when its pages have shifted.
const RESTARTS: usize = 3;

//@end
type Answer<T> = Result<T, Refused>;

/// The way to the API. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    //@if endpoints
    /// By target.
    clients: Arc<BTreeMap<String, Client>>,
    //@else
    client: Arc<Client>,
    //@end
    seam: Seam,
    gate: Arc<Gate>,
    /// The secrets of the request at hand.
    scrubber: Scrubber,
}

impl Backend {
    //@if endpoints
    pub(crate) fn new(clients: BTreeMap<String, Client>, seam: Seam, gate: Arc<Gate>) -> Self {
        Self { clients: Arc::new(clients), seam, gate, scrubber: Scrubber::default() }
    }
    //@else
    pub(crate) fn new(client: Client, seam: Seam, gate: Arc<Gate>) -> Self {
        Self { client: Arc::new(client), seam, gate, scrubber: Scrubber::default() }
    }
    //@end

    /// The same way, for a request with secrets of its own (`create.hides-secrets`).
    pub(crate) fn hiding(&self, scrubber: Scrubber) -> Self {
        Self { scrubber, ..self.clone() }
    }

    /// Where a target is, for readers.
    //@if endpoints
    pub(crate) fn address(&self, target: &str) -> String {
        self.client(target).address()
    }

    fn client(&self, target: &str) -> &Client {
        self.clients.get(target).expect("operations look the target up in the config first")
    }
    //@else
    pub(crate) fn address(&self, _target: &str) -> String {
        self.client.address()
    }
    //@end

    //@if parts
    /// Makes a machine of its parts, marks and all.
    //@else
    /// Makes a machine, marks and all.
    //@end
    //@if wait
    pub(crate) async fn machine_create(&self, target: &str, new: &NewMachine<'_>) -> Answer<Accepted> {
        self.call(MACHINE_CREATE, target, Request::new(Method::POST, &["newmachines"]).json(new)).await
    }
    //@else
    pub(crate) async fn machine_create(&self, target: &str, new: &NewMachine<'_>) -> Answer<()> {
        self.change(MACHINE_CREATE, target, Request::new(Method::POST, &["newmachines"]).json(new)).await
    }
    //@end

    /// Reads a machine.
    pub(crate) async fn machine_get(&self, target: &str, name: &str) -> Answer<Machine> {
        self.call(MACHINE_GET, target, Request::new(Method::GET, &["newmachines", name])).await
    }

    /// Starts a machine that is stopped.
    pub(crate) async fn machine_start(&self, target: &str, machine: &Machine) -> Answer<()> {
        let request = Request::new(Method::POST, &["newmachines", &machine.name, "start"]);
        self.change(MACHINE_START, target, request).await
    }

    /// Deletes a machine, if the one of that name is still the one that was seen (`delete.bound-to-incarnation`). The
    /// answer comes before it is gone.
    pub(crate) async fn machine_delete(&self, target: &str, machine: &Machine) -> Answer<()> {
        let request = Request::new(Method::DELETE, &["newmachines", &machine.name]);
        self.change(MACHINE_DELETE, target, request.query("id", Some(&machine.id))).await
    }
    //@if parts

    /// Makes a part, over an unused one of that name.
    pub(crate) async fn part_create(&self, target: &str, name: &str, new: &NewPart) -> Answer<()> {
        self.change(PART_CREATE, target, Request::new(Method::PUT, &["newdisks", name]).json(new)).await
    }

    /// Deletes a part that no machine uses, if the one of that name is still the one with that id.
    pub(crate) async fn part_delete(&self, target: &str, name: &str, id: &str) -> Answer<()> {
        let request = Request::new(Method::DELETE, &["newdisks", name]).query("id", Some(id));
        self.change(PART_DELETE, target, request).await
    }
    //@end
    //@if wait

    /// Reads the task of that number.
    pub(crate) async fn task_get(&self, target: &str, number: u64) -> Answer<Task> {
        self.call(TASK_GET, target, Request::new(Method::GET, &["tasks", &number.to_string()])).await
    }
    //@end
    //@if late

    /// Reads the tasks that make machines of that name, oldest first.
    pub(crate) async fn task_list(&self, target: &str, name: &str) -> Answer<Vec<Task>> {
        self.call(TASK_LIST, target, Request::new(Method::GET, &["tasks"]).query("name", Some(name))).await
    }
    //@end

    //@if tokens
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
        //@if parts
        let path = if kind == PART_LIST { "newdisks" } else { "newmachines" };
        self.call(kind, target, Request::new(Method::GET, &[path]).query("page", token)).await
        //@else
        self.call(kind, target, Request::new(Method::GET, &["newmachines"]).query("page", token)).await
        //@end
    }
    //@end
    //@if numbers
    /// Everything that a target lists, page after page (`list.all-pages`), each item still unread, so that a broken one
    /// spoils no other.
    pub(crate) async fn every(&self, kind: CallKind, target: &str) -> Answer<Vec<Value>> {
        let (mut items, mut number, mut total, mut restarts) = (Vec::new(), 1, None, 0);
        loop {
            let page = self.page(kind, target, number).await?;
            items.extend(page.items);
            let as_before = total.replace(page.total).is_none_or(|total| total == page.total);
            match page.next {
                Some(next) if as_before => number = next,
                None if as_before && items.len() == page.total => return Ok(items),
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

    /// The page of that number, from 1 on.
    async fn page(&self, kind: CallKind, target: &str, number: u64) -> Answer<Page> {
        let number = number.to_string();
        //@if parts
        let path = if kind == PART_LIST { "newdisks" } else { "newmachines" };
        self.call(kind, target, Request::new(Method::GET, &[path]).query("page", Some(&number))).await
        //@else
        self.call(kind, target, Request::new(Method::GET, &["newmachines"]).query("page", Some(&number))).await
        //@end
    }
    //@end
    //@if whole
    /// Everything that a target lists, each item still unread, so that a broken one spoils no other.
    pub(crate) async fn every(&self, kind: CallKind, target: &str) -> Answer<Vec<Value>> {
        //@if parts
        let path = if kind == PART_LIST { "newdisks" } else { "newmachines" };
        let page: Page = self.call(kind, target, Request::new(Method::GET, &[path])).await?;
        //@else
        let page: Page = self.call(kind, target, Request::new(Method::GET, &["newmachines"])).await?;
        //@end
        Ok(page.items)
    }
    //@end

    /// Asks a target about itself. A check must not wait behind the operations that it is to judge, so it takes no room,
    /// and its budget is its caller's (`check.does-not-disturb`, `check.prompt-at-deadline`).
    pub(crate) async fn about(&self, target: &str, budget: Duration) -> Answer<About> {
        self.within(Some(budget), ABOUT, target, Request::new(Method::GET, &["about"])).await
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
        //@if zones
        let request = request.under(&["v1", "newzones", target]);
        //@else
        let request = request.under(&["v1"]);
        //@end
        //@if endpoints
        let ready = self.client(target).ready().map_err(Refused::before_the_call)?;
        //@else
        let ready = self.client.ready().map_err(Refused::before_the_call)?;
        //@end
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
