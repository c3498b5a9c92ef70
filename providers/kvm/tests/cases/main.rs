//! The provider's own cases, over fake daemons on real sockets and in real time: what public bug reports tell, and what the
//! kit cannot know. Each file has one subject.
#![allow(clippy::unwrap_used)]

mod bench;
mod bugs;
mod config;
mod daemon;
mod errors;
mod hosts;
mod images;
mod others;
mod pulls;
#[path = "../harness/real_config.rs"]
mod real_config;
mod secure_shell;
mod sshd;
mod whole;
