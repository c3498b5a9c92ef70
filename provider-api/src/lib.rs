//! The provider contract as types: what a backend that runs VM-like instances must offer, what it may answer, and
//! what it declares about itself.
//!
//! A provider implements [`Provider`] and, where it can, [`Checker`], [`Leftovers`] and [`Watch`]; it registers a
//! [`ProviderType`] and makes every backend call through its [`Seam`]. The contract in words is `docs/contract.md`;
//! the checks are the crate `providertest`. Rule ids such as `create.idempotent` name the checks that hold a
//! provider to a promise; `--explain create.idempotent` of a suite prints what one is about.
//!
//! This crate knows no backend, no Kubernetes type, no HTTP, and needs no executor.
//!
//! # Where to look
//!
//! | to | read |
//! |---|---|
//! | know what a provider promises | [`Provider`], [`Checker`], [`Leftovers`], [`Watch`] |
//! | know what goes in and comes out | [`CreateRequest`], [`Instance`], [`State`], [`Deleted`], [`Listing`] |
//! | fail | [`Error`], [`GetError`], [`FailureClass`], [`LeftBehind`] |
//! | say whose an instance is | [`Name`], [`mark`], [`Ownership`], [`Identity`] |
//! | make and read ids | [`ProviderId`], [`Grammar`] |
//! | declare what the backend is like | [`Profile`], [`mod@profile`], [`Catalogue`], [`NativeError`] |
//! | call the backend, and wait | [`Seam`], [`BackendError`], [`CallKind`], [`Gate`], [`Clock`] |
//! | keep secrets secret | [`Secret`], [`Scrubber`], [`CredentialFile`] |
//! | pick an address, judge an image | [`AddressPolicy`], [`ImageRules`] |
//! | read the config | [`config::Fields`], [`config::FromNode`], [`config::Shared`] |
//! | link providers into a program | [`Registry`], [`Live`], [`Metrics`], [`Context`] |
//!
//! # A whole provider
//!
//! Its backend is a map in memory, which stands in for an API. What it does is what every provider does: it takes its turn,
//! looks, judges whose it is, makes it with its mark in one call, and calls the backend through the seam alone.
//!
//! ```
//! use std::{collections::BTreeMap, convert::Infallible, future::Future, sync::Mutex, time::Duration};
//!
//! use provider_api::{
//!     CallError, CallKind, Context, CreateRequest, Deleted, Error, Gate, GetError, Grammar, Identity, Instance,
//!     LeftBehind, Listed, Listing, Mark, Name, Operation, Ownership, Profile, Provider, ProviderId, ProviderName,
//!     Seam, State,
//! };
//!
//! const IDS: Grammar = Grammar::new("machines/{name}");
//! const INSERT: CallKind = CallKind::upload("insert");
//! const FIND: CallKind = CallKind::read("find");
//! const REMOVE: CallKind = CallKind::write("remove");
//! const LIST: CallKind = CallKind::read("list");
//!
//! /// A machine's labels, by key.
//! type Labels = BTreeMap<&'static str, String>;
//!
//! struct Acme {
//!     name: ProviderName,
//!     identity: Identity,
//!     profile: Profile,
//!     seam: Seam,
//!     gate: Gate,
//!     cloud: Mutex<BTreeMap<String, Labels>>,
//! }
//!
//! impl Acme {
//!     fn new(context: Context) -> Self {
//!         let profile = Profile::plain("acme");
//!         let (seam, gate) = (context.seam("acme", profile.budgets.call), context.gate(4));
//!         let (name, identity) = (context.name, context.identity);
//!         Self { name, identity, profile, seam, gate, cloud: Mutex::default() }
//!     }
//!
//!     /// One call to the backend.
//!     async fn call<T>(&self, kind: CallKind, does: impl FnOnce(&mut BTreeMap<String, Labels>) -> T) -> Result<T, Error> {
//!         let answer = async { Ok(does(&mut self.cloud.lock().unwrap())) };
//!         self.seam.call(kind, "api", answer).await.map_err(classify)
//!     }
//!
//!     fn whose(&self, name: &str, labels: &Labels) -> Ownership {
//!         Ownership::of(name, &self.identity, |key| labels.get(key).map(String::as_str))
//!     }
//!
//!     async fn find(&self, name: &Name) -> Result<Option<Ownership>, Error> {
//!         let labels = self.call(FIND, |cloud| cloud.get(name.as_str()).cloned()).await?;
//!         Ok(labels.map(|labels| self.whose(name.as_str(), &labels)))
//!     }
//!
//!     /// Runs one operation within its budget, and says in its error who did what to what.
//!     async fn bounded<T>(
//!         &self,
//!         operation: Operation,
//!         subject: &str,
//!         work: impl Future<Output = Result<T, Error>>,
//!     ) -> Result<T, Error> {
//!         let budget = self.profile.budgets.of(operation).unwrap_or(self.profile.budgets.call);
//!         let result = self.seam.bounded(budget, work).await;
//!         let result = result.unwrap_or_else(|overlong| Err(Error::transient(overlong.to_string())));
//!         result.map_err(|error| error.at(&self.name, operation, subject))
//!     }
//! }
//!
//! /// Reads an id before anything else is done.
//! fn parse(id: &ProviderId) -> Result<Name, Error> {
//!     let name = IDS.parse::<1>(id).and_then(|[name]| Name::parse(name));
//!     name.map_err(|error| Error::permanent(error.to_string()).leaving(LeftBehind::Nothing))
//! }
//!
//! /// The one place that knows what a failure means.
//! fn classify(error: CallError<Infallible>) -> Error {
//!     Error::transient(error.to_string())
//! }
//!
//! fn write(name: &Name) -> ProviderId {
//!     IDS.format([name.as_str()]).expect("a name is one segment")
//! }
//!
//! #[async_trait::async_trait]
//! impl Provider for Acme {
//!     fn profile(&self) -> &Profile {
//!         &self.profile
//!     }
//!
//!     async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
//!         let name = &request.name;
//!         let work = async {
//!             let _turn = self.gate.name(name.as_str()).await;
//!             match self.find(name).await? {
//!                 Some(Ownership::Ours(_)) => {}
//!                 Some(other) => return Err(Error::permanent(format!("machine {name} {}", other.why_not()))),
//!                 None => {
//!                     let installation = self.identity.installation.clone();
//!                     let mark = Mark { uid: request.uid.clone(), installation, created_at: None };
//!                     let labels: Labels = mark.pairs().into_iter().collect();
//!                     self.call(INSERT, |cloud| cloud.insert(name.to_string(), labels)).await?;
//!                 }
//!             }
//!             Ok(write(name))
//!         };
//!         self.bounded(Operation::Create, name.as_str(), work).await
//!     }
//!
//!     async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
//!         let work = async { self.find(&parse(id)?).await };
//!         let found = self.bounded(Operation::Get, id.as_str(), work).await?;
//!         let mark = found.and_then(Ownership::ours).ok_or(GetError::NotFound)?;
//!         let name = Name::from_uid(&mark.uid);
//!         let state = State::Provisioning { reason: None };
//!         let (id, created_at) = (id.clone(), mark.created_at);
//!         // There is one target only, and an entry goes as a whole.
//!         Ok(Instance { id, name, uid: mark.uid, created_at, state, decommissioned: false })
//!     }
//!
//!     async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
//!         let work = async {
//!             let name = parse(id)?;
//!             let _turn = self.gate.name(name.as_str()).await;
//!             if let Some(Ownership::Ours(_)) = self.find(&name).await? {
//!                 self.call(REMOVE, |cloud| cloud.remove(name.as_str())).await?;
//!             }
//!             Ok(Deleted::Gone) // what is not ours is left alone, for ours is gone
//!         };
//!         self.bounded(Operation::Delete, id.as_str(), work).await
//!     }
//!
//!     async fn list_by_tag(&self) -> Result<Listing, Error> {
//!         let work = async {
//!             let mut listing = Listing::default();
//!             for (name, labels) in self.call(LIST, |cloud| cloud.clone()).await? {
//!                 let Some(mark) = self.whose(&name, &labels).ours() else { continue };
//!                 let name = Name::from_uid(&mark.uid);
//!                 let id = write(&name);
//!                 listing.items.push(Listed { id, name, uid: mark.uid, created_at: mark.created_at });
//!             }
//!             Ok(listing)
//!         };
//!         self.bounded(Operation::List, "every instance", work).await
//!     }
//! }
//! # use provider_api::{Clock, InstallationId, Owner, Secret, Spawner, Timestamp, Uid, Wait};
//! # use futures::future::BoxFuture;
//! # struct Machine;
//! # impl Clock for Machine {
//! #     fn now(&self) -> Timestamp { Timestamp::UNIX_EPOCH }
//! #     fn monotonic(&self) -> Duration { Duration::ZERO }
//! #     fn sleep(&self, _: Duration, _: Wait) -> BoxFuture<'static, ()> { Box::pin(std::future::pending()) }
//! # }
//! # impl Spawner for Machine {
//! #     fn spawn(&self, _: BoxFuture<'static, ()>) {}
//! #     fn spawn_blocking(&self, _: Box<dyn FnOnce() + Send>) {}
//! # }
//! # let name = ProviderName::parse("acme-eu").unwrap();
//! # let us = Identity::new(InstallationId::parse("cluster-1").unwrap());
//! # let acme = Acme::new(Context::new(name, us, std::sync::Arc::new(Machine), std::sync::Arc::new(Machine)));
//! # let owner = Owner { namespace: "a".into(), name: "b".into(), api_version: "c/v1".into(), kind: "D".into() };
//! # let request = CreateRequest::new(Uid::parse("uid-1").unwrap(), owner, Secret::default());
//! # futures::executor::block_on(async {
//! #     let id = acme.create(&request).await.unwrap();
//! #     assert_eq!(acme.create(&request).await.unwrap(), id);
//! #     assert_eq!(acme.get(&id).await.unwrap().uid, request.uid);
//! #     assert_eq!(acme.list_by_tag().await.unwrap().items[0].id, id);
//! #     assert!(matches!(acme.get(&ProviderId::new("machines/x")).await, Err(GetError::Failed(_))));
//! #     assert_eq!(acme.delete(&id).await, Ok(Deleted::Gone));
//! #     assert_eq!(acme.get(&id).await, Err(GetError::NotFound));
//! # });
//! ```
//!
//! `cargo xtask new-provider NAME` makes the crate of a real one, and `docs/author-guide.md` leads through it.
//!
//! # Features
//!
//! `tokio` adds `SystemClock` and `TokioSpawner`, the clock and the spawner of programs that run on tokio.

