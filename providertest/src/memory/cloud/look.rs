//! How an instance looks from outside: its native state, what is said about it, and its addresses.

use std::net::Ipv4Addr;

use provider_api::{
    Profile,
    profile::{GcMark, IpSource},
};

use super::{
    Content, Described, Row, Sighting,
    store::{Record, Store},
};
use crate::fake::store::{Refusal, Source};

/// The native states in which somebody's work holds an instance: of a snapshot it stands still, of a backup it runs on.
pub(crate) const LOCKING: &[&str] = &["locked", "backup"];

impl Store {
    pub(super) fn described(&self, record: &Record, profile: &Profile) -> Described {
        let state = self.state_of(record).to_owned();
        let detail = DETAILS.iter().find(|(of, _)| *of == state).map(|(_, text)| (*text).to_owned());
        let held = record.pinned.as_deref().filter(|state| LOCKING.contains(state));
        let lock = if held.is_some() { "snapshot" } else { "create" };
        let assigned = profile.ip_source == IpSource::AssignedAtCreate;
        let addresses = self.addresses_of(record).into_iter().filter(|_| assigned);
        Described {
            key: record.key.clone(),
            name: record.name.clone(),
            incarnation: record.incarnation,
            state,
            detail,
            lock: self.is_locked(record).then(|| lock.to_owned()),
            deleting: record.gone_at.is_some(),
            bare: record.bare,
            marks: record.marks.clone(),
            created: record.created.clone(),
            mac: mac(record.incarnation),
            addresses: addresses.map(|(_, address)| address).collect(),
        }
    }

    /// What a listing says.
    pub(super) fn row(&self, record: &Record, profile: &Profile) -> Row {
        let labels = profile.gc_mark == GcMark::NativeLabels;
        let content = match (record.unreadable, labels) {
            (_, false) => Content::NameOnly,
            (true, true) => Content::Unreadable("what is written about it cannot be read".to_owned()),
            (false, true) => Content::Whole(Box::new(self.described(record, profile))),
        };
        Row { key: record.key.clone(), name: record.name.clone(), content }
    }

    /// What can be found out, the least trustworthy first.
    pub(super) fn sightings(&self, zone: &str, key: &str) -> Result<Vec<Sighting>, Refusal> {
        let record = self.find(zone, key).ok_or(Refusal::NotFound)?;
        let own = self.addresses_of(record).into_iter().map(|(source, address)| Sighting {
            source,
            mac: mac(record.incarnation),
            address,
        });
        // A bridge of the guest's own, for the containers that run in it.
        let bridge = Sighting {
            source: Source::Agent,
            mac: "02:42:00:00:00:01".to_owned(),
            address: Ipv4Addr::new(172, 17, 0, 1).into(),
        };
        let mut sightings: Vec<_> = own.chain(self.is_up(record).then_some(bridge)).collect();
        sightings.sort_by_key(|sighting| std::cmp::Reverse(sighting.source));
        Ok(sightings)
    }
}

fn mac(incarnation: u64) -> String {
    let [.., a, b, c] = incarnation.to_be_bytes();
    format!("52:54:00:{a:02x}:{b:02x}:{c:02x}")
}

const DETAILS: &[(&str, &str)] = &[
    ("no-capacity", "no machine in the zone has room for it"),
    ("image-error", "the image cannot be pulled"),
    ("migrating", "it is paused while it moves to another machine"),
    ("repairing", "the machine below it is being repaired"),
    ("disk-full", "it was paused, since its disk is full"),
    ("crashed", "the guest crashed and cannot be started again"),
    ("locked", "a snapshot is being taken"),
];
