//! `list_by_tag`: every instance of this installation, in every state, from every target. It changes nothing
//! (`list.read-only`).

use std::time::Duration;

use provider_api::{CallKind, Error, Listed, Listing, Name, Reason, Unreachable};
use serde_json::Value;

use crate::{
    backend::MACHINE_LIST,
    config::TARGET,
    id::MachineId,
    mark,
    provider::Harbour,
    view::{self, Machine},
};

/// How far the list may be behind: what stood when a listing was asked for is in it after that (`list.never-silently-short`).
const LAG: Duration = Duration::from_secs(4);

impl Harbour {
    /// The whole scope (`list.whole-scope`), and what of it could not be read.
    pub(crate) async fn list_all(&self) -> Result<Listing, Error> {
        self.seam.pause(LAG).await;
        let (items, unreachable) = self
            .every(MACHINE_LIST, |item| {
                let machine: Machine = view::read(item)?;
                let mark = mark::ownership(&machine.name, &machine.labels, &self.identity).ours();
                Ok(mark.map(|mark| {
                    let name = Name::from_uid(&mark.uid); // a mark counts under that name alone
                    let id = MachineId::new(&name).to_id();
                    Listed { id, name, uid: mark.uid, created_at: machine.created_at() }
                }))
            })
            .await?;
        Ok(Listing { items, unreachable })
    }

    /// What `ours` makes of each item that the API lists. It answers with a name where it cannot read one
    /// (`list.one-unreadable-is-reported`), and with `None` where one is not ours.
    pub(crate) async fn every<T>(
        &self,
        kind: CallKind,
        ours: impl Fn(Value) -> Result<Option<T>, String>,
    ) -> Result<(Vec<T>, Vec<Unreachable>), Error> {
        let (mut found, mut unreachable) = (Vec::new(), Vec::new());
        for item in self.backend.every(kind, TARGET).await? {
            match ours(item) {
                Ok(item) => found.extend(item),
                Err(name) => unreachable.push(Unreachable {
                    target: format!("{TARGET}/{name}"),
                    reason: Reason::new("Unreadable", "its entry in the listing cannot be read"),
                }),
            }
        }
        Ok((found, unreachable))
    }
}
