//! Leftovers: disks of ours that no box uses. A box uses its disks for as long as it stands, so the disks alone tell.

use async_trait::async_trait;
use provider_api::{
    Error, Grammar, LeftBehind, Leftover, LeftoverId, LeftoverListing, Leftovers, Operation, ProviderId,
};

use crate::{
    backend::DISK_LIST,
    disks,
    error::{Meaning, tolerate},
    provider::Cellar,
    view::{Disk, read},
};

/// The serial is in the id, so that an old id never takes a disk that was made anew (`list.leftovers-spare-the-living`).
const IDS: Grammar = Grammar::new("hosts/{host}/disks/{name}/{serial}");

#[async_trait]
impl Leftovers for Cellar {
    async fn list(&self) -> Result<LeftoverListing, Error> {
        let ours = |host: &str, item| {
            let disk = read::<Disk>(item)?;
            let Some(owner) = disks::owner(&disk.name, &self.identity) else { return Ok(None) };
            let id = IDS.format([host, &disk.name, &disk.serial]).map_err(|_| disk.name.clone())?;
            let created_at = disk.made.as_ref().and_then(|made| made.parse().ok());
            let unused = disk.used_by.is_none();
            Ok(unused.then(|| Leftover { id: LeftoverId::new(id.as_str()), owner, created_at }))
        };
        let (items, unreachable) =
            self.bounded(Operation::Leftovers, "every leftover", self.every(DISK_LIST, ours)).await?;
        Ok(LeftoverListing { items, unreachable })
    }

    async fn delete(&self, id: &LeftoverId) -> Result<(), Error> {
        let work = async {
            let malformed =
                |why: String| Error::permanent(why).coded("MalformedId").leaving(LeftBehind::Nothing);
            let text = ProviderId::new(id.as_str());
            let [host, disk, serial] = IDS.parse::<3>(&text).map_err(|error| malformed(error.to_string()))?;
            let owner = disks::owner(disk, &self.identity);
            let owner = owner.ok_or_else(|| malformed(format!("{disk:?} is no disk of ours")))?;
            if self.config.host(host).is_none() {
                return Err(Error::permanent(format!("host {host} is not configured")).coded("NotConfigured"));
            }
            let _turn = self.gate.name(owner.as_str()).await;
            // The host refuses while a box uses it.
            tolerate(self.backend.disk_delete(host, disk, serial).await, &[Meaning::Absent])?;
            Ok(())
        };
        self.bounded(Operation::Leftovers, id.as_str(), work).await
    }
}
