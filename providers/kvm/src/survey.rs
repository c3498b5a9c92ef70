//! What a create looks for on the host before it makes anything: the pool and its room, the host's memory and
//! acceleration, the image. Want of room is QuotaExceeded, with nothing made (`create.quota-reported`).

use libvirt_model::{Acceleration, Host, ImageCopies, Placed};
use provider_api::{Error, LeftBehind};

use crate::{
    client::{Lease, PoolRoom},
    error::untouched,
    provider::Kvm,
};

/// What is there.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) acceleration: Acceleration,
    /// The names of the pool's volumes.
    pub(crate) volumes: Vec<String>,
    /// The copy of the image that is whole, if there is one.
    pub(crate) image: Option<String>,
}

/// Beside disk and image: the seed, and the tables of an overlay.
const SLACK: u64 = 16 << 20;

impl Kvm {
    /// Looks around. What was found before an image came is not asked again.
    pub(crate) async fn survey(
        &self,
        lease: &mut Lease,
        placed: &Placed,
        known: Option<Acceleration>,
    ) -> Result<Surveyed, Error> {
        lease.find_pool().await.map_err(|refused| untouched(refused.error))?;
        let acceleration = match known {
            Some(acceleration) => acceleration,
            None => {
                let room = lease.pool_room().await?;
                self.has_room(&lease.host, &room, 0)?;
                let acceleration = lease.acceleration().await?;
                self.may_run(&lease.host, &acceleration)?;
                let available = lease.memory_available().await?;
                has_memory(&lease.host, available, placed.machine.memory_mib)?;
                acceleration
            }
        };
        let volumes = lease.volumes().await?;
        let copies = ImageCopies::of(&placed.image, volumes.iter().map(String::as_str));
        let image = copies.whole.first().map(|copy| copy.name().to_owned());
        Ok(Surveyed { acceleration, volumes, image })
    }

    /// Whether the pool takes an image of that many bytes, and a disk as large as it may grow.
    pub(crate) fn has_room(&self, host: &Host, room: &PoolRoom, image: u64) -> Result<(), Error> {
        if !room.is_active() {
            let text =
                format!("the pool {} on host {} is {}: start it", host.pool, host.name, room.state_name());
            return Err(Error::transient(text).coded("PoolNotActive").leaving(LeftBehind::Nothing));
        }
        // How large an image is its server says, and may say anything.
        has_bytes(host, room, image.saturating_add(self.beside_the_image()))
    }

    /// Whether the pool takes a disk that is larger than the entry says, since its image is.
    pub(crate) async fn has_room_for_disk(&self, lease: &mut Lease, capacity: u64) -> Result<(), Error> {
        if capacity <= self.config.disk_size_gb << 30 {
            return Ok(());
        }
        let room = lease.pool_room().await?;
        has_bytes(&lease.host, &room, capacity.saturating_add(SLACK))
    }

    /// What there must be room for beside the image, in bytes.
    pub(crate) fn beside_the_image(&self) -> u64 {
        (self.config.disk_size_gb << 30) + SLACK
    }

    /// Whether the host can run it as the config allows (`bug-l19`).
    fn may_run(&self, host: &Host, acceleration: &Acceleration) -> Result<(), Error> {
        if acceleration.accelerated || self.config.allow_emulation {
            tracing::debug!(host = host.name, acceleration = acceleration.as_str(), "the domain will run by");
            return Ok(());
        }
        let text = format!(
            "host {} cannot accelerate domains, and the entry's allowEmulation does not let it emulate them",
            host.name
        );
        Err(Error::permanent(text).coded("NoAcceleration").leaving(LeftBehind::Nothing))
    }
}

fn has_bytes(host: &Host, room: &PoolRoom, needed: u64) -> Result<(), Error> {
    if room.available < needed {
        let text = format!(
            "the pool {} on host {} has {} MiB free, and {} are needed",
            host.pool,
            host.name,
            room.available >> 20,
            needed >> 20
        );
        return Err(Error::quota(text).coded("PoolFull").leaving(LeftBehind::Nothing));
    }
    Ok(())
}

fn has_memory(host: &Host, available: u64, needed: u64) -> Result<(), Error> {
    if available < needed {
        let text = format!("host {} has {available} MiB of memory free, and {needed} are needed", host.name);
        return Err(Error::quota(text).coded("HostMemory").leaving(LeftBehind::Nothing));
    }
    Ok(())
}
