//! What a connection of the C library can do: one method is one call of the library's. It is used on threads that may
//! block, and nowhere else.

use std::{collections::BTreeMap, fmt, sync::Once};

use libvirt_model::LibvirtError;
use virt::{
    connect::Connect, domain::Domain, error::Error, storage_pool::StoragePool, storage_vol::StorageVol,
    stream::Stream,
};
use virt_sys as sys;

use super::{feed::Feed, raw};

type Answer<T> = Result<T, LibvirtError>;

/// A domain, by what tells it from all others, former ones of its name included (`delete.bound-to-incarnation`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DomainUuid([u8; 16]);

/// How much room a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolRoom {
    pub(crate) state: u32,
    pub(crate) capacity: u64,
    pub(crate) available: u64,
}

impl PoolRoom {
    /// The pool's state as libvirt's tools name it.
    pub(crate) fn state_name(&self) -> &'static str {
        match self.state {
            sys::VIR_STORAGE_POOL_INACTIVE => "inactive",
            sys::VIR_STORAGE_POOL_BUILDING => "building",
            sys::VIR_STORAGE_POOL_RUNNING => "running",
            sys::VIR_STORAGE_POOL_DEGRADED => "degraded",
            sys::VIR_STORAGE_POOL_INACCESSIBLE => "inaccessible",
            _ => "unknown",
        }
    }

    /// Whether volumes can be made in it.
    pub(crate) fn is_active(&self) -> bool {
        matches!(self.state, sys::VIR_STORAGE_POOL_RUNNING | sys::VIR_STORAGE_POOL_DEGRADED)
    }
}

/// Where an address may be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The leases of libvirt's own network.
    Lease,
    /// The agent in the guest.
    Agent,
    /// The host's neighbour table.
    Arp,
}

impl Source {
    /// In the order of trust: what the guest cannot forge comes first.
    pub(crate) const ALL: [Self; 3] = [Self::Lease, Self::Agent, Self::Arp];
}

/// A connection, with the handles that were looked up on it. Dropping it tells the daemon, and waits for its answer: it is
/// dropped on a thread, or after its relay was cut.
pub(crate) struct Session {
    connect: Connect,
    domains: BTreeMap<DomainUuid, Domain>,
    pool: Option<StoragePool>,
    volumes: BTreeMap<String, StorageVol>,
}

impl Session {
    /// Opens a connection over the relay's socket. The URI names everything, so that neither the environment nor the
    /// user's own rights decide which daemon is asked (`bug-l17`).
    pub(crate) fn open(socket: &str) -> Answer<Self> {
        static QUIET: Once = Once::new();
        // Otherwise the library prints each error to the process's own stderr.
        QUIET.call_once(virt::error::clear_error_callback);
        let uri = format!("qemu+unix:///system?socket={}", percent_encoded(socket));
        let connect = failed(Connect::open(Some(&uri)))?;
        Ok(Self { connect, domains: BTreeMap::new(), pool: None, volumes: BTreeMap::new() })
    }

    /// Forgets all handles; the connection stays.
    pub(crate) fn forget(&mut self) {
        self.volumes.clear();
        self.pool = None;
        self.domains.clear();
    }

    pub(crate) fn lib_version(&mut self) -> Answer<u32> {
        failed(self.connect.lib_version())
    }

    pub(crate) fn hostname(&mut self) -> Answer<String> {
        failed(self.connect.hostname())
    }

    pub(crate) fn capabilities(&mut self) -> Answer<String> {
        failed(self.connect.capabilities())
    }

    /// The memory that a new domain could have, in MiB: what is free, and what the kernel gives back when it is asked.
    pub(crate) fn memory_available(&mut self) -> Answer<u64> {
        let parts = raw::memory(&self.connect)?;
        let given = |(name, kib): &(String, u64)| {
            matches!(name.as_str(), "free" | "buffers" | "cached").then_some(*kib)
        };
        Ok(parts.iter().filter_map(given).sum::<u64>() >> 10)
    }

    /// Every domain, running or not.
    pub(crate) fn all_domains(&mut self) -> Answer<Vec<(DomainUuid, String)>> {
        let mut all = Vec::new();
        for domain in failed(self.connect.list_all_domains(0))? {
            let name = failed(domain.name())?;
            all.push((self.keep(domain)?, name));
        }
        Ok(all)
    }

    pub(crate) fn domain_by_name(&mut self, name: &str) -> Answer<DomainUuid> {
        let domain = failed(self.connect.lookup_domain_by_name(name))?;
        self.keep(domain)
    }

    pub(crate) fn metadata(&mut self, uuid: DomainUuid, namespace: &str) -> Answer<String> {
        let (element, current) = (sys::VIR_DOMAIN_METADATA_ELEMENT, sys::VIR_DOMAIN_AFFECT_CURRENT);
        failed(self.domain(uuid)?.metadata(element as i32, Some(namespace), current))
    }

    pub(crate) fn state(&mut self, uuid: DomainUuid) -> Answer<(i32, i32)> {
        raw::state(self.domain(uuid)?)
    }

    pub(crate) fn xml(&mut self, uuid: DomainUuid) -> Answer<String> {
        failed(self.domain(uuid)?.xml_desc(0))
    }

    /// The addresses that a source knows, each with that of its interface.
    pub(crate) fn addresses(
        &mut self,
        uuid: DomainUuid,
        source: Source,
    ) -> Answer<Vec<(Option<String>, String)>> {
        let source = match source {
            Source::Lease => sys::VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE,
            Source::Agent => sys::VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT,
            Source::Arp => sys::VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP,
        };
        raw::addresses(self.domain(uuid)?, source)
    }

