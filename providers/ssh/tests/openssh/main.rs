//! The client before a real OpenSSH server, and its judgement of host keys beside that of OpenSSH's own client. Needs the
//! package `openssh-server`; `cargo xtask test` brings it.
#![allow(clippy::unwrap_used)]

mod channels;
mod host_keys;
mod login;
mod sshd;
