//! `list_by_tag`: every instance of this installation, in every state, from every host. It changes nothing
//! (`list.read-only`).

use std::future::Future;

use futures::future::join_all;
use libvirt_model::{DomainId, Meaning, ownership};
use provider_api::{Error, Listed, Listing, Name, Reason, Unreachable};

use crate::{client::Lease, error::overlong, provider::Kvm};

/// What was found on a host, and what of it could not be read.
pub(crate) type Found<T> = (Vec<T>, Vec<Unreachable>);

impl Kvm {
    /// The whole scope (`list.whole-scope`), and what of it could not be read.
    pub(crate) async fn list_all(&self) -> Result<Listing, Error> {
        let (items, unreachable) =
            self.every_host(|mut lease| async move { self.ours_on(&mut lease).await }).await;
        Ok(Listing { items, unreachable })
    }

    /// Asks every host, each beside the others. One that cannot be asked is named (`list.partial-as-declared`).
    pub(crate) async fn every_host<T, F>(&self, ask: impl Fn(Lease) -> F) -> Found<T>
    where
        F: Future<Output = Result<Found<T>, Error>>,
    {
        // A host gets half of the budget, so that one that hangs does not take the others' answers with it.
        let within = self.budgets.list / 2;
        let ask = &ask;
        let asked = self.config.hosts.iter().map(|host| async move {
            let asking = async {
                let _room = self.gate.target(&host.name).await;
                ask(self.hosts.lease(&self.seam, host).await?).await
            };
            let found = self.seam.bounded(within, asking).await;
            (host, found.unwrap_or_else(|late| Err(overlong("the listing", late))))
        });
        let (mut all, mut unreachable) = (Vec::new(), Vec::new());
        for (host, found) in join_all(asked).await {
            match found {
                Ok((items, parts)) => {
                    all.extend(items);
                    unreachable.extend(parts);
                }
                Err(error) => unreachable.push(unread(host.name.clone(), &error)),
            }
        }
        (all, unreachable)
    }

    async fn ours_on(&self, lease: &mut Lease) -> Result<Found<Listed>, Error> {
        let (mut items, mut unreachable) = (Vec::new(), Vec::new());
        for (uuid, domain) in lease.domains().await? {
            // Whatever is called otherwise is not ours, whatever mark it carries (list.inherited-mark-is-not-listed).
            let Ok(name) = Name::parse(&domain) else { continue };
            match lease.marks(&domain, uuid).await {
                Ok(marks) => {
                    let mark = ownership(&domain, &marks, &self.identity).ours();
                    let id = DomainId::new(&lease.host.name, &name).to_id();
                    items.extend(mark.map(|mark| Listed {
                        id,
                        name,
                        uid: mark.uid,
                        created_at: mark.created_at,
                    }));
                }
                // It went since the host was asked (list.vanishing-during-list).
                Err(refused) if refused.meaning == Meaning::Absent => {}
                Err(refused) if lease.is_broken() => return Err(refused.error),
                // list.one-unreadable-is-reported
                Err(refused) => {
                    unreachable.push(unread(format!("{}/{domain}", lease.host.name), &refused.error));
                }
            }
        }
        Ok((items, unreachable))
    }
}

/// A part that could not be read, and why.
pub(crate) fn unread(target: String, error: &Error) -> Unreachable {
    let code = error.code().unwrap_or("Unreachable").to_owned();
    Unreachable { target, reason: Reason::new(code, error.message().to_owned()) }
}
