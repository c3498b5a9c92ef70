//! Ids. They hold all that `get` and `delete` need (`create.id-self-contained`).
//@if places
//! A name is one of the whole API, so the newzone is not in them: `newmachines/<name>`.

use provider_api::{Error, Grammar, LeftBehind, Malformed, Name, ProviderId};

use crate::config::TARGET;

/// The shape of every id.
pub(crate) const IDS: Grammar = Grammar::new("newmachines/{name}");

/// What a machine is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineId {
    pub(crate) name: Name,
}
//@else
//! They name the newzone too: `newzones/<newzone>/newmachines/<name>`.

use provider_api::{Error, Grammar, LeftBehind, Malformed, Name, ProviderId};

/// The shape of every id.
pub(crate) const IDS: Grammar = Grammar::new("newzones/{newzone}/newmachines/{name}");

/// Where a machine stands, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineId {
    pub(crate) target: String,
    pub(crate) name: Name,
}
//@end

impl MachineId {
    //@if places
    /// The id of an instance of ours.
    pub(crate) fn new(name: &Name) -> Self {
        Self { name: name.clone() }
    }

    /// Where calls about it go.
    pub(crate) fn target(&self) -> &'static str {
        TARGET
    }
    //@else
    /// The id of an instance of ours; `target` is one of the config's, which are usable segments.
    pub(crate) fn new(target: &str, name: &Name) -> Self {
        Self { target: target.to_owned(), name: name.clone() }
    }

    /// Where calls about it go.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }
    //@end

    /// Reads an id strictly (`get.malformed-id-is-permanent`, `delete.malformed-id-is-permanent`).
    pub(crate) fn parse(id: &ProviderId) -> Result<Self, Error> {
        //@if places
        let read = || -> Result<_, Malformed> {
            let [name] = IDS.parse::<1>(id)?;
            Ok(Self::new(&Name::parse(name)?))
        };
        //@else
        let read = || {
            let [target, name] = IDS.parse::<2>(id)?;
            if matches!(target, "." | "..") {
                return Err(Malformed::new("newzone", target, "no newzone can have that name"));
            }
            Ok(Self::new(target, &Name::parse(name)?))
        };
        //@end
        read().map_err(|malformed| {
            Error::permanent(malformed.to_string()).coded("MalformedId").leaving(LeftBehind::Nothing)
        })
    }

    /// The id as text.
    pub(crate) fn to_id(&self) -> ProviderId {
        //@if places
        IDS.format([self.name.as_str()]).expect("a name is one segment")
        //@else
        IDS.format([&self.target, self.name.as_str()]).expect("both parts were checked to be one segment")
        //@end
    }
}

#[cfg(test)]
mod tests {
    use provider_api::{FailureClass, Uid};

    use super::*;

    #[test]
    fn an_id_reads_back() {
        //@if places
        let id = MachineId::new(&Name::from_uid(&Uid::parse("uid-1").unwrap()));
        //@else
        let id = MachineId::new("eu-1", &Name::from_uid(&Uid::parse("uid-1").unwrap()));
        //@end
        assert_eq!(MachineId::parse(&id.to_id()).unwrap(), id);
    }

    #[test]
    fn what_is_almost_an_id_is_permanent() {
        let name = Name::from_uid(&Uid::parse("uid-1").unwrap());
        //@if places
        let at = |place: &str| format!("newmachines/{place}{name}");
        for text in ["", "newmachines/", &at("/"), &at("a/"), name.as_str()] {
        //@else
        let at = |target: &str| format!("newzones/{target}/newmachines/{name}");
        for text in ["", "newzones/eu-1/newmachines/", &at(""), &at(".."), &at("a/b"), name.as_str()] {
        //@end
            let error = MachineId::parse(&ProviderId::new(text)).unwrap_err();
            assert_eq!(error.class(), FailureClass::Permanent, "{text}");
        }
    }
}
