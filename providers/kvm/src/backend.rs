//! The seam: one async method for each call, on the connection that an operation has for itself. How a call is made is
//! `client/`, what a failed one means `error.rs`; the calls to the image server are in `download.rs`.

pub(crate) use libvirt_model::calls::*;
use libvirt_model::{Acceleration, Domain, KVM, Leased, Marks, Meaning, NewVolume, Volume, marks};

use crate::{
    client::{DomainUuid, Feed, Lease, PoolRoom, Session, Source},
    error::{Refused, tolerate, unreadable},
};

/// What a call that was answered gives.
type Answer<T> = Result<T, Refused>;

/// Flags of `virDomainUndefineFlags`: everything that stands beside the definition goes with it. The last two are younger
/// than some daemons.
mod undefine {
    pub(super) const MANAGED_SAVE: u32 = 1;
    pub(super) const SNAPSHOTS: u32 = 2;
    pub(super) const NVRAM: u32 = 4;
    pub(super) const CHECKPOINTS: u32 = 16;
    pub(super) const TPM: u32 = 32;

    pub(super) const OLD: u32 = MANAGED_SAVE | SNAPSHOTS | NVRAM;
    pub(super) const ALL: u32 = OLD | CHECKPOINTS | TPM;
}

impl Lease {
    pub(crate) async fn lib_version(&mut self) -> Answer<u32> {
        let host = self.host.name.clone();
        self.read(CONNECT_GET_LIB_VERSION, &host, |session| session.lib_version()).await
    }

    pub(crate) async fn hostname(&mut self) -> Answer<String> {
        let host = self.host.name.clone();
        self.read(CONNECT_GET_HOSTNAME, &host, |session| session.hostname()).await
    }

    /// What the host can run.
    pub(crate) async fn acceleration(&mut self) -> Answer<Acceleration> {
        let host = self.host.name.clone();
        let xml = self.read(CONNECT_GET_CAPABILITIES, &host, |session| session.capabilities()).await?;
        Acceleration::read(&xml).map_err(|why| Refused::before_the_call(unreadable(&why)))
    }

    /// The memory that a new domain could have, in MiB.
    pub(crate) async fn memory_available(&mut self) -> Answer<u64> {
        let host = self.host.name.clone();
        self.read(NODE_GET_MEMORY_STATS, &host, |session| session.memory_available()).await
    }

    /// Every domain with its name, whoever made it.
    pub(crate) async fn domains(&mut self) -> Answer<Vec<(DomainUuid, String)>> {
        let host = self.host.name.clone();
        self.read(CONNECT_LIST_ALL_DOMAINS, &host, |session| session.all_domains()).await
    }

    /// The domain of that name, if there is one.
    pub(crate) async fn domain(&mut self, name: &str) -> Answer<Option<DomainUuid>> {
        let asked = name.to_owned();
        let found =
            self.read(DOMAIN_LOOKUP_BY_NAME, name, move |session| session.domain_by_name(&asked)).await;
        tolerate(found, &[Meaning::Absent])
    }

    /// The marks that a domain carries; none where it carries no element of ours.
    pub(crate) async fn marks(&mut self, name: &str, uuid: DomainUuid) -> Answer<Marks> {
        let asked = move |session: &mut Session| session.metadata(uuid, KVM.namespace);
        let element = self.read(DOMAIN_GET_METADATA, name, asked).await;
        match tolerate(element, &[Meaning::Unmarked])? {
            Some(element) => marks(&element).map_err(|why| Refused::before_the_call(unreadable(&why))),
            None => Ok(Marks::new()),
        }
    }

    /// A whole domain.
    pub(crate) async fn description(&mut self, name: &str, uuid: DomainUuid) -> Result<Domain, Refused> {
        let xml = self.read(DOMAIN_GET_XML_DESC, name, move |session| session.xml(uuid)).await?;
        Domain::read(&xml, KVM).map_err(|why| Refused::before_the_call(unreadable(&why)))
    }

    /// State and reason.
    pub(crate) async fn state(&mut self, name: &str, uuid: DomainUuid) -> Answer<(i32, i32)> {
        self.read(DOMAIN_GET_STATE, name, move |session| session.state(uuid)).await
    }

    /// The addresses that a source knows. One that fails knows none; only a connection that is gone, or a call that takes
    /// too long, is a failure.
    pub(crate) async fn addresses(
        &mut self,
        name: &str,
        uuid: DomainUuid,
        source: Source,
    ) -> Answer<Vec<Leased>> {
        let asked = move |session: &mut Session| session.addresses(uuid, source);
        let seen = match self.read(DOMAIN_INTERFACE_ADDRESSES, name, asked).await {
            Ok(seen) => seen,
            Err(refused) if refused.answered => {
                tracing::debug!(host = self.host.name, domain = name, ?source, error = %refused.error, "no address from here");
                return Ok(Vec::new());
            }
            Err(refused) => return Err(refused),
        };
        let leased = seen
            .into_iter()
            .filter_map(|(mac, address)| Some(Leased { mac, address: address.parse().ok()? }));
        Ok(leased.collect())
    }

