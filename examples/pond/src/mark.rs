//! The mark as labels: what is written, and whose a machine is.

use std::collections::BTreeMap;

use provider_api::{Identity, Mark, Ownership, Uid};

/// The labels of a new machine. They are part of the creating call (`create.marks-from-first-moment`).
pub(crate) fn labels(identity: &Identity, uid: &Uid) -> BTreeMap<String, String> {
    let mark = Mark { uid: uid.clone(), installation: identity.installation.clone(), created_at: None };
    mark.pairs().into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Whose a machine of that name and with those labels is. A mark under another name than its own makes nothing ours
/// (`get.inherited-mark-is-not-ours`, `list.inherited-mark-is-not-listed`).
pub(crate) fn ownership(name: &str, labels: &BTreeMap<String, String>, identity: &Identity) -> Ownership {
    Ownership::of(name, identity, |key| labels.get(key).map(String::as_str))
}