    pub(crate) fn define(&mut self, xml: &str) -> Answer<DomainUuid> {
        let domain = failed(self.connect.define_domain_xml(xml))?;
        self.keep(domain)
    }

    /// Starts it. The plain call would look it up once more; this one is one call on the wire.
    pub(crate) fn start(&mut self, uuid: DomainUuid) -> Answer<()> {
        failed(self.domain(uuid)?.create_with_flags(0))
    }

    pub(crate) fn resume(&mut self, uuid: DomainUuid) -> Answer<()> {
        failed(self.domain(uuid)?.resume())
    }

    pub(crate) fn wake(&mut self, uuid: DomainUuid) -> Answer<()> {
        failed(self.domain(uuid)?.pm_wakeup(0))
    }

    pub(crate) fn destroy(&mut self, uuid: DomainUuid) -> Answer<()> {
        failed(self.domain(uuid)?.destroy())
    }

    pub(crate) fn undefine(&mut self, uuid: DomainUuid, flags: u32) -> Answer<()> {
        failed(self.domain(uuid)?.undefine_flags(flags))
    }

    pub(crate) fn find_pool(&mut self, name: &str) -> Answer<()> {
        let pool = self.connect.lookup_storage_pool_by_name(name);
        self.pool = Some(failed(pool)?);
        Ok(())
    }

    pub(crate) fn pool_room(&mut self) -> Answer<PoolRoom> {
        let info = failed(self.pool()?.info())?;
        Ok(PoolRoom { state: info.state, capacity: info.capacity, available: info.available })
    }

    pub(crate) fn refresh_pool(&mut self) -> Answer<()> {
        failed(self.pool()?.refresh(0))
    }

    /// The names of the pool's volumes.
    pub(crate) fn volumes(&mut self) -> Answer<Vec<String>> {
        let volumes = failed(self.pool()?.list_all_volumes(0))?;
        self.volumes.clear();
        for volume in volumes {
            let name = failed(volume.name())?;
            self.volumes.insert(name, volume);
        }
        Ok(self.volumes.keys().cloned().collect())
    }

    pub(crate) fn volume_xml(&mut self, name: &str) -> Answer<String> {
        failed(self.volume(name)?.xml_desc(0))
    }

    pub(crate) fn volume_path(&mut self, name: &str) -> Answer<String> {
        failed(self.volume(name)?.path())
    }

    pub(crate) fn create_volume(&mut self, name: &str, xml: &str) -> Answer<()> {
        let volume = failed(StorageVol::create_xml(self.pool()?, xml, 0))?;
        self.volumes.insert(name.to_owned(), volume);
        Ok(())
    }

    pub(crate) fn delete_volume(&mut self, name: &str) -> Answer<()> {
        failed(self.volume(name)?.delete(0))?;
        self.volumes.remove(name);
        Ok(())
    }

    /// Fills a volume with what the feed gives. A feed that ends without saying so ends nothing: the transfer is broken
    /// off, and the daemon knows that it was not all.
    pub(crate) fn upload(&mut self, name: &str, feed: &mut Feed) -> Answer<()> {
        let stream = failed(Stream::new(&self.connect, 0))?;
        failed(self.volume(name)?.upload(&stream, 0, 0, 0))?;
        while let Some(sent) = feed.next(|bytes| send_all(&stream, bytes)) {
            if let Err(error) = sent {
                // It is over already; this tells the library so.
                let _ = stream.abort();
                return Err(error);
            }
        }
        if feed.is_whole() {
            return raw::finish(&stream);
        }
        failed(stream.abort())
    }

    fn keep(&mut self, domain: Domain) -> Answer<DomainUuid> {
        let uuid = DomainUuid(failed(domain.uuid())?.into_bytes());
        self.domains.insert(uuid, domain);
        Ok(uuid)
    }

    fn domain(&self, uuid: DomainUuid) -> Answer<&Domain> {
        self.domains.get(&uuid).ok_or_else(|| forgotten("domain"))
    }

    fn pool(&self) -> Answer<&StoragePool> {
        self.pool.as_ref().ok_or_else(|| forgotten("pool"))
    }

    fn volume(&self, name: &str) -> Answer<&StorageVol> {
        self.volumes.get(name).ok_or_else(|| forgotten("volume"))
    }
}

/// Sends a piece, however much of it goes at once.
fn send_all(stream: &Stream, bytes: &[u8]) -> Answer<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let sent = usize::try_from(failed(stream.send(rest))?).unwrap_or(0);
        rest = rest.get(sent..).unwrap_or_default();
    }
    Ok(())
}

/// A handle that belonged to a connection which broke and was replaced.
fn forgotten(what: &str) -> LibvirtError {
    LibvirtError {
        code: 1,
        domain: 7,
        errno: -1,
        message: format!("the {what} was looked up on a connection that is gone"),
    }
}

/// An error of `virt`'s, with the errno that it leaves out.
fn failed<T>(result: Result<T, Error>) -> Answer<T> {
    result.map_err(|error| {
        let last = raw::last_error();
        let code = error.code().to_raw() as i32;
        // Some errors are virt's own, and the library knows nothing of them.
        if last.code == code {
            return last;
        }
        LibvirtError {
            code,
            domain: error.domain().to_raw() as i32,
            errno: -1,
            message: error.message().to_owned(),
        }
    })
}

/// A path within a query of a URI.
fn percent_encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'~');
    path.bytes().fold(String::new(), |mut text, byte| {
        if plain(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
        text
    })
}

impl fmt::Debug for DomainUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("domains", &self.domains.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_in_a_query() {
        assert_eq!(percent_encoded("/run/a b&c?#%/é"), "/run/a%20b%26c%3F%23%25/%C3%A9");
    }
}