    /// Defines a domain.
    pub(crate) async fn define(&mut self, name: &str, xml: String) -> Answer<DomainUuid> {
        self.write(DOMAIN_DEFINE_XML, name, move |session| session.define(&xml)).await
    }

    /// Starts a domain.
    pub(crate) async fn start(&mut self, name: &str, uuid: DomainUuid) -> Answer<()> {
        self.write(DOMAIN_CREATE, name, move |session| session.start(uuid)).await
    }

    /// Resumes a domain that is paused, or wakes one that sleeps.
    pub(crate) async fn resume(&mut self, name: &str, uuid: DomainUuid, asleep: bool) -> Answer<()> {
        let resume = move |session: &mut Session| {
            if asleep { session.wake(uuid) } else { session.resume(uuid) }
        };
        self.write(DOMAIN_RESUME, name, resume).await
    }

    /// Ends a running domain; says whether it ran.
    pub(crate) async fn destroy(&mut self, name: &str, uuid: DomainUuid) -> Answer<bool> {
        let ended = self.write(DOMAIN_DESTROY, name, move |session| session.destroy(uuid)).await;
        Ok(tolerate(ended, &[Meaning::NotNow, Meaning::Absent])?.is_some())
    }

    /// Takes a domain away, with all that stands beside its definition. A daemon that does not know one of the flags is
    /// asked without the young ones.
    pub(crate) async fn undefine(&mut self, name: &str, uuid: DomainUuid) -> Answer<()> {
        let mut gone = self.undefine_with(name, uuid, undefine::ALL).await;
        if matches!(&gone, Err(refused) if refused.meaning == Meaning::Unknown) {
            gone = self.undefine_with(name, uuid, undefine::OLD).await;
        }
        tolerate(gone, &[Meaning::Absent]).map(drop)
    }

    async fn undefine_with(&mut self, name: &str, uuid: DomainUuid, flags: u32) -> Answer<()> {
        self.write(DOMAIN_UNDEFINE_FLAGS, name, move |session| session.undefine(uuid, flags)).await
    }

    /// Looks the host's pool up, for the calls that follow.
    pub(crate) async fn find_pool(&mut self) -> Answer<()> {
        let pool = self.host.pool.clone();
        let asked = pool.clone();
        self.read(STORAGE_POOL_LOOKUP_BY_NAME, &pool, move |session| session.find_pool(&asked)).await
    }

    /// Its state and room.
    pub(crate) async fn pool_room(&mut self) -> Answer<PoolRoom> {
        let pool = self.host.pool.clone();
        self.read(STORAGE_POOL_GET_INFO, &pool, |session| session.pool_room()).await
    }

    /// Has it look at its volumes anew.
    pub(crate) async fn refresh_pool(&mut self) -> Answer<()> {
        let pool = self.host.pool.clone();
        self.write(STORAGE_POOL_REFRESH, &pool, |session| session.refresh_pool()).await
    }

    /// The names of its volumes.
    pub(crate) async fn volumes(&mut self) -> Answer<Vec<String>> {
        let pool = self.host.pool.clone();
        self.read(STORAGE_POOL_LIST_ALL_VOLUMES, &pool, |session| session.volumes()).await
    }

    /// A volume that was listed or made.
    pub(crate) async fn volume(&mut self, name: &str) -> Result<Volume, Refused> {
        let asked = name.to_owned();
        let xml =
            self.read(STORAGE_VOL_GET_XML_DESC, name, move |session| session.volume_xml(&asked)).await?;
        Volume::read(&xml).map_err(|why| Refused::before_the_call(unreadable(&why)))
    }

    /// Where it is, on the host.
    pub(crate) async fn volume_path(&mut self, name: &str) -> Answer<String> {
        let asked = name.to_owned();
        self.read(STORAGE_VOL_GET_PATH, name, move |session| session.volume_path(&asked)).await
    }

    /// Makes a volume.
    pub(crate) async fn create_volume(&mut self, name: &str, volume: &NewVolume<'_>) -> Answer<()> {
        let (asked, xml) = (name.to_owned(), volume.to_xml(name));
        let make = move |session: &mut Session| session.create_volume(&asked, &xml);
        self.write(STORAGE_VOL_CREATE_XML, name, make).await
    }

    /// Fills a volume.
    pub(crate) async fn upload(&mut self, name: &str, mut feed: Feed) -> Answer<()> {
        let asked = name.to_owned();
        self.write(STORAGE_VOL_UPLOAD, name, move |session| session.upload(&asked, &mut feed)).await
    }

    /// Deletes a volume that was listed or made; one that is gone is deleted.
    pub(crate) async fn delete_volume(&mut self, name: &str) -> Answer<()> {
        let asked = name.to_owned();
        let gone = self.write(STORAGE_VOL_DELETE, name, move |session| session.delete_volume(&asked)).await;
        tolerate(gone, &[Meaning::Absent]).map(drop)
    }
}