mod address;
mod catalogue;
mod clock;
pub mod config;
mod context;
mod decorate;
mod error;
mod gate;
mod id;
mod images;
mod instance;
pub mod mark;
mod metrics;
mod name;
pub mod profile;
mod provider;
mod registry;
mod request;
mod seam;
mod secret;
mod time;
mod tracker;

pub use address::{AddressFamily, AddressPolicy};
pub use catalogue::{Catalogue, NativeError, Shows};
pub use clock::{Clock, Spawner, Wait};
#[cfg(feature = "tokio")]
pub use clock::{SystemClock, TokioSpawner};
pub use config::ConfigReport;
pub use context::{Context, CredentialFile};
pub use decorate::decorate;
pub use error::{Class, Error, FailureClass, FailureId, GetError, LeftBehind, Operation};
pub use gate::{Gate, Reservation, Turn};
pub use id::{Grammar, ProviderId, usable as usable_segment};
pub use images::{ImageRules, is_internal, pinned_url};
pub use instance::{
    Deleted, Instance, Leftover, LeftoverId, LeftoverListing, Listed, Listing, Reason, State, StateKind,
    Unreachable,
};
pub use mark::{Identity, InstallationId, Mark, Ownership};
pub use metrics::Metrics;
pub use name::{Malformed, Name, ProviderName, Uid};
pub use profile::{BoundedWait, Budgets, CallBudget, CallKind, NativeState, Profile, Shown};
pub use provider::{Built, Checker, Hint, Leftovers, Provider, TargetStatus, Watch, reasons};
pub use registry::{Build, Entry, Live, ProviderType, Providers, Registry};
pub use request::{Access, CreateRequest, Credentials, Owner, Placement};
pub use seam::{BackendError, CallError, Overlong, Seam};
pub use secret::{Scrubbed, Scrubber, Secret};
pub use time::{BadTimestamp, Deadline, Timestamp};
pub use tracker::{
    CallEnd, CallId, OperationId, TaskId, TrackedWait, Tracker, current_call, current_operation,
    within_operation,
};

/// The page that goes with the package.
#[cfg_attr(doctest, doc = include_str!("../README.md"))]
#[cfg(doctest)]
struct Readme;
