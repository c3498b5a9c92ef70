//! The cloud in memory: every call passes the wire and works on the store in one piece.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::{StreamExt, channel::mpsc, stream::BoxStream};
use provider_api::{Clock, Secret, Shows, current_call};

use super::{
    About, Accepted, Answer, At, Cloud, CloudError, Described, Event, Located, NewInstance, NewPart, Page,
    Part, Row, Sighting, Store, Task, refusal,
    store::{Record, Refused},
};
use crate::wire::{Incoming, Reply, Wire};

/// The rights that a token can hold.
pub(crate) const RIGHTS: &[&str] = &["instances.read", "instances.write", "parts.read", "parts.write"];

/// The reference backend.
#[derive(Clone)]
pub struct MemoryCloud {
    store: Arc<Mutex<Store>>,
    clock: Arc<dyn Clock>,
    wire: Wire,
}

/// One request: what the wire records of it, and what it needs.
struct Request<'r> {
    at: At,
    kind: &'static str,
    subject: &'r str,
    mutates: bool,
    right: Option<&'static str>,
    payload: Option<Secret>,
    /// The name and marks of the instance that a task would make.
    makes: Option<(String, Marks)>,
}

type Marks = std::collections::BTreeMap<String, String>;

impl MemoryCloud {
    pub(crate) fn new(store: Store, clock: Arc<dyn Clock>, wire: Wire) -> Self {
        Self { store: Arc::new(Mutex::new(store)), clock, wire }
    }

    /// The store as it is now.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        open(&self.store, &*self.clock)
    }

    /// Serves one request.
    async fn serve<T: Send + 'static>(
        &self,
        request: Request<'_>,
        effect: impl FnOnce(&mut Store, &str) -> Result<T, Refused> + Send + 'static,
        accepted_in_vain: Option<fn(u64) -> T>,
    ) -> Answer<T> {
        let Request { at, kind, subject, mutates, right, payload, makes } = request;
        let incoming = Incoming {
            call: current_call(),
            kind: kind.into(),
            target: at.zone.clone(),
            subject: subject.to_owned(),
            mutates,
            blocking: false,
        };
        let (store, clock, about) = (Arc::clone(&self.store), Arc::clone(&self.clock), subject.to_owned());
        let (zone, sent) = (at.zone.clone(), payload.clone());
        let effect = move || {
            let mut store = open(&store, &*clock);
            let allowed = store.allows(&at.token, right);
            allowed.and_then(|()| effect(&mut store, &at.zone)).map_err(|refused| {
                let quotable = if refused == "unauthorized" { Some(&at.token) } else { sent.as_ref() };
                store.refuse(refused, &about, quotable)
            })
        };
        let native = |id: &str| {
            let mut store = self.store();
            let mut error = refusal::native(id, &store.profile, subject);
            store.quote(&mut error, payload.as_ref());
            match (refusal::shows(id), accepted_in_vain, &makes) {
                (Shows::Task, Some(answer), Some((name, marks))) => {
                    Ok(answer(store.fail_at_once(&zone, name, marks, error)))
                }
                _ => Err(error),
            }
        };
        match self.wire.serve(incoming, effect, native).await {
            Reply::Answer(answer) => answer,
            Reply::Reset => Err(CloudError::reset()),
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        at: At,
        kind: &'static str,
        subject: &str,
        right: &'static str,
        effect: impl FnOnce(&mut Store, &str) -> Result<T, Refused> + Send + 'static,
    ) -> Answer<T> {
        let right = Some(right);
        let request = Request { at, kind, subject, mutates: false, right, payload: None, makes: None };
        self.serve(request, effect, None).await
    }

    async fn write<T: Send + 'static>(
        &self,
        at: At,
        kind: &'static str,
        subject: &str,
        right: &'static str,
        payload: Option<Secret>,
        effect: impl FnOnce(&mut Store, &str) -> Result<T, Refused> + Send + 'static,
    ) -> Answer<T> {
        let right = Some(right);
        let request = Request { at, kind, subject, mutates: true, right, payload, makes: None };
        self.serve(request, effect, None).await
    }

    async fn make(&self, at: At, kind: &'static str, new: NewInstance, bare: bool) -> Answer<Accepted> {
        let subject = new.name.clone();
        let request = Request {
            at,
            kind,
            subject: &subject,
            mutates: true,
            right: Some("instances.write"),
            payload: new.payload(),
            makes: Some((new.name.clone(), new.marks.clone())),
        };
        let make = move |store: &mut Store, zone: &str| Ok(Accepted { task: store.make(zone, new, bare)? });
        self.serve(request, make, Some(|task| Accepted { task: Some(task) })).await
    }
}

