//! What no error may show: user data, passwords, and the credentials that the provider itself holds.

use std::fs;

use provider_api::{CreateRequest, Shows};

use super::{
    acts::{Act, Outcome},
    table,
};
use crate::{
    faults::FaultPlan,
    rule::{Checked, Stop},
    rules::secrets::{Needle, search_error},
    world::World,
};

/// The shortest text that is looked for; shorter ones stand in innocent words.
const SHORTEST: usize = 8;

/// Every act, each kind of call answered with each error of the catalogue; of these one at least must make an act fail,
/// lest the rule hold because nothing was said.
pub(super) async fn plans(w: &mut World) -> Checked<Vec<FaultPlan>> {
    w.hand().quote_payloads(true).await?;
    let acts = Act::all(w).into_iter().filter(|act| !matches!(act, Act::Check | Act::Watch)).collect();
    let meetings = table::every_meeting(w, acts).await?;
    let plans: Vec<_> =
        meetings.iter().filter(|met| met.native.shows == Shows::Answer).map(table::Meeting::plan).collect();
    for plan in &plans {
        let (_, _, outcome) = table::run(w, plan).await?;
        w.wire().disarm();
        if matches!(outcome, Outcome::Failed(_)) {
            return Ok(plans);
        }
    }
    Err(Stop::Error("no error was provoked".into()))
}

/// Judges one plan.
pub(super) async fn hides_secrets(w: &mut World, plan: &FaultPlan) -> Checked {
    w.hand().quote_payloads(true).await?;
    let (act, prepared, outcome) = table::run(w, plan).await?;
    let Outcome::Failed(error) = outcome else { return Ok(()) };
    let mut needles = credentials(w)?;
    needles.extend(request_secrets(&prepared.request));
    let fault = plan.faults.first().map(ToString::to_string).unwrap_or_default();
    let kind = plan.faults.first().map_or("", |fault| fault.at.kind.as_str());
    search_error(&format!("the error of {act} (its call {kind} {fault})"), &error, &needles)
}

fn request_secrets(request: &CreateRequest) -> Vec<Needle> {
    let text = String::from_utf8_lossy(request.cloud_init.reveal()).into_owned();
    // A first line such as `#cloud-config` tells nothing.
    let lines = text.lines().map(str::trim).filter(|line| line.len() >= SHORTEST && !line.starts_with('#'));
    let mut secrets: Vec<_> = lines.map(|line| Needle::new("a line of the user data", line)).collect();
    let password =
        request.access.credentials.as_ref().and_then(|credentials| credentials.password.reveal_str());
    secrets.extend(password.map(|password| Needle::new("the proxy's password", password)));
    secrets
}

/// What stands in the case's credential files, where it is one line: a token, a password.
fn credentials(w: &World) -> Checked<Vec<Needle>> {
    let entries = fs::read_dir(w.case().folder.path()?);
    let entries =
        entries.map_err(|error| Stop::Error(format!("the case's folder cannot be read: {error}")))?;
    let files = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let lines = texts.map(|text| text.trim().to_owned());
    let lines = lines.filter(|text| text.len() >= SHORTEST && !text.contains('\n'));
    Ok(lines.map(|line| Needle::new("the provider's own credentials", &line)).collect())
}
