//! An administrator of a real host: libvirt's own library on a connection of its own, past the provider. It works on threads
//! that may block.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use fixture_libvirt::Element;
use virt::{
    connect::Connect,
    domain::{Domain, DomainStateReason},
    enumutil::Enum,
    error::Error,
    storage_pool::StoragePool,
    storage_vol::StorageVol,
    stream::Stream,
};

/// libvirt's numbers of what is simply not there: a domain, a pool, a volume.
const ABSENT: [u32; 3] = [42, 49, 50];
/// Everything that stands beside a definition: a saved image, snapshots, UEFI's variables.
const WHOLE: u32 = 1 | 2 | 4;
/// As much as is read of a volume at once.
const PIECE: usize = 256 << 10;

/// A refusal of the host's, or an answer of its that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    code: u32,
    text: String,
}

type Answer<T> = Result<T, Refused>;

impl Refused {
    pub(crate) fn saying(text: impl Into<String>) -> Self {
        Self { code: 0, text: text.into() }
    }

    pub(crate) fn is_absent(&self) -> bool {
        ABSENT.contains(&self.code)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { code: error.code().to_raw(), text: error.message().to_owned() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "libvirt {}: {}", self.code, self.text)
    }
}

impl std::error::Error for Refused {}

/// A connection.
#[derive(Clone)]
pub(crate) struct Admin(pub(crate) Arc<Mutex<Connect>>);

/// A domain, at one moment.
#[derive(Clone, Debug)]
pub(crate) struct SeenDomain {
    pub(crate) name: String,
    pub(crate) uuid: String,
    pub(crate) xml: Element,
    pub(crate) state: i32,
    pub(crate) reason: i32,
}

/// A volume, at one moment.
#[derive(Clone, Debug)]
pub(crate) struct SeenVolume {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) format: String,
    pub(crate) backing: Option<String>,
    /// When its bytes were last written, as the host says it.
    pub(crate) written: String,
    pub(crate) capacity: u64,
}

impl Admin {
    pub(crate) fn dial(socket: &Path) -> Answer<Self> {
        virt::error::clear_error_callback();
        let uri = format!("qemu+unix:///system?socket={}", socket.display());
        Ok(Self(Arc::new(Mutex::new(Connect::open(Some(&uri))?))))
    }

    /// Asks, on a thread.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connect) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let connect = Arc::clone(&self.0);
        let asked = move || work(&connect.lock().unwrap_or_else(PoisonError::into_inner));
        tokio::task::spawn_blocking(asked).await.unwrap_or_else(|died| Err(Refused::saying(died.to_string())))
    }
}

/// What libvirt and QEMU call themselves.
pub(crate) fn versions(connect: &Connect) -> Answer<String> {
    let dotted = |n: u32| format!("{}.{}.{}", n / 1_000_000, n / 1_000 % 1_000, n % 1_000);
    Ok(format!("libvirtd {} with QEMU {}", dotted(connect.lib_version()?), dotted(connect.hyp_version()?)))
}

/// The domain of that name.
pub(crate) fn domain(connect: &Connect, name: &str) -> Answer<Domain> {
    Ok(connect.lookup_domain_by_name(name)?)
}

/// State and reason of a domain.
pub(crate) fn state(domain: &Domain) -> Answer<(i32, i32)> {
    let (state, reason) = domain.state()?;
    let state = state.to_raw() as i32;
    // virt's own, where the call failed.
    if state < 0 {
        return Err(Refused { code: ABSENT[0], text: "the state of a domain cannot be had".to_owned() });
    }
    let reason = match reason {
        Enum::Unknown(reason) => reason,
        Enum::Known(reason) => match reason {
            DomainStateReason::NoState(reason) => reason.to_raw() as i32,
            DomainStateReason::Running(reason) => reason.to_raw() as i32,
            DomainStateReason::Blocked(reason) => reason.to_raw() as i32,
            DomainStateReason::Paused(reason) => reason.to_raw() as i32,
            DomainStateReason::Shutdown(reason) => reason.to_raw() as i32,
            DomainStateReason::Shutoff(reason) => reason.to_raw() as i32,
            DomainStateReason::Crashed(reason) => reason.to_raw() as i32,
            DomainStateReason::PMSuspended(reason) => reason.to_raw() as i32,
        },
    };
    Ok((state, reason))
}

/// A domain as it stands; none that has gone meanwhile.
pub(crate) fn seen_domain(domain: &Domain) -> Answer<Option<SeenDomain>> {
    unless_absent((|| {
        let (state, reason) = state(domain)?;
        let (name, uuid) = (domain.name()?, domain.uuid_string()?);
        Ok(SeenDomain { name, uuid, xml: read(&domain.xml_desc(0)?)?, state, reason })
    })())
}

