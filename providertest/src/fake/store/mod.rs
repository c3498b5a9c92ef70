//! An instance store for fakes to build on: what stands in a backend, and how time works on it. State that changes later
//! is worked out from the case's clock when somebody looks; nothing runs in the background.
//!
//! A store keeps instances by place and key, with their marks, life and addresses; tasks with their end and their
//! failure; locks; parts, that is secondary resources; a quota, a page size, a token and its rights; and whatever
//! somebody else did to an instance: a pinned state, a held removal, an entry that cannot be read. A fake's handlers
//! call it and word what it refuses. The powers that the kit asks for stand on it too, in [`hand`](crate::fake::hand).
//!
//! | the backend | in the store |
//! |---|---|
//! | makes instances in tasks, which may fail later | [`Ways::tasks`], [`Store::task`], [`Store::outcome`], [`Store::next_fails`] |
//! | locks an instance while it is made, or in some states | [`Ways::locks`], [`Ways::locking`], [`Refusal::Locked`] |
//! | shows a deletion that is in progress | [`States::going`], [`Record::gone_at`] |
//! | addresses instances by numbers or UUIDs | [`Ways::numbered`], [`Ways::key_of`], [`Ways::wide_keys`], [`Store::new_key`] |
//! | makes instances that are off | [`Ways::made_off`], [`Store::start`] |
//! | serves lists in pages | [`Store::list`], [`page`], [`Store::page_size`] |
//! | lists by a label or a name | [`Store::list_by`], [`Store::list_parts_by`] |
//! | lists what stood some time ago | [`Ways::lag`] |
//! | numbers its pages, so that they shift | [`Ways::numbered_pages`], [`Page::total`], [`numbered_page`] |
//! | keeps disks beside instances | [`Ways::parts`], [`Store::put_part`], [`Store::remove_part`] |
//! | binds a deletion to one life | [`Record::incarnation`], the last argument of [`Store::remove`] |
//!
//! A store does not limit the rate of calls: the sweeps put a rate limit of the catalogue on any call.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use providertest::{clock::CaseClock, ledger::Ledger};
//! use providertest::fake::store::{New, Refusal, Shared, Store, Ways};
//!
//! /// What this backend keeps of an instance beside the usual.
//! #[derive(Clone, Default)]
//! struct Machine { size: String }
//!
//! // In `Harness::open` the clock is the case's.
//! let clock = Arc::new(CaseClock::new(Ledger::default()));
//! let store: Shared<Machine> = Shared::new(Store::new(Ways::default(), ["north"]), clock);
//! let new = New {
//!     key: "a".into(),
//!     name: "a".into(),
//!     own: Machine { size: "small".into() },
//!     ..New::default()
//! };
//! store.open().make("north", new.clone())?;
//! assert_eq!(store.open().make("north", new).unwrap_err(), Refusal::AlreadyExists);
//! let mut store = store.open();
//! let record = store.read("north", "a")?;
//! assert_eq!((store.state_of(record), record.own.size.as_str()), ("starting", "small"));
//! # Ok::<(), Refusal>(())
//! ```

mod life;
mod look;
mod parts;
mod record;
mod tasks;
#[cfg(test)]
mod tests;
mod ways;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use provider_api::{Clock, Timestamp};

pub(crate) use self::look::life;
pub use self::{
    life::Made,
    look::{BETWEEN_EMPTY_PAGES, Page, Phase, numbered_page, page},
    record::{Event, HELD, Marks, New, NewPart, Part, Record, Source},
    tasks::{Failure, Outcome, Task},
    ways::{Parts, States, Ways, leases, uuid},
};

