//! What the memory provider sees of its cloud: the calls and the shapes that go with them. How the cloud keeps its
//! state is in `store.rs`, what it refuses in `refusal.rs`.

mod in_memory;
mod look;
mod refusal;
mod store;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, net::IpAddr};

use async_trait::async_trait;
use futures::stream::BoxStream;
use provider_api::{Access, Secret};

pub(super) use self::look::LOCKING;
pub use crate::fake::store::Source;
pub use in_memory::MemoryCloud;
pub(super) use in_memory::RIGHTS;
pub(super) use refusal::native;
pub use refusal::{CloudError, catalogue};
pub(super) use store::{Own, empty};

/// The cloud's answer to a call.
pub type Answer<T> = Result<T, CloudError>;

/// Where a call goes, and by whose leave.
#[derive(Clone, Debug)]
pub struct At {
    /// The zone, or [`FRONT`].
    pub zone: String,
    /// The caller's token.
    pub token: Secret,
}

/// The target of calls that no single zone answers.
pub const FRONT: &str = "front";

/// A cloud. A saboteur names the one below it and overrides the calls that it breaks.
///
/// Instances are known in their zone by a key: their name, or a number where the profile says allocated-id. Every
/// life of a key has an incarnation of its own.
#[async_trait]
pub trait Cloud: Send + Sync + 'static {
    /// The cloud that calls go on to.
    fn below(&self) -> &dyn Cloud;

    /// Where instances and placeholders of that name stand, in all zones.
    async fn locate(&self, at: At, name: &str) -> Answer<Vec<Located>> {
        self.below().locate(at, name).await
    }
    /// One instance or placeholder.
    async fn describe(&self, at: At, key: &str) -> Answer<Described> {
        self.below().describe(at, key).await
    }
    /// One page of what stands in a zone, placeholders included.
    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        self.below().list(at, page).await
    }
    /// Makes an instance and starts it.
    async fn insert(&self, at: At, new: NewInstance) -> Answer<Accepted> {
        self.below().insert(at, new).await
    }
    /// Makes a placeholder under a number: an image is being copied, and no mark is there yet.
    async fn clone_image(&self, at: At, key: &str, name: &str, image: &str) -> Answer<Accepted> {
        self.below().clone_image(at, key, name, image).await
    }
    /// Makes a placeholder an instance, marks and all. It does not start it.
    async fn configure(&self, at: At, new: NewInstance) -> Answer<()> {
        self.below().configure(at, new).await
    }
    /// Starts an instance; one that runs stays as it is.
    async fn start(&self, at: At, key: &str) -> Answer<()> {
        self.below().start(at, key).await
    }
    /// Begins to remove an instance or placeholder, of that incarnation only where one is given.
    async fn remove(&self, at: At, key: &str, only: Option<u64>) -> Answer<Accepted> {
        self.below().remove(at, key, only).await
    }
    /// The addresses that can be found out about an instance.
    async fn addresses(&self, at: At, key: &str) -> Answer<Vec<Sighting>> {
        self.below().addresses(at, key).await
    }
    /// One task.
    async fn task(&self, at: At, id: u64) -> Answer<Task> {
        self.below().task(at, id).await
    }
    /// The tasks that made instances of that name, oldest first.
    async fn tasks(&self, at: At, name: &str) -> Answer<Vec<Task>> {
        self.below().tasks(at, name).await
    }
    /// Makes a part, or makes it anew when nothing uses it.
    async fn put_part(&self, at: At, new: NewPart) -> Answer<()> {
        self.below().put_part(at, new).await
    }
    /// One page of the parts in a zone.
    async fn list_parts(&self, at: At, page: Option<&str>) -> Answer<Page<Part>> {
        self.below().list_parts(at, page).await
    }
    /// Removes a part that nothing uses, of that incarnation only where one is given.
    async fn remove_part(&self, at: At, name: &str, only: Option<u64>) -> Answer<()> {
        self.below().remove_part(at, name, only).await
    }
    /// What the zone says about itself and about the caller.
    async fn about(&self, at: At) -> Answer<About> {
        self.below().about(at).await
    }
    /// Changes as they happen, until the stream breaks.
    async fn watch(&self, at: At) -> Answer<BoxStream<'static, Event>> {
        self.below().watch(at).await
    }
}

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Its zone.
    pub zone: String,
    /// Its key there.
    pub key: String,
}

/// An instance or placeholder as the cloud shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Which life of the key this is.
    pub incarnation: u64,
    /// The native state.
    pub state: String,
    /// What the cloud has to say about that state.
    pub detail: Option<String>,
    /// What locks it, if anything.
    pub lock: Option<String>,
    /// Whether its removal has begun.
    pub deleting: bool,
    /// Whether it is still the bare copy of an image.
    pub bare: bool,
    /// Labels, or metadata.
    pub marks: BTreeMap<String, String>,
    /// When it was made, as the cloud wrote it down; empty where the cloud keeps no such time.
    pub created: String,
    /// Its hardware address.
    pub mac: String,
    /// Its addresses, where the cloud assigns them itself.
    pub addresses: Vec<IpAddr>,
}

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// The token of the next one.
    pub next: Option<String>,
    /// How many rows there are on all pages, where these go by number.
    pub total: Option<usize>,
}

/// One row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: String,
    /// The name.
    pub name: String,
    /// What is known about it.
    pub content: Content,
}

/// How much a listing tells of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Everything: labels come with a listing.
    Whole(Box<Described>),
    /// Nothing more: metadata is read one by one.
    NameOnly,
    /// It cannot be read, and this is why.
    Unreadable(String),
}

/// What an instance is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewInstance {
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Labels, or metadata.
    pub marks: BTreeMap<String, String>,
    /// The base image.
    pub image: String,
    /// The machine type.
    pub machine_type: String,
    /// User data.
    pub cloud_init: Option<Secret>,
    /// The port to open.
    pub port: Option<u16>,
    /// Who may use it.
    pub access: Option<Access>,
    /// The names of its parts: made with it where the cloud cascades, otherwise there already.
    pub parts: Vec<String>,
}

/// A call was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The task that works on, where there are task handles.
    pub task: Option<u64>,
}

/// An address that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Where.
    pub source: Source,
    /// On which hardware address.
    pub mac: String,
    /// The address.
    pub address: IpAddr,
}

/// A task that made, or was to make, an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id; later tasks have higher ones.
    pub id: u64,
    /// The marks of what it makes.
    pub marks: BTreeMap<String, String>,
    /// How it went.
    pub outcome: Outcome,
}

/// How a task went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is at work.
    Running,
    /// It is done.
    Done,
    /// It failed, and what it had begun is gone.
    Failed(CloudError),
}

/// What a part is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPart {
    /// Its name.
    pub name: String,
    /// The base image below it, for a disk.
    pub image: Option<String>,
    /// What is on it, for a seed.
    pub payload: Option<Secret>,
}

/// A part as the cloud shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Which life of the name this is.
    pub incarnation: u64,
    /// When it was made.
    pub created: String,
    /// Whether an instance uses it.
    pub used: bool,
}

/// What a zone says about itself and about the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The cloud's version.
    pub version: &'static str,
    /// How many instances stand in the cloud.
    pub instances: usize,
    /// How many there may be.
    pub quota: Option<usize>,
    /// The rights that the token holds.
    pub rights: Vec<&'static str>,
}

/// Something changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The zone.
    pub zone: String,
    /// The key.
    pub key: String,
    /// The name.
    pub name: String,
    /// The marks.
    pub marks: BTreeMap<String, String>,
}
