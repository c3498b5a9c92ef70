//! The file that says where a real host is: `--backend real --config FILE`. `samples/real.yaml` is one.

use std::path::{Path, PathBuf};

use provider_api::config::{self, ConfigReport, Fields};

/// Where a real host is, and what of it cases may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RealConfig {
    /// The way by SSH; none to a socket of this machine.
    pub(crate) ssh: Option<BySsh>,
    /// `socket`: where libvirt's daemon listens, there.
    pub(crate) socket: String,
    /// `pool`: a pool of files, in whose folder each case has a pool of its own.
    pub(crate) pool: String,
    /// `network` or `bridge`: what guests are plugged into, and its name.
    pub(crate) uplink: (&'static str, String),
    /// `allowEmulation`: whether the host may do without acceleration.
    pub(crate) allow_emulation: bool,
    /// `image`: the file of an image whose guest gets itself an address, in qcow2.
    pub(crate) image: PathBuf,
    /// `firmware`: what it boots by.
    pub(crate) firmware: String,
    /// `memoryMiB`: what its guest needs.
    pub(crate) memory_mib: u64,
}

/// A way by SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BySsh {
    /// `address`: `host`, `host:port` or `[address]:port`.
    pub(crate) address: String,
    /// `user`: who logs in.
    pub(crate) user: String,
    /// `sshKeyFile`.
    pub(crate) key_file: PathBuf,
    /// `knownHostsFile`.
    pub(crate) known_hosts_file: PathBuf,
}

impl RealConfig {
    /// Reads the text of a file that stands in `folder`, from which relative paths are taken; everything that is wrong is
    /// said at once.
    pub(crate) fn parse(yaml: &str, folder: &Path) -> Result<Self, ConfigReport> {
        config::read(yaml, |fields| Self::read(fields, folder))
    }

    fn read(fields: &mut Fields<'_>, folder: &Path) -> Option<Self> {
        let ssh = match fields.optional("address") {
            Some(address) => BySsh::read(fields, address, folder).map(Some),
            None => Some(None),
        };
        let socket = fields.or("socket", "/var/run/libvirt/libvirt-sock".to_owned());
        let pool = fields.or("pool", "default".to_owned());
        let (network, bridge) = (fields.optional("network"), fields.optional("bridge"));
        let uplink = match (network, bridge) {
            (Some(network), None) => Some(("network", network)),
            (None, Some(bridge)) => Some(("bridge", bridge)),
            _ => {
                fields.problem("network", "either this or `bridge` is needed");
                None
            }
        };
        let allow_emulation = fields.or("allowEmulation", false);
        let image: Option<PathBuf> = fields.required("image");
        let firmware = fields.or("firmware", "bios".to_owned());
        let memory_mib = fields.or("memoryMiB", 256);
        Some(Self {
            ssh: ssh?,
            socket,
            pool,
            uplink: uplink?,
            allow_emulation,
            image: folder.join(image?),
            firmware,
            memory_mib,
        })
    }
}

impl BySsh {
    fn read(fields: &mut Fields<'_>, address: String, folder: &Path) -> Option<Self> {
        let user = fields.required("user");
        let key_file: Option<PathBuf> = fields.required("sshKeyFile");
        let known_hosts_file: Option<PathBuf> = fields.required("knownHostsFile");
        Some(Self {
            address,
            user: user?,
            key_file: folder.join(key_file?),
            known_hosts_file: folder.join(known_hosts_file?),
        })
    }
}
