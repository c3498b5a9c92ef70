//! How an instance looks from outside: its native state, what is said about it, and its addresses.

use std::net::Ipv4Addr;

use provider_api::profile::IpSource;

use super::{
    Content, Described, Row, Sighting, Source,
    store::{Record, Refused, Store},
};

/// The native state of an instance that a snapshot holds.
pub(crate) const LOCKED: &str = "locked";

impl Store {
    /// The native state, and what the cloud has to say about it.
    pub(crate) fn state_of(&self, record: &Record) -> (String, Option<String>) {
        let clocked = match record.up_at {
            _ if record.bare => "bare",
            None => "stopped",
            Some(_) if !self.shows_provisioning() => "running",
            Some(_) if self.now < record.made_at => "pending",
            Some(up_at) if self.now < up_at => "staging",
            Some(_) => "running",
        };
        let state = record.pinned.clone().unwrap_or_else(|| clocked.to_owned());
        let detail = DETAILS.iter().find(|(of, _)| *of == state).map(|(_, text)| (*text).to_owned());
        (state, detail)
    }

    pub(crate) fn described(&self, record: &Record) -> Described {
        let (state, detail) = self.state_of(record);
        let assigned = self.profile.ip_source == IpSource::AssignedAtCreate && self.is_up(record);
        let addresses =
            if assigned { record.addresses.iter().map(|(_, address)| *address).collect() } else { vec![] };
        Described {
            key: record.key.clone(),
            name: record.name.clone(),
            incarnation: record.incarnation,
            state,
            detail,
            lock: self.lock_of(record).map(str::to_owned),
            deleting: record.gone_at.is_some(),
            bare: record.bare,
            marks: record.marks.clone(),
            created: record.created.clone(),
            mac: mac(record.incarnation),
            addresses,
        }
    }

    pub(crate) fn read(&self, zone: &str, key: &str) -> Result<Described, Refused> {
        let record = self.find(zone, key).ok_or("not-found")?;
        if record.unreadable { Err("unreadable") } else { Ok(self.described(record)) }
    }

    /// What a listing says.
    pub(crate) fn row(&self, record: &Record) -> Row {
        let content = match (record.unreadable, self.lists_labels()) {
            (_, false) => Content::NameOnly,
            (true, true) => Content::Unreadable("what is written about it cannot be read".to_owned()),
            (false, true) => Content::Whole(Box::new(self.described(record))),
        };
        Row { key: record.key.clone(), name: record.name.clone(), content }
    }

    /// What can be found out, the least trustworthy first.
    pub(crate) fn sightings(&self, zone: &str, key: &str) -> Result<Vec<Sighting>, Refused> {
        let record = self.find(zone, key).ok_or("not-found")?;
        let up = self.is_up(record);
        let own = record.addresses.iter().filter(|_| up).map(|(source, address)| Sighting {
            source: *source,
            mac: mac(record.incarnation),
            address: *address,
        });
        // A bridge of the guest's own, for the containers that run in it.
        let bridge = Sighting {
            source: Source::Agent,
            mac: "02:42:00:00:00:01".to_owned(),
            address: Ipv4Addr::new(172, 17, 0, 1).into(),
        };
        let mut sightings: Vec<_> = own.chain(up.then_some(bridge)).collect();
        sightings.sort_by_key(|sighting| std::cmp::Reverse(sighting.source));
        Ok(sightings)
    }

    fn is_up(&self, record: &Record) -> bool {
        record.up_at.is_some_and(|at| at <= self.now)
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
    (LOCKED, "a snapshot is being taken"),
];
