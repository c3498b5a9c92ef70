//! The seam to the cloud: one async method per backend call, and the one place that each of them passes. Credentials
//! are read, room at the target is waited for, secrets are scrubbed, and the error gets its meaning here.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::stream::BoxStream;
use provider_api::{CallKind, CredentialFile, Gate, Scrubber, Seam, Secret};

use super::{
    cloud::{
        About, Accepted, Answer, At, Cloud, Described, Event, FRONT, Located, NewInstance, NewPart, Page,
        Part, Row, Sighting, Task,
    },
    error::Refused,
};

pub(super) const LOCATE: CallKind = CallKind::read("locate");
pub(super) const DESCRIBE: CallKind = CallKind::read("describe");
pub(super) const LIST: CallKind = CallKind::read("list");
pub(super) const INSERT: CallKind = CallKind::upload("insert");
pub(super) const CLONE: CallKind = CallKind::write("clone");
pub(super) const CONFIGURE: CallKind = CallKind::upload("configure");
pub(super) const START: CallKind = CallKind::write("start");
pub(super) const REMOVE: CallKind = CallKind::write("remove");
pub(super) const ADDRESSES: CallKind = CallKind::read("addresses");
pub(super) const TASK: CallKind = CallKind::read("task");
pub(super) const TASKS: CallKind = CallKind::read("tasks");
pub(super) const PUT_PART: CallKind = CallKind::upload("put-part");
pub(super) const LIST_PARTS: CallKind = CallKind::read("list-parts");
pub(super) const REMOVE_PART: CallKind = CallKind::write("remove-part");
pub(super) const ABOUT: CallKind = CallKind::read("about");
pub(super) const WATCH: CallKind = CallKind::read("watch");

type Result<T> = std::result::Result<T, Refused>;

/// The way to the cloud.
#[derive(Clone)]
pub(super) struct Backend {
    pub(super) cloud: Arc<dyn Cloud>,
    pub(super) seam: Seam,
    pub(super) gate: Arc<Gate>,
    pub(super) credentials: CredentialFile,
    /// The secrets of the request at hand.
    pub(super) scrubber: Scrubber,
    /// The same with the token, as it was at the last call: it is rotated seldom.
    pub(super) with_token: Arc<Mutex<Option<(Secret, Scrubber)>>>,
}

impl Backend {
    /// The same way, for a request with secrets of its own.
    pub(super) fn hiding(&self, scrubber: Scrubber) -> Self {
        Self { scrubber, with_token: Arc::default(), ..self.clone() }
    }

    pub(super) async fn locate(&self, name: &str) -> Result<Vec<Located>> {
        self.call(LOCATE, FRONT, |at| self.cloud.locate(at, name)).await
    }

    pub(super) async fn describe(&self, zone: &str, key: &str) -> Result<Described> {
        self.call(DESCRIBE, zone, |at| self.cloud.describe(at, key)).await
    }

    pub(super) async fn list(&self, zone: &str, page: Option<&str>) -> Result<Page<Row>> {
        self.call(LIST, zone, |at| self.cloud.list(at, page)).await
    }

    pub(super) async fn insert(&self, zone: &str, new: NewInstance) -> Result<Accepted> {
        self.call(INSERT, zone, |at| self.cloud.insert(at, new)).await
    }

    pub(super) async fn clone_image(
        &self,
        zone: &str,
        key: &str,
        name: &str,
        image: &str,
    ) -> Result<Accepted> {
        self.call(CLONE, zone, |at| self.cloud.clone_image(at, key, name, image)).await
    }

    pub(super) async fn configure(&self, zone: &str, new: NewInstance) -> Result<()> {
        self.call(CONFIGURE, zone, |at| self.cloud.configure(at, new)).await
    }

    pub(super) async fn start(&self, zone: &str, key: &str) -> Result<()> {
        self.call(START, zone, |at| self.cloud.start(at, key)).await
    }

    pub(super) async fn remove(&self, zone: &str, key: &str, only: Option<u64>) -> Result<Accepted> {
        self.call(REMOVE, zone, |at| self.cloud.remove(at, key, only)).await
    }

    pub(super) async fn addresses(&self, zone: &str, key: &str) -> Result<Vec<Sighting>> {
        self.call(ADDRESSES, zone, |at| self.cloud.addresses(at, key)).await
    }

    pub(super) async fn task(&self, zone: &str, id: u64) -> Result<Task> {
        self.call(TASK, zone, |at| self.cloud.task(at, id)).await
    }

    pub(super) async fn tasks(&self, zone: &str, name: &str) -> Result<Vec<Task>> {
        self.call(TASKS, zone, |at| self.cloud.tasks(at, name)).await
    }

    pub(super) async fn put_part(&self, zone: &str, new: NewPart) -> Result<()> {
        self.call(PUT_PART, zone, |at| self.cloud.put_part(at, new)).await
    }

    pub(super) async fn list_parts(&self, zone: &str, page: Option<&str>) -> Result<Page<Part>> {
        self.call(LIST_PARTS, zone, |at| self.cloud.list_parts(at, page)).await
    }

    pub(super) async fn remove_part(&self, zone: &str, name: &str, only: Option<u64>) -> Result<()> {
        self.call(REMOVE_PART, zone, |at| self.cloud.remove_part(at, name, only)).await
    }

    pub(super) async fn watch(&self) -> Result<BoxStream<'static, Event>> {
        self.call(WATCH, FRONT, |at| self.cloud.watch(at)).await
    }

    /// Asks a zone about itself. A check must not wait behind the operations that it is to judge, so it takes no
    /// room, and its budget is its caller's (`check.does-not-disturb`, `check.prompt-at-deadline`).
    pub(super) async fn about(&self, zone: &str, budget: Duration) -> Result<About> {
        let token = self.token()?;
        let scrubber = self.scrubber_with(&token);
        let at = At { zone: zone.to_owned(), token };
        let seam = self.seam.hiding(scrubber.clone());
        let answer = seam.call_within(budget, ABOUT, zone, self.cloud.about(at)).await;
        answer.map_err(|error| Refused::from_call(ABOUT, zone, &error, &scrubber))
    }

    async fn call<T, F: Future<Output = Answer<T>>>(
        &self,
        kind: CallKind,
        target: &str,
        call: impl FnOnce(At) -> F,
    ) -> Result<T> {
        let _room = self.gate.target(target).await; // runtime.per-target-limit
        let token = self.token()?;
        let scrubber = self.scrubber_with(&token);
        let at = At { zone: target.to_owned(), token };
        let answer = self.seam.hiding(scrubber.clone()).call(kind, target, call(at)).await;
        answer.map_err(|error| Refused::from_call(kind, target, &error, &scrubber))
    }

    /// The token as the file has it now (`runtime.credentials-rotate`).
    fn token(&self) -> Result<Secret> {
        let read = self.credentials.read().map_err(Refused::before_the_call)?;
        Ok(Secret::new(read.reveal().trim_ascii()))
    }

    fn scrubber_with(&self, token: &Secret) -> Scrubber {
        let mut last = self.with_token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, scrubber)) = &*last
            && known == token
        {
            return scrubber.clone();
        }
        let mut scrubber = self.scrubber.clone();
        scrubber.hide(token.reveal());
        *last = Some((token.clone(), scrubber.clone()));
        scrubber
    }
}
