//! When which endpoint is probed, and what its probes say of it. It does nothing itself and asks nobody: `mod.rs` probes and
//! comes back with what came of it.
//!
//! The interval is divided into slots of about 100 ms. Every endpoint has its slot, one of those with the fewest, and within
//! it a place of its own; so 10,000 endpoints do not probe at once, however they came.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use crate::{resource::Key, step::Health};

/// How proxies are probed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What lies between two probes of one endpoint: 5 s.
    pub interval: Duration,
    /// How long a probe may take, and what lies between the starts of probes that confirm one another: 2 s. At most the
    /// interval.
    pub timeout: Duration,
    /// How many probes in a row must agree until a verdict changes: 3.
    pub threshold: NonZeroU32,
}

impl Default for Settings {
    fn default() -> Self {
        let threshold = NonZeroU32::new(3).expect("three is not zero");
        Self { interval: Duration::from_secs(5), timeout: Duration::from_secs(2), threshold }
    }
}

/// A probe to be made.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Where.
    pub endpoint: Arc<str>,
    /// When it was begun.
    pub began: Duration,
    index: u32,
    generation: u32,
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It passed.
    Passed,
    /// It did not, and this happened instead.
    Failed(String),
    /// Nothing that says anything of the proxy.
    Unknown,
}

/// What is told of one Proxy.
pub type Verdict = (Key, Health);

/// The endpoints, when they are due, and what is known of them.
pub struct Schedule {
    settings: Settings,
    /// How many endpoints each slot has.
    slots: Vec<u32>,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_key: BTreeMap<Arc<Key>, u32>,
    /// What stands here for another generation is void.
    due: BinaryHeap<Reverse<(Duration, u32, u32)>>,
    generations: u32,
}

/// One endpoint.
struct Entry {
    key: Arc<Key>,
    endpoint: Arc<str>,
    generation: u32,
    slot: u32,
    known: Known,
    /// Probes in a row that contradict what is known.
    against: u32,
    /// When the first of them began.
    since: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    Healthy,
    Unhealthy,
}

/// The width of a slot, as nearly as the interval can be divided.
const SLOT: Duration = Duration::from_millis(100);
/// The places within a slot, and a step through them that visits each.
const PLACES: u64 = 100;
const STRIDE: u64 = 37;

impl Schedule {
    /// Nothing is up yet.
    pub fn new(settings: Settings) -> Self {
        let slots = (settings.interval.as_nanos() / SLOT.as_nanos()).clamp(1, 100_000) as usize;
        Self {
            settings,
            slots: vec![0; slots],
            entries: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            due: BinaryHeap::new(),
            generations: 0,
        }
    }

