//! A real host for cases: each has a pool of its own, in a folder of the configured one, and domains on it. Where the host
//! is, is `real_config.rs`; the way there, which a case can cut, `real_link.rs`; who looks and acts past the provider,
//! `real_admin.rs`; the hand of others `real_hand.rs`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use provider_api::{CreateRequest, Placement, ProviderType, Registry, Secret, Uid};
use provider_kvm::{CATALOGUE, TYPE, profile};
use providertest::harness::{
    Backend, Case, Delivered, Hand, Harness, HarnessError, Setup, Shape, Thing, ThingKind, Unable,
};
use serde_json::{Value, json};
use virt::connect::Connect;

use super::{
    asked,
    real_admin::{self, Admin, Refused, SeenDomain, SeenVolume},
    real_config::{BySsh, RealConfig},
    real_link::{Link, Stranger, host_keys},
    sight,
};
use crate::outside::{
    image::{self, Served},
    tunnel::{Far, Tunnel},
};

/// What the one host is called.
pub(crate) const HOST: &str = "rack-1";
/// How large guests see their disk, unless the image is larger.
const DISK_GB: u64 = 1;

/// Makes places on one real host.
pub(crate) struct RealHosts {
    config: RealConfig,
    version: String,
    /// The folder of the configured pool.
    folder: String,
    image: Served,
    ssh: Option<Ssh>,
    socket: PathBuf,
}

/// The way by SSH: the administrator's, and what it takes to make others.
struct Ssh {
    config: BySsh,
    key: String,
    host_keys: Vec<String>,
    stranger: Arc<Stranger>,
    tunnel: Tunnel,
}

/// A place on the host, and what a case has done there.
pub(crate) struct RealHost {
    pub(crate) admin: Admin,
    pub(crate) config: RealConfig,
    /// The case's own pool.
    pub(crate) pool: String,
    pub(crate) pool_folder: String,
    pub(crate) tag: String,
    pub(crate) way: Option<Way>,
    image: Served,
    pub(crate) played: Mutex<Played>,
}

/// The provider's way by SSH.
pub(crate) struct Way {
    pub(crate) link: Link,
    pub(crate) stranger: Arc<Stranger>,
    user: String,
    key: String,
    host_keys: Vec<String>,
    folder: PathBuf,
}

/// What is played in a place, and known of it.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// The names of domains that the hand has made.
    pub(crate) planted: BTreeSet<String>,
    /// The UUIDs of domains that are no concern of the case.
    others: BTreeSet<String>,
    /// The user data of seeds, by their paths and the time when they were written.
    seeds: BTreeMap<(String, String), Option<Vec<u8>>>,
    /// What the host refused the hand though it should not have.
    trouble: Option<String>,
}

