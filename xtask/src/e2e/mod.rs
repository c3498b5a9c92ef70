//! Tests against real backends that xtask starts itself: a bare API server (`kube`) and a cluster of one node that
//! runs real Pods (`node`). Where the binaries come from is in `servers` (current) and `old_servers` (1.20).

pub(crate) mod kube;
pub(crate) mod node;
pub(crate) mod reaper;
pub(crate) mod suite;

mod credentials;
mod images;
mod inside;
mod old_servers;
mod process;
mod servers;
