//! `list_by_tag`: every instance of this installation, in every state, from every host. It changes nothing
//! (`list.read-only`).

use futures::future::join_all;
use provider_api::{CallKind, Error, FailureClass, Listed, Listing, Name, Reason, Unreachable};
use serde_json::Value;

use crate::{
    backend::MACHINE_LIST,
    id::MachineId,
    mark,
    provider::Cellar,
    view::{Machine, read},
};

impl Cellar {
    /// The whole scope (`list.whole-scope`), and what of it could not be read.
    pub(crate) async fn list_all(&self) -> Result<Listing, Error> {
        let ours = |host: &str, item| {
            let machine = read::<Machine>(item)?;
            let mark = mark::ownership(&machine, &self.identity).ours();
            Ok(mark.map(|mark| {
                let name = Name::from_uid(&mark.uid);
                let id = MachineId::new(host, &name).to_id();
                Listed { id, name, uid: mark.uid, created_at: machine.created_at() }
            }))
        };
        let (items, unreachable) = self.every(MACHINE_LIST, ours).await?;
        Ok(Listing { items, unreachable })
    }

    /// What `ours` makes of each item of every host. It answers with a name where it cannot read one.
    pub(crate) async fn every<T>(
        &self,
        kind: CallKind,
        ours: impl Fn(&str, Value) -> Result<Option<T>, String>,
    ) -> Result<(Vec<T>, Vec<Unreachable>), Error> {
        // A host gets half of the budget, so that one that hangs does not take the others' answers with it.
        let within = self.budgets.list / 2;
        let hosts = self.config.hosts.iter().map(|host| async {
            let items = self.seam.bounded(within, self.backend.listed(kind, &host.name)).await;
            let overlong = |overlong| Err(Error::transient(format!("{overlong}")));
            (&host.name, items.map_or_else(overlong, |items| items.map_err(Error::from)))
        });
        let (mut found, mut unreachable) = (Vec::new(), Vec::new());
        for (host, items) in join_all(hosts).await {
            match items {
                Ok(items) => {
                    for item in items {
                        match ours(host, item) {
                            Ok(item) => found.extend(item),
                            // list.one-unreadable-is-reported
                            Err(name) => unreachable.push(Unreachable {
                                target: format!("{host}/{name}"),
                                reason: Reason::new("Unreadable", "its entry in the listing cannot be read"),
                            }),
                        }
                    }
                }
                // What is Permanent will not pass, and is no matter of one host (list.never-silently-short).
                Err(error) if error.class() == FailureClass::Permanent => return Err(error),
                // list.partial-as-declared
                Err(error) => {
                    let code = error.code().unwrap_or("Unreachable").to_owned();
                    let reason = Reason::new(code, error.message().to_owned());
                    unreachable.push(Unreachable { target: host.clone(), reason });
                }
            }
        }
        Ok((found, unreachable))
    }
}
