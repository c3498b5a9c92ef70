//! The block of an entry, which is the same for both providers but for its key. What all entries share is read elsewhere.

use std::{collections::BTreeMap, path::PathBuf};

use provider_api::{CredentialFile, Secret, config::Fields};

use crate::{Image, Uplink};

/// The block `kvm:` or `kvm2:`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// `sshKeyFile`: the private key, read whenever a host is dialled; needed where a host has an address.
    pub ssh_key: Option<CredentialFile>,
    /// `sshKeyPassphraseFile`: the passphrase of that key, read with it; none where the key has none.
    pub ssh_key_passphrase: Option<CredentialFile>,
    /// `knownHostsFile` or `insecureIgnoreHostKey`.
    pub host_keys: HostKeys,
    /// `diskSizeGb`: how large guests see their disk, in GiB, unless the image is larger.
    pub disk_size_gb: u64,
    /// `vendorData`: cloud-init's vendor data for every instance, which may hold passwords like all user data.
    pub vendor_data: Option<Secret>,
    /// `installGuestAgent`: whether vendor data installs the guest agent, where none is given.
    pub install_guest_agent: bool,
    /// `allowEmulation`: whether a host without acceleration may be used.
    pub allow_emulation: bool,
    /// `images`, by name.
    pub images: BTreeMap<String, Image>,
    /// `machineTypes`, by name.
    pub machine_types: BTreeMap<String, MachineType>,
    /// `hosts`, in the order of the file.
    pub hosts: Vec<Host>,
}

/// How a host is known to be the right one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostKeys {
    /// `knownHostsFile`, read whenever a host is dialled.
    Known(CredentialFile),
    /// `insecureIgnoreHostKey: true`: whoever answers is believed. Said in the log.
    Anybody,
    /// No host has an address, so none is needed.
    NotNeeded,
}

/// A size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineType {
    /// `vcpus`.
    pub vcpus: u32,
    /// `memoryMiB`.
    pub memory_mib: u64,
}

/// A hypervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// `name`: the zone that requests name.
    pub name: String,
    /// `address`, `user` and `socket`: the way to its daemon.
    pub way: Way,
    /// `pool`: the storage pool that images and disks stand in.
    pub pool: String,
    /// `bridge` or `network`: what instances are plugged into.
    pub uplink: Uplink,
    /// `decommissioned`: nothing new is made there, all else goes on.
    pub decommissioned: bool,
}

/// The way to a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// By SSH, then to a socket there.
    Ssh {
        /// `address`: a name or an address, with a port where it is not 22.
        address: String,
        /// `user`.
        user: String,
        /// `socket`, on that host.
        socket: String,
    },
    /// To a socket of this machine.
    Local {
        /// `socket`.
        socket: PathBuf,
    },
}

impl Way {
    /// Where it leads, for readers.
    pub fn address(&self) -> String {
        match self {
            Self::Ssh { address, user, .. } => format!("{user}@{address}"),
            Self::Local { socket } => socket.display().to_string(),
        }
    }
}

impl Way {
    /// Where it ends: the same for two ways to one daemon, as far as their spelling tells.
    fn end(&self) -> (String, String) {
        match self {
            Self::Ssh { address, socket, .. } => {
                let address = address.to_ascii_lowercase();
                // 22 is where SSH listens.
                let host = match address.strip_prefix('[') {
                    Some(rest) => rest.strip_suffix("]:22").or_else(|| rest.strip_suffix(']')),
                    None => address.strip_suffix(":22").filter(|host| !host.contains(':')),
                };
                (host.unwrap_or(&address).to_owned(), socket.clone())
            }
            Self::Local { socket } => (String::new(), socket.display().to_string()),
        }
    }
}

/// Whether there can be a way by SSH to that address as that user; if not, which of the two fields is wrong, and why.
pub type BySsh<'c> = dyn Fn(&str, &str) -> Result<(), (&'static str, String)> + 'c;

/// Where libvirt's daemon listens unless it was told otherwise.
const SOCKET: &str = "/var/run/libvirt/libvirt-sock";

impl Config {
    /// The size of disks, where the entry says none, in GiB.
    pub const DEFAULT_DISK_GB: u64 = 10;

