//! What stands in the cloud, and how time works on it. State that changes later is worked out from the clock when
//! somebody looks; nothing runs in the background.
//!
//! Calls are in `in_memory.rs`, the hand of others in the harness.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
    time::Duration,
};

use futures::channel::mpsc::UnboundedSender;
use provider_api::{
    Access, Profile, Secret, Timestamp,
    profile::{
        AsyncOp, GcMark, IpSource, Mobility, PrimaryKey, ProvisioningState, Quota, Readiness,
        SecondaryResources,
    },
};

use super::{CloudError, Event, NewInstance, Source, native};

/// Why a call has no result: the id of a row in the table of refusals.
pub(crate) type Refused = &'static str;

/// Everything that a cloud holds.
pub(crate) struct Store {
    pub(crate) profile: Arc<Profile>,
    pub(crate) now: Duration,
    pub(crate) stamp: Timestamp,
    pub(crate) zones: Vec<String>,
    pub(crate) images: BTreeSet<String>,
    pub(crate) instances: Vec<Record>,
    pub(crate) parts: Vec<PartRecord>,
    pub(crate) tasks: Vec<TaskRecord>,
    pub(crate) watchers: Vec<UnboundedSender<Event>>,
    pub(crate) token: Vec<u8>,
    pub(crate) revoked: Option<&'static str>,
    pub(crate) quota: Option<usize>,
    pub(crate) page_size: usize,
    pub(crate) quote_payloads: bool,
    /// The error that the next instance will come to, once it was accepted.
    pub(crate) next_fails: Option<String>,
    /// The error that a zone's word about itself is.
    pub(crate) about_fails: bool,
    /// The instance that goes as soon as a listing has named it.
    pub(crate) vanishing: Option<String>,
    counter: u64,
}

/// An instance or placeholder.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) zone: String,
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) incarnation: u64,
    pub(crate) marks: BTreeMap<String, String>,
    pub(crate) image: String,
    pub(crate) cloud_init: Option<Secret>,
    pub(crate) port: Option<u16>,
    pub(crate) access: Option<Access>,
    pub(crate) parts: Vec<String>,
    pub(crate) created: String,
    pub(crate) bare: bool,
    pub(crate) locked_until: Option<Duration>,
    /// When the copy of its image is done, and it can boot.
    pub(crate) made_at: Duration,
    /// When it has booted; `None` while it is not started.
    pub(crate) up_at: Option<Duration>,
    /// A native state that somebody set, in place of what the clock says.
    pub(crate) pinned: Option<String>,
    /// When its removal ends; never, when somebody keeps it from ending.
    pub(crate) gone_at: Option<Duration>,
    pub(crate) addresses: Vec<(Source, IpAddr)>,
    pub(crate) unreadable: bool,
}

/// A part of an instance.
#[derive(Clone)]
pub(crate) struct PartRecord {
    pub(crate) zone: String,
    pub(crate) name: String,
    pub(crate) incarnation: u64,
    pub(crate) created: Timestamp,
    pub(crate) image: Option<String>,
    pub(crate) payload: Option<Secret>,
}

/// A task that makes an instance.
#[derive(Clone)]
pub(crate) struct TaskRecord {
    pub(crate) id: u64,
    pub(crate) zone: String,
    pub(crate) name: String,
    pub(crate) marks: BTreeMap<String, String>,
    pub(crate) incarnation: u64,
    pub(crate) due: Duration,
    pub(crate) over: bool,
    pub(crate) fails: Option<CloudError>,
}

/// How long what the cloud accepted takes.
const WORK: Duration = Duration::from_secs(2);
/// How long a removal takes.
const REMOVAL: Duration = Duration::from_secs(3);
/// A removal that somebody holds up.
pub(crate) const HELD: Duration = Duration::MAX;

impl Store {
    pub(crate) fn new(profile: Arc<Profile>, zones: Vec<String>, token: Vec<u8>) -> Self {
        Self {
            profile,
            now: Duration::ZERO,
            stamp: Timestamp::UNIX_EPOCH,
            zones,
            images: ["base-image".to_owned()].into(),
            instances: Vec::new(),
            parts: Vec::new(),
            tasks: Vec::new(),
            watchers: Vec::new(),
            token,
            revoked: None,
            quota: None,
            page_size: 100,
            quote_payloads: false,
            next_fails: None,
            about_fails: false,
            vanishing: None,
            counter: 0,
        }
    }

