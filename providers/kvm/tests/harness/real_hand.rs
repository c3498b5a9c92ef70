//! What others do to a real host: people with virsh and programs beside the provider. What nobody can make a real host do
//! is left out, and blocks the rules that need it.

use std::{collections::BTreeMap, io, net::IpAddr};

use async_trait::async_trait;
use provider_api::{Name, reasons};
use providertest::harness::{Hand, Planted, Successor, Unable};
use virt::{connect::Connect, domain::Domain};

use super::{
    foreign::{element, foreign},
    real::{RealHost, Way},
    real_admin::{self, Refused},
    real_link::Passage,
    sight::{self, NAMESPACE},
};

/// The live domain and its definition.
const BOTH: u32 = 1 | 2;
/// `VIR_DOMAIN_METADATA_ELEMENT`.
const ELEMENT: i32 = 2;
/// `VIR_DOMAIN_SNAPSHOT_REVERT_PAUSED`.
const PAUSED: u32 = 2;
const HOST_KEY_MISMATCH: &str = "HostKeyMismatch";
const POOL_NOT_FOUND: &str = "PoolNotFound";
const POOL_NOT_ACTIVE: &str = "PoolNotActive";

type Done = Result<(), Unable>;
type Answer<T> = Result<T, Refused>;

impl RealHost {
    /// The host's refusal as a power that lacks where what was meant is simply gone, and as the case's end where not.
    fn unable(&self, refused: &Refused) -> Unable {
        if refused.is_absent() {
            return Unable("act on a domain that is gone");
        }
        self.troubled(refused);
        Unable("do that: the host refused it")
    }

    async fn act<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Connect) -> Answer<T> + Send + 'static,
    ) -> Result<T, Unable> {
        self.admin.ask(act).await.map_err(|refused| self.unable(&refused))
    }

    /// Acts on the domain of that name.
    async fn on<T: Send + 'static>(
        &self,
        name: &Name,
        act: impl FnOnce(&Connect, &Domain) -> Answer<T> + Send + 'static,
    ) -> Result<T, Unable> {
        let name = name.to_string();
        self.act(move |connect| act(connect, &real_admin::domain(connect, &name)?)).await
    }

    /// A domain that somebody else has defined.
    fn foreign(&self, name: &str, marks: &BTreeMap<String, String>, disks: &[String]) -> String {
        self.played().planted.insert(name.to_owned());
        let (uplink, plugged) = &self.config.uplink;
        foreign(name, marks, disks, (uplink, plugged))
    }

    /// Defines it, and runs it.
    async fn run(&self, xml: String) -> Done {
        self.act(move |connect| Ok(connect.define_domain_xml(&xml)?.create().map(drop)?)).await
    }

    fn way(&self) -> Result<&Way, Unable> {
        self.way.as_ref().ok_or(Unable("do that to a host that is reached by a socket of this machine"))
    }

    /// Mends what a check finds.
    async fn restore(&self) -> Done {
        if let Some(way) = &self.way {
            way.link.set(Passage::Open);
            way.restore().map_err(|_| Unable("write the credentials"))?;
        }
        let pool = self.pool.clone();
        let mending = move |connect: &Connect| {
            let pool = connect.lookup_storage_pool_by_name(&pool)?;
            if pool.is_active()? { Ok(()) } else { Ok(pool.create(0)?) }
        };
        match self.admin.ask(mending).await {
            Err(refused) if refused.is_absent() => {
                self.make_pool().await.map_err(|refused| self.unable(&refused))
            }
            mended => mended.map_err(|refused| self.unable(&refused)),
        }
    }

    async fn break_pool(&self, remove: bool) -> Done {
        let pool = self.pool.clone();
        self.act(move |connect| {
            if remove {
                return real_admin::remove_pool(connect, &pool);
            }
            Ok(connect.lookup_storage_pool_by_name(&pool)?.destroy()?)
        })
        .await
    }
}

impl Way {
    fn lead_astray(&self, reason: &str) -> io::Result<()> {
        match reason {
            reasons::CREDENTIALS_UNAVAILABLE => return std::fs::remove_file(self.key_file()),
            reasons::UNAUTHORIZED => return self.write_key(&self.stranger.private),
            HOST_KEY_MISMATCH => return self.write_known_hosts(std::slice::from_ref(&self.stranger.public)),
            reasons::UNREACHABLE => self.link.set(Passage::Cut),
            _ => self.link.set(Passage::Silent),
        }
        Ok(())
    }
}

