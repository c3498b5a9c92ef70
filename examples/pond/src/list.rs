//! `list_by_tag`: every instance of this installation, in every state, from every target. It changes nothing
//! (`list.read-only`).

use std::time::Duration;

use futures::future::join_all;
use provider_api::{CallKind, Error, FailureClass, Listed, Listing, Name, Reason, Unreachable};
use serde_json::Value;

use crate::{
    backend::MACHINE_LIST,
    id::MachineId,
    mark,
    provider::Pond,
    view::{self, Machine},
};

/// How far the API's listing may be behind; a look at one name is true at once.
const LAG: Duration = Duration::from_secs(4);

impl Pond {
    /// The whole scope (`list.whole-scope`), and what of it could not be read.
    pub(crate) async fn list_all(&self) -> Result<Listing, Error> {
        // A shorter wait would hide what was made just now (list.never-silently-short).
        self.seam.pause(LAG).await;
        let (items, unreachable) = self
            .every(MACHINE_LIST, |target, item| {
                let machine: Machine = view::read(item)?;
                let mark = mark::ownership(&machine.name, &machine.labels, &self.identity).ours();
                Ok(mark.map(|mark| {
                    let name = Name::from_uid(&mark.uid);
                    let id = MachineId::new(target, &name).to_id();
                    Listed { id, name, uid: mark.uid, created_at: machine.created_at() }
                }))
            })
            .await?;
        Ok(Listing { items, unreachable })
    }

    /// What `ours` makes of each item that a target lists, of all targets. It answers with a name where it cannot read one
    /// (`list.one-unreadable-is-reported`), and with `None` where one is not ours.
    pub(crate) async fn every<T>(
        &self,
        kind: CallKind,
        ours: impl Fn(&str, Value) -> Result<Option<T>, String>,
    ) -> Result<(Vec<T>, Vec<Unreachable>), Error> {
        // A target gets half of the budget, so that one that hangs does not take the others' answers with it.
        let within = self.budgets.list / 2;
        let targets = self.config.targets.iter().map(|target| async {
            let items = self.seam.bounded(within, self.backend.every(kind, &target.name)).await;
            let items = items.map_err(|overlong| Error::transient(overlong.to_string()));
            (&target.name, items.and_then(|items| Ok(items?)))
        });
        let (mut found, mut unreachable) = (Vec::new(), Vec::new());
        for (target, items) in join_all(targets).await {
            match items {
                Ok(items) => items.into_iter().for_each(|item| match ours(target, item) {
                    Ok(item) => found.extend(item),
                    Err(name) => unreachable.push(Unreachable {
                        target: format!("{target}/{name}"),
                        reason: Reason::new("Unreadable", "its entry in the listing cannot be read"),
                    }),
                }),
                // What is Permanent will not pass, and is no matter of one target (list.never-silently-short).
                Err(error) if error.class() == FailureClass::Permanent => return Err(error),
                // list.partial-as-declared
                Err(error) => {
                    let code = error.code().unwrap_or("Unreachable").to_owned();
                    let reason = Reason::new(code, error.message().to_owned());
                    unreachable.push(Unreachable { target: target.clone(), reason });
                }
            }
        }
        Ok((found, unreachable))
    }
}
