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
    /// What the backend shows as its name; the key too, where names are keys.
    pub name: String,
    /// Which life of the key this is. No two records of a store have the same.
    pub incarnation: u64,
    /// Its labels, or its metadata, under the keys of [`provider_api::mark`]: a fake spells them as its backend does.
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
    /// The names of parts of another instance's that it needs and that the backend does not keep for it, see
    /// [`Ways::guards_borrowed`](super::Ways::guards_borrowed).
    pub borrowed: Vec<String>,
    /// The names of the shared things that it needs: a base image.
    pub shared: Vec<String>,
    /// What has reached it: user data, port, networks. User data on a part counts without being here.
    pub delivered: Delivered,
    /// What else the backend keeps of it.
    pub own: I,
}

/// What an instance or placeholder is made from.
#[derive(Clone, Default)]
pub struct New<I> {
    /// What tells it from others in its place: its name, or a number, from [`Store::count`](super::Store::count)
    /// where the backend gives it out.
    pub key: String,
    /// What the backend is to show as its name.
    pub name: String,
    /// Its labels, or its metadata, under the keys of [`provider_api::mark`].
    pub marks: Marks,
    /// Whether it becomes a placeholder.
    pub bare: bool,
    /// The names of its parts: made with it where they cascade, otherwise there already.
    pub parts: Vec<String>,
    /// The names of the shared things that it needs.
    pub shared: Vec<String>,
    /// What reaches it: user data, port, networks, as far as the request said so.
    pub delivered: Delivered,
    /// What else the backend keeps of it.
    pub own: I,
}

/// A secondary resource: a disk, a seed, a firewall rule of one instance.
#[derive(Clone)]
pub struct Part<P> {
    /// The place that it stands in; a part is used in its own place only.
    pub place: String,
    /// What tells it from other parts of its place.
    pub name: String,
    /// Which life of the name this is. No two parts or records of a store have the same.
    pub incarnation: u64,
    /// When it was made, by the time of day on the case's clock.
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
    /// What tells it from other parts of its place: where it can carry no text, its mark.
    pub name: String,
    /// The names of the shared things below it.
    pub shared: Vec<String>,
    /// User data on it, for a seed: it counts as delivered to the instance that uses the part.
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
    /// The place of the instance.
    pub place: String,
    /// The key of the instance.
    pub key: String,
    /// The name of the instance.
    pub name: String,
    /// The marks of the instance, by which a watch filters.
    pub marks: Marks,
}
