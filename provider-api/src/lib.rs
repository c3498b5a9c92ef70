//! The provider contract as types: what a backend that runs VM-like instances must offer, what it may answer, and
//! what it declares about itself.
//!
//! A provider implements [`Provider`] and, where it can, [`Checker`], [`Leftovers`] and [`Watch`]; it registers a
//! [`ProviderType`] and makes every backend call through its [`Seam`]. The contract in words is `docs/contract.md`;
//! the checks are the crate `providertest`. Rule ids such as `create.idempotent` name the checks that hold a
//! provider to a promise.
//!
//! This crate knows no backend, no Kubernetes type, no HTTP, and needs no executor.

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
