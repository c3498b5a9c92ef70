//! The block `kvm:`. Its fields are those of kvm2 too and are read in `libvirt-model`; here stands what only a way by SSH
//! can tell of them.

use libvirt_model::{Config, HostKeys};
use provider_api::config::Fields;
use ssh::{Access, Target};

/// Reads the block and reports everything that is wrong with it (`runtime.all-config-errors-at-once`).
pub(crate) fn read(fields: &mut Fields<'_>) -> Option<Config> {
    Config::read(fields, &|address, user| {
        Target::parse(address, user).map(drop).map_err(|bad| (bad.field, bad.why))
    })
}

/// With what hosts are dialled; none where no host is dialled by SSH.
pub(crate) fn access(config: &Config) -> Option<Access> {
    let host_keys = match &config.host_keys {
        HostKeys::Known(file) => ssh::HostKeys::KnownHosts(file.clone()),
        HostKeys::Anybody => ssh::HostKeys::InsecureIgnore,
        HostKeys::NotNeeded => return None,
    };
    let passphrase = config.ssh_key_passphrase.clone();
    Some(Access { key: config.ssh_key.clone()?, passphrase, host_keys })
}
