//! What may not be read anywhere: user data, keys, tokens, passwords.

use std::{error::Error as StdError, time::Duration};

use data_encoding::{BASE64, BASE64URL, HEXLOWER};
use futures::FutureExt;
use prometheus_client::{encoding::text::encode, registry::Registry};
use provider_api::{Access, CreateRequest, Credentials, Error, Secret};

use super::verbs::{calls_of_a_create, meets, native_errors};
use crate::{
    broken,
    capture::{self, Captured},
    faults::{Answer, Call},
    rule::{Caller, Check, Checked, Level, Rule, always},
    world::World,
};

pub(super) const HIDES_SECRETS: Rule = Rule {
    id: "create.hides-secrets",
    level: Level::Must,
    says: "No user data and no password reaches a log line, span, error, metric, status or check, whatever is quoted.",
    caller: Caller::Everybody,
    applies: always,
    check: Check::Decorated(|w| hides_secrets(w).boxed()),
    absent: None,
    mend: "Mark the call kinds that carry payloads as such, and pass backend text on only through the request's scrubber.",
};

async fn hides_secrets(w: &mut World) -> Checked {
    capture::start();
    let mut needles = Vec::new();
    let lived = live(w, &mut needles).await;
    let captured = capture::take();
    lived?;
    logs(&captured, &needles)?;
    let mut registry = Registry::default();
    w.metrics().register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).expect("a string takes everything");
    search("the metrics", &text, &needles)
}

/// A whole life, then every error that a call with a payload can be answered with.
async fn live(w: &mut World, needles: &mut Vec<Needle>) -> Checked {
    let request = secretive(w, needles);
    search("the Debug text of the request", &format!("{request:?}"), needles)?;
    let id = w.creates(&request).await?;
    let instance = w.runs(&request.name, &id).await?;
    search("the answer of get", &format!("{instance:?}"), needles)?;
    checks(w, needles).await?;
    w.goes(&id).await?;

    let calls = payload_calls(w).await?;
    w.hand().quote_payloads(true).await?;
    for (call, native) in native_errors(w, &calls, |_| true)? {
        let request = secretive(w, needles);
        let answer = Answer::Native(native.id.into());
        let Some(met) = meets(w, request, &call, answer).await? else { continue };
        if let Err(error) = &met.result {
            errors(error, native.id, needles)?;
        }
        checks(w, needles).await?;
    }
    w.hand().quote_payloads(false).await?;
    Ok(())
}

/// The calls that carry a payload; all of them where the profile knows none.
async fn payload_calls(w: &mut World) -> Checked<Vec<Call>> {
    let calls = calls_of_a_create(w).await?;
    let carries = |call: &Call| w.profile().call(call.known_as()).is_some_and(|kind| kind.payload);
    let carrying: Vec<_> = calls.iter().filter(|call| carries(call)).cloned().collect();
    Ok(if carrying.is_empty() { calls } else { carrying })
}

/// A request whose payload and password are full of words that stand nowhere else.
fn secretive(w: &mut World, needles: &mut Vec<Needle>) -> CreateRequest {
    let mut request = w.request();
    let word = |part: &str| format!("swordfish-{part}-{}", request.uid);
    let (first, inner, last, password) = (word("first"), word("inner"), word("last"), word("password"));
    let tail = format!("\n# {first}\nwrite_files:\n- {{path: /key, content: \"{inner}\"}}\n# \"{last}\"");
    needles.extend([first, inner, last, password.clone()].map(Needle::new));
    request.cloud_init = Secret::new([request.cloud_init.reveal(), tail.as_bytes()].concat());
    let credentials = Credentials { username: "user".into(), password: Secret::new(password) };
    request.access = Access { credentials: Some(credentials), ..Access::default() };
    request
}

async fn checks(w: &World, needles: &[Needle]) -> Checked {
    for target in w.check(Duration::from_secs(30)).await?.unwrap_or_default() {
        search(&format!("the check of {}", target.name), &format!("{target:?}"), needles)?;
    }
    Ok(())
}

fn errors(error: &Error, native: &str, needles: &[Needle]) -> Checked {
    let mut link: Option<&dyn StdError> = Some(error);
    let mut depth = 0;
    while let Some(cause) = link {
        let place = format!("the error after {native}, {depth} causes down");
        search(&place, &format!("{cause}\n{cause:?}\n{cause:#?}"), needles)?;
        link = cause.source();
        depth += 1;
    }
    Ok(())
}

fn logs(captured: &Captured, needles: &[Needle]) -> Checked {
    for needle in needles {
        if let Some((form, place)) = needle.find_with(|text| captured.mention(text)) {
            broken!("{place} shows {}, {form}", needle.word);
        }
    }
    Ok(())
}

fn search(place: &str, text: &str, needles: &[Needle]) -> Checked {
    for needle in needles {
        if let Some((form, ())) = needle.find_with(|form| text.contains(form).then_some(())) {
            broken!("{place} shows {}, {form}", needle.word);
        }
    }
    Ok(())
}

/// One secret word and every form in which it could be shown.
struct Needle {
    word: String,
    forms: Vec<(&'static str, String)>,
}

impl Needle {
    fn new(word: String) -> Self {
        let mut forms = vec![("plain", word.clone()), ("in hex", HEXLOWER.encode(word.as_bytes()))];
        // In base64 a word looks in three ways, by where it begins; its edges mix with what stands beside it.
        for shift in 0..3 {
            let shifted = [&vec![b' '; shift][..], word.as_bytes()].concat();
            let whole = shifted.len() / 3 * 4;
            let from = shift.div_ceil(2) + shift;
            forms.push(("in base64", BASE64.encode(&shifted)[from..whole].to_owned()));
            forms.push(("in base64url", BASE64URL.encode(&shifted)[from..whole].to_owned()));
        }
        Self { word, forms }
    }

    fn find_with<T>(&self, found: impl Fn(&str) -> Option<T>) -> Option<(&'static str, T)> {
        self.forms.iter().find_map(|(form, text)| Some((*form, found(text)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_needle_is_found_in_every_form_at_every_place() {
        let needle = Needle::new("swordfish-first-case-7-1".into());
        for before in 0..7 {
            let text = [&vec![b'#'; before][..], b"swordfish-first-case-7-1 and more"].concat();
            for shown in [BASE64.encode(&text), BASE64URL.encode(&text), HEXLOWER.encode(&text)] {
                assert!(
                    search("it", &shown, &[Needle::new(needle.word.clone())]).is_err(),
                    "{before}: {shown}"
                );
            }
        }
        assert!(search("it", "swordfish-second", &[needle]).is_ok());
    }
}