/// The paths of a domain's disks.
pub(crate) fn disks(xml: &Element) -> Vec<String> {
    let disks = xml.at(&["devices"]).into_iter().flat_map(|devices| devices.all("disk"));
    disks.filter_map(|disk| Some(disk.at(&["source"])?.get("file")?.to_owned())).collect()
}

/// Takes a domain away at once, whatever it is doing; its volumes stay. One that is gone is away.
pub(crate) fn uproot(domain: &Domain) -> Answer<()> {
    // It may be off.
    let _ = domain.destroy();
    unless_absent(domain.undefine_flags(WHOLE).map_err(Refused::from)).map(drop)
}

/// The volumes of a pool; none of one that is not there.
pub(crate) fn volumes(connect: &Connect, pool: &str) -> Answer<Vec<StorageVol>> {
    let volumes = (|| Ok(connect.lookup_storage_pool_by_name(pool)?.list_all_volumes(0)?))();
    Ok(unless_absent(volumes)?.unwrap_or_default())
}

/// A volume as it stands; none that has gone meanwhile.
pub(crate) fn seen_volume(volume: &StorageVol) -> Answer<Option<SeenVolume>> {
    unless_absent((|| {
        let xml = read(&volume.xml_desc(0)?)?;
        let text = |path: &[&str]| xml.value_at(path);
        Ok(SeenVolume {
            name: text(&["name"]).unwrap_or_default(),
            path: text(&["target", "path"]).unwrap_or_default(),
            format: xml
                .at(&["target", "format"])
                .and_then(|it| it.get("type"))
                .unwrap_or_default()
                .to_owned(),
            backing: text(&["backingStore", "path"]),
            written: text(&["target", "timestamps", "mtime"]).unwrap_or_default(),
            capacity: text(&["capacity"]).and_then(|bytes| bytes.parse().ok()).unwrap_or(0),
        })
    })())
}

/// All bytes of a volume; none of one that has gone meanwhile.
pub(crate) fn content(connect: &Connect, volume: &StorageVol) -> Answer<Option<Vec<u8>>> {
    unless_absent((|| {
        let stream = Stream::new(connect, 0)?;
        volume.download(&stream, 0, 0, 0)?;
        let (mut bytes, mut piece) = (Vec::new(), vec![0; PIECE]);
        loop {
            let came = usize::try_from(stream.recv(&mut piece)?).unwrap_or(0);
            if came == 0 {
                break;
            }
            bytes.extend_from_slice(&piece[..came]);
        }
        stream.finish()?;
        Ok(bytes)
    })())
}

/// Deletes a volume; one that is gone is deleted.
pub(crate) fn delete(volume: &StorageVol) -> Answer<()> {
    unless_absent(volume.delete(0).map_err(Refused::from)).map(drop)
}

/// The folder of a pool.
pub(crate) fn folder(pool: &StoragePool) -> Answer<String> {
    let xml = read(&pool.xml_desc(0)?)?;
    xml.value_at(&["target", "path"]).ok_or_else(|| Refused::saying("the pool has no folder"))
}

/// Makes a pool in a folder of its own, and starts it.
pub(crate) fn make_pool(connect: &Connect, name: &str, folder: &str) -> Answer<()> {
    let xml = format!("<pool type='dir'><name>{name}</name><target><path>{folder}</path></target></pool>");
    let pool = connect.define_storage_pool_xml(&xml, 0)?;
    pool.build(0)?;
    Ok(pool.create(0)?)
}

/// Removes a pool with all that is in it, and its folder.
pub(crate) fn remove_pool(connect: &Connect, name: &str) -> Answer<()> {
    let Some(pool) = unless_absent(connect.lookup_storage_pool_by_name(name).map_err(Refused::from))? else {
        return Ok(());
    };
    if !pool.is_active()? {
        pool.create(0)?;
    }
    // What came past the pool is known to it then.
    pool.refresh(0)?;
    pool.list_all_volumes(0)?.iter().try_for_each(delete)?;
    pool.destroy()?;
    pool.delete(0)?;
    Ok(pool.undefine()?)
}

/// What is not there is none.
fn unless_absent<T>(answer: Answer<T>) -> Answer<Option<T>> {
    match answer {
        Ok(there) => Ok(Some(there)),
        Err(refused) if refused.is_absent() => Ok(None),
        Err(refused) => Err(refused),
    }
}

pub(crate) fn read(xml: &str) -> Answer<Element> {
    Element::read(xml).map_err(|malformed| Refused::saying(format!("{malformed:?}")))
}
