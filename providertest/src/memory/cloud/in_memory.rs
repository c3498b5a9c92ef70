//! The cloud in memory: every call passes the wire and works on the store in one piece.

use std::sync::{Arc, MutexGuard};

use async_trait::async_trait;
use futures::{StreamExt, stream::BoxStream};
use provider_api::{Clock, Profile, Secret, Shows, current_call};

use super::{
    About, Accepted, Answer, At, Cloud, CloudError, Described, Event, Located, NewInstance, NewPart, Page,
    Part, Row, Sighting, Task, refusal,
    store::{Own, Store},
};
use crate::{
    fake::{
        Refused,
        store::{Failure, Marks, Refusal, Shared},
    },
    wire::{Incoming, Reply, Wire},
};

/// The rights that a token can hold.
pub(crate) const RIGHTS: &[&str] = &["instances.read", "instances.write", "parts.read", "parts.write"];

/// The reference backend.
#[derive(Clone)]
pub struct MemoryCloud {
    store: Shared<Own>,
    profile: Arc<Profile>,
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

impl MemoryCloud {
    pub(crate) fn new(store: Store, profile: Arc<Profile>, clock: Arc<dyn Clock>, wire: Wire) -> Self {
        Self { store: Shared::new(store, clock), profile, wire }
    }

    /// The store as it is now.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.open()
    }

    /// The store, to share it.
    pub(crate) fn shared(&self) -> Shared<Own> {
        self.store.clone()
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
        let (store, profile, about) = (self.store.clone(), Arc::clone(&self.profile), subject.to_owned());
        let (zone, sent) = (at.zone.clone(), payload.clone());
        let effect = move || {
            let mut store = store.open();
            let allowed = store.allows(Some(at.token.reveal()), right).map_err(Refused::from);
            allowed.and_then(|()| effect(&mut store, &at.zone)).map_err(|refused| {
                let unauthorized = refused == Refusal::Unauthorized.into();
                let quotable = if unauthorized { Some(&at.token) } else { sent.as_ref() };
                store.refuse(refused, &profile, &about, quotable)
            })
        };
        let native = |id: &str| {
            let mut store = self.store();
            let mut error = refusal::native(id, &self.profile, subject);
            store.quote(&mut error, payload.as_ref());
            match (refusal::shows(id), accepted_in_vain, &makes) {
                (Shows::Task, Some(answer), Some((name, marks))) => {
                    let failure = Failure { id: id.to_owned(), text: Some(error.text) };
                    Ok(answer(store.fail_at_once(&zone, name, marks, failure)))
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
        let make = move |store: &mut Store, zone: &str| store.begin(zone, new, bare);
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
            Ok(named.map(|record| Located { zone: record.place.clone(), key: record.key.clone() }).collect())
        };
        self.read(at, "locate", name, "instances.read", find).await
    }

    async fn describe(&self, at: At, key: &str) -> Answer<Described> {
        let wanted = key.to_owned();
        let profile = Arc::clone(&self.profile);
        let look =
            move |store: &mut Store, zone: &str| Ok(store.described(store.read(zone, &wanted)?, &profile));
        self.read(at, "describe", key, "instances.read", look).await
    }

    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        let (from, profile) = (page.map(str::to_owned), Arc::clone(&self.profile));
        let list = move |store: &mut Store, zone: &str| {
            let page = store.list(Some(zone), from.as_deref())?;
            let items = page.items.iter().map(|record| store.row(record, &profile)).collect();
            Ok(Page { items, next: page.next, total: store.ways.numbered_pages.then_some(page.total) })
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
        let configure = move |store: &mut Store, zone: &str| store.fill_in(zone, new);
        self.write(at, "configure", &subject, "instances.write", payload, configure).await
    }

    async fn start(&self, at: At, key: &str) -> Answer<()> {
        let wanted = key.to_owned();
        let start = move |store: &mut Store, zone: &str| Ok(store.start(zone, &wanted)?);
        self.write(at, "start", key, "instances.write", None, start).await
    }

    async fn remove(&self, at: At, key: &str, only: Option<u64>) -> Answer<Accepted> {
        let wanted = key.to_owned();
        let remove = move |store: &mut Store, zone: &str| {
            store.remove(zone, &wanted, only)?;
            Ok(Accepted { task: None })
        };
        self.write(at, "remove", key, "instances.write", None, remove).await
    }

    async fn addresses(&self, at: At, key: &str) -> Answer<Vec<Sighting>> {
        let wanted = key.to_owned();
        let look = move |store: &mut Store, zone: &str| Ok(store.sightings(zone, &wanted)?);
        self.read(at, "addresses", key, "instances.read", look).await
    }

    async fn task(&self, at: At, id: u64) -> Answer<Task> {
        let profile = Arc::clone(&self.profile);
        let look = move |store: &mut Store, zone: &str| {
            let task = store.task(id).ok().filter(|task| task.place == zone).ok_or(Refusal::TaskNotFound)?;
            Ok(store.shown_task(task, &profile))
        };
        self.read(at, "task", &id.to_string(), "instances.read", look).await
    }

    async fn tasks(&self, at: At, name: &str) -> Answer<Vec<Task>> {
        let (wanted, profile) = (name.to_owned(), Arc::clone(&self.profile));
        let look = move |store: &mut Store, zone: &str| {
            let here = store.tasks_of(&wanted).filter(|task| task.place == zone);
            Ok(here.map(|task| store.shown_task(task, &profile)).collect())
        };
        self.read(at, "tasks", name, "instances.read", look).await
    }

    async fn put_part(&self, at: At, new: NewPart) -> Answer<()> {
        let (subject, payload) = (new.name.clone(), new.payload.clone());
        let put = move |store: &mut Store, zone: &str| store.put(zone, new);
        self.write(at, "put-part", &subject, "parts.write", payload, put).await
    }

    async fn list_parts(&self, at: At, page: Option<&str>) -> Answer<Page<Part>> {
        let from = page.map(str::to_owned);
        let list = move |store: &mut Store, zone: &str| {
            let here = store.parts.iter().filter(|part| part.place == zone);
            let parts = here.map(|part| store.shown_part(part)).collect();
            let page = store.page_of(parts, |part: &Part| part.name.clone(), from.as_deref())?;
            let total = store.ways.numbered_pages.then_some(page.total);
            Ok(Page { items: page.items, next: page.next, total })
        };
        self.read(at, "list-parts", "", "parts.read", list).await
    }

    async fn remove_part(&self, at: At, name: &str, only: Option<u64>) -> Answer<()> {
        let wanted = name.to_owned();
        let remove = move |store: &mut Store, zone: &str| Ok(store.remove_part(zone, &wanted, only)?);
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
            let shown = |event: crate::fake::store::Event| {
                let crate::fake::store::Event { place, key, name, marks } = event;
                Event { zone: place, key, name, marks }
            };
            Ok(store.watch().map(shown).boxed())
        };
        self.read(at, "watch", "", "instances.read", watch).await
    }
}

impl Store {
    fn about(&self) -> Result<About, Refused> {
        if self.ailing {
            return Err(Refused("internal"));
        }
        let rights = self.rights().collect();
        Ok(About { version: "memory-1", instances: self.instances.len(), quota: self.quota, rights })
    }
}