    /// A Proxy is up at that endpoint. Whatever was known of it was known of another one.
    pub fn up(&mut self, key: Key, endpoint: &str, tick: Duration) -> Option<Verdict> {
        let known = self.by_key.get(&key).and_then(|index| self.entries[*index as usize].as_ref());
        if known.is_some_and(|entry| *entry.endpoint == *endpoint) {
            return None;
        }
        let verdict = self.down(&key);
        let key = Arc::new(key);
        self.generations = self.generations.wrapping_add(1);
        let slot = self.emptiest(tick);
        let entry = Entry {
            key: Arc::clone(&key),
            endpoint: endpoint.into(),
            generation: self.generations,
            slot,
            known: Known::Nothing,
            against: 0,
            since: Duration::ZERO,
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as u32
        });
        self.slots[slot as usize] += 1;
        self.entries[index as usize] = Some(entry);
        self.by_key.insert(key, index);
        let at = self.next_turn(index, slot, tick);
        self.due.push(Reverse((at, index, self.generations)));
        verdict
    }

    /// A Proxy is not up any more: nothing is known of it.
    pub fn down(&mut self, key: &Key) -> Option<Verdict> {
        let index = self.by_key.remove(key)?;
        let entry = self.entries[index as usize].take()?;
        self.slots[entry.slot as usize] -= 1;
        self.free.push(index);
        (entry.known != Known::Nothing).then(|| (key.clone(), Health::Unknown))
    }

    /// When the next probe is due.
    pub fn next(&self) -> Option<Duration> {
        self.due.peek().map(|Reverse((at, ..))| *at)
    }

    /// A probe that is due. It does not come back before [`Schedule::ended`].
    pub fn due(&mut self, tick: Duration) -> Option<Probe> {
        while let Some(Reverse((at, index, generation))) = self.due.peek().copied() {
            if at > tick {
                return None;
            }
            self.due.pop();
            let Some(entry) = self.entry(index, generation) else { continue };
            // After a pause of the whole process all are late, and would probe at once: each waits for its next turn.
            if entry.against == 0 && tick - at > self.settings.timeout {
                let slot = entry.slot;
                let next = self.next_turn(index, slot, tick);
                self.due.push(Reverse((next, index, generation)));
                continue;
            }
            return Some(Probe { endpoint: Arc::clone(&entry.endpoint), began: tick, index, generation });
        }
        None
    }

    /// What came of a probe; the verdict, when it changes.
    pub fn ended(&mut self, probe: &Probe, ended: Ended, tick: Duration) -> Option<Verdict> {
        let (index, generation) = (probe.index, probe.generation);
        let threshold = self.settings.threshold.get();
        let entry = self.entries.get_mut(index as usize)?.as_mut()?;
        if entry.generation != generation {
            return None;
        }
        let mut verdict = None;
        match (entry.known, ended) {
            (_, Ended::Unknown) => {}
            (Known::Healthy, Ended::Passed) | (Known::Unhealthy, Ended::Failed(_)) => entry.against = 0,
            (Known::Nothing, Ended::Passed) => {
                entry.known = Known::Healthy;
                entry.against = 0;
                verdict = Some(Health::Healthy);
            }
            (Known::Nothing | Known::Healthy, Ended::Failed(why)) => {
                if entry.against == 0 {
                    entry.since = probe.began;
                }
                entry.against += 1;
                if entry.against >= threshold {
                    entry.known = Known::Unhealthy;
                    entry.against = 0;
                    verdict = Some(Health::Unhealthy { since: entry.since, why });
                }
            }
            (Known::Unhealthy, Ended::Passed) => {
                entry.against += 1;
                if entry.against >= threshold {
                    entry.known = Known::Healthy;
                    entry.against = 0;
                    verdict = Some(Health::Healthy);
                }
            }
        }
        let key = Arc::clone(&entry.key);
        let at = if entry.against > 0 {
            tick.max(probe.began + self.settings.timeout)
        } else {
            let slot = self.slot_for(index, tick);
            self.next_turn(index, slot, tick)
        };
        self.due.push(Reverse((at, index, generation)));
        verdict.map(|health| ((*key).clone(), health))
    }

    fn entry(&self, index: u32, generation: u32) -> Option<&Entry> {
        self.entries[index as usize].as_ref().filter(|entry| entry.generation == generation)
    }

    /// The slot of an endpoint that has just been probed: its own, or one with fewer where its own has come to have too many.
    /// Every slot comes again within an interval, so the move makes no gap longer.
    fn slot_for(&mut self, index: u32, tick: Duration) -> u32 {
        let own = self.entries[index as usize].as_ref().map_or(0, |entry| entry.slot);
        let mean = self.by_key.len().div_ceil(self.slots.len()) as u32;
        if self.slots[own as usize] <= mean + self.tolerance() {
            return own;
        }
        let other = self.emptiest(tick);
        self.slots[own as usize] -= 1;
        self.slots[other as usize] += 1;
        if let Some(entry) = &mut self.entries[index as usize] {
            entry.slot = other;
        }
        other
    }

    /// How many more than the emptiest a slot may have: a twentieth of the mean.
    fn tolerance(&self) -> u32 {
        (self.by_key.len() / self.slots.len() / 20) as u32
    }

    /// The next slot that has as few as any, or nearly so: an endpoint that is new is probed soon.
    fn emptiest(&self, tick: Duration) -> u32 {
        let count = self.slots.len();
        let fewest = self.slots.iter().copied().min().unwrap_or_default();
        let most = fewest + self.tolerance();
        let now = (nanos(tick) % self.interval() / self.width()) as usize;
        let mut after = (1..=count).map(|ahead| (now + ahead) % count);
        after.find(|slot| self.slots[*slot] <= most).unwrap_or(now % count) as u32
    }

    /// When an endpoint has its next turn in that slot, after `tick`.
    fn next_turn(&self, index: u32, slot: u32, tick: Duration) -> Duration {
        let place = u64::from(index) * STRIDE % PLACES;
        let phase = u64::from(slot) * self.width() + self.width() * place / PLACES;
        let (tick, interval) = (nanos(tick), self.interval());
        let into = (tick + interval - phase % interval) % interval;
        Duration::from_nanos(tick + (interval - into))
    }

    fn interval(&self) -> u64 {
        nanos(self.settings.interval).max(1)
    }

    fn width(&self) -> u64 {
        (self.interval() / self.slots.len() as u64).max(1)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4)
}
