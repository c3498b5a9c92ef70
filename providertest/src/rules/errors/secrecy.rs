//! What no error may show: user data, passwords, and the credentials that the provider itself holds.

use std::{error::Error as StdError, fs};

use provider_api::{Error, Shows};

use super::{
    acts::{Act, Outcome},
    table,
};
use crate::{
    broken,
    faults::Answer,
    rule::{Checked, Stop},
    world::World,
};

/// The shortest text that is looked for; shorter ones stand in innocent words.
const SHORTEST: usize = 8;

pub(super) async fn hides_secrets(w: &mut World) -> Checked {
    w.hand().quote_payloads(true).await?;
    let catalogue = w.setup().catalogue;
    let mut seen = 0;
    for act in Act::all(w).into_iter().filter(|act| !matches!(act, Act::Check | Act::Watch)) {
        for (kind, known_as) in act.kinds(w).await? {
            for native in catalogue.on(&known_as).filter(|native| native.shows == Shows::Answer) {
                let plan = table::plan(act, &kind, Answer::Native(native.id.to_owned()), true);
                let prepared = act.prepare(w).await?;
                let first = w.next_operation();
                w.arm(plan.faults.into_iter().map(|mut fault| {
                    fault.at.operation += first;
                    fault
                }));
                let outcome = act.perform(w, &prepared).await?;
                w.wire().disarm();
                let Outcome::Failed(error) = outcome else { continue };
                seen += 1;
                let mut secrets = credentials(w)?;
                secrets.extend(request_secrets(&prepared.request));
                look(act, native.id, &error, &secrets)?;
            }
        }
    }
    w.hand().quote_payloads(false).await?;
    if seen == 0 { Err(Stop::Error("no error was provoked".into())) } else { Ok(()) }
}

/// A secret, and what it is.
type Named = (&'static str, String);

fn look(act: Act, native: &str, error: &Error, secrets: &[Named]) -> Checked {
    let mut texts = vec![format!("{error:?}")];
    let mut link: Option<&dyn StdError> = Some(error);
    while let Some(cause) = link {
        texts.push(cause.to_string());
        link = cause.source();
    }
    for (what, secret) in secrets {
        if texts.iter().any(|text| text.contains(secret.as_str())) {
            broken!("the error of {act} after {native} shows {what}")
        }
    }
    Ok(())
}

fn request_secrets(request: &provider_api::CreateRequest) -> Vec<Named> {
    let text = String::from_utf8_lossy(request.cloud_init.reveal()).into_owned();
    // A first line such as `#cloud-config` tells nothing.
    let lines = text.lines().map(str::trim).filter(|line| line.len() >= SHORTEST && !line.starts_with('#'));
    let mut secrets: Vec<_> = lines.map(|line| ("a line of the user data", line.to_owned())).collect();
    let password =
        request.access.credentials.as_ref().and_then(|credentials| credentials.password.reveal_str());
    secrets.extend(password.map(|password| ("the proxy's password", password.to_owned())));
    secrets
}

/// What stands in the case's credential files, where it is one line: a token, a password.
fn credentials(w: &World) -> Checked<Vec<Named>> {
    let entries = fs::read_dir(w.case().folder.path()?);
    let entries =
        entries.map_err(|error| Stop::Error(format!("the case's folder cannot be read: {error}")))?;
    let files = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let lines = texts.map(|text| text.trim().to_owned());
    let lines = lines.filter(|text| text.len() >= SHORTEST && !text.contains('\n'));
    Ok(lines.map(|line| ("the provider's own credentials", line)).collect())
}