impl RealHosts {
    /// Reads the file, and sees whether the host answers.
    pub(crate) fn open(path: &Path) -> Result<Self, HarnessError> {
        let bad = |error: &dyn std::fmt::Display| HarnessError(format!("{}: {error}", path.display()));
        let yaml = std::fs::read_to_string(path).map_err(|error| bad(&error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = RealConfig::parse(&yaml, folder).map_err(|error| bad(&error))?;
        Self::look(config).map_err(|error| bad(&error))
    }

    fn look(config: RealConfig) -> Result<Self, Box<dyn std::error::Error>> {
        let image = image::serve(&config.image)
            .map_err(|error| format!("the image {}: {error}", config.image.display()))?;
        let ssh = config.ssh.as_ref().map(|ssh| Ssh::open(ssh, &config.socket)).transpose()?;
        let socket = ssh.as_ref().map_or_else(|| PathBuf::from(&config.socket), |ssh| ssh.tunnel.socket());
        let Admin(connect) = Admin::dial(&socket)?;
        let connect = connect.lock().unwrap_or_else(PoisonError::into_inner);
        let version = real_admin::versions(&connect)?;
        let pool = connect.lookup_storage_pool_by_name(&config.pool).map_err(Refused::from)?;
        let folder = real_admin::folder(&pool)?;
        drop(connect);
        Ok(Self { config, version, folder, image, ssh, socket })
    }
}

impl Ssh {
    fn open(config: &BySsh, socket: &str) -> io::Result<Self> {
        let tunnel = Tunnel::open(&Far {
            address: config.address.clone(),
            user: config.user.clone(),
            key_file: config.key_file.clone(),
            known_hosts_file: config.known_hosts_file.clone(),
            socket: socket.to_owned(),
        })?;
        Ok(Self {
            key: std::fs::read_to_string(&config.key_file)?,
            host_keys: host_keys(config)?,
            stranger: Arc::new(Stranger::make()?),
            config: config.clone(),
            tunnel,
        })
    }
}

#[async_trait]
impl Harness for RealHosts {
    fn provider(&self) -> &'static str {
        TYPE
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn setups(&self) -> Vec<Setup> {
        vec![Setup {
            name: "real",
            profile: profile(),
            catalogue: CATALOGUE,
            backend_version: self.version.clone(),
        }]
    }

    async fn open(&self, _: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
        let said = |error: io::Error| HarnessError(error.to_string());
        let way = match &self.ssh {
            Some(ssh) => {
                let way = Way {
                    link: Link::open(&ssh.config.address).await.map_err(said)?,
                    stranger: Arc::clone(&ssh.stranger),
                    user: ssh.config.user.clone(),
                    key: ssh.key.clone(),
                    host_keys: ssh.host_keys.clone(),
                    folder: case.folder.path()?.to_owned(),
                };
                way.restore().map_err(said)?;
                Some(way)
            }
            None => None,
        };
        let pool = format!("conformance-{}", case.tag);
        let place = RealHost {
            admin: Admin::dial(&self.socket).map_err(refused)?,
            config: self.config.clone(),
            pool_folder: format!("{}/{pool}", self.folder),
            pool,
            tag: case.tag.clone(),
            way,
            image: self.image.clone(),
            played: Mutex::default(),
        };
        if let Err(why) = place.make_pool().await {
            // Nobody else cleans up after a case that did not begin; why it did not is the better news.
            let _ = place.remove().await;
            return Err(refused(why));
        }
        Ok(Box::new(place))
    }
}

fn refused(refused: Refused) -> HarnessError {
    HarnessError(refused.to_string())
}

impl Way {
    pub(crate) fn key_file(&self) -> PathBuf {
        self.folder.join("key")
    }

    /// Writes the key that counts, and the host's keys.
    pub(crate) fn restore(&self) -> io::Result<()> {
        self.write_key(&self.key)?;
        self.write_known_hosts(&self.host_keys)
    }

    pub(crate) fn write_key(&self, key: &str) -> io::Result<()> {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(self.key_file());
        file?.write_all(key.as_bytes())
    }

    /// As OpenSSH writes them, for the port that leads to the host.
    pub(crate) fn write_known_hosts(&self, keys: &[String]) -> io::Result<()> {
        let line = |key: &String| format!("[127.0.0.1]:{} {key}\n", self.link.port);
        std::fs::write(self.folder.join("known_hosts"), keys.iter().map(line).collect::<String>())
    }
}

impl RealHost {
    pub(crate) fn played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what must end the case as an error: a power that is there and failed is no power that lacks.
    pub(crate) fn troubled(&self, refused: &Refused) {
        self.played().trouble.get_or_insert_with(|| refused.to_string());
    }

    pub(crate) async fn make_pool(&self) -> Result<(), Refused> {
        let (pool, folder) = (self.pool.clone(), self.pool_folder.clone());
        self.admin.ask(move |connect| real_admin::make_pool(connect, &pool, &folder)).await
    }

    /// The case's domains: those with its tag in a mark, those on a volume of its own, and those that the hand has made.
    pub(crate) async fn domains(&self) -> Result<Vec<SeenDomain>, Refused> {
        let others = self.played().others.clone();
        let seen = self.admin.ask(move |connect| look_at_domains(connect, &others)).await?;
        let mut played = self.played();
        let (ours, others): (Vec<_>, Vec<_>) = seen.into_iter().partition(|domain| {
            let of_ours = |disk: &String| disk.starts_with(&self.pool_folder);
            played.planted.contains(&domain.name)
                || sight::marks(&domain.xml).values().any(|value| value.contains(&self.tag))
                || real_admin::disks(&domain.xml).iter().any(of_ours)
        });
        played.others.extend(others.into_iter().map(|domain| domain.uuid));
        Ok(ours)
    }

    /// The case's volumes, and the user data of those that are seeds.
    async fn volumes(&self) -> Result<Vec<(SeenVolume, Option<Vec<u8>>)>, Refused> {
        let (pool, seeds) = (self.pool.clone(), self.played().seeds.clone());
        let volumes = self.admin.ask(move |connect| look_at_volumes(connect, &pool, &seeds)).await?;
        let read = volumes.iter().map(|(volume, data)| (seed_of(volume), data.clone()));
        self.played().seeds.extend(read);
        Ok(volumes)
    }

    /// Removes the case's domains, then the pool with its folder.
    async fn remove(&self) -> Result<(), Refused> {
        let domains = self.domains().await?;
        let pool = self.pool.clone();
        let removing = move |connect: &Connect| {
            for domain in domains {
                match real_admin::domain(connect, &domain.name) {
                    Ok(domain) => real_admin::uproot(&domain)?,
                    Err(refused) if refused.is_absent() => {}
                    Err(refused) => return Err(refused),
                }
            }
            real_admin::remove_pool(connect, &pool)
        };
        self.admin.ask(removing).await
    }
}

fn look_at_domains(connect: &Connect, others: &BTreeSet<String>) -> Result<Vec<SeenDomain>, Refused> {
    let mut seen = Vec::new();
    for domain in connect.list_all_domains(0)? {
        if !others.contains(&domain.uuid_string()?) {
            seen.extend(real_admin::seen_domain(&domain)?);
        }
    }
    Ok(seen)
}

/// What tells the bytes of a volume from those that it had before.
fn seed_of(volume: &SeenVolume) -> (String, String) {
    (volume.path.clone(), volume.written.clone())
}

fn look_at_volumes(
    connect: &Connect,
    pool: &str,
    seeds: &BTreeMap<(String, String), Option<Vec<u8>>>,
) -> Result<Vec<(SeenVolume, Option<Vec<u8>>)>, Refused> {
    /// No seed is larger.
    const LARGEST: u64 = 64 << 20;
    let mut all = Vec::new();
    for volume in real_admin::volumes(connect, pool)? {
        let Some(seen) = real_admin::seen_volume(&volume)? else { continue };
        let may_be_seed = seen.format == "raw" && seen.capacity <= LARGEST;
        let data = match seeds.get(&seed_of(&seen)) {
            Some(known) => known.clone(),
            None if may_be_seed && sight::kind(&seen.name) == ThingKind::Secondary => {
                real_admin::content(connect, &volume)?.and_then(|bytes| sight::user_data(&bytes))
            }
            None => None,
        };
        all.push((seen, data));
    }
    Ok(all)
}

#[async_trait]
impl Backend for RealHost {
    fn provider_type(&self) -> ProviderType {
        // As a program has it: by SSH with keys from files, and images from their server.
        let mut registry = Registry::default();
        provider_kvm::register(&mut registry);
        registry.types()[0].clone()
    }

    fn block(&self, shape: &[Shape]) -> Result<Value, Unable> {
        let (uplink, plugged) = &self.config.uplink;
        let mut host = json!({
            "name": HOST, "socket": self.config.socket, "pool": self.pool, *uplink: plugged,
            "decommissioned": shape.contains(&Shape::Decommissioned(HOST.to_owned())),
        });
        if shape.contains(&Shape::Without(HOST.to_owned())) {
            // There must be one, so there is another, which nobody can reach.
            host["name"] = json!("elsewhere");
            host["socket"] = json!("/nonexistent/libvirt-sock");
        }
        let url = |path: &str| format!("http://{}/{path}", self.image.at);
        let mut block = json!({
            "allowEmulation": self.config.allow_emulation,
            "diskSizeGb": DISK_GB,
            "images": {"squid": {
                "url": url("guest.qcow2"), "sha256": self.image.sha256, "firmware": self.config.firmware,
            }},
            "machineTypes": {"small": {"vcpus": 1, "memoryMiB": self.config.memory_mib}},
        });
        if let Some(way) = &self.way {
            host["address"] = json!(format!("127.0.0.1:{}", way.link.port));
            host["user"] = json!(way.user);
            block["sshKeyFile"] = json!(way.key_file());
            block["knownHostsFile"] = json!(way.folder.join("known_hosts"));
        }
        block["hosts"] = json!([host]);
        if shape.contains(&Shape::Broken) {
            asked::spoil(&mut block);
        }
        Ok(block)
    }

    async fn everything(&self) -> Result<Vec<Thing>, HarnessError> {
        // Volumes first: a domain that is made in between has none that are not there.
        let volumes = self.volumes().await.map_err(refused)?;
        let domains = self.domains().await.map_err(refused)?;
        let at = |path: &str| volumes.iter().find(|(volume, _)| volume.path == path);
        let instances = domains.iter().map(|domain| {
            let disks: Vec<_> = real_admin::disks(&domain.xml);
            let disks: Vec<_> = disks.iter().filter_map(|path| at(path)).collect();
            let cloud_init = disks.iter().find_map(|(_, data)| data.clone());
            Thing {
                key: domain.uuid.clone(),
                kind: ThingKind::Instance,
                name: domain.name.clone(),
                target: HOST.to_owned(),
                marks: sight::marks(&domain.xml),
                native_state: sight::native_state(domain.state, domain.reason),
                deleting: false,
                references: disks.iter().map(|(volume, _)| volume.path.clone()).collect(),
                delivered: Delivered { cloud_init, ..Delivered::default() },
            }
        });
        // libvirt tells of no volume when it was made, so that two lives of one path have one key.
        let parts = volumes.iter().map(|(volume, _)| Thing {
            key: volume.path.clone(),
            kind: sight::kind(&volume.name),
            name: volume.name.clone(),
            target: HOST.to_owned(),
            marks: BTreeMap::new(),
            native_state: volume.format.clone(),
            deleting: false,
            references: volume.backing.iter().filter(|path| at(path).is_some()).cloned().collect(),
            delivered: Delivered::default(),
        });
        Ok(instances.chain(parts).collect())
    }

    fn request(&self, uid: &Uid) -> CreateRequest {
        asked::request(uid)
    }

    fn placements(&self) -> Vec<Placement> {
        vec![asked::placement(HOST)]
    }

    fn targets(&self) -> Vec<String> {
        vec![HOST.to_owned()]
    }

    fn secrets(&self) -> Vec<Secret> {
        self.way.iter().map(|way| Secret::new(way.key.clone())).collect()
    }

    fn unsatisfiable(&self) -> Vec<(Placement, &'static str)> {
        let mut all = asked::unsatisfiable();
        // With one host it need not be named.
        all.retain(|(placement, _)| placement.zone.is_some());
        all
    }

    fn uncatalogued_image(&self) -> Option<String> {
        Some(format!("http://{}/other.qcow2#sha256={}", self.image.at, self.image.sha256))
    }

    async fn clean(&self) -> Result<(), HarnessError> {
        self.remove().await.map_err(refused)?;
        match self.played().trouble.take() {
            Some(trouble) => Err(HarnessError(format!("the host refused the harness: {trouble}"))),
            None => Ok(()),
        }
    }

    fn hand(&self) -> &dyn Hand {
        self
    }
}
