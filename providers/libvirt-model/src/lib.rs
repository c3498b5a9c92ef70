//! What the two libvirt providers share: the rows of their profiles, the calls they make, what libvirt, the way to it and
//! the image server answer when they refuse and what that means; domains, volumes and marks as XML, what volumes are called,
//! which image a request may name, what a domain's state and reason mean; and the block of the config.
//!
//! Nothing here talks to anybody.

mod base;
pub mod calls;
mod capabilities;
mod classify;
mod config;
mod dial;
mod domain;
mod download;
mod errors;
mod family;
mod id;
mod image;
mod metadata;
mod names;
mod placement;
mod qcow2;
mod shown;
mod state;
mod storage;
mod volume;
mod xml;

use provider_api::NativeError;

pub use base::base_profile;
pub use calls::{CALLS, RPC};
pub use capabilities::Acceleration;
pub use classify::{LibvirtError, Meaning, classify};
pub use config::{BySsh, Config, Host, HostKeys, MachineType, Way};
pub use dial::DIAL;
pub use domain::{Domain, Mac, NewDomain, Uplink};
pub use family::{Family, KVM, KVM2};
pub use id::{DomainId, IDS};
pub use image::{Firmware, Format, Image};
pub use metadata::{Marks, marks, ownership};
pub use names::{ImageCopies, ImageCopy, Part, is_image, is_part, part_name, part_of};
pub use placement::{Placed, place};
pub use qcow2::{BEGINNING, reaches_out};
pub use shown::{Leased, shown};
pub use state::{DOMAIN_STATES, DomainState, domain_state, native_states, runs};
pub use volume::{NewVolume, Volume};
pub use xml::Unreadable;

/// Every shared error, table by table: libvirt's own of the daemon, of domains and of storage, then those of the way
/// there and of the image server.
pub const ERRORS: [&[NativeError]; 5] =
    [errors::DAEMON, errors::DOMAINS, storage::STORAGE, DIAL, download::DOWNLOAD];