#[async_trait]
impl Cloud for MemoryCloud {
    fn below(&self) -> &dyn Cloud {
        self
    }

    async fn locate(&self, at: At, name: &str) -> Answer<Vec<Located>> {
        let wanted = name.to_owned();
        let find = move |store: &mut Store, _: &str| {
            let named = store.instances.iter().filter(|record| record.name == wanted);
            Ok(named.map(|record| Located { zone: record.zone.clone(), key: record.key.clone() }).collect())
        };
        self.read(at, "locate", name, "instances.read", find).await
    }

    async fn describe(&self, at: At, key: &str) -> Answer<Described> {
        let wanted = key.to_owned();
        let look = move |store: &mut Store, zone: &str| store.read(zone, &wanted);
        self.read(at, "describe", key, "instances.read", look).await
    }

    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        let from = page.map(str::to_owned);
        let list = move |store: &mut Store, zone: &str| {
            let here = |record: &&Record| record.zone == zone;
            let rows: Vec<_> = store.instances.iter().filter(here).map(|record| store.row(record)).collect();
            let page = paged(rows, |row| &row.key, from.as_deref(), store.page_size)?;
            store.vanish(&page.items);
            Ok(page)
        };
        self.read(at, "list", "", "instances.read", list).await
    }

    async fn insert(&self, at: At, new: NewInstance) -> Answer<Accepted> {
        self.make(at, "insert", new, false).await
    }

    async fn clone_image(&self, at: At, key: &str, name: &str, image: &str) -> Answer<Accepted> {
        let new = NewInstance {
            key: key.to_owned(),
            name: name.to_owned(),
            image: image.to_owned(),
            marks: Marks::new(),
            machine_type: String::new(),
            cloud_init: None,
            port: None,
            access: None,
            parts: Vec::new(),
        };
        self.make(at, "clone", new, true).await
    }

    async fn configure(&self, at: At, new: NewInstance) -> Answer<()> {
        let (subject, payload) = (new.key.clone(), new.payload());
        let configure = move |store: &mut Store, zone: &str| store.configure(zone, new);
        self.write(at, "configure", &subject, "instances.write", payload, configure).await
    }

    async fn start(&self, at: At, key: &str) -> Answer<()> {
        let wanted = key.to_owned();
        let start = move |store: &mut Store, zone: &str| store.start(zone, &wanted);
        self.write(at, "start", key, "instances.write", None, start).await
    }

    async fn remove(&self, at: At, key: &str, only: Option<u64>) -> Answer<Accepted> {
        let wanted = key.to_owned();
        let remove = move |store: &mut Store, zone: &str| {
            store.remove(zone, &wanted, only).map(|()| Accepted { task: None })
        };
        self.write(at, "remove", key, "instances.write", None, remove).await
    }

    async fn addresses(&self, at: At, key: &str) -> Answer<Vec<Sighting>> {
        let wanted = key.to_owned();
        let look = move |store: &mut Store, zone: &str| store.sightings(zone, &wanted);
        self.read(at, "addresses", key, "instances.read", look).await
    }

    async fn task(&self, at: At, id: u64) -> Answer<Task> {
        let look = move |store: &mut Store, zone: &str| store.task(zone, id).ok_or("task-not-found");
        self.read(at, "task", &id.to_string(), "instances.read", look).await
    }

    async fn tasks(&self, at: At, name: &str) -> Answer<Vec<Task>> {
        let wanted = name.to_owned();
        let look = move |store: &mut Store, zone: &str| Ok(store.tasks_of(zone, &wanted));
        self.read(at, "tasks", name, "instances.read", look).await
    }

    async fn put_part(&self, at: At, new: NewPart) -> Answer<()> {
        let (subject, payload) = (new.name.clone(), new.payload.clone());
        let put = move |store: &mut Store, zone: &str| store.put_part(zone, new);
        self.write(at, "put-part", &subject, "parts.write", payload, put).await
    }

    async fn list_parts(&self, at: At, page: Option<&str>) -> Answer<Page<Part>> {
        let from = page.map(str::to_owned);
        let list = move |store: &mut Store, zone: &str| {
            let here = store.parts.iter().filter(|part| part.zone == zone);
            let parts = here.map(|part| store.shown_part(part)).collect();
            paged(parts, |part: &Part| &part.name, from.as_deref(), store.page_size)
        };
        self.read(at, "list-parts", "", "parts.read", list).await
    }

    async fn remove_part(&self, at: At, name: &str, only: Option<u64>) -> Answer<()> {
        let wanted = name.to_owned();
        let remove = move |store: &mut Store, zone: &str| store.remove_part(zone, &wanted, only);
        self.write(at, "remove-part", name, "parts.write", None, remove).await
    }

    async fn about(&self, at: At) -> Answer<About> {
        let about = |store: &mut Store, _: &str| store.about();
        let request = Request {
            at,
            kind: "about",
            subject: "",
            mutates: false,
            right: None,
            payload: None,
            makes: None,
        };
        self.serve(request, about, None).await
    }

    async fn watch(&self, at: At) -> Answer<BoxStream<'static, Event>> {
        let watch = |store: &mut Store, _: &str| {
            let (send, receive) = mpsc::unbounded();
            store.watchers.push(send);
            Ok(receive.boxed())
        };
        self.read(at, "watch", "", "instances.read", watch).await
    }
}

