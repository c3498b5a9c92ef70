//! The operator's way to a cluster, against the API server in process. `apiserver_real.rs` has the same tests against a real one.
#![allow(clippy::unwrap_used)]

mod apiserver;

use apiserver::Place;

cases!(Place::in_process);