    /// Reads the block and reports everything that is wrong with it (`runtime.all-config-errors-at-once`). `by_ssh` says
    /// which of address and user a way by SSH cannot have, and why.
    pub fn read(fields: &mut Fields<'_>, by_ssh: &BySsh<'_>) -> Option<Self> {
        let ssh_key = fields.optional::<PathBuf>("sshKeyFile").map(CredentialFile::new);
        let ssh_key_passphrase = fields.optional::<PathBuf>("sshKeyPassphraseFile").map(CredentialFile::new);
        let known_hosts = fields.optional::<PathBuf>("knownHostsFile").map(CredentialFile::new);
        let anybody = fields.or("insecureIgnoreHostKey", false);
        let disk_size_gb = fields.or("diskSizeGb", Self::DEFAULT_DISK_GB);
        // More is a slip of the pen, and would overflow when it is counted in bytes.
        let sized = (1..=1 << 20).contains(&disk_size_gb);
        if !sized {
            fields.problem("diskSizeGb", format!("{disk_size_gb} is out of range; expected 1 to 1048576"));
        }
        let vendor_data = fields.optional::<String>("vendorData").map(Secret::new);
        let install_guest_agent = fields.or("installGuestAgent", true);
        let allow_emulation = fields.or("allowEmulation", false);
        let images = named(fields, "images", Image::read);
        let machine_types = named(fields, "machineTypes", MachineType::read);
        let (hosts, remote) = hosts(fields, by_ssh);
        if remote && ssh_key.is_none() {
            fields.problem("sshKeyFile", "is missing; a host has an address, and is reached by SSH");
        }
        let of_a_key = ssh_key_passphrase.is_none() || ssh_key.is_some();
        if !of_a_key {
            fields.problem("sshKeyPassphraseFile", "goes with an sshKeyFile, and there is none");
        }
        let host_keys = match (known_hosts, anybody) {
            (Some(_), true) => {
                let text = "goes with no knownHostsFile: either hosts are known, or anybody is believed";
                fields.problem("insecureIgnoreHostKey", text);
                None
            }
            (Some(file), false) => Some(HostKeys::Known(file)),
            (None, true) => Some(HostKeys::Anybody),
            (None, false) if remote => {
                let text = "is missing; a host has an address, and must be known to be the right one";
                fields.problem("knownHostsFile", text);
                None
            }
            (None, false) => Some(HostKeys::NotNeeded),
        };
        let config = Self {
            ssh_key,
            ssh_key_passphrase,
            host_keys: host_keys?,
            disk_size_gb,
            vendor_data,
            install_guest_agent,
            allow_emulation,
            images: images?,
            machine_types: machine_types?,
            hosts: hosts?,
        };
        (sized && of_a_key && (!remote || config.ssh_key.is_some())).then_some(config)
    }

    /// The host of that name.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name == name)
    }
}

/// A catalogue with at least one entry, by names that can stand where names of volumes and segments of ids stand.
fn named<T>(
    fields: &mut Fields<'_>,
    key: &'static str,
    read: impl Fn(&mut Fields<'_>) -> Option<T>,
) -> Option<BTreeMap<String, T>> {
    let mut all = BTreeMap::new();
    let mut good = true;
    let entries = fields.catalogue(key);
    let is_empty = entries.is_empty();
    for (name, mut entry) in entries {
        if !is_identifier(name) {
            fields.problem(&format!("{key}.{name}"), NOT_AN_IDENTIFIER);
            good = false;
        }
        match read(&mut entry) {
            Some(value) => drop(all.insert(name.to_owned(), value)),
            None => good = false,
        }
    }
    if is_empty {
        fields.problem(key, "has no entry; at least one is needed");
    }
    (good && !is_empty).then_some(all)
}

/// The hosts, and whether any is reached by SSH, be it right otherwise or not.
fn hosts(fields: &mut Fields<'_>, by_ssh: &BySsh<'_>) -> (Option<Vec<Host>>, bool) {
    let mut remote = false;
    let each = fields.each("hosts").into_iter().map(|mut host| {
        let read = Host::read(&mut host, by_ssh);
        remote |= host.find("address").is_some();
        read
    });
    let hosts: Vec<_> = each.collect();
    if hosts.is_empty() {
        fields.problem("hosts", "has no host; at least one is needed");
        return (None, remote);
    }
    let names: Vec<_> = hosts.iter().flatten().map(|host| &host.name).collect();
    let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    if let Some((_, name)) = twice {
        fields.problem("hosts", format!("two hosts are called {name}"));
        return (None, remote);
    }
    let ways: Vec<_> = hosts.iter().flatten().map(|host| (host.way.end(), &host.name)).collect();
    for (at, (end, name)) in ways.iter().enumerate() {
        if let Some((_, other)) = ways[..at].iter().find(|(other, _)| other == end) {
            // Each of its domains would be listed as two, of which one is too many.
            fields.problem("hosts", format!("{other} and {name} are one host: name it once"));
            return (None, remote);
        }
    }
    (hosts.into_iter().collect(), remote)
}

impl MachineType {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let vcpus = fields.required::<u32>("vcpus");
        let memory_mib = fields.required::<u64>("memoryMiB");
        let within = |key, value: Option<u64>, range: std::ops::RangeInclusive<u64>| {
            let good = value.is_none_or(|value| range.contains(&value));
            if !good {
                let text = format!("is out of range; expected {} to {}", range.start(), range.end());
                fields.problem(key, text);
            }
            good
        };
        let good = within("vcpus", vcpus.map(u64::from), 1..=1024);
        let good = within("memoryMiB", memory_mib, 64..=1 << 24) && good;
        Some(Self { vcpus: vcpus?, memory_mib: memory_mib? }).filter(|_| good)
    }
}

