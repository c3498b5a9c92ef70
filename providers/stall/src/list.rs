//! `list_by_tag`: every instance of this installation, in every state, from every zone. It changes nothing
//! (`list.read-only`).

use futures::future::join_all;
use provider_api::{Error, FailureClass, Listing, Reason, Unreachable};

use crate::{error::unwritten, provider::Stall};

impl Stall {
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
    // TO WRITE, about 35 lines:
    //
    // 1. `machine_list` until a page has no `next_page` (list.all-pages). `Meaning::BadPage`: begin anew, without what was
    //    read so far, but not for ever.
    // 2. `read_machine` for each of a page; an unreadable one is an entry of `unreachable`, with its zone and name
    //    (list.one-unreadable-is-reported).
    // 3. What is ours by `mark::ownership` is listed, in every state (list.only-managed, list.only-this-installation).
    async fn list_zone(&self, zone: &str) -> Result<Listing, Error> {
        let _ = zone;
        Err(unwritten("list", file!()))
    }
}
