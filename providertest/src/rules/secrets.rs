//! How a secret is looked for: in every form in which it could be shown, and in every text that an error has.

use std::error::Error as StdError;

use data_encoding::{BASE64, BASE64URL, HEXLOWER};
use provider_api::Error;

use crate::{broken, rule::Checked};

/// One secret and every form in which it could be shown.
pub(in crate::rules) struct Needle {
    what: String,
    forms: Vec<(&'static str, String)>,
}

impl Needle {
    /// Looks for `secret`, which reports call `what`. The start of a secret finds the whole of it too.
    pub(in crate::rules) fn new(what: impl Into<String>, secret: &str) -> Self {
        let bytes = secret.as_bytes();
        let mut forms = vec![("as it stands", secret.to_owned()), ("in hex", HEXLOWER.encode(bytes))];
        // In base64 a word looks in three ways, by where it begins; its edges mix with what stands beside it.
        for shift in 0..3 {
            let shifted = [&vec![b' '; shift][..], bytes].concat();
            let whole = shifted.len() / 3 * 4;
            let from = shift.div_ceil(2) + shift;
            let core = BASE64.encode(&shifted)[from..whole].to_owned();
            let for_urls = BASE64URL.encode(&shifted)[from..whole].to_owned();
            if for_urls != core {
                forms.push(("in base64url", for_urls));
            }
            forms.push(("in base64", core));
        }
        // As Debug shows bytes: a body may be logged so.
        for (form, text) in forms.clone() {
            let form = if form == "as it stands" { "byte by byte" } else { "encoded, byte by byte" };
            let bytes: Vec<_> = text.bytes().map(|byte| byte.to_string()).collect();
            forms.push((form, bytes.join(", ")));
        }
        Self { what: what.into(), forms }
    }

    /// The first form that is found, by its name, with what was found of it.
    fn find_with<T>(&self, found: impl Fn(&str) -> Option<T>) -> Option<(&'static str, T)> {
        self.forms.iter().find_map(|(form, text)| Some((*form, found(text)?)))
    }
}

/// Holds that a text shows none of them.
///
/// # Errors
/// Broken when it shows one; what it says of it is the needle's name.
pub(in crate::rules) fn search(place: &str, text: &str, needles: &[Needle]) -> Checked {
    for needle in needles {
        if let Some((form, ())) = needle.find_with(|form| text.contains(form).then_some(())) {
            broken!("{place} shows {}, {form}", needle.what);
        }
    }
    Ok(())
}

/// Holds that neither an error nor any of its causes shows one of them, as a text or as Debug output.
///
/// # Errors
/// As for [`search`].
pub(in crate::rules) fn search_error(place: &str, error: &Error, needles: &[Needle]) -> Checked {
    let mut link: Option<&dyn StdError> = Some(error);
    let mut depth = 0;
    while let Some(cause) = link {
        let place = match depth {
            0 => place.to_owned(),
            1 => format!("the source of {place}"),
            _ => format!("source number {depth} of {place}"),
        };
        search(&place, &format!("{cause}\n{cause:?}\n{cause:#?}"), needles)?;
        link = cause.source();
        depth += 1;
    }
    Ok(())
}

/// Holds that nothing that was logged shows one of them.
///
/// # Errors
/// As for [`search`].
pub(in crate::rules) fn search_logs(captured: &crate::capture::Captured, needles: &[Needle]) -> Checked {
    for needle in needles {
        if let Some((form, place)) = needle.find_with(|text| captured.mention(text)) {
            broken!("{place} shows {}, {form}", needle.what);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_needle_is_found_in_every_form_at_every_place() {
        // Its base64 has a letter that base64url spells otherwise.
        let secret = "swordfish-?>~-case-7-1";
        for needle in [secret, &secret[..13]] {
            let needle = [Needle::new("it", needle)];
            for before in 0..7 {
                let text = [&vec![b'#'; before][..], secret.as_bytes(), b" and more"].concat();
                let encoded = [BASE64.encode(&text), BASE64URL.encode(&text), HEXLOWER.encode(&text)];
                let bytes: Vec<_> = encoded.iter().map(|text| format!("{:?}", text.as_bytes())).collect();
                for shown in bytes.into_iter().chain([format!("{text:?}")]).chain(encoded) {
                    assert!(search("the text", &shown, &needle).is_err(), "{before}: {shown}");
                }
                assert!(search("the text", &String::from_utf8(text).unwrap(), &needle).is_err());
            }
            assert!(search("the text", "swordfish-second", &needle).is_ok());
        }
    }
}
