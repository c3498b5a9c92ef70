#![doc = include_str!("../README.md")]
//!
//! `seed.rs` has what goes in and what is refused, `volume.rs` the file system that comes out, `vendor.rs` the vendor
//! data that we write ourselves. How a guest gets to see the image is its provider's business.

mod seed;
mod vendor;
mod volume;

pub use seed::{Part, Seed, SeedError};
pub use vendor::GUEST_AGENT;