impl Host {
    fn read(fields: &mut Fields<'_>, by_ssh: &BySsh<'_>) -> Option<Self> {
        let name = fields.required::<String>("name").filter(|name| {
            if !is_identifier(name) {
                fields.problem("name", NOT_AN_IDENTIFIER);
            }
            is_identifier(name)
        });
        let way = Way::read(fields, by_ssh);
        let pool = fields.or("pool", "default".to_owned());
        let bridge = fields.optional::<String>("bridge");
        let network = fields.optional::<String>("network");
        let decommissioned = fields.or("decommissioned", false);
        let uplink = match (bridge, network) {
            (Some(bridge), None) => Some(Uplink::Bridge(bridge)),
            (None, Some(network)) => Some(Uplink::Network(network)),
            (Some(_), Some(_)) => {
                fields.problem("network", "goes with no bridge: instances are plugged into one of them");
                None
            }
            (None, None) => {
                fields.problem("bridge", "is missing; expected a bridge, or a network of libvirt's");
                None
            }
        };
        // What goes into C strings.
        let plain = !pool.contains('\0');
        if !plain {
            fields.problem("pool", "has a character that no name can have");
        }
        Some(Self { name: name?, way: way?, pool, uplink: uplink?, decommissioned }).filter(|_| plain)
    }
}

impl Way {
    fn read(fields: &mut Fields<'_>, by_ssh: &BySsh<'_>) -> Option<Self> {
        let address = fields.optional::<String>("address");
        let user = fields.optional::<String>("user");
        let socket = fields.or("socket", SOCKET.to_owned());
        if !socket.starts_with('/') || socket.contains('\0') {
            fields.problem("socket", "expected an absolute path");
            return None;
        }
        match (address, user) {
            (Some(address), Some(user)) => {
                if let Err((field, why)) = by_ssh(&address, &user) {
                    fields.problem(field, why);
                    return None;
                }
                Some(Self::Ssh { address, user, socket })
            }
            (Some(_), None) => {
                fields.problem("user", "is missing; the host has an address, and is reached by SSH");
                None
            }
            (None, Some(_)) => {
                fields.problem("address", "is missing; a user is given, so the host is reached by SSH");
                None
            }
            (None, None) => Some(Self::Local { socket: socket.into() }),
        }
    }
}

const NOT_AN_IDENTIFIER: &str = "expected 1 to 40 characters a-z A-Z 0-9 . _ -, the first one alphanumeric";

