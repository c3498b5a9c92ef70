//! What a check leaves alone: the backend, operations in flight, and what must not be shown.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use provider_api::{Credentials, Deadline, Secret, TargetStatus, profile::CredentialsFrom};

use super::{check, check_within, checked, no_check, told};
use crate::{
    broken, capture,
    drive::Ended,
    hold,
    rule::{Absence, Caller, Check, Checked, Level, Rule, Stop},
    rules::secrets::{Needle, search, search_logs},
    wire::Condition,
    world::World,
};

pub(super) const DOES_NOT_DISTURB: Rule = Rule {
    id: "check.does-not-disturb",
    level: Level::Must,
    says: "Operations in flight come to the same end with a check beside them, also one that runs out of time.",
    caller: Caller::Reconciler,
    applies: checked,
    check: Check::Case(|w| does_not_disturb(w).boxed()),
    absent: Some(Absence { check: |w| no_check(w).boxed(), shows: "the provider has no check" }),
    why: "A check of a slow host runs out of time and drops the connection that a create is using. The \
          create fails half-way, and only where somebody is watching.",
    tested: "With slow answers, two checks run beside a create, a get and a list: once in ample time, once \
             cut off in their first call. The operations must succeed with true answers, and the new \
             instance must run, once. Where no check is declared, the provider must have none.",
    mend: "Let an overlong or dropped check end its own calls: cancel the request, never a connection that \
           others use. Take no `Gate::name` and no `Gate::target` for it, and reset nothing to see whether \
           it comes back.",
};

async fn does_not_disturb(w: &mut World) -> Checked {
    w.only_on_a_fake("answer slowly")?;
    let (old, old_id, _) = w.running().await?;
    // The one in ample time, the other cut off in its first call.
    for within in [Duration::from_secs(60), Duration::from_millis(300)] {
        w.wait_a_while().await;
        let request = w.request();
        w.wire().set_latency(Duration::from_secs(1));
        let checker = w.built().checker.clone();
        let checker = checker.ok_or_else(|| Stop::Broken("the provider has no check".into()))?;
        let by = Deadline::within(&*w.case().clock, within);
        let (creates, gets) = (Arc::clone(w.provider()), Arc::clone(w.provider()));
        let lists = Arc::clone(w.provider());
        let (made, asked) = (request.clone(), old_id.clone());
        let check = || {
            let checker = Arc::clone(&checker);
            async move {
                checker.check(by).await;
                Ok(String::new())
            }
            .boxed()
        };
        let operations = vec![
            check(),
            async move { creates.create(&made).await.map(|id| id.to_string()).map_err(|e| e.to_string()) }
                .boxed(),
            async move { gets.get(&asked).await.map(|i| i.name.to_string()).map_err(|e| e.to_string()) }
                .boxed(),
            async move {
                let listing = lists.list_by_tag().await.map_err(|error| error.to_string())?;
                let names: Vec<_> = listing.items.iter().map(|listed| listed.name.to_string()).collect();
                Ok(names.join(" "))
            }
            .boxed(),
            check(),
        ];
        let ended = w.together(operations).await?;
        w.wire().set_latency(Duration::ZERO);
        let beside = format!("beside checks with {within:?} to their deadline");
        let mut answers = Vec::new();
        for (what, ended) in ["check", "create", "get", "list", "check"].into_iter().zip(ended) {
            match ended {
                Ended::Done(Ok(answer)) => answers.push(answer),
                Ended::Done(Err(error)) => broken!("{beside}, {what} failed: {error}"),
                other => return Err(Stop::Error(format!("{beside}, {what} ended as {other:?}"))),
            }
        }
        hold!(answers[2] == old.name.as_str(), "{beside}, get {old_id} answered for {}", answers[2]);
        hold!(answers[3].contains(old.name.as_str()), "{beside}, list lacks {}: {}", old.name, answers[3]);
        let again = w.creates(&request).await?;
        hold!(
            again.as_str() == answers[1],
            "{beside}, create answered {}; later it answered {again}",
            answers[1]
        );
        w.runs(&request.name, &again).await?;
        w.instance(&request.name).await?;
    }
    Ok(())
}

pub(super) const READ_ONLY_AND_CHEAP: Rule = Rule {
    id: "check.read-only-and-cheap",
    level: Level::Must,
    says: "A check changes nothing, and makes no more calls for each target than the profile says.",
    caller: Caller::HealthMonitor,
    applies: checked,
    check: Check::Case(|w| read_only_and_cheap(w).boxed()),
    absent: Some(Absence { check: |w| no_check(w).boxed(), shows: "the provider has no check" }),
    why: "Checks run all day on every target. One that tries a create out leaves rubbish and a bill; one \
          that lists everything uses up the rate limit that creates need.",
    tested: "A check may change nothing that the observer sees, make no changing call, at most the profile's \
             number of calls for each target, and must make one. On a fake it may change nothing either \
             while targets are cut off or hang. Where no check is declared, the provider must have none.",
    mend: "Ask each target what it is and what you may do there, by one or two kinds built with \
           `CallKind::read`, and take the details from the same answers. Try nothing out and repair nothing; \
           where one call more is due, raise `CallBudget::check`.",
};

