//! What this crate promises, tried through its public face: config, registry, decorator, seam, gate, secrecy. Each module
//! tests one subject; `doubles.rs` and `recorder.rs` are what they test with.

#![allow(clippy::unwrap_used)] // What cannot be had here fails the test, as it should.

mod addresses;
mod blocking;
mod canned;
mod config;
mod credentials;
mod decorator;
mod doubles;
mod gate;
mod hostile_yaml;
mod images;
mod metrics;
mod recorder;
mod registry;
mod seam;
mod secrecy;