/// Whether a name of the config's can stand in ids and in names of volumes.
fn is_identifier(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=40).contains(&name.len())
        && name.bytes().all(inner)
        && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use provider_api::{
        ConfigReport, Context, Identity, InstallationId, ProviderType, Registry, SystemClock, TokioSpawner,
    };

    use super::*;

    /// The block as it is read, or what is wrong with it.
    fn read(block: &str) -> Result<Config, ConfigReport> {
        let read = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&read);
        let mut registry = Registry::default();
        registry.register(ProviderType {
            name: "kvm",
            profile: || crate::base_profile("kvm"),
            build: Arc::new(move |_, fields, _| {
                *kept.lock().unwrap() = Config::read(fields, &|_, _| Ok(()));
                None
            }),
        });
        let yaml = format!("providers: [{{name: a, type: kvm, kvm: {block}}}]");
        let identity = Identity::new(InstallationId::parse("test").unwrap());
        let surroundings = |name: &provider_api::ProviderName| {
            let (clock, spawner) = (Arc::new(SystemClock::default()), Arc::new(TokioSpawner));
            Context::new(name.clone(), identity.clone(), clock, spawner)
        };
        // Nothing is built, so that this is always a report; the block was read all the same.
        let report = registry.load(&yaml, |_| {}, surroundings).unwrap_err();
        read.lock().unwrap().take().ok_or(report)
    }

    const CATALOGUES: &str = "images: {squid: {url: 'https://img.example/squid.qcow2'}}, \
                              machineTypes: {small: {vcpus: 1, memoryMiB: 1024}}";

    #[test]
    fn defaults_are_filled_in() {
        let block = format!(
            "{{sshKeyFile: /k, knownHostsFile: /h, {CATALOGUES}, \
             hosts: [{{name: one, address: one.example, user: libvirt, bridge: br0}}]}}"
        );
        let config = read(&block).unwrap();
        assert_eq!(config.disk_size_gb, 10);
        assert!(config.install_guest_agent && !config.allow_emulation);
        assert_eq!(config.ssh_key_passphrase, None);
        let host = config.host("one").unwrap();
        assert_eq!(host.pool, "default");
        assert_eq!(host.uplink, Uplink::Bridge("br0".to_owned()));
        let Way::Ssh { socket, .. } = &host.way else { panic!("{:?}", host.way) };
        assert_eq!(socket, SOCKET);
    }

    #[test]
    fn a_host_on_this_machine_needs_no_key() {
        let block = format!("{{{CATALOGUES}, hosts: [{{name: here, socket: /run/s, network: default}}]}}");
        let config = read(&block).unwrap();
        assert_eq!(config.host_keys, HostKeys::NotNeeded);
        assert_eq!(config.hosts[0].way, Way::Local { socket: "/run/s".into() });
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let block = "{diskSizeGb: 0, images: {a/b: {url: 'ftp://x'}, c: {url: 'http://x', sha256: zz, format: iso, \
                     firmware: coreboot}}, machineTypes: {}, colour: red, hosts: [{name: a/b, address: x, socket: s}, \
                     {name: c, user: u, bridge: b, network: n}]}";
        let report = read(block).unwrap_err().to_string();
        for key in [
            "diskSizeGb",
            "images.a/b.url",
            "images.c.sha256",
            "images.c.format",
            "images.c.firmware",
            "machineTypes",
            "colour",
            "hosts[0].name",
            "hosts[0].socket",
            "hosts[0].bridge",
            "hosts[1].address",
            "hosts[1].network",
        ] {
            assert!(report.contains(&format!("kvm.{key}")), "{key} in {report}");
        }
    }

    #[test]
    fn a_host_is_named_once() {
        let hosts = |hosts: &str| {
            let files = "sshKeyFile: /k, knownHostsFile: /h";
            read(&format!("{{{files}, {CATALOGUES}, hosts: [{hosts}]}}"))
        };
        let host = |name: &str, way: &str| format!("{{name: {name}, {way}, network: net}}");
        for (one, other) in [
            ("address: kvm1, user: u", "address: 'KVM1:22', user: v"),
            ("address: 'fd00::1', user: u", "address: '[fd00::1]:22', user: u"),
            ("address: '[fd00::1]', user: u, pool: ssd", "address: 'fd00::1', user: u, pool: disks"),
            ("socket: /run/s", "socket: /run/s"),
        ] {
            let report = hosts(&format!("{}, {}", host("a", one), host("b", other))).unwrap_err().to_string();
            assert!(report.contains("kvm.hosts: a and b are one host"), "{report}");
        }
        for (one, other) in [
            ("address: kvm1, user: u", "address: 'kvm1:2222', user: u"),
            ("address: 'fd00::1', user: u", "address: 'fd00::22', user: u"),
            ("address: bastion, user: u, socket: /run/a", "address: bastion, user: u, socket: /run/b"),
            ("socket: /run/s", "socket: /run/t"),
        ] {
            assert!(hosts(&format!("{}, {}", host("a", one), host("b", other))).is_ok(), "{one} {other}");
        }
    }

    #[test]
    fn a_passphrase_is_that_of_a_key() {
        let hosts = "hosts: [{name: here, socket: /run/s, network: default}]";
        let config = |files: &str| read(&format!("{{{files}, {CATALOGUES}, {hosts}}}"));
        let both = config("sshKeyFile: /k, sshKeyPassphraseFile: /p").unwrap();
        assert_eq!(both.ssh_key_passphrase, Some(CredentialFile::new("/p")));
        let report = config("sshKeyPassphraseFile: /p").unwrap_err().to_string();
        assert!(report.contains("kvm.sshKeyPassphraseFile: goes with an sshKeyFile"), "{report}");
    }

    #[test]
    fn a_host_by_ssh_must_be_known() {
        let hosts = "hosts: [{name: a, address: x, user: u, bridge: b}]";
        let report = read(&format!("{{{CATALOGUES}, {hosts}}}")).unwrap_err().to_string();
        assert!(report.contains("kvm.sshKeyFile") && report.contains("kvm.knownHostsFile"), "{report}");
        let anybody = "sshKeyFile: /k, insecureIgnoreHostKey: true";
        assert_eq!(
            read(&format!("{{{anybody}, {CATALOGUES}, {hosts}}}")).unwrap().host_keys,
            HostKeys::Anybody
        );
        let both = format!("{{{anybody}, knownHostsFile: /h, {CATALOGUES}, {hosts}}}");
        assert!(read(&both).unwrap_err().to_string().contains("kvm.insecureIgnoreHostKey"));
    }
}
