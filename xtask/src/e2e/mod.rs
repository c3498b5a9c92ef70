//! Tests against real backends that xtask starts itself: a bare API server (`kube`), a cluster of one node that runs
//! real Pods (`node`) and a hypervisor (`kvm`). Where the binaries come from is in `servers` (current) and `old_servers`
//! (1.20), where the guest comes from in `guest`.

pub(crate) mod kube;
pub(crate) mod kvm;
pub(crate) mod node;
pub(crate) mod reaper;
pub(crate) mod suite;

mod cgroups;
mod container;
mod credentials;
mod guest;
mod images;
mod inside;
mod libvirtd;
mod node_inside;
mod old_servers;
mod process;
mod servers;
mod sshd;
