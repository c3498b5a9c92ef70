//! The hand of others: what people and other programs do on the hosts beside the provider.

use std::{collections::BTreeMap, net::IpAddr};

use async_trait::async_trait;
use fixture_libvirt::{Addresses, AgentInterface, Host, Kvm};
use libvirt_model::DOMAIN_STATES;
use libvirt_rpc::Procedure;
use provider_api::{Name, mark, reasons};
use providertest::harness::{Hand, Planted, Successor, UNKNOWN_STATE, Unable};

use super::{
    HOSTS, Served, Stood,
    asked::MEMORY_MIB,
    foreign::{element, foreign},
    sight::{NAMESPACE, OfKvm},
};

type Done = Result<(), Unable>;

/// The pool of every host.
const POOL: &str = "default";
/// What others' domains are plugged into.
const UPLINK: (&str, &str) = ("network", "default");
/// A state that no libvirt has.
const UNKNOWN: i32 = 99;

/// The rights that can be taken away, with what is refused without them.
const RIGHTS: [(&str, Procedure); 4] = [
    ("connect:getattr", Procedure::ConnectGetHostname),
    ("connect:read", Procedure::ConnectGetCapabilities),
    ("storage_pool:getattr", Procedure::StoragePoolLookupByName),
    ("storage_pool:read", Procedure::StoragePoolGetInfo),
];

impl Served {
    fn on_every_host(&self, act: impl Fn(&Host)) -> Done {
        self.hosts.iter().for_each(act);
        Ok(())
    }

    /// What stands under a name.
    fn stands(&self, name: &Name) -> Option<Stood> {
        let host = self.host_of(name.as_str()).ok()?;
        let domain = host.domain_named(name.as_str())?;
        let disks = domain.disks.iter().map(|disk| disk.path.clone()).collect();
        Some(Stood { host: host.name(), marks: fixture_libvirt::Sight::marks(&OfKvm, &domain), disks })
    }

    fn on(&self, name: &Name, act: impl FnOnce(&Host, &str) -> Result<(), fixture_libvirt::Absent>) -> Done {
        let host = self.host_of(name.as_str())?;
        act(host, name.as_str()).map_err(|_| Unable("act on a domain that is gone"))
    }
}

fn plant(host: &Host, xml: &str) -> Done {
    host.plant(xml, true).map(drop).map_err(|_| Unable("plant what the host refuses"))
}

#[async_trait]
impl Hand for Served {
    async fn plant(&self, planted: &Planted) -> Done {
        let zone = planted.placement.zone.as_deref().unwrap_or(HOSTS[0]);
        let host = self.hosts.iter().find(|host| host.name() == zone).ok_or(Unable("find that host"))?;
        plant(host, &foreign(&planted.name, &planted.marks, &[], UPLINK))
    }

    async fn remove(&self, name: &Name) -> Done {
        let host = self.host_of(name.as_str())?;
        let parts: Vec<_> =
            host.volumes().into_iter().filter(|it| it.name.starts_with(name.as_str())).collect();
        self.remove_instance_only(name).await?;
        parts.iter().for_each(|part| drop(host.remove_volume(POOL, &part.name)));
        Ok(())
    }

    async fn remove_instance_only(&self, name: &Name) -> Done {
        self.on(name, |host, name| host.remove_domain(name))
    }

    async fn remove_part(&self, key: &str) -> Done {
        let gone = self.hosts.iter().any(|host| host.remove_thing(key));
        if gone { Ok(()) } else { Err(Unable("remove a part that is not there")) }
    }

