//! The disks of a box: what they are called, how they are found, and how they are removed. A disk has no labels, so its
//! mark is its name.

use std::iter;

use provider_api::{Error, Identity, InstallationId, Name};

use crate::{
    backend::DISK_LIST,
    error::{Meaning, tolerate},
    id::MachineId,
    provider::Cellar,
    view::{Disk, read},
};

/// The part that the box boots from, a child of a base disk.
pub(crate) const SYSTEM: &str = "system";
/// The part that holds the user data.
pub(crate) const SEED: &str = "seed";

/// What a disk is called: instance, installation, part.
pub(crate) fn name(owner: &Name, installation: &InstallationId, part: &str) -> String {
    format!("{owner}-{}-{part}", installation.short())
}

/// The instance that a disk is a part of, if its name says that it is one of ours.
pub(crate) fn owner(disk: &str, identity: &Identity) -> Option<Name> {
    let owner = Name::parse(disk.get(..Name::LEN)?).ok()?;
    let mut ours = iter::once(&identity.installation).chain(&identity.adopt);
    ours.any(|ours| [SYSTEM, SEED].iter().any(|part| name(&owner, ours, part) == disk)).then_some(owner)
}

impl Cellar {
    /// Removes the disks of a box that is gone. What somebody else's box uses stays (`delete.keeps-referenced`).
    pub(crate) async fn remove_disks(&self, id: &MachineId) -> Result<(), Error> {
        // One that turns out absent may have been made anew: then a second look.
        for _ in 0..2 {
            let mut all_removed = true;
            for disk in self.disks_of(id).await? {
                if let Some(user) = &disk.used_by {
                    tracing::info!(disk = disk.name, %user, "a box that is not ours uses the disk; it is left");
                    continue;
                }
                let removed = self.backend.disk_delete(&id.host, &disk.name, &disk.serial).await;
                all_removed &= tolerate(removed, &[Meaning::Absent])?.is_some();
            }
            if all_removed {
                return Ok(());
            }
        }
        Err(Error::transient(format!("somebody makes the disks of {} anew", id.name)).coded("Changed"))
    }

    /// No call reads a single disk, so this reads all of the host's.
    async fn disks_of(&self, id: &MachineId) -> Result<Vec<Disk>, Error> {
        let mut disks = Vec::new();
        for item in self.backend.listed(DISK_LIST, &id.host).await? {
            let disk = read::<Disk>(item);
            let name = disk.as_ref().map_or_else(|name| name.as_str(), |disk| disk.name.as_str());
            if owner(name, &self.identity).as_ref() == Some(&id.name) {
                let unreadable =
                    |name| Error::transient(format!("disk {name} cannot be read")).coded("Unreadable");
                disks.push(disk.map_err(unreadable)?);
            }
        }
        Ok(disks)
    }
}

#[cfg(test)]
mod tests {
    use provider_api::Uid;

    use super::*;

    #[test]
    fn only_a_whole_name_is_a_mark() {
        let parse = |text| InstallationId::parse(text).unwrap();
        let (us, former) = (parse("us"), parse("former"));
        let identity = Identity { installation: us.clone(), adopt: vec![former.clone()] };
        let instance = Name::from_uid(&Uid::parse("uid-1").unwrap());
        for ours in [name(&instance, &us, SEED), name(&instance, &former, SYSTEM)] {
            assert_eq!(owner(&ours, &identity), Some(instance.clone()));
        }
        let bare = format!("{instance}-{}", us.short());
        for other in [
            "base-1",
            "proxy-ééééééééé",
            &name(&instance, &parse("other"), SEED),
            &bare,
            &format!("{bare}-seed-2"),
        ] {
            assert_eq!(owner(other, &identity), None, "{other}");
        }
    }
}
