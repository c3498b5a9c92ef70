//! The operator in a simulated world that tries to break it.
//!
//! The world has one thread, one clock and one seed: the same plan makes the same world, step for step. The operators in it
//! are the ones that people deploy, from their election down to each reconcile; below them are an API server and two backends
//! in memory, and everything between may go wrong as the plan says. A watchdog looks at all of it.

mod api;
mod chance;
mod cloud;
mod deeds;
mod ending;
pub mod goals;
mod layer;
mod mischief;
pub mod paths;
pub mod plan;
mod pool;
mod prober;
pub mod saboteur;
pub mod sweep;
mod time;
mod view;
mod watchdog;
mod world;

pub use api::Counts;
pub use ending::{Ending, Instance, One};
pub use saboteur::Build;
pub use watchdog::{COLLECTED, Invariant, Violation};
pub use world::{Outcome, is_in_a_world, play, play_until};