/// Puts a domain into a state that a host gets it into; `None` for one that no hand brings about.
fn turn(connect: &Connect, domain: &Domain, native: &str) -> Option<Answer<()>> {
    let held = |act: fn(&Connect, &Domain) -> Answer<()>| Some(act(connect, domain));
    match native {
        "running" => {
            held(|_, domain| if domain.is_active()? { Ok(()) } else { Ok(domain.create().map(drop)?) })
        }
        "paused/user" => held(|_, domain| Ok(domain.suspend().map(drop)?)),
        "paused/from-snapshot" => held(revert),
        "shutoff" => held(|_, domain| Ok(domain.destroy().map(drop)?)),
        "shutoff/saved" => held(|_, domain| Ok(domain.managed_save(0)?)),
        "shutoff/failed" => held(fail),
        _ => None,
    }
}

/// Somebody goes back to a snapshot, and leaves the domain paused.
fn revert(_: &Connect, domain: &Domain) -> Answer<()> {
    let snapshot = domain.create_snapshot_xml("<domainsnapshot><name>before</name></domainsnapshot>", 0)?;
    Ok(snapshot.revert(PAUSED)?)
}

/// Somebody starts the domain while another one runs on its disk.
fn fail(connect: &Connect, domain: &Domain) -> Answer<()> {
    let disks = real_admin::disks(&real_admin::read(&domain.xml_desc(0)?)?);
    domain.destroy()?;
    let disk = disks.first().ok_or_else(|| Refused::saying("the domain has no disk"))?;
    let holder = format!(
        "<domain type='qemu'><name>{}-holds</name><memory unit='MiB'>64</memory>\
         <os><type arch='x86_64' machine='q35'>hvm</type></os><devices><disk type='file' device='disk'>\
         <driver name='qemu' type='qcow2'/><source file='{disk}'/><target dev='vda' bus='virtio'/></disk>\
         </devices></domain>",
        domain.name()?
    );
    let holder = connect.create_domain_xml(&holder, 1)?;
    let started = domain.create();
    holder.destroy()?;
    match started {
        Err(_) => Ok(()),
        Ok(_) => Err(Refused::saying("two domains run on one disk")),
    }
}

#[async_trait]
impl Hand for RealHost {
    async fn plant(&self, planted: &Planted) -> Done {
        let xml = self.foreign(&planted.name, &planted.marks, &[]);
        self.run(xml).await
    }

    async fn remove(&self, name: &Name) -> Done {
        self.remove_instance_only(name).await?;
        let (pool, name) = (self.pool.clone(), name.to_string());
        self.act(move |connect| {
            let volumes = real_admin::volumes(connect, &pool)?;
            let its_own = |volume: &&virt::storage_vol::StorageVol| {
                volume.name().is_ok_and(|other| other.starts_with(&name))
            };
            volumes.iter().filter(its_own).try_for_each(real_admin::delete)
        })
        .await
    }

    async fn remove_instance_only(&self, name: &Name) -> Done {
        self.on(name, |_, domain| real_admin::uproot(domain)).await
    }

    async fn remove_part(&self, key: &str) -> Done {
        let (pool, path) = (self.pool.clone(), key.to_owned());
        self.act(move |connect| {
            let volumes = real_admin::volumes(connect, &pool)?;
            let volume = volumes.iter().find(|volume| volume.path().is_ok_and(|other| other == path));
            real_admin::delete(volume.ok_or_else(|| Refused::saying("there is no such part"))?)
        })
        .await
    }

    async fn replace(&self, name: &Name, by: Successor) -> Done {
        let seen = self.on(name, |_, domain| real_admin::seen_domain(domain)).await?;
        let seen = seen.ok_or(Unable("replace a domain that is gone"))?;
        self.remove_instance_only(name).await?;
        let xml = match by {
            Successor::Foreign => self.foreign(&seen.name, &BTreeMap::new(), &[]),
            Successor::SameMarks => {
                self.foreign(&seen.name, &sight::marks(&seen.xml), &real_admin::disks(&seen.xml))
            }
        };
        self.run(xml).await
    }