impl NewInstance {
    /// What of it must not be shown.
    fn payload(&self) -> Option<Secret> {
        let password =
            self.access.as_ref().and_then(|access| access.credentials.as_ref()).map(|c| &c.password);
        let secrets = [self.cloud_init.as_ref(), password].into_iter().flatten();
        let text: Vec<_> = secrets.map(|secret| secret.reveal()).collect();
        (!text.is_empty()).then(|| Secret::new(text.join(&b'\n')))
    }
}

impl Store {
    fn allows(&self, token: &Secret, right: Option<&str>) -> Result<(), Refused> {
        if token.reveal() != self.token {
            return Err("unauthorized");
        }
        if right.is_some() && right == self.revoked { Err("forbidden") } else { Ok(()) }
    }

    fn about(&self) -> Result<About, Refused> {
        if self.about_fails {
            return Err("internal");
        }
        let rights = RIGHTS.iter().copied().filter(|right| self.revoked != Some(right)).collect();
        Ok(About { version: "memory-1", instances: self.instances.len(), quota: self.quota, rights })
    }

    /// Lets the instance go that was to vanish once a listing had named it.
    fn vanish(&mut self, rows: &[Row]) {
        let Some(name) = self.vanishing.take_if(|name| rows.iter().any(|row| row.name == *name)) else {
            return;
        };
        let incarnation = self.instances.iter().find(|record| record.name == name).map(|r| r.incarnation);
        if let Some(incarnation) = incarnation {
            self.erase(incarnation);
        }
    }
}

/// Opens the store with everything in it that is due by now.
fn open<'s>(store: &'s Mutex<Store>, clock: &dyn Clock) -> MutexGuard<'s, Store> {
    let (now, stamp) = (clock.monotonic(), clock.now());
    let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
    store.advance(now, stamp);
    store
}

/// One page in the order of keys; the token is the last key of the page before.
fn paged<T>(
    mut items: Vec<T>,
    key: impl Fn(&T) -> &String,
    from: Option<&str>,
    size: usize,
) -> Result<Page<T>, Refused> {
    items.sort_by(|a, b| key(a).cmp(key(b)));
    if let Some(from) = from {
        let from = from.strip_prefix("after:").ok_or("bad-page")?;
        items.retain(|item| key(item).as_str() > from);
    }
    let more = items.len() > size;
    items.truncate(size);
    let next = items.last().filter(|_| more).map(|last| format!("after:{}", key(last)));
    Ok(Page { items, next })
}
