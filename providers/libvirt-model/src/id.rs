//! Ids: `hosts/<host>/domains/<name>`. They hold all that `get` and `delete` need (`create.id-self-contained`).

use provider_api::{Error, Grammar, LeftBehind, Name, ProviderId};

/// The shape of every id.
pub const IDS: Grammar = Grammar::new("hosts/{host}/domains/{name}");

/// Where a domain stands, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DomainId {
    /// The host, by its name in the config.
    pub host: String,
    /// The domain.
    pub name: Name,
}

impl DomainId {
    /// The id of an instance of ours; `host` is one of the config's, which are usable segments.
    pub fn new(host: &str, name: &Name) -> Self {
        Self { host: host.to_owned(), name: name.clone() }
    }

    /// Reads an id strictly (`get.malformed-id-is-permanent`, `delete.malformed-id-is-permanent`).
    ///
    /// # Errors
    /// Permanent for whatever [`DomainId::to_id`] would not have written.
    pub fn parse(id: &ProviderId) -> Result<Self, Error> {
        let read = || {
            let [host, name] = IDS.parse::<2>(id)?;
            Ok(Self::new(host, &Name::parse(name)?))
        };
        read().map_err(|malformed: provider_api::Malformed| {
            Error::permanent(malformed.to_string()).coded("MalformedId").leaving(LeftBehind::Nothing)
        })
    }

    /// The id as text.
    pub fn to_id(&self) -> ProviderId {
        IDS.format([&self.host, self.name.as_str()]).expect("both parts were checked to be one segment")
    }
}

#[cfg(test)]
mod tests {
    use provider_api::{FailureClass, Uid};

    use super::*;

    #[test]
    fn an_id_reads_back() {
        let id = DomainId::new("rack-1", &Name::from_uid(&Uid::parse("uid-1").unwrap()));
        assert_eq!(id.to_id().as_str(), "hosts/rack-1/domains/proxy-jje2z6fgxvzhokcj");
        assert_eq!(DomainId::parse(&id.to_id()).unwrap(), id);
    }

    #[test]
    fn what_is_almost_an_id_is_permanent() {
        let name = Name::from_uid(&Uid::parse("uid-1").unwrap());
        let at = |host: &str| format!("hosts/{host}/domains/{name}");
        for text in
            ["", "hosts/a/domains/", &at(""), &at("a/b"), &at("a b"), name.as_str(), "hosts/a/domains/x"]
        {
            let error = DomainId::parse(&ProviderId::new(text)).unwrap_err();
            assert_eq!(error.class(), FailureClass::Permanent, "{text}");
        }
    }
}
