//! The gate: one operation at a time per name, a limit per target, and the room that `maxInstances` leaves.

use std::{
    collections::{HashMap, HashSet},
    future::Future,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use async_lock::{Semaphore, SemaphoreGuardArc};

use crate::{Error, Listing, Name, TrackedWait, Tracker, seam::Waiting};

/// Orders operations inside one provider. Waiting ends with the caller, and the ledger knows of it.
///
/// `create`, `delete` and the delete of a leftover take the turn at the instance's name before their first look, and hold
/// it to the end; each backend call takes room at its target, and gives it back. A check takes neither.
///
/// Serves `create.concurrent-same-name`, `delete.races-create`, `runtime.per-target-limit` and `create.max-instances`.
///
/// ```
/// use provider_api::{Error, Gate, Listing, Name, Seam};
///
/// async fn create(gate: &Gate, max: Option<usize>, name: &Name) -> Result<(), Error> {
///     let _turn = gate.name(name.as_str()).await;
///     let _room = gate.admit(max, name, async { Ok(Listing::default()) }).await?;
///     let _at_target = gate.target("eu-1").await; // for one call
///     Ok(())
/// }
/// ```
pub struct Gate {
    per_target: usize,
    tracker: Option<Arc<dyn Tracker>>,
    names: Mutex<HashMap<String, Weak<Semaphore>>>,
    targets: Mutex<HashMap<String, Arc<Semaphore>>>,
    admission: Arc<Semaphore>,
    reserved: Arc<Mutex<HashSet<Name>>>,
}

/// A turn at a name or room at a target, held until it is dropped.
#[derive(Debug)]
pub struct Turn(#[allow(dead_code)] SemaphoreGuardArc);

/// An instance that may be made and counts as made, until it is dropped. A create holds it to its end: by then the
/// listing has the instance.
#[derive(Debug)]
pub struct Reservation {
    name: Name,
    reserved: Arc<Mutex<HashSet<Name>>>,
}

impl Gate {
    pub(crate) fn new(per_target: usize, tracker: Option<Arc<dyn Tracker>>) -> Self {
        Self {
            per_target: per_target.max(1),
            tracker,
            names: Mutex::default(),
            targets: Mutex::default(),
            admission: Arc::new(Semaphore::new(1)),
            reserved: Arc::default(),
        }
    }

    /// Waits for the turn of this operation on `name`. There is one turn for each name.
    pub async fn name(&self, name: &str) -> Turn {
        let turn = {
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            // Names come and go by the thousand; those that nobody holds are forgotten now and then.
            if names.len() > 64 && names.len().is_power_of_two() {
                names.retain(|_, turn| turn.strong_count() > 0);
            }
            let known = names.get(name).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let turn = Arc::new(Semaphore::new(1));
                names.insert(name.to_owned(), Arc::downgrade(&turn));
                turn
            })
        };
        self.wait(turn).await
    }

    /// Waits for room at `target`, a host, a zone or the API server, where so many may be at work at once as
    /// `maxConcurrentPerTarget` says.
    pub async fn target(&self, target: &str) -> Turn {
        let room = {
            let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(
                targets.entry(target.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.per_target))),
            )
        };
        self.wait(room).await
    }

    /// Asks for room under `maxInstances`, counting what is listed, booting ones included, and what is being made.
    /// Without a `max` nothing is listed.
    ///
    /// An instance that is listed already is always let through: its create is a repetition.
    ///
    /// # Errors
    /// QuotaExceeded, coded `MaxInstances` and leaving nothing, when there is no room. Transient when a part of the scope
    /// cannot be read, since nobody knows then how many there are; and whatever `listing` answers when it fails.
    pub async fn admit(
        &self,
        max: Option<usize>,
        name: &Name,
        listing: impl Future<Output = Result<Listing, Error>>,
    ) -> Result<Option<Reservation>, Error> {
        let Some(max) = max else { return Ok(None) };
        let _turn = self.wait(Arc::clone(&self.admission)).await;
        // What is made while the listing is under way may be in neither: not yet listed, no longer reserved.
        let before = self.reserved.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let listing = listing.await?;
        if let Some(part) = listing.unreachable.first() {
            return Err(Error::transient(format!(
                "maxInstances cannot be kept while {} cannot be read: {}",
                part.target, part.reason
            )));
        }
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let listed: HashSet<_> = listing.items.into_iter().map(|item| item.name).collect();
        let known: HashSet<_> = listed.iter().chain(&before).chain(reserved.iter()).collect();
        let count = known.into_iter().filter(|other| *other != name).count();
        if !listed.contains(name) && count >= max {
            let text = format!(
                "the entry's maxInstances of {max} is reached: {count} instances exist or are being made"
            );
            return Err(Error::quota(text).coded("MaxInstances").leaving(crate::LeftBehind::Nothing));
        }
        reserved.insert(name.clone());
        Ok(Some(Reservation { name: name.clone(), reserved: Arc::clone(&self.reserved) }))
    }

    async fn wait(&self, semaphore: Arc<Semaphore>) -> Turn {
        if let Some(turn) = semaphore.try_acquire_arc() {
            return Turn(turn);
        }
        let _waiting = Waiting::begin(&self.tracker, TrackedWait::Gate);
        Turn(semaphore.acquire_arc().await)
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("per_target", &self.per_target).finish_non_exhaustive()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, executor::block_on};

    use super::*;
    use crate::{Listed, ProviderId, Uid};

    #[test]
    fn one_at_a_time_per_name_and_a_limit_per_target() {
        let gate = Gate::new(2, None);
        let first = block_on(gate.name("a"));
        assert!(gate.name("a").now_or_never().is_none());
        assert!(gate.name("b").now_or_never().is_some());
        drop(first);
        assert!(gate.name("a").now_or_never().is_some());
        let _two = (block_on(gate.target("t")), block_on(gate.target("t")));
        assert!(gate.target("t").now_or_never().is_none());
        assert!(gate.target("u").now_or_never().is_some());
    }

    #[test]
    fn max_instances_counts_what_is_listed_and_what_is_being_made() {
        let gate = Gate::new(1, None);
        let [a, b, c] = ["a", "b", "c"].map(|uid| Uid::parse(uid).unwrap());
        let name = Name::from_uid;
        let listing = || {
            let item = Listed { id: ProviderId::new("a"), name: name(&a), uid: a.clone(), created_at: None };
            async move { Ok(Listing { items: vec![item], unreachable: vec![] }) }
        };
        let admit = |uid: &Uid| block_on(gate.admit(Some(2), &name(uid), listing()));
        let held = admit(&b).unwrap();
        assert!(admit(&a).is_ok(), "what is listed is let through");
        assert!(admit(&c).is_err());
        drop(held);
        assert!(admit(&c).is_ok());
    }

    #[test]
    fn what_is_made_while_the_listing_is_read_is_counted() {
        let gate = Gate::new(1, None);
        let [a, b] = ["a", "b"].map(|uid| Name::from_uid(&Uid::parse(uid).unwrap()));
        let empty = async { Ok(Listing::default()) };
        let held = block_on(gate.admit(Some(1), &a, empty)).unwrap();
        let late = async move {
            drop(held);
            Ok(Listing::default())
        };
        assert!(block_on(gate.admit(Some(1), &b, late)).is_err());
    }
}
