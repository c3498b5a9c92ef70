//! What the observer makes of what it sees on a host: whose a domain is, what a volume is for, and what has reached a guest.
//! It reads seeds as a guest would, and shares no code with the provider.

use std::{
    collections::BTreeMap,
    io::{Cursor, Read as _},
};

use fixture_libvirt::{DomainView, Element, Sight, VolumeView};
use libvirt_model::DOMAIN_STATES;
use providertest::harness::{Delivered, ThingKind};

/// The namespace of kvm's element.
pub(crate) const NAMESPACE: &str = "urn:proxy-operator:kvm";

/// How kvm's things are told apart.
pub(crate) struct OfKvm;

impl Sight for OfKvm {
    fn marks(&self, domain: &DomainView) -> BTreeMap<String, String> {
        marks(&domain.xml)
    }

    fn native_state(&self, domain: &DomainView) -> String {
        native_state(domain.state, domain.reason)
    }

    fn kind(&self, volume: &VolumeView) -> Option<ThingKind> {
        Some(kind(&volume.name))
    }

    fn marks_of_volume(&self, _: &VolumeView) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn delivered(&self, _: &DomainView, disks: &[&VolumeView]) -> Delivered {
        let cloud_init = disks.iter().find_map(|disk| user_data(&disk.content));
        Delivered { cloud_init, ..Delivered::default() }
    }
}

/// The marks that a domain carries.
pub(crate) fn marks(domain: &Element) -> BTreeMap<String, String> {
    let Some(element) = ours(domain) else { return BTreeMap::new() };
    let marks = element.attributes.iter().filter(|(key, _)| !key.starts_with("xmlns"));
    marks.cloned().collect()
}

/// The name of a state, as the profile's table has it.
pub(crate) fn native_state(state: i32, reason: i32) -> String {
    let of_state = || DOMAIN_STATES.iter().filter(|row| row.state == state);
    let own = of_state().find(|row| row.reason == Some(reason));
    let row = own.or_else(|| of_state().find(|row| row.reason.is_none()));
    row.map_or_else(|| state.to_string(), |row| row.native.native.to_owned())
}

/// What a volume is to others, which its name tells.
pub(crate) fn kind(volume: &str) -> ThingKind {
    if volume.starts_with("proxy-image-") { ThingKind::Shared } else { ThingKind::Secondary }
}

/// The element of ours among a domain's metadata.
fn ours(domain: &Element) -> Option<&Element> {
    domain.at(&["metadata"])?.elements().find(|element| element.own_namespace() == Some(NAMESPACE))
}

/// The user data of a seed, if a volume is one.
pub(crate) fn user_data(bytes: &[u8]) -> Option<Vec<u8>> {
    // The fake keeps what was written up to its last byte; the end of a disk may be empty.
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().div_ceil(2048) * 2048 + (1 << 20), 0);
    let disk = fatfs::FileSystem::new(Cursor::new(bytes), fatfs::FsOptions::new()).ok()?;
    let mut data = Vec::new();
    disk.root_dir().open_file("user-data").ok()?.read_to_end(&mut data).ok()?;
    Some(data)
}