async fn read_only_and_cheap(w: &mut World) -> Checked {
    let each = u64::from(w.profile().call_budget.check);
    w.running().await?;
    // Connections are made by now.
    check(w).await?;
    w.wait_a_while().await;
    let before = w.snapshot().await?;
    let moment = w.moment();
    let targets = check(w).await?;
    let (cost, budget) = (w.cost(moment), each * targets.len() as u64);
    w.untouched(moment, &before, "a check").await?;
    hold!(cost > 0, "a check asked nobody, and says: {}", told(&targets));
    hold!(
        cost <= budget,
        "a check of {} targets made {cost} backend calls; the profile says {each} at most for each",
        targets.len()
    );
    if w.is_fake() {
        // Nor does it repair what it finds.
        for condition in [Condition::Cut, Condition::Hangs] {
            let targets = w.backend().targets();
            let moment = w.moment();
            targets.iter().for_each(|target| w.wire().set_condition(target, Some(condition)));
            check_within(w, Duration::from_secs(5)).await?;
            targets.iter().for_each(|target| w.wire().set_condition(target, None));
            w.untouched(moment, &before, &format!("a check while every target {condition}")).await?;
        }
    }
    Ok(())
}

pub(super) const HIDES_SECRETS: Rule = Rule {
    id: "check.hides-secrets",
    level: Level::Must,
    says: "No entry of a check and no line logged by one has a credential, a key, a password or a payload in it.",
    caller: Caller::Operator,
    applies: checked,
    check: Check::Decorated(|w| hides_secrets(w).boxed()),
    absent: Some(Absence { check: |w| no_check(w).boxed(), shows: "the provider has no check" }),
    why: "Check entries stand in a status that many may read. A client that prints its URL with the token in \
          it, or a file that could not be parsed, gives the provider's own key away.",
    tested: "Decorated, checks run with all well, with spoilt credentials, under each fault of the harness, \
             and on a fake with targets cut off or hanging. No entry and no line logged may hold a \
             credential, the password or a line of the user data. Where no check is declared, the provider \
             must have none.",
    mend: "Read credentials with `CredentialFile`, `hide` them in the `Scrubber` of the seam that the check \
           calls through (`Seam::hiding`), and take reasons from codes, not from what a backend or parser \
           quotes. Log nothing of a request, and keep none of a create for later.",
};

async fn hides_secrets(w: &mut World) -> Checked {
    let own = w.backend().secrets().into_iter();
    let mut secrets: Vec<_> = own.map(|secret| ("the provider's own credentials", secret)).collect();
    if secrets.is_empty() && w.profile().credentials != CredentialsFrom::None && w.is_fake() {
        return Err(Stop::Error(
            "the profile says where credentials come from, but the harness does not say what must be hidden"
                .into(),
        ));
    }
    let mut request = w.request();
    if let Some(Credentials { password, .. }) = &request.access.credentials {
        secrets.push(("the proxy's password", password.clone()));
    } else {
        let password = Secret::new(format!("pass-{}-word", w.case().tag));
        secrets.push(("the proxy's password", password.clone()));
        request.access.credentials = Some(Credentials { username: "somebody".into(), password });
    }
    secrets.push(("the user data", request.cloud_init.clone()));
    w.creates(&request).await?;

    capture::start();
    let said = everything_checked(w).await;
    let captured = capture::take();
    let entries = said?;
    if captured.events.is_empty() {
        return Err(Stop::Error("checks were made, but nothing was captured of what they log".into()));
    }
    let needles: Vec<_> = secrets.iter().flat_map(|(what, secret)| needles(what, secret)).collect();
    search_logs(&captured, &needles)?;
    for entry in &entries {
        let details = entry.details.iter().flat_map(|(key, value)| [key, value]);
        let texts = [&entry.name, &entry.address, &entry.reason.message].into_iter().chain(details);
        for text in texts.map(String::as_str).chain([&*entry.reason.code]) {
            search(&format!("the check's entry for {}", entry.name), text, &needles)?;
        }
    }
    Ok(())
}

/// Checks in every condition that can be had; all entries together.
async fn everything_checked(w: &World) -> Checked<Vec<TargetStatus>> {
    let mut entries = check(w).await?;
    // Powers that a harness lacks leave the others to be judged.
    let _ = w.hand().quote_payloads(true).await;
    if w.hand().spoil_credentials(true).await.is_ok() {
        entries.extend(check(w).await?);
        w.hand().spoil_credentials(false).await?;
    }
    for fault in w.hand().check_faults() {
        w.hand().set_check_fault(Some(fault)).await?;
        entries.extend(check(w).await?);
        w.hand().set_check_fault(None).await?;
    }
    if w.is_fake() {
        for condition in [Condition::Cut, Condition::Hangs] {
            let targets = w.backend().targets();
            targets.iter().for_each(|target| w.wire().set_condition(target, Some(condition)));
            entries.extend(check_within(w, Duration::from_secs(5)).await?);
            targets.iter().for_each(|target| w.wire().set_condition(target, None));
        }
    }
    Ok(entries)
}

/// A secret as it may be quoted: whole, and each line that is long enough to be told from chance.
fn needles(what: &str, secret: &Secret) -> Vec<Needle> {
    let text = String::from_utf8_lossy(secret.reveal()).into_owned();
    let lines = text.lines().map(str::trim).filter(|line| line.len() >= 8);
    let mut needles: Vec<_> =
        lines.map(|line| Needle::new(format!("{what}, or a line of that"), line)).collect();
    if text.len() >= 8 {
        needles.push(Needle::new(what, &text));
    }
    needles
}
