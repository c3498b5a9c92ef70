//! Ids. They hold all that `get` and `delete` need (`create.id-self-contained`).
//! A name is one of the whole API, so the location is not in them: `servers/<name>`.

use provider_api::{Error, Grammar, LeftBehind, Malformed, Name, ProviderId};

use crate::config::TARGET;

/// The shape of every id.
pub(crate) const IDS: Grammar = Grammar::new("servers/{name}");

/// What a machine is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineId {
    pub(crate) name: Name,
}

impl MachineId {
    /// The id of an instance of ours.
    pub(crate) fn new(name: &Name) -> Self {
        Self { name: name.clone() }
    }

    /// Where calls about it go.
    pub(crate) fn target(&self) -> &'static str {
        TARGET
    }

    /// Reads an id strictly (`get.malformed-id-is-permanent`, `delete.malformed-id-is-permanent`).
    pub(crate) fn parse(id: &ProviderId) -> Result<Self, Error> {
        let read = || -> Result<_, Malformed> {
            let [name] = IDS.parse::<1>(id)?;
            Ok(Self::new(&Name::parse(name)?))
        };
        read().map_err(|malformed| {
            Error::permanent(malformed.to_string()).coded("MalformedId").leaving(LeftBehind::Nothing)
        })
    }

    /// The id as text.
    pub(crate) fn to_id(&self) -> ProviderId {
        IDS.format([self.name.as_str()]).expect("a name is one segment")
    }
}

#[cfg(test)]
mod tests {
    use provider_api::{FailureClass, Uid};

    use super::*;

    #[test]
    fn an_id_reads_back() {
        let id = MachineId::new(&Name::from_uid(&Uid::parse("uid-1").unwrap()));
        assert_eq!(MachineId::parse(&id.to_id()).unwrap(), id);
    }

    #[test]
    fn what_is_almost_an_id_is_permanent() {
        let name = Name::from_uid(&Uid::parse("uid-1").unwrap());
        let at = |place: &str| format!("servers/{place}{name}");
        for text in ["", "servers/", &at("/"), &at("a/"), name.as_str()] {
            let error = MachineId::parse(&ProviderId::new(text)).unwrap_err();
            assert_eq!(error.class(), FailureClass::Permanent, "{text}");
        }
    }
}