    pub(crate) fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// Lets everything come to pass that is due.
    pub(crate) fn advance(&mut self, now: Duration, stamp: Timestamp) {
        (self.now, self.stamp) = (now, stamp);
        let mut failed = Vec::new();
        for task in self.tasks.iter_mut().filter(|task| !task.over && task.due <= now) {
            task.over = true;
            failed.extend(task.fails.is_some().then_some(task.incarnation));
        }
        let gone = |record: &Record| {
            record.gone_at.is_some_and(|at| at <= now) || failed.contains(&record.incarnation)
        };
        while let Some(record) = self.instances.iter().find(|record| gone(record)).cloned() {
            self.erase(record.incarnation);
        }
    }

    /// Takes an instance away, with its parts where they go with it.
    pub(crate) fn erase(&mut self, incarnation: u64) {
        let Some(at) = self.instances.iter().position(|record| record.incarnation == incarnation) else {
            return;
        };
        let record = self.instances.remove(at);
        if self.profile.secondary_resources == SecondaryResources::Cascade {
            let kept = |store: &Self, part: &PartRecord| {
                part.zone != record.zone
                    || !record.parts.contains(&part.name)
                    || store.is_used(&part.zone, &part.name)
            };
            let parts = std::mem::take(&mut self.parts);
            self.parts = parts.into_iter().filter(|part| kept(self, part)).collect();
        }
        self.tell(&record);
    }

    /// Tells those who watch.
    pub(crate) fn tell(&mut self, record: &Record) {
        let Record { zone, key, name, marks, .. } = record;
        self.watchers.retain(|watcher| {
            let event =
                Event { zone: zone.clone(), key: key.clone(), name: name.clone(), marks: marks.clone() };
            watcher.unbounded_send(event).is_ok()
        });
    }

    pub(crate) fn find(&self, zone: &str, key: &str) -> Option<&Record> {
        self.instances.iter().find(|record| record.zone == zone && record.key == key)
    }

    pub(crate) fn find_mut(&mut self, zone: &str, key: &str) -> Option<&mut Record> {
        self.instances.iter_mut().find(|record| record.zone == zone && record.key == key)
    }

    pub(crate) fn is_used(&self, zone: &str, part: &str) -> bool {
        self.instances
            .iter()
            .any(|record| record.zone == zone && record.parts.iter().any(|used| used == part))
    }

    /// Whether an image can be had: a base image, or one that is fetched from elsewhere.
    pub(crate) fn has_image(&self, image: &str) -> bool {
        self.images.contains(image) || image.contains('/')
    }

    /// Makes an instance, or a bare placeholder, and the task that works on it.
    pub(crate) fn make(&mut self, zone: &str, new: NewInstance, bare: bool) -> Result<Option<u64>, Refused> {
        let named = |record: &Record| record.key == new.key && (record.zone == zone || self.is_wide());
        if self.instances.iter().any(named) {
            return Err("already-exists");
        }
        if new.key.is_empty() || new.name.is_empty() || !self.has_image(&new.image) {
            return Err("invalid");
        }
        if self.quota.is_some_and(|quota| self.instances.len() >= quota) {
            let detected = self.profile.quota == Quota::Detected;
            return Err(if detected { "quota" } else { "no-room" });
        }
        if !bare {
            self.take_parts(zone, &new)?;
        }
        let record = self.record(zone, new, bare);
        let task = self.begin_task(&record);
        self.tell(&record);
        self.instances.push(record);
        Ok(task)
    }

    fn record(&mut self, zone: &str, new: NewInstance, bare: bool) -> Record {
        let incarnation = self.count();
        let works = self.works();
        let made_at = if works { self.now + WORK } else { self.now };
        let locks = self.profile.async_ops.contains(&AsyncOp::BackendLock);
        Record {
            zone: zone.to_owned(),
            key: new.key,
            name: new.name,
            incarnation,
            marks: new.marks,
            image: new.image,
            cloud_init: new.cloud_init,
            port: new.port,
            access: new.access,
            parts: new.parts,
            created: self.stamp.to_string(),
            bare,
            locked_until: locks.then_some(made_at),
            made_at,
            up_at: (!bare).then(|| made_at + self.boot()),
            pinned: None,
            gone_at: None,
            addresses: self.own_addresses(zone, incarnation),
            unreadable: false,
        }
    }

