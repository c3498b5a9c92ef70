//! The provider contract as checks.
//!
//! A suite that runs every rule of the contract against any provider and a backend, real or fake, and that proves
//! about itself that it catches broken providers.

pub mod capture;
mod cli;
pub mod clock;
pub mod drive;
pub mod fake;
pub mod faults;
pub mod harness;
pub mod ledger;
pub mod look;
pub mod looks;
pub mod memory;
pub mod noted;
pub mod report;
pub mod rule;
pub mod rules;
pub mod run;
pub mod saboteur;
pub mod saboteurs;
pub mod seen;
pub mod selfcheck;
pub mod sweep;
pub mod wire;
pub mod world;

pub use cli::main;

/// The author's guide, whose examples are compiled and run.
#[cfg_attr(doctest, doc = include_str!("../../docs/author-guide.md"))]
#[cfg(doctest)]
struct AuthorGuide;

/// The page that goes with the package.
#[cfg_attr(doctest, doc = include_str!("../README.md"))]
#[cfg(doctest)]
struct Readme;
