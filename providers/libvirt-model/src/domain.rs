//! Domains as XML: the one that a create defines, and what is read of one that stands.

use std::fmt;

use provider_api::{Mark, Name};
use sha2::{Digest, Sha256};

use crate::{
    Acceleration, Family, Firmware, Marks, Unreadable,
    metadata::{among, element},
    xml::{self, Element, at, text_at},
};

/// What a domain's network interface is plugged into.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Uplink {
    /// A bridge of the host's.
    Bridge(String),
    /// A network of libvirt's, which keeps leases.
    Network(String),
}

/// The address of a network interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mac([u8; 6]);

impl Mac {
    /// One that no other domain has, and no former one of that name: leases outlive the machine that they were given to,
    /// and must not be read as its successor's.
    pub fn of(mark: &Mark) -> Self {
        let mut hash = Sha256::new();
        for (_, value) in mark.pairs() {
            hash.update(value);
            hash.update(b"\n");
        }
        let [a, b, c, d, e, ..]: [u8; 32] = hash.finalize().into();
        // Locally administered, one machine's.
        Self([0x52, a, b, c, d, e])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A domain to be defined.
#[derive(Clone, Debug)]
pub struct NewDomain<'a> {
    /// Whose it is.
    pub family: Family,
    /// Its name.
    pub name: &'a Name,
    /// Its mark, which is part of the defining call (`create.marks-from-first-moment`).
    pub mark: &'a Mark,
    /// How many CPUs it has.
    pub vcpus: u32,
    /// How much memory, in MiB.
    pub memory_mib: u64,
    /// The machine that the host can give it.
    pub acceleration: &'a Acceleration,
    /// What it boots by.
    pub firmware: Firmware,
    /// Where its disk is, on the host.
    pub disk: &'a str,
    /// Where its seed is, on the host.
    pub seed: &'a str,
    /// What it is plugged into.
    pub uplink: &'a Uplink,
}

impl NewDomain<'_> {
    /// As `virDomainDefineXML` takes it.
    pub fn to_xml(&self) -> String {
        let Self { family, name, mark, vcpus, memory_mib, acceleration, .. } = self;
        let domain = Element::new("domain").attr("type", acceleration.domain_type()).with([
            Element::new("name").text(name),
            Element::new("metadata").with([element(*family, mark)]),
            Element::new("memory").attr("unit", "MiB").text(memory_mib),
            Element::new("vcpu").text(vcpus),
            self.os(),
            Element::new("features").with([Element::new("acpi"), Element::new("apic")]),
        ]);
        // Without acceleration QEMU's own default is the model that every host can emulate.
        let cpu = acceleration.accelerated.then(|| Element::new("cpu").attr("mode", "host-passthrough"));
        let domain = domain.with(cpu);
        domain.with([Element::new("clock").attr("offset", "utc"), self.devices()]).to_string()
    }

    fn os(&self) -> Element {
        let machine = self.acceleration;
        let kind = Element::new("type").attr("arch", &machine.arch);
        let kind = match machine.machine() {
            Some(machine) => kind.attr("machine", machine),
            None => kind,
        };
        let os = match self.firmware {
            // Without secure boot: an image need not be signed, and it would ask for more of the machine.
            Firmware::Uefi => {
                let off = |name| Element::new("feature").attr("enabled", "no").attr("name", name);
                Element::new("os").attr("firmware", "efi").with([
                    kind.text("hvm"),
                    Element::new("firmware").with([off("enrolled-keys"), off("secure-boot")]),
                ])
            }
            Firmware::Bios => Element::new("os").with([kind.text("hvm")]),
        };
        os.with([Element::new("boot").attr("dev", "hd")])
    }

    fn devices(&self) -> Element {
        let disk = |kind: &str, path: &str, target: &str| {
            Element::new("disk").attr("type", "file").attr("device", "disk").with([
                Element::new("driver").attr("name", "qemu").attr("type", kind),
                Element::new("source").attr("file", path),
                Element::new("target").attr("dev", target).attr("bus", "virtio"),
            ])
        };
        // Not a CD: the kernels of cloud images often have no driver for its controller, and then the user data is
        // silently not applied.
        let seed = disk("raw", self.seed, "vdb").with([Element::new("readonly")]);
        let (kind, source) = match self.uplink {
            Uplink::Bridge(bridge) => ("bridge", Element::new("source").attr("bridge", bridge)),
            Uplink::Network(network) => ("network", Element::new("source").attr("network", network)),
        };
        let interface = Element::new("interface").attr("type", kind).with([
            Element::new("mac").attr("address", Mac::of(self.mark)),
            source,
            Element::new("model").attr("type", "virtio"),
        ]);
        let agent = Element::new("target").attr("type", "virtio").attr("name", "org.qemu.guest_agent.0");
        let random = Element::new("backend").attr("model", "random").text("/dev/urandom");
        Element::new("devices").with([
            disk("qcow2", self.disk, "vda"),
            seed,
            interface,
            Element::new("channel").attr("type", "unix").with([agent]),
            Element::new("serial").attr("type", "pty"),
            Element::new("console").attr("type", "pty"),
            Element::new("rng").attr("model", "virtio").with([random]),
            Element::new("memballoon").attr("model", "none"),
        ])
    }
}

