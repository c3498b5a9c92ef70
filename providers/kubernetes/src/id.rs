//! Ids: `<namespace>/<name>`. Nothing but their shape is known here.

use provider_api::{Error, Grammar, LeftBehind, Malformed, Name, ProviderId};

/// The shape of every id.
pub(crate) const IDS: Grammar = Grammar::new("{namespace}/{name}");

/// Where a Pod stands, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodId {
    pub(crate) namespace: String,
    pub(crate) name: Name,
}

impl PodId {
    /// The id of an instance of ours.
    pub(crate) fn new(namespace: &str, name: &Name) -> Result<Self, Malformed> {
        if !is_namespace(namespace) {
            return Err(Malformed::new("namespace", namespace, "it must be 1 to 63 characters a-z 0-9 -"));
        }
        Ok(Self { namespace: namespace.to_owned(), name: name.clone() })
    }

    /// Reads an id strictly: what no create could have answered can never be resolved
    /// (`get.malformed-id-is-permanent`, `delete.malformed-id-is-permanent`).
    pub(crate) fn parse(id: &ProviderId) -> Result<Self, Error> {
        let read = || {
            let [namespace, name] = IDS.parse::<2>(id)?;
            Self::new(namespace, &Name::parse(name)?)
        };
        read().map_err(|malformed| {
            Error::permanent(malformed.to_string()).coded("MalformedId").leaving(LeftBehind::Nothing)
        })
    }

    /// The id as text.
    pub(crate) fn to_id(&self) -> ProviderId {
        IDS.format([&self.namespace, self.name.as_str()]).expect("both parts were checked to be one segment")
    }
}

/// Whether a text can be the name of a namespace: a DNS label.
pub(crate) fn is_namespace(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(|b| *b != b'-');
    bytes.len() <= 63
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
        && edge(bytes.first())
        && edge(bytes.last())
}

#[cfg(test)]
mod tests {
    use provider_api::{FailureClass, Uid};

    use super::*;

    #[test]
    fn an_id_reads_back() {
        let name = Name::from_uid(&Uid::parse("uid-1").unwrap());
        let id = PodId::new("team-a", &name).unwrap();
        assert_eq!(id.to_id().as_str(), format!("team-a/{name}"));
        assert_eq!(PodId::parse(&id.to_id()).unwrap(), id);
    }

    #[test]
    fn what_is_almost_an_id_is_permanent() {
        let name = Name::from_uid(&Uid::parse("uid-1").unwrap());
        let bad = [
            String::new(),
            "/".into(),
            format!("/{name}"),
            "team-a/".into(),
            "team-a/squid".into(),
            format!("Team/{name}"),
            format!("-a/{name}"),
            format!("a-/{name}"),
            format!("a/{name}/b"),
            format!("a/../{name}"),
            format!("{}/{name}", "a".repeat(64)),
        ];
        for text in bad {
            let error = PodId::parse(&ProviderId::new(text.clone())).unwrap_err();
            assert_eq!(error.class(), FailureClass::Permanent, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn reading_never_panics_and_round_trips(text in ".{0,80}|[a-z-]{0,9}/proxy-[a-z2-7]{15,17}") {
            let id = ProviderId::new(text);
            if let Ok(read) = PodId::parse(&id) {
                assert_eq!(read.to_id(), id);
            }
        }
    }
}
