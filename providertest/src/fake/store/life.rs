//! The life of an instance: made, configured, started, stopped, removed, gone.

use std::time::Duration;

use provider_api::Timestamp;

use super::{New, Parts, Record, Refusal, Store, tasks::MAKE};

/// A making that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// The life of what is made.
    pub incarnation: u64,
    /// The number of the task that makes it, where making one is a task ([`Ways::tasks`](super::Ways::tasks)).
    pub task: Option<u64>,
}

impl<I: Clone, P: Clone + Default> Store<I, P> {
    /// Lets everything come to pass that is due; [`Shared::open`](super::Shared::open) does it.
    pub fn advance(&mut self, now: Duration, stamp: Timestamp) {
        (self.now, self.stamp) = (now, stamp);
        let fails = |task: &&super::Task| task.kind == MAKE && task.due <= now && task.failure.is_some();
        let failed: Vec<_> = self.tasks.iter().filter(fails).map(|task| task.incarnation).collect();
        let gone = |record: &&Record<I>| {
            record.gone_at.is_some_and(|at| at <= now) || failed.contains(&record.incarnation)
        };
        while let Some(record) = self.instances.iter().find(gone) {
            self.erase(record.incarnation);
        }
    }

    /// Begins to make an instance, or a placeholder. It is made after [`Ways::work`](super::Ways::work), and then boots,
    /// unless it is [made off](super::Ways::made_off).
    ///
    /// # Errors
    /// AlreadyExists where the key is taken, Invalid where key, name or place make no sense, Quota, and where parts are
    /// explicit PartsMissing and InUse.
    pub fn make(&mut self, place: &str, new: New<I>) -> Result<Made, Refusal> {
        let wide = self.ways.wide_keys;
        if self.instances.iter().any(|other| other.key == new.key && (wide || other.place == place)) {
            return Err(Refusal::AlreadyExists);
        }
        if new.key.is_empty() || new.name.is_empty() || !self.places.iter().any(|known| known == place) {
            return Err(Refusal::Invalid);
        }
        if self.is_full() && !self.ways.parts_need_room {
            return Err(Refusal::Quota);
        }
        if !new.bare {
            self.take_parts(place, &new.parts, &new.shared)?;
        }
        let record = self.record(place, new);
        let task = self.begin_making(&record);
        self.tell(&record);
        let incarnation = record.incarnation;
        self.instances.push(record);
        Ok(Made { incarnation, task })
    }

    fn record(&mut self, place: &str, new: New<I>) -> Record<I> {
        let incarnation = self.count();
        let index = self.places.iter().position(|known| known == place).unwrap_or(0);
        let made_at = self.now + self.ways.work;
        Record {
            place: place.to_owned(),
            key: new.key,
            name: new.name,
            incarnation,
            marks: new.marks,
            created: self.stamp.to_string(),
            bare: new.bare,
            made_at,
            up_at: (!new.bare && !self.ways.made_off).then(|| made_at + self.ways.boot),
            gone_at: None,
            locked_until: self.ways.locks.then_some(made_at),
            pinned: None,
            addresses: (self.ways.addresses)(index, incarnation as u16),
            unreadable: false,
            parts: new.parts,
            borrowed: Vec::new(),
            shared: new.shared,
            delivered: new.delivered,
            own: new.own,
        }
    }

    /// Makes a placeholder an instance: its marks, parts and all that is its own. It is not started.
    ///
    /// # Errors
    /// NotFound, Locked, PartsMissing, InUse; AlreadyExists where it is an instance already, or going.
    pub fn configure(&mut self, place: &str, new: New<I>) -> Result<(), Refusal> {
        let record = self.unlocked(place, &new.key)?;
        if !record.bare || record.gone_at.is_some() {
            return Err(Refusal::AlreadyExists);
        }
        self.take_parts(place, &new.parts, &new.shared)?;
        self.change(place, &new.key, |record, _| {
            record.bare = false;
            (record.marks, record.parts) = (new.marks.clone(), new.parts.clone());
            (record.delivered, record.own) = (new.delivered.clone(), new.own.clone());
        })
    }

    /// Starts an instance; one that runs stays as it is.
    ///
    /// # Errors
    /// NotFound, also for a placeholder and for what is going; Locked.
    pub fn start(&mut self, place: &str, key: &str) -> Result<(), Refusal> {
        let record = self.unlocked(place, key)?;
        if record.bare || record.gone_at.is_some() {
            return Err(Refusal::NotFound);
        }
        let boot = self.ways.boot;
        self.change(place, key, |record, now| {
            if record.pinned.take().is_some() || record.up_at.is_none() {
                record.up_at = Some(now.max(record.made_at) + boot);
            }
        })
    }

    /// Stops an instance; a state that somebody set is gone.
    ///
    /// # Errors
    /// NotFound, Locked.
    pub fn stop(&mut self, place: &str, key: &str) -> Result<(), Refusal> {
        self.unlocked(place, key)?;
        self.change(place, key, |record, _| (record.pinned, record.up_at) = (None, None))
    }

    /// Begins to remove an instance or placeholder, of that life only where one is given. It is gone after
    /// [`Ways::removal`](super::Ways::removal). Again while it is going is no error and changes nothing.
    ///
    /// # Errors
    /// NotFound, Locked; Changed where it is another life.
    pub fn remove(&mut self, place: &str, key: &str, only: Option<u64>) -> Result<(), Refusal> {
        let record = self.unlocked(place, key)?;
        if only.is_some_and(|only| only != record.incarnation) {
            return Err(Refusal::Changed);
        }
        let removal = self.ways.removal;
        self.change(place, key, |record, now| {
            record.gone_at.get_or_insert(now + removal);
        })?;
        self.advance(self.now, self.stamp);
        Ok(())
    }

    /// Takes an instance away at once, with its parts where they go with it.
    pub fn erase(&mut self, incarnation: u64) -> Option<Record<I>> {
        let at = self.instances.iter().position(|record| record.incarnation == incarnation)?;
        let record = self.instances.remove(at);
        if self.ways.parts == Parts::Cascade {
            self.drop_parts(&record);
        }
        self.tell(&record);
        Some(record)
    }

    /// Changes an instance, and tells those who watch.
    ///
    /// # Errors
    /// NotFound.
    pub fn change(
        &mut self,
        place: &str,
        key: &str,
        change: impl FnOnce(&mut Record<I>, Duration),
    ) -> Result<(), Refusal> {
        let now = self.now;
        let found = self.instances.iter_mut().find(|record| record.place == place && record.key == key);
        let record = found.ok_or(Refusal::NotFound)?;
        change(record, now);
        let record = record.clone();
        self.tell(&record);
        Ok(())
    }

    /// The instance, unless a lock keeps others off.
    fn unlocked(&self, place: &str, key: &str) -> Result<&Record<I>, Refusal> {
        let record = self.find(place, key).ok_or(Refusal::NotFound)?;
        if self.is_locked(record) { Err(Refusal::Locked) } else { Ok(record) }
    }
}
