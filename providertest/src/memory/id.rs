//! Ids: where an instance stands, and which one it is. They hold all that `get` and `delete` need
//! (`create.id-self-contained`).

use provider_api::{
    Grammar, InstallationId, Malformed, Name, Profile, ProviderId, ProviderName,
    profile::{Mobility, PrimaryKey},
};

/// An id, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Id {
    /// Its zone; `None` where instances move between zones.
    pub(super) zone: Option<String>,
    /// Its key in a zone: the name, or a number.
    pub(super) key: String,
    /// Its name.
    pub(super) name: Name,
}

/// The shape of the ids of a profile.
pub(super) fn pattern(profile: &Profile) -> Grammar {
    match (profile.mobility, profile.primary_key) {
        (Mobility::Fixed, PrimaryKey::NameIsKey) => Grammar::new("zones/{zone}/instances/{name}"),
        (Mobility::Fixed, PrimaryKey::AllocatedId) => Grammar::new("zones/{zone}/instances/{number}/{name}"),
        (Mobility::Moves, PrimaryKey::NameIsKey) => Grammar::new("instances/{name}"),
        (Mobility::Moves, PrimaryKey::AllocatedId) => Grammar::new("instances/{number}/{name}"),
    }
}

impl Id {
    /// Reads an id (`get.malformed-id-is-permanent`, `delete.malformed-id-is-permanent`).
    pub(super) fn parse(profile: &Profile, id: &ProviderId) -> Result<Self, Malformed> {
        let grammar = pattern(profile);
        let (zone, key, name) = match (profile.mobility, profile.primary_key) {
            (Mobility::Fixed, PrimaryKey::NameIsKey) => {
                let [zone, name] = grammar.parse(id)?;
                (Some(zone), name, name)
            }
            (Mobility::Fixed, PrimaryKey::AllocatedId) => {
                let [zone, number, name] = grammar.parse(id)?;
                (Some(zone), canonical(number)?, name)
            }
            (Mobility::Moves, PrimaryKey::NameIsKey) => {
                let [name] = grammar.parse(id)?;
                (None, name, name)
            }
            (Mobility::Moves, PrimaryKey::AllocatedId) => {
                let [number, name] = grammar.parse(id)?;
                (None, canonical(number)?, name)
            }
        };
        let zone = zone.map(zone_name).transpose()?;
        Ok(Self { zone, key: key.to_owned(), name: Name::parse(name)? })
    }

    /// Writes the id of what stands in `zone` under `key`.
    pub(super) fn write(
        profile: &Profile,
        zone: &str,
        key: &str,
        name: &Name,
    ) -> Result<ProviderId, Malformed> {
        let (grammar, name) = (pattern(profile), name.as_str());
        match (profile.mobility, profile.primary_key) {
            (Mobility::Fixed, PrimaryKey::NameIsKey) => grammar.format([zone, name]),
            (Mobility::Fixed, PrimaryKey::AllocatedId) => grammar.format([zone, key, name]),
            (Mobility::Moves, PrimaryKey::NameIsKey) => grammar.format([name]),
            (Mobility::Moves, PrimaryKey::AllocatedId) => grammar.format([key, name]),
        }
    }
}

/// The `nth` key that an instance may get. A number follows from name and installation, so that a repetition knows
/// its own placeholder again, and a copy that lands late finds the number taken (`create.crash-resumable`).
pub(super) fn key(profile: &Profile, name: &Name, installation: &InstallationId, nth: u64) -> String {
    match profile.primary_key {
        PrimaryKey::NameIsKey => name.to_string(),
        PrimaryKey::AllocatedId => {
            let text = [name.as_str(), installation.as_str()].concat();
            // FNV-1a: the numbers must be the same in every build.
            let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            (100_000 + (hash.wrapping_add(nth)) % 800_000_000).to_string()
        }
    }
}

/// How many keys an instance may try.
pub(super) const KEYS: u64 = 8;

/// A name that a zone can have: a DNS label, as in the config.
pub(super) fn zone_name(text: &str) -> Result<String, Malformed> {
    ProviderName::parse(text)
        .map(String::from)
        .map_err(|_| Malformed::new("zone", text, "it must be 1 to 63 characters a-z 0-9 -"))
}

/// A number in the one spelling that is written.
fn canonical(number: &str) -> Result<&str, Malformed> {
    let same = number.parse::<u64>().is_ok_and(|parsed| parsed.to_string() == number);
    if same {
        Ok(number)
    } else {
        Err(Malformed::new("instance number", number, "it must be a plain number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    #[test]
    fn what_is_written_reads_back() {
        for (_, profile) in memory::pairwise() {
            let name = Name::parse("proxy-abcdefghijklmnop").unwrap();
            let key = key(&profile, &name, &InstallationId::parse("us").unwrap(), 0);
            let id = Id::write(&profile, "z1", &key, &name).unwrap();
            let read = Id::parse(&profile, &id).unwrap();
            assert_eq!((read.key, read.name), (key, name));
        }
    }

    #[test]
    fn numbers_have_one_spelling() {
        assert!(canonical("17").is_ok());
        for bad in ["017", "+17", "-1", "", "1e3", "99999999999999999999"] {
            assert!(canonical(bad).is_err(), "{bad}");
        }
    }
}
