//! The operator's way to a cluster, against a real API server; `cargo xtask e2e kube` brings one. The tests are those of
//! `apiserver_fake.rs`.
#![allow(clippy::unwrap_used)]

mod apiserver;

use apiserver::Place;

cases!(Place::real);
