//! One listing that many gets share, where the profile says how old it may be (contract 2.2). It is a cache: losing
//! it loses nothing.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use provider_api::Name;

use super::cloud::Described;

/// The listings, and which names were written since they were taken.
pub(super) struct SharedListing {
    max_age: Duration,
    /// Counts listings and writes, so that which came first does not hang on the clock.
    serial: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    zones: HashMap<String, Arc<Taken>>,
    written: HashMap<Name, u64>,
}

/// A listing of one zone.
pub(super) struct Taken {
    serial: u64,
    at: Duration,
    instances: HashMap<String, Described>,
}

/// An operation that writes to one name, until it is dropped: however it ends, listings from before its end do not
/// count for that name (`get.fresh-after-own-write`).
pub(super) struct Writing<'s> {
    listing: &'s SharedListing,
    name: Name,
}

impl SharedListing {
    pub(super) fn new(max_age: Duration) -> Self {
        Self { max_age, serial: AtomicU64::new(1), state: Mutex::default() }
    }

    /// Whether listings are shared at all.
    pub(super) fn is_on(&self) -> bool {
        !self.max_age.is_zero()
    }

    /// Writes to `name` from now on.
    pub(super) fn writing(&self, name: &Name) -> Writing<'_> {
        self.lock().written.insert(name.clone(), u64::MAX);
        Writing { listing: self, name: name.clone() }
    }

    /// What a listing is to be stamped with, taken before its first call.
    pub(super) fn begin(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps a listing for others.
    pub(super) fn keep(&self, zone: &str, serial: u64, at: Duration, instances: HashMap<String, Described>) {
        self.lock().zones.insert(zone.to_owned(), Arc::new(Taken { serial, at, instances }));
    }

    /// A listing of the zone that is young enough for `name`.
    pub(super) fn taken(&self, zone: &str, name: &Name, now: Duration) -> Option<Arc<Taken>> {
        let state = self.lock();
        let written = state.written.get(name).copied().unwrap_or(0);
        let young =
            |taken: &&Arc<Taken>| now.saturating_sub(taken.at) <= self.max_age && taken.serial > written;
        state.zones.get(zone).filter(young).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// What the listing shows under that key.
    pub(super) fn get(&self, key: &str) -> Option<&Described> {
        self.instances.get(key)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let ended = self.listing.serial.fetch_add(1, Ordering::Relaxed);
        let mut state = self.listing.lock();
        // What was written before every listing at hand is of no account any more.
        if let Some(oldest) = state.zones.values().map(|taken| taken.serial).min() {
            state.written.retain(|_, written| *written > oldest);
        }
        if self.listing.is_on() {
            state.written.insert(self.name.clone(), ended);
        } else {
            state.written.remove(&self.name);
        }
    }
}
