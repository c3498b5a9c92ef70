//! Marks: what tells an instance of ours from all else on a backend.
//!
//! A mark is three facts, managed, uid and installation, under the keys that stand here; and the creation time where the
//! backend keeps none. It is whole or it is none, and it counts only under the name that belongs to its uid.
//! [`Ownership::of`] decides that for every operation.
//!
//! The creating call writes the mark (`create.marks-from-first-moment`): as labels where the backend has some, otherwise in
//! any text that the call takes, a description, notes or metadata. Parts without text carry it in their names, by
//! [`InstallationId::short`].

use std::fmt;

use data_encoding::BASE32_NOPAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Malformed, Name, Timestamp, Uid};

/// The key of the managed mark; its value is [`MANAGED_YES`].
pub const MANAGED: &str = "proxy-operator-managed";
/// The one value of [`MANAGED`] that counts: `True` and `yes` do not (`list.only-managed`).
pub const MANAGED_YES: &str = "true";
/// The key under which the owner's [`Uid`] stands.
pub const UID: &str = "proxy-operator-uid";
/// The key under which the [`InstallationId`] stands.
pub const INSTALLATION: &str = "proxy-operator-installation";
/// The key under which the creation time stands in RFC 3339, where the backend keeps none.
pub const CREATED_AT: &str = "proxy-operator-created-at";

/// The identity of one installation: the UID of the namespace `kube-system`, unless the program is told another.
///
/// It is compared whole and with its case (`create.refuses-other-installation`, `list.only-this-installation`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstallationId(Uid);

impl InstallationId {
    /// Accepts an identity; the same characters as a UID.
    ///
    /// # Errors
    /// [`Malformed`] when it could not stand in a label.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        Uid::parse(text).map(Self)
    }

    /// The identity as text, as it stands in marks.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Eight lower-case base32 characters of its SHA-256, for names of secondary resources: the instance's name, this, the
    /// part.
    pub fn short(&self) -> String {
        BASE32_NOPAD.encode(&Sha256::digest(self.as_str().as_bytes())[..5]).to_ascii_lowercase()
    }
}

impl fmt::Display for InstallationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// This installation, and the ones whose instances it takes over (`create.adopts-listed-installation`). The program that
/// loads the config gives it to each provider, in [`Context::identity`](crate::Context::identity).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What new instances are marked with.
    pub installation: InstallationId,
    /// What a program calls `adoptInstallations`: a rebuilt cluster names its former selves here. No entry of a provider
    /// holds it.
    pub adopt: Vec<InstallationId>,
}

impl Identity {
    /// An installation that adopts no other.
    pub fn new(installation: InstallationId) -> Self {
        Self { installation, adopt: Vec::new() }
    }

    /// Whether an instance with that identity is this installation's to touch: its own, or an adopted one's.
    pub fn claims(&self, installation: &InstallationId) -> bool {
        *installation == self.installation || self.adopt.contains(installation)
    }
}

/// A whole mark: managed, uid and installation together, and the creation time where it is written.
///
/// ```
/// use provider_api::{InstallationId, Mark, Uid};
/// let mark = Mark {
///     uid: Uid::parse("uid-1")?,
///     installation: InstallationId::parse("cluster-1")?,
///     created_at: None,
/// };
/// let labels = mark.pairs();
/// assert_eq!(labels[0], ("proxy-operator-managed", "true".to_owned()));
/// let value_of = |key: &str| labels.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str());
/// assert_eq!(Mark::read(value_of), Some(mark));
/// assert_eq!(Mark::read(|key| value_of(key).filter(|_| key != "proxy-operator-uid")), None, "whole, or none");
/// # Ok::<(), provider_api::Malformed>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The owner's UID, to which the instance's name belongs.
    pub uid: Uid,
    /// The installation that made it.
    pub installation: InstallationId,
    /// When it was made, where the backend does not keep that itself; unreadable is `None`
    /// (`get.unreadable-created-at-is-none`).
    pub created_at: Option<Timestamp>,
}

impl Mark {
    /// The mark as pairs of key and value, in a fixed order: what the creating call writes.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![
            (MANAGED, MANAGED_YES.to_owned()),
            (UID, self.uid.to_string()),
            (INSTALLATION, self.installation.to_string()),
        ];
        pairs.extend(self.created_at.map(|at| (CREATED_AT, at.to_string())));
        pairs
    }

    /// Reads a mark from what stands under each key; it is whole or it is none. An unreadable creation time does not
    /// spoil the rest.
    ///
    /// It does not look at the name: [`Ownership::of`] does.
    pub fn read<'v>(value_of: impl Fn(&str) -> Option<&'v str>) -> Option<Self> {
        if value_of(MANAGED)? != MANAGED_YES {
            return None;
        }
        Some(Self {
            uid: Uid::parse(value_of(UID)?).ok()?,
            installation: InstallationId::parse(value_of(INSTALLATION)?).ok()?,
            created_at: value_of(CREATED_AT).and_then(|text| text.parse().ok()),
        })
    }
}

