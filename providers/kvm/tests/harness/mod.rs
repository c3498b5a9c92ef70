//! Fresh hosts for each case, with the provider's own client over libvirt's C library before them. The way to a host is
//! `way.rs`, the server of images `images.rs`, the hand of others `hand.rs`, what the observer makes of what it sees
//! `sight.rs`, what is asked of the provider `asked.rs`, what others define `foreign.rs`. Real hosts are `real.rs`.

mod asked;
mod foreign;
mod hand;
mod images;
mod real;
mod real_admin;
mod real_config;
mod real_hand;
mod real_link;
mod sight;
mod way;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use fixture_libvirt::{Config, Host, Kvm};
use provider_api::{CreateRequest, Name, Placement, ProviderType, Secret, Uid};
use provider_kvm::{CATALOGUE, TYPE, Ways, profile};
use providertest::{
    fake::{On, Serving},
    harness::{Backend, Case, Hand, Harness, HarnessError, Setup, Shape, Thing, Unable},
};
use serde_json::Value;

/// The hosts that there are.
pub(crate) const HOSTS: [&str; 2] = ["rack-1", "rack-2"];

/// Makes hosts.
pub(crate) struct Fakes;

/// The hosts of one case, and the provider's way to them.
pub(crate) struct Served {
    pub(crate) hosts: Vec<Host>,
    pub(crate) case: Case,
    pub(crate) folder: PathBuf,
    pub(crate) bios: bool,
    pub(crate) played: Arc<Mutex<Played>>,
    /// It serves for as long as the case.
    _images: Serving,
}

/// What a case has done to its hosts, beside what the hosts know themselves.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// How often the key was replaced.
    pub(crate) rotations: u32,
    /// Whether hosts show another key than the known one.
    pub(crate) strangers: bool,
    /// Domains that somebody else deletes, slowly.
    pub(crate) deleting: Vec<String>,
    /// What they were.
    pub(crate) stood: BTreeMap<Name, Stood>,
}

/// A domain as far as a successor takes after it.
#[derive(Clone, Debug)]
pub(crate) struct Stood {
    pub(crate) host: String,
    pub(crate) marks: BTreeMap<String, String>,
    pub(crate) disks: Vec<String>,
}

#[async_trait]
impl Harness for Fakes {
    fn provider(&self) -> &'static str {
        TYPE
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn setups(&self) -> Vec<Setup> {
        let setup = |name, version: &str| Setup {
            name,
            profile: profile(),
            catalogue: CATALOGUE,
            backend_version: version.to_owned(),
        };
        vec![
            setup(
                "uefi",
                "fake libvirtd 9.0.0, accelerated, guests on a network of libvirt's that boot by UEFI",
            ),
            setup(
                "bios",
                "fake libvirtd 9.0.0, emulated, guests on a bridge of the host's that boot by BIOS",
            ),
        ]
    }

    fn real(&self, config: &Path) -> Result<Arc<dyn Harness>, HarnessError> {
        Ok(Arc::new(real::RealHosts::open(config)?))
    }

    async fn open(&self, setup: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
        let folder = case.folder.path()?.to_owned();
        let bios = setup.name == "bios";
        let host = |name: &str| {
            let mut config = Config::new(name, Arc::clone(&case.clock));
            config.seed = case.seed;
            if bios {
                config.kvm = Kvm::Missing;
                // As libvirt 9.0 is on a current kernel.
                config.neighbours = false;
            }
            Host::new(config)
        };
        let server = images::server(case, setup.catalogue);
        let serving = server.serve(On::Unix(folder.join("images")));
        let serving = serving.map_err(|error| HarnessError(format!("cannot serve images: {error}")))?;
        let served = Served {
            hosts: HOSTS.map(host).into(),
            case: case.clone(),
            folder,
            bios,
            played: Arc::default(),
            _images: serving,
        };
        served.write_key().map_err(|error| HarnessError(format!("cannot write a key: {error}")))?;
        Ok(Box::new(served))
    }
}

impl Served {
    pub(crate) fn played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key that hosts accept now.
    pub(crate) fn key(&self) -> String {
        way::key(&self.case, self.played().rotations)
    }

    /// Writes that key where the provider reads it.
    pub(crate) fn write_key(&self) -> std::io::Result<()> {
        std::fs::write(self.folder.join("known_hosts"), "whoever is there\n")?;
        std::fs::write(self.folder.join("key"), self.key())
    }

    /// The host that has a domain of that name.
    pub(crate) fn host_of(&self, domain: &str) -> Result<&Host, Unable> {
        self.hosts.iter().find(|host| host.domain_named(domain).is_some()).ok_or(Unable("find that domain"))
    }
}

#[async_trait]
impl Backend for Served {
    fn provider_type(&self) -> ProviderType {
        let way = way::Way {
            hosts: self.hosts.clone(),
            wire: self.case.wire.clone(),
            key_file: self.folder.join("key"),
            case: self.case.clone(),
            played: Arc::clone(&self.played),
        };
        provider_kvm::provider_type(Ways {
            dial: Some(Arc::new(way)),
            images: Some(self.folder.join("images")),
        })
    }

    fn block(&self, shape: &[Shape]) -> Result<Value, Unable> {
        Ok(asked::block(&self.folder, self.bios, shape))
    }

    async fn everything(&self) -> Result<Vec<Thing>, HarnessError> {
        let mut things: Vec<_> = self.hosts.iter().flat_map(|host| host.things(&sight::OfKvm)).collect();
        let deleting = self.played().deleting.clone();
        for thing in &mut things {
            thing.deleting = deleting.contains(&thing.key);
        }
        Ok(things)
    }

    fn request(&self, uid: &Uid) -> CreateRequest {
        asked::request(uid)
    }

    fn placements(&self) -> Vec<Placement> {
        HOSTS.map(asked::placement).into()
    }

    fn targets(&self) -> Vec<String> {
        HOSTS.map(str::to_owned).into()
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![Secret::new(self.key())]
    }

    fn unsatisfiable(&self) -> Vec<(Placement, &'static str)> {
        asked::unsatisfiable()
    }

    fn uncatalogued_image(&self) -> Option<String> {
        Some(asked::uncatalogued())
    }

    fn hand(&self) -> &dyn Hand {
        self
    }
}
