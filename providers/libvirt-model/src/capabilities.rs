//! What a host can run: read from its capabilities, per architecture and type of domain. That `/dev/kvm` exists says
//! nothing.

use crate::{
    Unreadable,
    xml::{self, at, text_at},
};

/// The machine that a host can give a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceleration {
    /// The host's own architecture.
    pub arch: String,
    /// Whether the host's processor runs it; otherwise QEMU emulates one, many times slower.
    pub accelerated: bool,
}

impl Acceleration {
    /// Reads what `virConnectGetCapabilities` gives.
    ///
    /// # Errors
    /// When it is not that, or the host can run no domain of its own architecture at all.
    pub fn read(xml: &str) -> Result<Self, Unreadable> {
        let what = "host's capabilities";
        let document = xml::parse(what, xml)?;
        let root = document.root_element();
        let arch = text_at(root, &["host", "cpu", "arch"]);
        let arch = arch.ok_or_else(|| Unreadable::new(what, "no architecture is named"))?;
        let of_arch = root
            .children()
            .filter(|child| child.has_tag_name("guest") && text_at(*child, &["os_type"]) == Some("hvm"))
            .filter_map(|guest| at(guest, &["arch"]))
            .filter(|guest| guest.attribute("name") == Some(arch));
        let types: Vec<_> = of_arch
            .flat_map(|guest| guest.children())
            .filter(|child| child.has_tag_name("domain"))
            .filter_map(|domain| domain.attribute("type"))
            .collect();
        if !types.contains(&"kvm") && !types.contains(&"qemu") {
            return Err(Unreadable::new(what, format_args!("no domain of type kvm or qemu runs on {arch}")));
        }
        Ok(Self { arch: arch.to_owned(), accelerated: types.contains(&"kvm") })
    }

    /// For readers, and for a check's details.
    pub fn as_str(&self) -> &'static str {
        if self.accelerated { "kvm" } else { "emulation" }
    }

    /// The type of a domain.
    pub(crate) fn domain_type(&self) -> &'static str {
        if self.accelerated { "kvm" } else { "qemu" }
    }

    /// The board to ask for, where the architecture has one that boots by BIOS and by UEFI from virtio disks.
    pub(crate) fn machine(&self) -> Option<&'static str> {
        match self.arch.as_str() {
            "x86_64" => Some("q35"),
            "aarch64" => Some("virt"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capabilities(types: &str) -> String {
        let guest = |arch: &str, types: &str| {
            format!(
                "<guest><os_type>hvm</os_type><arch name='{arch}'><wordsize>64</wordsize>{types}</arch></guest>"
            )
        };
        format!(
            "<capabilities><host><uuid>x</uuid><cpu><arch>x86_64</arch></cpu></host>{}{}</capabilities>",
            guest("aarch64", "<domain type='qemu'/>"),
            guest("x86_64", types)
        )
    }

    #[test]
    fn the_types_of_the_hosts_own_architecture_tell() {
        let read = |types| Acceleration::read(&capabilities(types));
        let kvm = read("<domain type='qemu'/><domain type='kvm'/>").unwrap();
        assert_eq!((kvm.as_str(), kvm.domain_type(), kvm.machine()), ("kvm", "kvm", Some("q35")));
        let qemu = read("<domain type='qemu'/>").unwrap();
        assert_eq!((qemu.as_str(), qemu.domain_type()), ("emulation", "qemu"));
        assert!(read("<domain type='xen'/>").is_err(), "another architecture's types do not count");
        assert!(Acceleration::read("<capabilities/>").is_err());
    }
}