    async fn replace(&self, name: &Name, by: Successor) -> Done {
        let stood = match self.stands(name) {
            Some(stands) => {
                self.remove_instance_only(name).await?;
                Some(stands)
            }
            // Somebody's deletion has ended meanwhile.
            None => self.played().stood.get(name).cloned(),
        };
        let mut stood = stood.ok_or(Unable("replace what never was"))?;
        let host =
            self.hosts.iter().find(|host| host.name() == stood.host).ok_or(Unable("find that host"))?;
        let volumes = host.volumes();
        stood.disks.retain(|disk| volumes.iter().any(|volume| volume.path == *disk));
        match by {
            Successor::Foreign => plant(host, &foreign(name.as_str(), &BTreeMap::new(), &[], UPLINK)),
            Successor::SameMarks => plant(host, &foreign(name.as_str(), &stood.marks, &stood.disks, UPLINK)),
        }
    }

    /// Somebody has undefined it while it ran, and asked the guest to end, which takes its time.
    async fn begin_deletion(&self, name: &Name) -> Done {
        const ENDING: i32 = 4;
        let host = self.host_of(name.as_str())?;
        let domain = host.domain_named(name.as_str()).ok_or(Unable("find that domain"))?;
        let stands = self.stands(name).ok_or(Unable("find that domain"))?;
        self.played().stood.insert(name.clone(), stands);
        self.played().deleting.push(format!("{}/{}", host.name(), domain.uuid));
        self.on(name, |host, name| host.set_state(name, ENDING, 1))
    }

    async fn finish_deletion(&self, name: &Name) -> Done {
        // The provider may have ended it already.
        match self.host_of(name.as_str()) {
            Ok(_) => self.remove_instance_only(name).await,
            Err(_) => Ok(()),
        }
    }

    async fn set_native_state(&self, name: &Name, native: &str) -> Done {
        let (state, reason) = match native {
            UNKNOWN_STATE => (UNKNOWN, 0),
            native => {
                let row = DOMAIN_STATES.iter().find(|row| row.native.native == native);
                let row = row.ok_or(Unable("set a state that no table has"))?;
                (row.state, row.reason.unwrap_or(0))
            }
        };
        self.on(name, |host, name| host.set_state(name, state, reason))
    }

    async fn set_addresses(&self, name: &Name, addresses: &[IpAddr]) -> Done {
        const BRIDGE: &str = "172.17.0.1";
        let is_bridge = |address: &&IpAddr| address.to_string() == BRIDGE;
        let own: Vec<IpAddr> = addresses.iter().filter(|it| !is_bridge(it)).copied().collect();
        let agent = |name: &str, mac: Option<&str>, addresses: Vec<IpAddr>| AgentInterface {
            name: name.to_owned(),
            mac: mac.map(str::to_owned),
            addresses: addresses.into_iter().map(|address| (address, 24)).collect(),
        };
        let inside = agent(
            "docker0",
            Some("02:42:ac:11:00:01"),
            addresses.iter().filter(is_bridge).copied().collect(),
        );
        let told = vec![inside, agent("eth0", None, own.clone())];
        let leases = if self.bios { Vec::new() } else { own.clone() };
        let neighbours = own.clone();
        self.on(name, |host, name| host.set_addresses(name, Addresses { leases, agent: told, neighbours }))
    }

    async fn set_marks(&self, name: &Name, marks: &BTreeMap<String, String>) -> Done {
        let element = element(marks);
        self.on(name, |host, name| host.set_metadata(name, "p", NAMESPACE, Some(&element)))
    }

    async fn bring_up(&self, name: &Name) -> Done {
        self.on(name, |host, name| host.boot(name))
    }

    async fn spoil_created_at(&self, name: &Name) -> Done {
        let host = self.host_of(name.as_str())?;
        let domain = host.domain_named(name.as_str()).ok_or(Unable("find that domain"))?;
        let mut marks = fixture_libvirt::Sight::marks(&OfKvm, &domain);
        marks.insert(mark::CREATED_AT.to_owned(), "the day before yesterday".to_owned());
        self.set_marks(name, &marks).await
    }

    async fn set_unreadable(&self, name: &Name, unreadable: bool) -> Done {
        self.on(name, |host, name| host.set_unreadable(name, unreadable))
    }

