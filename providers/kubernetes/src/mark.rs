//! The mark as Pod labels: what is written, what is selected by, and whose a Pod is.

use std::collections::BTreeMap;

use provider_api::{
    Identity, Mark, Ownership, Uid,
    mark::{INSTALLATION, MANAGED, MANAGED_YES},
};

use crate::view::Meta;

/// The labels of a new Pod. They are part of the creating call (`create.marks-from-first-moment`).
pub(crate) fn labels(identity: &Identity, uid: &Uid) -> BTreeMap<String, String> {
    let mark = Mark { uid: uid.clone(), installation: identity.installation.clone(), created_at: None };
    mark.pairs().into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The selector of everything that this installation may claim. It narrows the answer only: whose a Pod is,
/// [`ownership`] decides.
pub(crate) fn selector(identity: &Identity) -> String {
    let installations = std::iter::once(&identity.installation).chain(&identity.adopt);
    let values: Vec<_> = installations.map(|installation| installation.as_str()).collect();
    format!("{MANAGED}={MANAGED_YES},{INSTALLATION} in ({})", values.join(","))
}

/// Whose a Pod is.
pub(crate) fn ownership(meta: &Meta, identity: &Identity) -> Ownership {
    Ownership::of(&meta.name, identity, |key| meta.labels.get(key).map(String::as_str))
}

#[cfg(test)]
mod tests {
    use provider_api::{InstallationId, Name};

    use super::*;

    #[test]
    fn labels_make_a_pod_ours() {
        let installation = |text| InstallationId::parse(text).unwrap();
        let mut us = Identity::new(installation("us"));
        let uid = Uid::parse("uid-1").unwrap();
        let meta =
            Meta { name: Name::from_uid(&uid).to_string(), labels: labels(&us, &uid), ..Meta::default() };
        assert!(matches!(ownership(&meta, &us), Ownership::Ours(mark) if mark.uid == uid));
        let them = Identity::new(installation("them"));
        assert!(matches!(ownership(&meta, &them), Ownership::OtherInstallation(_)));
        let copy = Meta { name: "copy".into(), ..meta.clone() };
        assert_eq!(ownership(&copy, &us), Ownership::Inherited);
        us.adopt = vec![installation("old"), installation("older")];
        assert_eq!(
            selector(&us),
            "proxy-operator-managed=true,proxy-operator-installation in (us,old,older)"
        );
    }
}