/// Everything that a backend holds, as it is at one moment. A fake shares it by [`Shared`].
pub struct Store<I, P = ()> {
    /// How the backend behaves by itself: what takes how long, what is locked, what states are called.
    pub ways: Ways,
    /// Its places in order, zones or hosts, by the names that `Backend::targets` gives.
    pub places: Vec<String>,
    /// Instances and placeholders, in the order in which they were made.
    pub instances: Vec<Record<I>>,
    /// Secondary resources, in the order in which they were made.
    pub parts: Vec<Part<P>>,
    /// Things that many share, by name: base images. They stand in the first place.
    pub shared: BTreeSet<String>,
    /// Tasks, oldest first. They stay to be read.
    pub tasks: Vec<Task>,
    /// How many instances and placeholders there may be.
    pub quota: Option<usize>,
    /// How many rows a page has: 100, until somebody says otherwise; or [`BETWEEN_EMPTY_PAGES`].
    pub page_size: usize,
    /// Whether refusals quote what they were sent; a fake asks for it in `Fake::quotes`.
    pub quotes: bool,
    /// The token that is accepted now; a rotation changes it.
    pub token: Vec<u8>,
    /// Whether no token is accepted for now.
    pub spoiled: bool,
    /// The right that was taken away.
    pub revoked: Option<&'static str>,
    /// The catalogued error that the next instance comes to once it was accepted.
    pub next_fails: Option<String>,
    /// The name of the instance that goes as soon as a listing has named it.
    pub vanishing: Option<String>,
    /// Whether what the backend is asked about itself fails: the check reason APIError. A fake that is asked so honours
    /// it.
    pub ailing: bool,
    /// What listings show, and since when.
    listed: Listed<I, P>,
    now: Duration,
    stamp: Timestamp,
    counter: u64,
    changes: u64,
    watchers: Vec<UnboundedSender<Event>>,
}

/// What listings show.
struct Listed<I, P> {
    at: Duration,
    instances: Vec<Record<I>>,
    parts: Vec<Part<P>>,
}

/// Why a store does not do what it is asked. A fake words each as its backend does: by `?`, as the catalogued error of the
/// same id, or by matching on it.
///
/// ```
/// use providertest::fake::{Refused, store::Refusal};
/// assert_eq!(Refused::from(Refusal::AlreadyExists), Refused("already-exists"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{}", self.id())]
pub enum Refusal {
    /// There is no such instance.
    NotFound,
    /// The key is taken.
    AlreadyExists,
    /// It makes no sense: an empty name, an unknown place.
    Invalid,
    /// There may be no more instances.
    Quota,
    /// It is locked.
    Locked,
    /// It is another life of the key.
    Changed,
    /// What is written about it cannot be read.
    Unreadable,
    /// The page token is no good.
    BadPage,
    /// There is no such part.
    PartNotFound,
    /// An instance uses that part.
    InUse,
    /// A part that it needs is not there.
    PartsMissing,
    /// There is no such task.
    TaskNotFound,
    /// The token is not accepted.
    Unauthorized,
    /// The token lacks the right.
    Forbidden,
}

impl Refusal {
    /// Its name, which is the variant's in lower case with dashes: `not-found`, `already-exists`, `bad-page`. Where the
    /// catalogue of a fake has errors of these ids, `?` turns a refusal into [`Refused`](crate::fake::Refused), and the
    /// fake words it; otherwise match on the refusal.
    pub fn id(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::AlreadyExists => "already-exists",
            Self::Invalid => "invalid",
            Self::Quota => "quota",
            Self::Locked => "locked",
            Self::Changed => "changed",
            Self::Unreadable => "unreadable",
            Self::BadPage => "bad-page",
            Self::PartNotFound => "part-not-found",
            Self::InUse => "in-use",
            Self::PartsMissing => "parts-missing",
            Self::TaskNotFound => "task-not-found",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
        }
    }
}

impl From<Refusal> for crate::fake::Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.id())
    }
}

