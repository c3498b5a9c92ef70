//! What stands in a store: instances, their parts, and what each is made from.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use provider_api::{Secret, Timestamp};

use crate::harness::Delivered;

/// Marks, labels, metadata: text by key.
pub type Marks = BTreeMap<String, String>;

/// A removal that somebody holds up.
pub const HELD: Duration = Duration::MAX;

/// An instance or placeholder. `own` is what the author's backend keeps beside it.
#[derive(Clone)]
pub struct Record<I> {
    /// Where it stands: a zone, a host, a node, as `Backend::targets` names it.
    pub place: String,
    /// What tells it from others in its place: its name, or a number.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Which life of the key this is. No two records of a store have the same.
    pub incarnation: u64,
    /// Labels, or metadata.
    pub marks: Marks,
    /// When it was made, as the backend wrote it down; not always readable.
    pub created: String,
    /// Whether it is a placeholder still: a bare copy, without marks.
    pub bare: bool,
    /// When it is made and can boot.
    pub made_at: Duration,
    /// When it has booted; `None` while it is not started.
    pub up_at: Option<Duration>,
    /// When its removal ends, once that has begun; [`HELD`] when somebody keeps it from ending.
    pub gone_at: Option<Duration>,
    /// Until when the making of it locks it.
    pub locked_until: Option<Duration>,
    /// A native state that somebody set, in place of what the clock says.
    pub pinned: Option<String>,
    /// Its addresses and where each is seen.
    pub addresses: Vec<(Source, IpAddr)>,
    /// Whether what is written about it cannot be read.
    pub unreadable: bool,
    /// The names of the parts that it uses, all in its place.
    pub parts: Vec<String>,
    /// The names of the shared things that it needs: a base image.
    pub shared: Vec<String>,
    /// What has reached it.
    pub delivered: Delivered,
    /// What else the backend keeps of it.
    pub own: I,
}

/// What an instance or placeholder is made from.
#[derive(Clone, Default)]
pub struct New<I> {
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Labels, or metadata.
    pub marks: Marks,
    /// Whether it becomes a placeholder.
    pub bare: bool,
    /// The names of its parts: made with it where they cascade, otherwise there already.
    pub parts: Vec<String>,
    /// The names of the shared things that it needs.
    pub shared: Vec<String>,
    /// What reaches it.
    pub delivered: Delivered,
    /// What else the backend keeps of it.
    pub own: I,
}

/// A secondary resource: a disk, a seed, a firewall rule of one instance.
#[derive(Clone)]
pub struct Part<P> {
    /// Where it stands.
    pub place: String,
    /// Its name.
    pub name: String,
    /// Which life of the name this is. No two parts or records of a store have the same.
    pub incarnation: u64,
    /// When it was made.
    pub created: Timestamp,
    /// The names of the shared things below it: the image that a disk is a copy of.
    pub shared: Vec<String>,
    /// User data on it, for a seed.
    pub payload: Option<Secret>,
    /// What else the backend keeps of it.
    pub own: P,
}

/// What a part is made from.
#[derive(Clone, Default)]
pub struct NewPart<P> {
    /// Its name.
    pub name: String,
    /// The names of the shared things below it.
    pub shared: Vec<String>,
    /// User data on it.
    pub payload: Option<Secret>,
    /// What else the backend keeps of it.
    pub own: P,
}

/// Where an address was seen, the most trustworthy first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The backend's own lease; the guest cannot forge it.
    Lease,
    /// The guest says so.
    Agent,
    /// Somebody answered for it on the network.
    Neighbour,
}

/// Something changed about an instance or placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its place.
    pub place: String,
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Its marks.
    pub marks: Marks,
}
