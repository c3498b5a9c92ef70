//! `list_by_tag`: every instance of this installation, in every state, from every zone. It changes nothing
//! (`list.read-only`).

use futures::future::join_all;
use provider_api::{Error, FailureClass, Listed, Listing, Name, Reason, Unreachable};
use serde_json::Value;

use crate::{
    backend::LIST_LAG,
    error::{Meaning, tolerate},
    id::MachineId,
    mark,
    provider::Stall,
    view::read_machine,
};

/// How often a listing begins anew when a cursor is no longer good.
const FRESH_STARTS: usize = 3;

impl Stall {
    /// The whole scope (`list.whole-scope`), and what of it could not be read.
    pub(crate) async fn list_all(&self) -> Result<Listing, Error> {
        // The API's list may be behind. After that time it has all that stood when the listing was asked for, so it is
        // not short of what was just made (list.never-silently-short).
        self.seam.pause(LIST_LAG).await;
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

    /// One zone, page after page (`list.all-pages`).
    async fn list_zone(&self, zone: &str) -> Result<Listing, Error> {
        for _ in 0..FRESH_STARTS {
            if let Some(items) = self.pages(zone).await? {
                return Ok(self.read(zone, items));
            }
        }
        let text = format!("zone {zone} refused the cursors that it gave out, {FRESH_STARTS} times");
        Err(Error::transient(text).coded("E_CURSOR"))
    }

    /// All pages; `None` when a cursor was no longer good.
    async fn pages(&self, zone: &str) -> Result<Option<Vec<Value>>, Error> {
        let (mut items, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.backend.machine_list(zone, cursor.as_deref()).await;
            let Some(page) = tolerate(page, &[Meaning::BadPage])? else { return Ok(None) };
            items.extend(page.machines);
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(Some(items));
            }
        }
    }

    /// What is ours (`list.only-managed`), and what cannot be read (`list.one-unreadable-is-reported`).
    fn read(&self, zone: &str, items: Vec<Value>) -> Listing {
        let mut listing = Listing::default();
        for item in items {
            match read_machine(item) {
                Ok(machine) => {
                    let Some(mark) = mark::ownership(&machine.name, &machine.tags, &self.identity).ours()
                    else {
                        continue;
                    };
                    let name = Name::from_uid(&mark.uid);
                    let id = MachineId::new(zone, &name).to_id();
                    listing.items.push(Listed { id, name, uid: mark.uid, created_at: machine.created_at() });
                }
                Err(name) => listing.unreachable.push(Unreachable {
                    target: format!("{zone}/{name}"),
                    reason: Reason::new("Unreadable", "the API's answer about it cannot be read"),
                }),
            }
        }
        listing
    }
}
