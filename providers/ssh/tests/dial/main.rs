//! Dials to an SSH server in this process, and to things that are none: how each stage ends, hangs and is given up.
//! What only OpenSSH itself can show is in `tests/openssh`.

#![allow(clippy::unwrap_used)]

mod auth;
mod channels;
mod clock;
mod end;
mod host_keys;
mod server;
mod site;
mod stages;