/// Whose an instance is, by its own name and its mark. One place decides it for create, get, delete and list.
///
/// A clone inherits the mark, but not the name that belongs to it:
///
/// ```
/// use provider_api::{Identity, InstallationId, Mark, Name, Ownership, Uid};
/// let us = InstallationId::parse("cluster-1")?;
/// let mark = Mark { uid: Uid::parse("uid-1")?, installation: us.clone(), created_at: None };
/// let pairs = mark.pairs();
/// let value_of = |key: &str| pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str());
/// let own_name = Name::from_uid(&mark.uid);
/// assert_eq!(Ownership::of(own_name.as_str(), &Identity::new(us.clone()), value_of).ours(), Some(mark.clone()));
/// assert_eq!(Ownership::of("copy-of-it", &Identity::new(us), value_of), Ownership::Inherited);
/// # Ok::<(), provider_api::Malformed>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// A whole mark, this installation's, under the name that belongs to its uid.
    Ours(Mark),
    /// A whole mark under the right name, but another installation's (`create.refuses-other-installation`).
    OtherInstallation(InstallationId),
    /// A mark under a name that does not belong to its uid: a copy or a clone inherited it
    /// (`get.inherited-mark-is-not-ours`, `list.inherited-mark-is-not-listed`).
    Inherited,
    /// No whole mark (`create.refuses-unmarked`).
    Unmarked,
}

impl Ownership {
    /// Decides by the name that the backend shows, the identity, and what stands under each key of the mark.
    ///
    /// Ask with the name from the backend's answer, not with the one from an id: only so a copy is told from its original.
    pub fn of<'v>(name: &str, identity: &Identity, value_of: impl Fn(&str) -> Option<&'v str>) -> Self {
        let Some(mark) = Mark::read(value_of) else { return Self::Unmarked };
        if Name::from_uid(&mark.uid).as_str() != name {
            Self::Inherited
        } else if !identity.claims(&mark.installation) {
            Self::OtherInstallation(mark.installation)
        } else {
            Self::Ours(mark)
        }
    }

    /// The mark, when the instance is ours; what else it is is left alone.
    pub fn ours(self) -> Option<Mark> {
        match self {
            Self::Ours(mark) => Some(mark),
            Self::OtherInstallation(_) | Self::Inherited | Self::Unmarked => None,
        }
    }

    /// Why the instance is not ours, as the end of a sentence about it.
    pub fn why_not(&self) -> &'static str {
        match self {
            Self::Ours(_) => "is ours",
            Self::OtherInstallation(_) => "belongs to another installation",
            Self::Inherited => "carries a mark that belongs to another name",
            Self::Unmarked => "does not carry our mark",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_whole_and_under_its_own_name() {
        let uid = Uid::parse("uid-1").unwrap();
        let name = Name::from_uid(&uid);
        let us = InstallationId::parse("us").unwrap();
        let identity =
            Identity { installation: us.clone(), adopt: vec![InstallationId::parse("old").unwrap()] };
        let of = |name: &str, pairs: &[(&str, &str)]| {
            Ownership::of(name, &identity, |key| pairs.iter().find(|(k, _)| *k == key).map(|(_, v)| *v))
        };
        let mark = |installation| [(MANAGED, "true"), (UID, "uid-1"), (INSTALLATION, installation)];
        assert!(matches!(of(name.as_str(), &mark("us")), Ownership::Ours(_)));
        assert!(matches!(of(name.as_str(), &mark("old")), Ownership::Ours(_)));
        assert!(matches!(of(name.as_str(), &mark("them")), Ownership::OtherInstallation(_)));
        assert_eq!(of("copy", &mark("us")), Ownership::Inherited);
        assert_eq!(of(name.as_str(), &mark("us")[..2]), Ownership::Unmarked);
        assert_eq!(
            of(name.as_str(), &[(MANAGED, "yes"), (UID, "uid-1"), (INSTALLATION, "us")]),
            Ownership::Unmarked
        );
    }

    #[test]
    fn pairs_read_back() {
        let mark = Mark {
            uid: Uid::parse("u").unwrap(),
            installation: InstallationId::parse("i").unwrap(),
            created_at: Some(Timestamp::from_unix(5)),
        };
        let pairs = mark.pairs();
        let read = Mark::read(|key| pairs.iter().find(|(k, _)| *k == key).map(|(_, v)| v.as_str()));
        assert_eq!(read, Some(mark));
    }
}