    async fn begin_deletion(&self, _: &Name) -> Done {
        Err(Unable("keep a deletion in progress: a domain that is ended on a real host is off at once"))
    }

    async fn set_native_state(&self, name: &Name, native: &str) -> Done {
        let native = native.to_owned();
        let turned = self.on(name, move |connect, domain| turn(connect, domain, &native).transpose()).await?;
        turned.ok_or(Unable("bring a real domain into that state"))
    }

    async fn set_addresses(&self, _: &Name, _: &[IpAddr]) -> Done {
        Err(Unable("give a real guest addresses of its choice"))
    }

    async fn set_marks(&self, name: &Name, marks: &BTreeMap<String, String>) -> Done {
        let element = element(marks);
        self.on(name, move |_, domain| {
            let affected = if domain.is_active()? { BOTH } else { 0 };
            Ok(domain.set_metadata(ELEMENT, Some(&element), Some("p"), Some(NAMESPACE), affected)?)
        })
        .await
    }

    async fn bring_up(&self, name: &Name) -> Done {
        // A guest that runs gets itself an address in time.
        match self.on(name, |_, domain| Ok(domain.is_active()?)).await? {
            true => Ok(()),
            false => Err(Unable("bring up a domain that is off")),
        }
    }

    async fn spoil_created_at(&self, name: &Name) -> Done {
        let seen = self.on(name, |_, domain| real_admin::seen_domain(domain)).await?;
        let mut marks = sight::marks(&seen.ok_or(Unable("find that domain"))?.xml);
        marks.insert(provider_api::mark::CREATED_AT.to_owned(), "the day before yesterday".to_owned());
        self.set_marks(name, &marks).await
    }

    async fn set_unreadable(&self, _: &Name, _: bool) -> Done {
        Err(Unable("make one domain of a real host unreadable"))
    }

    async fn reference_parts(&self, name: &Name) -> Done {
        let seen = self.on(name, |_, domain| real_admin::seen_domain(domain)).await?;
        let disks = real_admin::disks(&seen.ok_or(Unable("find that domain"))?.xml);
        let xml =
            self.foreign(&format!("{}-elses", self.tag), &BTreeMap::new(), &disks[..disks.len().min(1)]);
        // It does not run: QEMU lets nobody else open a disk that a guest writes to.
        self.act(move |connect| Ok(connect.define_domain_xml(&xml).map(drop)?)).await
    }

    async fn set_quota(&self, _: Option<usize>) -> Done {
        Err(Unable("limit a real host's memory or room, which other cases have too"))
    }

    async fn quote_payloads(&self, _: bool) -> Done {
        Err(Unable("make a real daemon quote payloads in its errors"))
    }

    async fn rotate_credentials(&self) -> Done {
        Err(Unable("have the SSH server of a real host accept another key"))
    }

    async fn spoil_credentials(&self, spoil: bool) -> Done {
        let way = self.way()?;
        let done = if spoil { way.lead_astray(reasons::UNAUTHORIZED) } else { way.restore() };
        done.map_err(|_| Unable("write the key"))
    }

    fn check_faults(&self) -> Vec<&'static str> {
        let of_pool = [POOL_NOT_FOUND, POOL_NOT_ACTIVE];
        let of_way = [
            reasons::UNREACHABLE,
            reasons::TIMEOUT,
            reasons::UNAUTHORIZED,
            reasons::CREDENTIALS_UNAVAILABLE,
            HOST_KEY_MISMATCH,
        ];
        let of_way = of_way.into_iter().filter(|_| self.way.is_some());
        of_way.chain(of_pool).collect()
    }

    async fn set_check_fault(&self, reason: Option<&str>) -> Done {
        self.restore().await?;
        match reason {
            None => Ok(()),
            Some(POOL_NOT_FOUND) => self.break_pool(true).await,
            Some(POOL_NOT_ACTIVE) => self.break_pool(false).await,
            Some(reason) => self.way()?.lead_astray(reason).map_err(|_| Unable("write the credentials")),
        }
    }

    async fn send_nonsense(&self) -> Result<bool, Unable> {
        let sent = self.admin.ask(|connect| {
            Ok(connect.define_domain_xml("<domain><memory>lots</memory></domain>").map(drop)?)
        });
        Ok(sent.await.is_err())
    }
}
