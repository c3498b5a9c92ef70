//! The parts of a machine: what they are called, how they are found, and how they are removed. A part has no labels, so
//! its mark is its name.
//!
//! TO ADAPT: [`PARTS`], and how what is left of an instance is found.

use std::iter;

use provider_api::{Error, FailureClass, Identity, InstallationId, LeftBehind, Name};

use crate::{
    backend::PART_LIST,
    error::{Meaning, tolerate},
    id::MachineId,
    provider::Newcloud,
    view::{Part, read},
};

/// What the machine boots from, a copy of the image.
pub(crate) const SYSTEM: &str = "system";
/// What brings the user data.
pub(crate) const SEED: &str = "seed";
/// The parts of each machine.
pub(crate) const PARTS: [&str; 2] = [SYSTEM, SEED];

/// What a part is called: instance, installation, part.
pub(crate) fn name(owner: &Name, installation: &InstallationId, part: &str) -> String {
    format!("{owner}-{}-{part}", installation.short())
}

/// The instance that a part belongs to, if its name says that it is one of ours.
pub(crate) fn owner(part: &str, identity: &Identity) -> Option<Name> {
    let owner = Name::parse(part.get(..Name::LEN)?).ok()?;
    let mut ours = iter::once(&identity.installation).chain(&identity.adopt);
    ours.any(|ours| PARTS.iter().any(|kind| name(&owner, ours, kind) == part)).then_some(owner)
}

impl Newcloud {
    /// Removes the parts of a machine that is gone. What somebody else's machine uses stays (`delete.keeps-referenced`).
    pub(crate) async fn remove_parts(&self, id: &MachineId) -> Result<(), Error> {
        // One that turns out absent may have been made anew: then a second look.
        for _ in 0..2 {
            let mut all_removed = true;
            for part in self.parts_of(id).await? {
                if let Some(user) = &part.used_by {
                    tracing::info!(newdisk = part.name, %user, "a newmachine that is not ours uses it; it is left");
                    continue;
                }
                let removed = self.backend.part_delete(id.target(), &part.name, &part.id).await;
                all_removed &= tolerate(removed, &[Meaning::Absent])?.is_some();
            }
            if all_removed {
                return Ok(());
            }
        }
        Err(Error::transient(format!("somebody makes the newdisks of {} anew", id.name)).coded("Changed"))
    }

    /// Removes what a create has begun before it was refused (`create.nothing-left-on-permanent-failure`).
    pub(crate) async fn tidied(&self, id: &MachineId, error: Error) -> Error {
        match self.remove_parts(id).await {
            Ok(()) => error.leaving(LeftBehind::Nothing),
            // A repetition can tidy up, and nobody repeats what is Permanent.
            Err(why) if error.class() == FailureClass::Permanent => {
                let (first, then) = (error.message(), why.message());
                Error::transient(format!("{first}; and its newdisks could not be removed: {then}"))
            }
            Err(_) => error,
        }
    }

    /// No call reads a single part, so this reads all of the target's.
    async fn parts_of(&self, id: &MachineId) -> Result<Vec<Part>, Error> {
        let mut parts = Vec::new();
        for item in self.backend.every(PART_LIST, id.target()).await? {
            let part = read::<Part>(item);
            let name = part.as_ref().map_or_else(String::as_str, |part| &part.name);
            if owner(name, &self.identity).as_ref() == Some(&id.name) {
                let unreadable = |name| Error::transient(format!("newdisk {name} cannot be read")).coded("Unreadable");
                parts.push(part.map_err(unreadable)?);
            }
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use provider_api::Uid;

    use super::*;

    #[test]
    fn only_a_whole_name_is_a_mark() {
        let [us, former, other] = ["us", "former", "other"].map(|text| InstallationId::parse(text).unwrap());
        let identity = Identity { installation: us.clone(), adopt: vec![former.clone()] };
        let instance = Name::from_uid(&Uid::parse("uid-1").unwrap());
        for ours in [name(&instance, &us, SEED), name(&instance, &former, SYSTEM)] {
            assert_eq!(owner(&ours, &identity), Some(instance.clone()));
        }
        let bare = format!("{instance}-{}", us.short());
        let longer = format!("{bare}-seed-2");
        for not_ours in ["image-1", "proxy-ééééééééé", &name(&instance, &other, SEED), &bare, &longer] {
            assert_eq!(owner(not_ours, &identity), None, "{not_ours}");
        }
    }
}
