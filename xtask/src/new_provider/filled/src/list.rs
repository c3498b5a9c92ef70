//! `list_by_tag`: every instance of this installation, in every state, from every zone. It changes nothing
//! (`list.read-only`).

use futures::future::join_all;
use provider_api::{Error, FailureClass, Listed, Listing, Name, Ownership, Reason, Unreachable};

use crate::{
    error::Meaning,
    id::MachineId,
    mark,
    provider::Newcloud,
    view::{Machine, read_machine},
};

/// How often a listing is begun anew when its page token goes bad.
const RESTARTS: usize = 3;

impl Newcloud {
    /// The whole scope (`list.whole-scope`), and what of it could not be read.
    pub(crate) async fn list_all(&self) -> Result<Listing, Error> {
        // A zone gets half of the budget, so that one that hangs does not take the others' answers with it.
        let within = self.budgets.list / 2;
        let zones = self.config.zones.iter().map(|zone| async {
            let part = self.seam.bounded(within, self.list_zone(&zone.name)).await;
            (&zone.name, part.unwrap_or_else(|overlong| Err(Error::transient(overlong.to_string()))))
        });
        let mut listing = Listing::default();
        for (zone, part) in join_all(zones).await {
            match part {
                Ok(part) => {
                    listing.items.extend(part.items);
                    listing.unreachable.extend(part.unreachable);
                }
                // What is Permanent will not pass, and is no matter of one zone (list.never-silently-short).
                Err(error) if error.class() == FailureClass::Permanent => return Err(error),
                // list.partial-as-declared
                Err(error) => {
                    let code = error.code().unwrap_or("Unreachable").to_owned();
                    let reason = Reason::new(code, error.message().to_owned());
                    listing.unreachable.push(Unreachable { target: zone.clone(), reason });
                }
            }
        }
        Ok(listing)
    }

    /// One zone, page after page.
    async fn list_zone(&self, zone: &str) -> Result<Listing, Error> {
        let (mut listing, mut page, mut restarts) = (Listing::default(), None::<String>, 0);
        loop {
            match self.backend.machine_list(zone, page.as_deref()).await {
                Ok(read) => {
                    for item in read.machines {
                        match read_machine(item) {
                            Ok(machine) => listing.items.extend(self.listed(zone, &machine)),
                            // list.one-unreadable-is-reported
                            Err(name) => listing.unreachable.push(Unreachable {
                                target: format!("{zone}/{name}"),
                                reason: Reason::new("Unreadable", "the machine cannot be read"),
                            }),
                        }
                    }
                    page = read.next_page;
                    if page.is_none() {
                        return Ok(listing);
                    }
                }
                // What was read so far is of no one moment any more.
                Err(refused) if refused.meaning == Meaning::BadPage && restarts < RESTARTS => {
                    (listing, page, restarts) = (Listing::default(), None, restarts + 1);
                }
                Err(refused) => return Err(refused.error),
            }
        }
    }

    /// One entry, where the machine is ours (`list.only-managed`, `list.only-this-installation`).
    fn listed(&self, zone: &str, machine: &Machine) -> Option<Listed> {
        let Ownership::Ours(mark) = mark::ownership(machine, &self.identity) else { return None };
        let name = Name::from_uid(&mark.uid);
        let id = MachineId::new(zone, &name).to_id();
        Some(Listed { id, name, uid: mark.uid, created_at: machine.created_at() })
    }
}
