//! The mark of a domain: one element without content in its metadata, with an attribute for each key of the mark.
//!
//! Attributes, because libvirt takes the namespace off the element when it gives it out, and would leave elements inside
//! with a prefix that nothing declares.

use std::collections::BTreeMap;

use provider_api::{Identity, Mark, Ownership};

use crate::{
    Family, Unreadable,
    xml::{self, Element},
};

/// The element's name.
const NAME: &str = "instance";

/// The marks that a domain carries, by key.
pub type Marks = BTreeMap<String, String>;

/// The element as it stands in a domain (`create.marks-from-first-moment`).
pub(crate) fn element(family: Family, mark: &Mark) -> Element {
    let start = Element::new("proxy:instance").attr("xmlns:proxy", family.namespace);
    mark.pairs().into_iter().fold(start, |element, (key, value)| element.attr(key, value))
}

/// Reads the element as libvirt gives it out alone.
///
/// # Errors
/// When it is not that element: somebody else's under our namespace, or no XML.
pub fn marks(element: &str) -> Result<Marks, Unreadable> {
    let document = xml::parse("mark", element)?;
    let root = document.root_element();
    match root.tag_name().name() {
        NAME => Ok(attributes(root)),
        other => Err(Unreadable::new("mark", format!("it is an element {other}"))),
    }
}

pub(crate) fn attributes(element: roxmltree::Node<'_, '_>) -> Marks {
    element
        .attributes()
        .map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned()))
        .collect()
}

/// The marks among the metadata of a whole domain; none where there are none.
pub(crate) fn among(metadata: roxmltree::Node<'_, '_>, family: Family) -> Marks {
    let ours = metadata.children().find(|child| child.has_tag_name((family.namespace, NAME)));
    ours.map(attributes).unwrap_or_default()
}

/// Whose a domain is. A mark under another name than its own makes nothing ours (`get.inherited-mark-is-not-ours`,
/// `list.inherited-mark-is-not-listed`).
pub fn ownership(name: &str, marks: &Marks, identity: &Identity) -> Ownership {
    Ownership::of(name, identity, |key| marks.get(key).map(String::as_str))
}

#[cfg(test)]
mod tests {
    use provider_api::{InstallationId, Name, Timestamp, Uid, mark};

    use super::*;
    use crate::{KVM, KVM2};

    fn mark() -> Mark {
        Mark {
            uid: Uid::parse("uid-1").unwrap(),
            installation: InstallationId::parse("us").unwrap(),
            created_at: Some(Timestamp::from_unix(1_767_225_600)),
        }
    }

    #[test]
    fn the_mark_is_read_back_alone_and_within_a_domain() {
        let element = element(KVM, &mark()).to_string();
        let own = marks(&element).unwrap();
        assert_eq!(own[mark::UID], "uid-1");
        assert_eq!(own.len(), 4);
        let domain = format!("<metadata><other xmlns='urn:x' a='1'/>{element}</metadata>");
        let document = xml::parse("test", &domain).unwrap();
        assert_eq!(among(document.root_element(), KVM), own);
        assert_eq!(among(document.root_element(), KVM2), Marks::new(), "it is the other provider's");
        let identity = Identity::new(InstallationId::parse("us").unwrap());
        let name = Name::from_uid(&mark().uid);
        assert_eq!(ownership(name.as_str(), &own, &identity), Ownership::Ours(mark()));
        assert_eq!(ownership("copy", &own, &identity), Ownership::Inherited);
    }

    #[test]
    fn what_libvirt_makes_of_it_is_read_too() {
        // As libvirt 9.0 gives it out: without the namespace, quoted its own way.
        let given = "<instance proxy-operator-managed='true' proxy-operator-uid='u' proxy-operator-installation='i'/>\n";
        assert_eq!(marks(given).unwrap()[mark::MANAGED], "true");
        assert!(marks("<derp/>").is_err());
        assert!(marks("instance").is_err());
    }
}
