//! Ids. They hold all that `get` and `delete` need (`create.id-self-contained`).
//! They name the region too: `regions/<region>/machines/<name>`.

use provider_api::{Error, Grammar, LeftBehind, Malformed, Name, ProviderId};

/// The shape of every id.
pub(crate) const IDS: Grammar = Grammar::new("regions/{region}/machines/{name}");

/// Where a machine stands, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineId {
    pub(crate) target: String,
    pub(crate) name: Name,
}

impl MachineId {
    /// The id of an instance of ours; `target` is one of the config's, which are usable segments.
    pub(crate) fn new(target: &str, name: &Name) -> Self {
        Self { target: target.to_owned(), name: name.clone() }
    }

    /// Where calls about it go.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// Reads an id strictly (`get.malformed-id-is-permanent`, `delete.malformed-id-is-permanent`).
    pub(crate) fn parse(id: &ProviderId) -> Result<Self, Error> {
        let read = || {
            let [target, name] = IDS.parse::<2>(id)?;
            if matches!(target, "." | "..") {
                return Err(Malformed::new("region", target, "no region can have that name"));
            }
            Ok(Self::new(target, &Name::parse(name)?))
        };
        read().map_err(|malformed| {
            Error::permanent(malformed.to_string()).coded("MalformedId").leaving(LeftBehind::Nothing)
        })
    }

    /// The id as text.
    pub(crate) fn to_id(&self) -> ProviderId {
        IDS.format([&self.target, self.name.as_str()]).expect("both parts were checked to be one segment")
    }
}

#[cfg(test)]
mod tests {
    use provider_api::{FailureClass, Uid};

    use super::*;

    #[test]
    fn an_id_reads_back() {
        let id = MachineId::new("eu-1", &Name::from_uid(&Uid::parse("uid-1").unwrap()));
        assert_eq!(MachineId::parse(&id.to_id()).unwrap(), id);
    }

    #[test]
    fn what_is_almost_an_id_is_permanent() {
        let name = Name::from_uid(&Uid::parse("uid-1").unwrap());
        let at = |target: &str| format!("regions/{target}/machines/{name}");
        for text in ["", "regions/eu-1/machines/", &at(""), &at(".."), &at("a/b"), name.as_str()] {
            let error = MachineId::parse(&ProviderId::new(text)).unwrap_err();
            assert_eq!(error.class(), FailureClass::Permanent, "{text}");
        }
    }
}