    async fn vanish_during_list(&self, name: &Name) -> Done {
        self.host_of(name.as_str())?.vanish_when_listed(name.as_str());
        Ok(())
    }

    async fn reference_parts(&self, name: &Name) -> Done {
        let host = self.host_of(name.as_str())?;
        let domain = host.domain_named(name.as_str()).ok_or(Unable("find that domain"))?;
        let disk = domain.disks.first().map(|disk| disk.path.clone()).into_iter().collect::<Vec<_>>();
        plant(host, &foreign("somebody-elses", &BTreeMap::new(), &disk, UPLINK))
    }

    /// Memory for so many instances in all.
    async fn set_quota(&self, quota: Option<usize>) -> Done {
        let Some(quota) = quota else { return self.on_every_host(|host| host.take_memory(0)) };
        let there: usize = self.hosts.iter().map(|host| host.domains().len()).sum();
        let room = u64::try_from(quota.saturating_sub(there)).unwrap_or(0) * MEMORY_MIB;
        const FREE_MIB: u64 = 60 << 10;
        self.on_every_host(|host| {
            let used = u64::try_from(host.domains().iter().filter(|it| it.id.is_some()).count()).unwrap_or(0);
            host.take_memory((FREE_MIB - used * MEMORY_MIB).saturating_sub(room + MEMORY_MIB / 2));
        })
    }

    async fn quote_payloads(&self, quote: bool) -> Done {
        self.on_every_host(|host| host.quote(quote))
    }

    async fn rotate_credentials(&self) -> Done {
        self.played().rotations += 1;
        self.write_key().map_err(|_| Unable("write a key"))
    }

    async fn spoil_credentials(&self, spoil: bool) -> Done {
        let key = if spoil { "the key of somebody else".to_owned() } else { self.key() };
        std::fs::write(self.folder.join("key"), key).map_err(|_| Unable("write a key"))
    }

    fn rights(&self) -> Vec<&'static str> {
        RIGHTS.map(|(right, _)| right).into()
    }

    async fn revoke(&self, right: Option<&str>) -> Done {
        for (name, procedure) in RIGHTS {
            let refused = (right == Some(name)).then_some("access-denied");
            self.on_every_host(|host| host.refuse(procedure, refused))?;
        }
        Ok(())
    }

    fn check_faults(&self) -> Vec<&'static str> {
        let mut faults = vec![
            reasons::CREDENTIALS_UNAVAILABLE,
            reasons::UNAUTHORIZED,
            reasons::API_ERROR,
            "HostKeyMismatch",
            "PoolNotFound",
            "PoolNotActive",
        ];
        // Where emulation is allowed nothing is wrong without acceleration.
        if !self.bios {
            faults.push("NoAcceleration");
        }
        faults
    }

    async fn set_check_fault(&self, reason: Option<&str>) -> Done {
        let key_file = self.folder.join("key");
        if reason == Some(reasons::CREDENTIALS_UNAVAILABLE) {
            return std::fs::remove_file(key_file).map_err(|_| Unable("remove the key"));
        }
        self.spoil_credentials(reason == Some(reasons::UNAUTHORIZED)).await?;
        self.played().strangers = reason == Some("HostKeyMismatch");
        let internal = (reason == Some(reasons::API_ERROR)).then_some("internal-error");
        let no_pool = (reason == Some("PoolNotFound")).then_some("no-pool");
        self.on_every_host(|host| {
            host.refuse(Procedure::ConnectGetLibVersion, internal);
            host.refuse(Procedure::StoragePoolLookupByName, no_pool);
            host.set_pool_active(POOL, reason != Some("PoolNotActive")).expect("every host has that pool");
            if !self.bios {
                host.set_kvm(if reason == Some("NoAcceleration") { Kvm::Missing } else { Kvm::Usable });
            }
        })
    }

    async fn send_nonsense(&self) -> Result<bool, Unable> {
        Ok(self.hosts[0].plant("<domain><memory>lots</memory></domain>", false).is_err())
    }
}
