//! What may not be read anywhere: user data, keys, tokens, passwords.

use std::time::Duration;

use futures::FutureExt;
use prometheus_client::{encoding::text::encode, registry::Registry};
use provider_api::{Access, CreateRequest, Credentials, Secret};

use super::verbs::{calls_of_a_create, meets, native_errors};
use crate::{
    capture,
    faults::{Answer, Call},
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::secrets::{Needle, search, search_error, search_logs},
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
    why: "Backends quote a bad request in their answer. If that text reaches a log or a status, everybody \
          who may read those has the proxy's password, and the keys in its cloud-init.",
    tested: "Decorated, requests full of unique words live through a whole life, then meet every catalogued \
             error on the calls that carry a payload, while the fake quotes payloads. Errors and their \
             causes, logs, spans, metrics, checks, get's answer and the request's Debug text are searched \
             for each word, plain, in hex and in base64.",
    mend: "Build call kinds that carry a payload with `CallKind::upload`, call through `Seam::hiding` with \
           `CreateRequest::scrubber`, and make causes with `CallError::scrubbed`, which lets only code and \
           reason through for them. Log no request by hand.",
};

async fn hides_secrets(w: &mut World) -> Checked {
    capture::start();
    let needles = PARTS.map(|part| {
        let (start, whole) =
            (word(part, ""), if part == "password" { "the password" } else { "the user data" });
        Needle::new(format!("{start:?}, with which a word of {whole} begins"), &start)
    });
    let lived = live(w, &needles).await;
    let captured = capture::take();
    // What a harness could not do leaves what was done to be judged.
    if !matches!(lived, Err(Stop::Blocked(_))) {
        lived.clone()?;
    }
    search_logs(&captured, &needles)?;
    let mut registry = Registry::default();
    w.metrics().register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).expect("a string takes everything");
    search("the metrics", &text, &needles)?;
    lived
}

/// A whole life, then every error that a call with a payload can be answered with.
async fn live(w: &mut World, needles: &[Needle]) -> Checked {
    let request = secretive(w);
    search("the Debug text of the request", &format!("{request:?}"), needles)?;
    let id = w.creates(&request).await?;
    let instance = w.runs(&request.name, &id).await?;
    search("the answer of get", &format!("{instance:?}"), needles)?;
    checks(w, needles).await?;
    w.goes(&id).await?;

    let calls = payload_calls(w).await?;
    w.hand().quote_payloads(true).await?;
    for (call, native) in native_errors(w, &calls, |_| true)? {
        let request = secretive(w);
        let answer = Answer::Native(native.id.into());
        let Some(met) = meets(w, request, &call, answer).await? else { continue };
        if let Err(error) = &met.result {
            search_error(
                &format!("the error of a create whose {} met {}", call.kind, native.id),
                error,
                needles,
            )?;
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

/// The places in a request where a secret word stands.
const PARTS: [&str; 4] = ["first", "inner", "last", "password"];

/// A word that stands nowhere else. Without the end that tells requests apart it is the start of each such word, and
/// so finds them all.
fn word(part: &str, end: &str) -> String {
    format!("swordfish-{part}-{end}")
}

/// A request whose payload and password are full of such words.
fn secretive(w: &mut World) -> CreateRequest {
    let mut request = w.request();
    let [first, inner, last, password] = PARTS.map(|part| word(part, request.uid.as_str()));
    let tail = format!("\n# {first}\nwrite_files:\n- {{path: /key, content: \"{inner}\"}}\n# \"{last}\"");
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
