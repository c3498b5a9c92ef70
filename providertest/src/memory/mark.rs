//! Marks: how the cloud carries them, and how parts are named so that their names are marks.

use std::collections::BTreeMap;

use provider_api::{
    Identity, InstallationId, Mark, Name, Ownership, Profile, Timestamp, Uid, profile::CreatedAt,
};

use super::{cloud::Described, id};

/// The marks that a new instance is made with, in the call that makes it (`create.marks-from-first-moment`).
pub(super) fn written(
    profile: &Profile,
    identity: &Identity,
    uid: &Uid,
    now: Timestamp,
) -> BTreeMap<String, String> {
    let created_at = (profile.created_at == CreatedAt::WrittenAtCreate).then_some(now);
    let mark = Mark { uid: uid.clone(), installation: identity.installation.clone(), created_at };
    mark.pairs().into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Whose it is.
pub(super) fn owner(described: &Described, identity: &Identity) -> Ownership {
    owner_of(&described.name, &described.marks, identity)
}

/// Whose something of that name and with those marks is.
pub(super) fn owner_of(name: &str, marks: &BTreeMap<String, String>, identity: &Identity) -> Ownership {
    Ownership::of(name, identity, |key| marks.get(key).map(String::as_str))
}

/// When it was made; unreadable is unknown (`get.unreadable-created-at-is-none`).
pub(super) fn created_at(profile: &Profile, described: &Described, mark: &Mark) -> Option<Timestamp> {
    match profile.created_at {
        CreatedAt::BackendTimestamp => described.created.parse().ok(),
        CreatedAt::WrittenAtCreate => mark.created_at,
    }
}

/// Whether a bare copy of an image is a placeholder of ours: it stands under one of the numbers that follow from
/// its name and our installation, and nobody has made anything of it yet.
pub(super) fn is_our_placeholder(profile: &Profile, identity: &Identity, described: &Described) -> bool {
    profile.visible_placeholder
        && described.bare
        && described.marks.is_empty()
        && Name::parse(&described.name).is_ok_and(|name| {
            claimed(identity)
                .any(|of| (0..id::KEYS).any(|nth| id::key(profile, &name, of, nth) == described.key))
        })
}

/// The disk of an instance.
pub(super) const DISK: &str = "disk";
/// The seed of an instance: what its cloud-init reads.
pub(super) const SEED: &str = "seed";

/// The name of a part: instance, installation, part. It is the part's mark.
pub(super) fn part_name(name: &Name, installation: &InstallationId, part: &str) -> String {
    format!("{name}-{}-{part}", installation.short())
}

/// The instance that a part of that name belongs to, when it is one of this installation's.
pub(super) fn part_owner(part: &str, identity: &Identity) -> Option<Name> {
    let (rest, kind) = part.rsplit_once('-')?;
    let (name, short) = rest.rsplit_once('-')?;
    let ours = [DISK, SEED].contains(&kind) && claimed(identity).any(|id| id.short() == short);
    Name::parse(name).ok().filter(|_| ours)
}

fn claimed(identity: &Identity) -> impl Iterator<Item = &InstallationId> {
    std::iter::once(&identity.installation).chain(&identity.adopt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_part_is_its_mark() {
        let us = InstallationId::parse("us").unwrap();
        let name = Name::from_uid(&Uid::parse("u").unwrap());
        let part = part_name(&name, &us, SEED);
        assert_eq!(part_owner(&part, &Identity::new(us)), Some(name.clone()));
        assert_eq!(part_owner(&part, &Identity::new(InstallationId::parse("them").unwrap())), None);
        assert_eq!(part_owner(name.as_str(), &Identity::new(InstallationId::parse("us").unwrap())), None);
        assert_eq!(part_owner("é-é-disk", &Identity::new(InstallationId::parse("us").unwrap())), None);
    }
}
