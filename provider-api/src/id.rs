//! Provider ids and the strict `/`-shaped grammar they follow. Each provider's own id type stands in its `id.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Malformed;

/// What `create` answers and `get` and `delete` take: opaque to callers, self-contained for the provider.
///
/// It holds all that finding the instance again takes, whatever has become of process, request and config
/// (`create.id-self-contained`): where a name is the key, place and name; where a number is, the number and the name.
/// Any string can stand here, since it comes back from a status that people can edit; the provider parses it
/// strictly, by a [`Grammar`], and answers Permanent for what it can never resolve (`get.malformed-id-is-permanent`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderId(String);

impl ProviderId {
    /// Takes the text as it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text, exactly as it was taken.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The shape of a provider's ids: `hosts/{host}/domains/{name}`.
///
/// What it accepts it writes back unchanged, and what it writes it accepts. It knows segments only: that a field is a
/// number in its one spelling, a name or a known host is for the provider's `id.rs` to check. The pattern is also
/// [`Profile::id_pattern`](crate::Profile::id_pattern), which `create.returns-usable-id` holds ids to.
///
/// ```
/// use provider_api::Grammar;
/// const IDS: Grammar = Grammar::new("zones/{zone}/instances/{name}");
/// let id = IDS.format(["z1", "proxy-1"])?;
/// assert_eq!(IDS.parse::<2>(&id)?, ["z1", "proxy-1"]);
/// assert!(IDS.parse::<2>(&provider_api::ProviderId::new("zones/z1/instances/")).is_err());
/// # Ok::<(), provider_api::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grammar(&'static str);

impl Grammar {
    /// A pattern of segments divided by `/`; a segment in braces is a field.
    pub const fn new(pattern: &'static str) -> Self {
        Self(pattern)
    }

    /// The pattern as text, for the profile.
    pub const fn pattern(&self) -> &'static str {
        self.0
    }

    /// Writes an id: fills the fields in their order. `N` is how many the pattern has; a field too few counts as empty.
    ///
    /// # Errors
    /// [`Malformed`] when a field is not [`usable`] as a segment.
    pub fn format<const N: usize>(&self, fields: [&str; N]) -> Result<ProviderId, Malformed> {
        let mut fields = fields.into_iter();
        let mut id = String::with_capacity(64);
        for segment in self.0.split('/') {
            let text = if is_field(segment) { fields.next().unwrap_or_default() } else { segment };
            if !usable(text) {
                return Err(Malformed::new("part of an id", text, "it must be one non-empty segment"));
            }
            if !id.is_empty() {
                id.push('/');
            }
            id.push_str(text);
        }
        Ok(ProviderId(id))
    }

    /// Reads an id: the fields in their order. `N` is how many the pattern has.
    ///
    /// # Errors
    /// [`Malformed`] for anything that [`Grammar::format`] would not have written, or another number of fields.
    pub fn parse<'i, const N: usize>(&self, id: &'i ProviderId) -> Result<[&'i str; N], Malformed> {
        let wrong = || Malformed::new("id", id.as_str(), self.0);
        let mut fields = [""; N];
        let mut filled = 0;
        let mut given = id.as_str().split('/');
        for segment in self.0.split('/') {
            let text = given.next().filter(|text| usable(text)).ok_or_else(wrong)?;
            if is_field(segment) {
                *fields.get_mut(filled).ok_or_else(wrong)? = text;
                filled += 1;
            } else if segment != text {
                return Err(wrong());
            }
        }
        if given.next().is_some() || filled != N { Err(wrong()) } else { Ok(fields) }
    }
}

impl Grammar {
    /// Whether an id has this shape; what its fields may hold beyond that, its provider knows.
    pub fn fits(&self, id: &ProviderId) -> bool {
        let mut given = id.as_str().split('/');
        let segments = self.0.split('/').all(|segment| {
            given.next().is_some_and(|text| usable(text) && (is_field(segment) || segment == text))
        });
        segments && given.next().is_none()
    }
}

/// Whether a text can stand as one segment of an id: 1 to 253 bytes, without `/`, white space and control characters.
/// Config values that end up in ids are held to it, so that no id is ambiguous.
///
/// ```
/// use provider_api::usable_segment;
/// assert!(usable_segment("eu-1"));
/// assert!(!usable_segment("eu/1") && !usable_segment("eu 1") && !usable_segment(""));
/// ```
pub fn usable(segment: &str) -> bool {
    !segment.is_empty()
        && segment.len() <= 253
        && !segment.chars().any(|c| c == '/' || c.is_whitespace() || c.is_control())
}

fn is_field(segment: &str) -> bool {
    segment.starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: Grammar = Grammar::new("hosts/{host}/domains/{name}");

    proptest::proptest! {
        #[test]
        fn parses_only_what_it_writes(text in ".{0,60}|hosts/[a-z/ ]{0,9}/domains/[a-z/]{0,9}") {
            let id = ProviderId::new(text);
            assert_eq!(IDS.fits(&id), IDS.parse::<2>(&id).is_ok());
            if let Ok(fields) = IDS.parse::<2>(&id) {
                assert_eq!(IDS.format(fields).unwrap(), id);
            }
        }
    }

    #[test]
    fn refuses_what_is_almost_right() {
        for bad in [
            "",
            "/",
            "hosts//domains/a",
            "hosts/a/domains/b/",
            "hosts/a/domains/b/c",
            "HOSTS/a/domains/b",
            "hosts/a b/domains/c",
        ] {
            assert!(IDS.parse::<2>(&ProviderId::new(bad)).is_err(), "{bad}");
        }
    }
}