    /// What the network gives an instance, and what the guest makes of it.
    fn own_addresses(&self, zone: &str, incarnation: u64) -> Vec<(Source, IpAddr)> {
        let zone = self.zones.iter().position(|other| other == zone).unwrap_or(0) as u8;
        let number = incarnation as u16;
        let [high, low] = number.to_be_bytes();
        let own: [IpAddr; 2] = [
            Ipv4Addr::new(10, 20 + zone, high, low.max(1)).into(),
            Ipv6Addr::new(0x2001, 0xdb8, zone.into(), 0, 0, 0, 0, number.max(1)).into(),
        ];
        let leases = own.map(|address| (Source::Lease, address));
        if self.profile.ip_source == IpSource::AssignedAtCreate {
            return leases.to_vec();
        }
        let loopback = (Source::Agent, Ipv4Addr::LOCALHOST.into());
        let link_local = (Source::Neighbour, Ipv4Addr::new(169, 254, 7, low).into());
        [loopback, link_local].into_iter().chain(leases).collect()
    }

    fn boot(&self) -> Duration {
        match self.profile.readiness {
            Readiness::Immediate => Duration::from_secs(1),
            Readiness::ProvisioningWindow => Duration::from_secs(20),
        }
    }

    fn works(&self) -> bool {
        !self.profile.async_ops.is_empty()
    }

    /// Whether a key is one of the whole cloud, not of its zone.
    fn is_wide(&self) -> bool {
        self.profile.primary_key == PrimaryKey::AllocatedId || self.profile.mobility == Mobility::Moves
    }

    /// Makes a placeholder an instance.
    pub(crate) fn configure(&mut self, zone: &str, new: NewInstance) -> Result<(), Refused> {
        let record = self.unlocked(zone, &new.key)?;
        if !record.bare || record.gone_at.is_some() {
            return Err("already-exists");
        }
        self.take_parts(zone, &new)?;
        let record = self.find_mut(zone, &new.key).ok_or("not-found")?;
        record.bare = false;
        (record.marks, record.parts) = (new.marks, new.parts);
        (record.cloud_init, record.port, record.access) = (new.cloud_init, new.port, new.access);
        let record = record.clone();
        self.tell(&record);
        Ok(())
    }

    /// Starts an instance.
    pub(crate) fn start(&mut self, zone: &str, key: &str) -> Result<(), Refused> {
        let record = self.unlocked(zone, key)?;
        if record.bare || record.gone_at.is_some() {
            return Err("not-found");
        }
        let up_at = self.now.max(record.made_at) + self.boot();
        let record = self.find_mut(zone, key).ok_or("not-found")?;
        if record.pinned.take().is_some() || record.up_at.is_none() {
            record.up_at = Some(up_at);
        }
        let record = record.clone();
        self.tell(&record);
        Ok(())
    }

    /// Begins to remove an instance or placeholder.
    pub(crate) fn remove(&mut self, zone: &str, key: &str, only: Option<u64>) -> Result<(), Refused> {
        let record = self.unlocked(zone, key)?;
        if only.is_some_and(|only| only != record.incarnation) {
            return Err("changed");
        }
        let gone_at = self.now + REMOVAL;
        let record = self.find_mut(zone, key).ok_or("not-found")?;
        record.gone_at.get_or_insert(gone_at);
        let record = record.clone();
        self.tell(&record);
        Ok(())
    }

    /// The instance, unless a lock or its own removal keeps others off.
    fn unlocked(&self, zone: &str, key: &str) -> Result<Record, Refused> {
        let record = self.find(zone, key).ok_or("not-found")?;
        if self.lock_of(record).is_some() { Err("locked") } else { Ok(record.clone()) }
    }

    /// What locks it.
    pub(crate) fn lock_of(&self, record: &Record) -> Option<&'static str> {
        if record.pinned.as_deref() == Some(super::look::LOCKED) {
            return Some("snapshot");
        }
        record.locked_until.is_some_and(|until| self.now < until).then_some("create")
    }

    /// Refuses in the profile's own words.
    pub(crate) fn refuse(&self, refused: Refused, target: &str, payload: Option<&Secret>) -> CloudError {
        let mut error = native(refused, &self.profile, target);
        if let Some(right) = self.revoked.filter(|_| refused == "forbidden") {
            error.text = format!("the token lacks the right {right}");
        }
        self.quote(&mut error, payload);
        error
    }

    /// Quotes what was sent, where somebody made the cloud do so.
    pub(crate) fn quote(&self, error: &mut CloudError, payload: Option<&Secret>) {
        if let Some(payload) = payload.filter(|_| self.quote_payloads) {
            error.text =
                format!("{}; it was asked for {:?}", error.text, String::from_utf8_lossy(payload.reveal()));
        }
    }

    /// Whether a listing carries the labels.
    pub(crate) fn lists_labels(&self) -> bool {
        self.profile.gc_mark == GcMark::NativeLabels
    }

    /// Whether provisioning shows as a state.
    pub(crate) fn shows_provisioning(&self) -> bool {
        self.profile.provisioning_state == ProvisioningState::Native
    }
}
