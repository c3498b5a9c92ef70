//! The provider contract as checks: a suite that runs every rule of the contract against any provider and a backend, real
//! or fake, and that proves about itself that it catches broken providers.
//!
//! # What an author uses
//!
//! | to | read |
//! |---|---|
//! | make a suite of a test binary | [`main`] |
//! | say how a backend is had, and what others do on it | [`harness`]: [`Harness`](harness::Harness), [`Backend`](harness::Backend), [`Hand`](harness::Hand) |
//! | write a fake backend | [`fake`]: [`http`](fake::http), [`socket`](fake::socket), [`store`](fake::store), [`hand`](fake::hand), [`catalogue`](fake::catalogue), [`Tls`](fake::Tls) |
//! | try a fake, or a client against one, outside of a run | [`fake::trial`] |
//! | see the whole of it on a backend in memory | [`memory`] |
//! | read a report with a program | [`report`] |
//!
//! The guide is `docs/author-guide.md`. `cargo xtask new-provider NAME` writes the harness and half of the fake.
//!
//! # How a suite works
//!
//! `tests/conformance.rs` of a provider's crate, with `harness = false`, is one line:
//!
//! ```no_run
//! # use providertest::harness::{Backend, Case, Harness, HarnessError, Setup};
//! # struct Fakes;
//! # #[async_trait::async_trait]
//! # impl Harness for Fakes {
//! #     fn provider(&self) -> &'static str { "acme" }
//! #     fn version(&self) -> &'static str { "0.1.0" }
//! #     fn setups(&self) -> Vec<Setup> { Vec::new() }
//! #     async fn open(&self, _: &Setup, _: &Case) -> Result<Box<dyn Backend>, HarnessError> {
//! #         Err(HarnessError("there is none".into()))
//! #     }
//! # }
//! fn main() -> std::process::ExitCode {
//!     providertest::main(Fakes)
//! }
//! ```
//!
//! For each rule of [`rules`] and each setup the kit opens a fresh backend, a case, and builds the provider over it by the
//! registry, as a program would. It drives the provider by the verbs of [`world`], and disturbs it on the way: calls are
//! recorded, held, broken and answered on the [`wire`], by [`faults`] that [`sweep`] derives from a dry run; other people's
//! doings come by the hand. Time is the [`clock`]'s, and moves when the [`ledger`] knows that everything waits. What was
//! broken becomes a [`report`].
//!
//! # What proves the kit
//!
//! [`saboteurs`] are deliberately broken providers; [`selfcheck`] shows that each is caught by the rule that it breaks, and
//! that the honest provider of [`memory`] is caught by none.

pub mod capture;
mod cli;
pub mod clock;
pub mod drive;
pub mod fake;
pub mod faults;
pub mod harness;
pub mod ledger;
#[cfg(test)]
mod ledger_tests;
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
mod story;
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
