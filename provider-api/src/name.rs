//! Names and UIDs: what an instance is called and whom it belongs to. Ids are in `id.rs`, marks in `mark.rs`.

use std::fmt;

use data_encoding::BASE32_NOPAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The UID of the object an instance belongs to, as its API server gave it.
///
/// 1 to 63 characters of `A-Z a-z 0-9 . _ -`, first and last one alphanumeric, so that every backend's labels
/// can carry it as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Uid(String);

/// The name of an instance: `proxy-` and 16 lower-case base32 characters, 22 in all, derived from a [`Uid`].
///
/// Serves `create.idempotent`: two creates for one owner cannot ask for two names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// The name under which a provider is configured (`gcp-eu`); errors, log lines, spans and metrics carry it.
///
/// 1 to 63 characters of `a-z 0-9 -`, first and last one alphanumeric.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProviderName(String);

/// A string that is not the name, UID or id that was asked for. An operation answers Permanent to it
/// (`get.malformed-id-is-permanent`); in a config it is a problem with a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a valid {what}: {why}")]
pub struct Malformed {
    what: &'static str,
    given: String,
    why: &'static str,
}

impl Malformed {
    /// Says what was expected, what was given (cut to 80 characters, and quoted in the text) and what is wrong with it.
    pub fn new(what: &'static str, given: &str, why: &'static str) -> Self {
        Self { what, given: given.chars().take(80).collect(), why }
    }
}

impl Uid {
    /// Accepts a UID.
    ///
    /// # Errors
    /// [`Malformed`] when the characters or the length are not those of a label value.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let bytes = text.as_bytes();
        let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let edges = [bytes.first(), bytes.last()];
        if bytes.is_empty() || bytes.len() > 63 {
            return Err(Malformed::new("UID", text, "it must have 1 to 63 characters"));
        }
        if !bytes.iter().all(inner) || !edges.into_iter().flatten().all(u8::is_ascii_alphanumeric) {
            return Err(Malformed::new("UID", text, "it must be alphanumeric, with . _ - inside"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The UID as text, as it stands in marks.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Name {
    /// What every name starts with.
    pub const PREFIX: &'static str = "proxy-";
    /// The length of every name, in characters.
    pub const LEN: usize = 22;

    /// The one name that belongs to `uid`: the first 10 bytes of the SHA-256 of the UID in RFC 4648 base32,
    /// lower case.
    ///
    /// ```
    /// use provider_api::{Name, Uid};
    /// let uid = Uid::parse("0f0c9b2e-0c26-4c2c-9a5f-3f8a3c1d6c11")?;
    /// assert_eq!(Name::from_uid(&uid), Name::from_uid(&uid));
    /// assert_eq!(Name::from_uid(&uid).as_str().len(), Name::LEN);
    /// # Ok::<(), provider_api::Malformed>(())
    /// ```
    pub fn from_uid(uid: &Uid) -> Self {
        let digest = Sha256::digest(uid.as_str().as_bytes());
        let code = BASE32_NOPAD.encode(&digest[..10]).to_ascii_lowercase();
        Self(format!("{}{code}", Self::PREFIX))
    }

    /// Accepts a string that has the shape of a name; whose it is, only its mark tells.
    ///
    /// # Errors
    /// [`Malformed`] when the shape is another one.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let code = text.strip_prefix(Self::PREFIX);
        match code {
            Some(code)
                if code.len() == 16 && code.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7')) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err(Malformed::new("instance name", text, "it must be proxy- and 16 characters a-z 2-7")),
        }
    }

    /// The name as text, as it stands on the backend.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ProviderName {
    /// Accepts a configured name.
    ///
    /// # Errors
    /// [`Malformed`] when it is not a DNS label.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let bytes = text.as_bytes();
        let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
        let edge = |b: Option<&u8>| b.is_some_and(|b| *b != b'-');
        if bytes.len() > 63 || !bytes.iter().all(inner) || !edge(bytes.first()) || !edge(bytes.last()) {
            return Err(Malformed::new("provider name", text, "it must be 1 to 63 characters a-z 0-9 -"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text, as errors, lines and metrics carry it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text {
    ($($type:ident),*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl TryFrom<String> for $type {
            type Error = Malformed;
            fn try_from(text: String) -> Result<Self, Malformed> {
                Self::parse(&text)
            }
        }
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.0
            }
        }
    )*};
}
text!(Uid, Name, ProviderName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_uid_is_fixed() {
        // Changing this changes the name of every instance in the field.
        let uid = Uid::parse("6f9619ff-8b86-d011-b42d-00cf4fc964ff").unwrap();
        assert_eq!(Name::from_uid(&uid).as_str(), "proxy-n23clsx2v655dcxk");
    }

    #[test]
    fn shapes_are_strict() {
        for bad in
            ["", "proxy-", "proxy-ABCDEFGHIJKLMNOP", "proxy-abcdefghijklmnop1", "proxy-abcdefghijklmno1"]
        {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
        for bad in ["", "-a", "a-", "a b", "a\n", &"a".repeat(64)] {
            assert!(Uid::parse(bad).is_err(), "{bad}");
        }
        for bad in ["", "-a", "a-", "A", "a/b", &"a".repeat(64)] {
            assert!(ProviderName::parse(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_uid_has_a_well_formed_name(text in "[a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?") {
            let name = Name::from_uid(&Uid::parse(&text).unwrap());
            assert_eq!(Name::parse(name.as_str()), Ok(name));
        }
    }
}