/// What any store can do, whatever its author keeps in it.
impl<I, P> Store<I, P> {
    /// An empty store with those ways and places, without a token, quota or shared things.
    pub fn new(ways: Ways, places: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            ways,
            places: places.into_iter().map(Into::into).collect(),
            instances: Vec::new(),
            parts: Vec::new(),
            shared: BTreeSet::new(),
            tasks: Vec::new(),
            quota: None,
            page_size: 100,
            quotes: false,
            token: Vec::new(),
            spoiled: false,
            revoked: None,
            next_fails: None,
            vanishing: None,
            ailing: false,
            listed: Listed { at: Duration::ZERO, instances: Vec::new(), parts: Vec::new() },
            now: Duration::ZERO,
            stamp: Timestamp::UNIX_EPOCH,
            counter: 0,
            changes: 0,
            watchers: Vec::new(),
        }
    }

    /// With a token, without which [`Store::allows`] nothing.
    #[must_use]
    pub fn with_token(self, token: impl Into<Vec<u8>>) -> Self {
        Self { token: token.into(), ..self }
    }

    /// With things that many share, by name.
    #[must_use]
    pub fn with_shared(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { shared: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// The time on the case's clock, since the case began.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// The time of day on the case's clock, for creation times.
    pub fn stamp(&self) -> Timestamp {
        self.stamp
    }

    /// A number that the store has not given yet: for lives, tasks, anything else.
    pub fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// A key that the store has not given yet, as this backend gives them out ([`Ways::key_of`]).
    pub fn new_key(&mut self) -> String {
        (self.ways.key_of)(self.count())
    }

    /// Whether that token may do what takes that right. A handler asks before it does anything.
    ///
    /// # Errors
    /// Unauthorized when the token is another; Forbidden when the right was taken away.
    pub fn allows(&self, token: Option<&[u8]>, right: Option<&str>) -> Result<(), Refusal> {
        if self.spoiled || token != Some(&self.token) {
            return Err(Refusal::Unauthorized);
        }
        if right.is_some() && right == self.revoked { Err(Refusal::Forbidden) } else { Ok(()) }
    }

    /// The rights that the token holds now.
    pub fn rights(&self) -> impl Iterator<Item = &'static str> {
        self.ways.rights.iter().copied().filter(|right| self.revoked != Some(right))
    }

    /// Changes as they happen, from now until the watch breaks.
    pub fn watch(&mut self) -> UnboundedReceiver<Event> {
        let (send, receive) = unbounded();
        self.watchers.push(send);
        receive
    }

    /// Breaks every watch; what happens meanwhile is missed.
    pub fn break_watches(&mut self) {
        self.watchers.clear();
    }

    /// Tells those who watch that something changed about an instance. What changes by the clock alone tells nobody.
    pub fn tell(&mut self, record: &Record<I>) {
        self.changes += 1;
        let event = Event {
            place: record.place.clone(),
            key: record.key.clone(),
            name: record.name.clone(),
            marks: record.marks.clone(),
        };
        self.watchers.retain(|watcher| watcher.unbounded_send(event.clone()).is_ok());
    }
}

/// A store and the clock that it lives by. Clones are one store.
pub struct Shared<I, P = ()> {
    store: Arc<Mutex<Store<I, P>>>,
    clock: Arc<dyn Clock>,
}

impl<I: Clone, P: Clone + Default> Shared<I, P> {
    /// Shares a store that lives by the case's clock.
    pub fn new(store: Store<I, P>, clock: Arc<dyn Clock>) -> Self {
        Self { store: Arc::new(Mutex::new(store)), clock }
    }

    /// The store as it is now, with everything done that is due. Nobody else sees it until the guard is dropped.
    pub fn open(&self) -> MutexGuard<'_, Store<I, P>> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.advance(self.clock.monotonic(), self.clock.now());
        store
    }

    /// How often something about an instance has changed, as of when somebody opened the store last: it costs nothing.
    pub(crate) fn changes(&self) -> u64 {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).changes
    }
}

impl<I, P> Clone for Shared<I, P> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store), clock: Arc::clone(&self.clock) }
    }
}

impl<I, P> fmt::Debug for Shared<I, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

impl<I, P> fmt::Debug for Store<I, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("now", &self.now)
            .field("instances", &self.instances.len())
            .field("parts", &self.parts.len())
            .field("tasks", &self.tasks.len())
            .finish_non_exhaustive()
    }
}