/// What is read of a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// The marks it carries in our element.
    pub marks: Marks,
    /// The address of its first network interface: the one that a create made.
    pub mac: Option<String>,
    /// The files of its disks.
    pub files: Vec<String>,
    /// The volumes of its disks, as pool and volume.
    pub volumes: Vec<(String, String)>,
}

impl Domain {
    /// Reads a domain as `virDomainGetXMLDesc` gives it.
    ///
    /// # Errors
    /// When it is no domain.
    pub fn read(xml: &str, family: Family) -> Result<Self, Unreadable> {
        let document = xml::parse("domain", xml)?;
        let root = document.root_element();
        let name = text_at(root, &["name"]).filter(|_| root.has_tag_name("domain"));
        let name = name.ok_or_else(|| Unreadable::new("domain", "it has no name"))?.to_owned();
        let mut domain = Self { name, ..Self::default() };
        domain.marks = at(root, &["metadata"]).map(|metadata| among(metadata, family)).unwrap_or_default();
        domain.mac = at(root, &["devices", "interface", "mac"])
            .and_then(|mac| mac.attribute("address"))
            .map(str::to_ascii_lowercase);
        let devices = at(root, &["devices"]).into_iter().flat_map(|devices| devices.children());
        for source in devices.filter(|child| child.has_tag_name("disk")).flat_map(|disk| disk.descendants()) {
            // What stands below a disk's own source is what that stands on.
            if !source.has_tag_name("source") {
                continue;
            }
            domain.files.extend(source.attribute("file").map(str::to_owned));
            if let (Some(pool), Some(volume)) = (source.attribute("pool"), source.attribute("volume")) {
                domain.volumes.push((pool.to_owned(), volume.to_owned()));
            }
        }
        Ok(domain)
    }

    /// Whether one of its disks is that volume of that pool, or stands on it.
    pub fn uses(&self, pool: &str, volume: &str, path: &str) -> bool {
        self.files.iter().any(|file| file == path)
            || self.volumes.iter().any(|(its_pool, its_volume)| its_pool == pool && its_volume == volume)
    }
}

#[cfg(test)]
mod tests {
    use provider_api::{InstallationId, Timestamp, Uid};

    use super::*;
    use crate::KVM;

    fn mark(seconds: i64) -> Mark {
        Mark {
            uid: Uid::parse("uid-1").unwrap(),
            installation: InstallationId::parse("us").unwrap(),
            created_at: Some(Timestamp::from_unix(seconds)),
        }
    }

    fn xml(firmware: Firmware, accelerated: bool, uplink: &Uplink) -> String {
        let mark = mark(1_767_225_600);
        NewDomain {
            family: KVM,
            name: &Name::from_uid(&mark.uid),
            mark: &mark,
            vcpus: 2,
            memory_mib: 1024,
            acceleration: &Acceleration { arch: "x86_64".to_owned(), accelerated },
            firmware,
            disk: "/pool/a & b/disk",
            seed: "/pool/seed",
            uplink,
        }
        .to_xml()
    }

    #[test]
    fn an_accelerated_domain_with_uefi_on_a_bridge() {
        insta::assert_snapshot!(xml(Firmware::Uefi, true, &Uplink::Bridge("br0".to_owned())));
    }

    #[test]
    fn an_emulated_domain_with_bios_on_a_network() {
        insta::assert_snapshot!(xml(Firmware::Bios, false, &Uplink::Network("default".to_owned())));
    }

    #[test]
    fn what_is_defined_is_read_back() {
        let xml = xml(Firmware::Bios, true, &Uplink::Network("default".to_owned()));
        let read = Domain::read(&xml, KVM).unwrap();
        assert_eq!(read.name, Name::from_uid(&mark(0).uid).as_str());
        assert_eq!(read.marks[provider_api::mark::UID], "uid-1");
        assert_eq!(read.mac, Some(Mac::of(&mark(1_767_225_600)).to_string()));
        assert!(read.uses("pool", "disk", "/pool/a & b/disk"));
        assert!(!read.uses("pool", "other", "/pool/other"));
    }

    #[test]
    fn who_stands_on_a_volume_uses_it() {
        let xml = "<domain><name>x</name><devices>
            <disk><source file='/p/clone'/><backingStore type='file'><source file='/p/ours'/></backingStore></disk>
            <disk><source pool='p' volume='seed'/></disk></devices></domain>";
        let read = Domain::read(xml, KVM).unwrap();
        assert!(read.uses("p", "ours", "/p/ours") && read.uses("p", "seed", "/p/seed"));
        assert_eq!(read.mac, None);
        assert_eq!(read.marks, Marks::new());
        assert!(Domain::read("<pool><name>x</name></pool>", KVM).is_err());
    }

    #[test]
    fn no_two_lives_of_a_name_have_one_address() {
        assert_ne!(Mac::of(&mark(1)), Mac::of(&mark(2)));
        assert_eq!(Mac::of(&mark(1)).to_string().len(), 17);
    }
}
