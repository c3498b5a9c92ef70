//! `list_by_tag`: every instance of this installation, in every state, from every target. It changes nothing
//! (`list.read-only`).

//@if places
use provider_api::{CallKind, Error, Listing, Reason, Unreachable};
use serde_json::Value;

use crate::{config::TARGET, error::unwritten, provider::Newcloud};
//@else
use futures::future::join_all;
use provider_api::{CallKind, Error, FailureClass, Listing, Reason, Unreachable};
use serde_json::Value;

use crate::{error::unwritten, provider::Newcloud};
//@end

impl Newcloud {
    /// The whole scope (`list.whole-scope`), and what of it could not be read.
    // TO WRITE, about 12 lines: `every` with `MACHINE_LIST`, and of each item, read by `view::read`, a `Listed` where
    // `mark::ownership` says that it is ours, in every state (list.only-managed, list.only-this-installation).
    pub(crate) async fn list_all(&self) -> Result<Listing, Error> {
        Err(unwritten("list", file!()))
    }

    //@if places
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
    //@else
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
    //@end
}
