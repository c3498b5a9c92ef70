//! What a check says is wrong.

use std::time::Duration;

use futures::FutureExt;
use provider_api::{Profile, TargetStatus, profile::CredentialsFrom, reasons};

use super::{check, check_within, checked, no_check, told};
use crate::{
    broken, hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, when},
    wire::Condition,
    world::World,
};

pub(super) const REASONS_TABLE: Rule = Rule {
    id: "check.reasons-table",
    level: Level::Must,
    says: "Each thing that can be wrong with a target shows under its own reason, with a sentence to act on.",
    caller: Caller::Operator,
    applies: checked,
    check: Check::Case(|w| reasons_table(w).boxed()),
    absent: Some(Absence { check: |w| no_check(w).boxed(), shows: "the provider has no check" }),
    why: "An admin acts on the reason: renew a key, open a firewall, make a pool. APIError for a refused key \
          sends them to the wrong place, and a shared code with a meaning of its own misleads whoever \
          watches several providers.",
    tested: "On a fake, targets are cut off (Unreachable) and hang (Timeout); then each fault that the \
             harness has is provoked. The check must give that code, not ready, with a sentence, and be \
             Reachable everywhere once it is mended. Where no check is declared, the provider must have \
             none.",
    mend: "Derive the `Reason` in one function from what `classify` made of the error, with the codes of \
           `provider_api::reasons`. Use a code of your own only where an admin would act differently, and \
           let the sentence say what to do.",
};

async fn reasons_table(w: &mut World) -> Checked {
    let faults = w.hand().check_faults();
    if faults.is_empty() {
        w.only_on_a_fake("provoke check reasons")?;
    }
    if w.is_fake() {
        let targets = w.backend().targets();
        for (condition, due) in [(Condition::Cut, reasons::UNREACHABLE), (Condition::Hangs, reasons::TIMEOUT)]
        {
            targets.iter().for_each(|target| w.wire().set_condition(target, Some(condition)));
            let now = check_within(w, Duration::from_secs(5)).await?;
            targets.iter().for_each(|target| w.wire().set_condition(target, None));
            says(&now, due, true)?;
        }
        mended(w).await?;
    }
    for due in faults {
        w.note(format!("check fault {due}"));
        w.hand().set_check_fault(Some(due)).await?;
        let now = check(w).await?;
        w.hand().set_check_fault(None).await?;
        says(&now, due, false)?;
        mended(w).await?;
    }
    Ok(())
}

/// Holds that a reason is given, by one entry or by all.
fn says(targets: &[TargetStatus], due: &str, by_all: bool) -> Checked {
    let given = |target: &&TargetStatus| !target.ready && target.reason.code == due;
    let count = targets.iter().filter(given).count();
    let enough = if by_all { count == targets.len() } else { count > 0 };
    hold!(enough, "the reason {due} was provoked, but the check says: {}", told(targets));
    for target in targets.iter().filter(given) {
        hold!(
            !target.reason.message.trim().is_empty(),
            "{} gives the reason {due} without a sentence",
            target.name
        );
    }
    Ok(())
}

async fn mended(w: &World) -> Checked {
    let now = check(w).await?;
    hold!(
        now.iter().all(|target| target.ready && target.reason.code == reasons::REACHABLE),
        "all is mended, but the check says: {}",
        told(&now)
    );
    Ok(())
}

pub(super) const MISSING_RIGHT_NAMED: Rule = Rule {
    id: "check.missing-right-named",
    level: Level::Should,
    says: "A right that the provider needs and lacks makes the check say Forbidden and name that right.",
    caller: Caller::Operator,
    applies: has_credentials,
    check: Check::Case(|w| missing_right(w).boxed()),
    absent: Some(Absence {
        check: |w| nothing_to_miss(w).boxed(),
        shows: "the provider has no check, or no right that it could lack",
    }),
    why: "A token has fewer rights than its user, and every call is a bare 403. The admin is administrator \
          and sees nothing missing; the right's name would have told.",
    tested: "Takes away each right that the harness names: the check must say Forbidden and name it in the \
             sentence or the details, and be ready once it is back. Where no credentials are needed, the \
             harness must have no right to take and all be ready; where no check is declared, the provider \
             must have none.",
    mend: "Check with the credentials and in the scope of create and list, ask the backend which rights they \
           have there (an access review, a test of permissions), and name every missing one in the message, \
           with where to grant it.",
};

fn has_credentials(profile: &Profile) -> Applies {
    let has = checked(profile) == Applies::Yes && profile.credentials != CredentialsFrom::None;
    when(has)
}

async fn missing_right(w: &mut World) -> Checked {
    let rights = w.hand().rights();
    if rights.is_empty() {
        return Err(Stop::Blocked("the harness cannot take rights away".into()));
    }
    for right in rights {
        w.note(format!("the right {right} is taken away"));
        w.hand().revoke(Some(right)).await?;
        let now = check(w).await?;
        w.hand().revoke(None).await?;
        let Some(entry) = now.iter().find(|entry| !entry.ready && entry.reason.code == reasons::FORBIDDEN)
        else {
            broken!("the right {right} is missing, but the check says: {}", told(&now))
        };
        let named = entry.reason.message.contains(right) || entry.details.values().any(|v| v.contains(right));
        hold!(named, "the right {right} is missing; the check does not name it: {}", told(&now));
        let now = check(w).await?;
        hold!(now.iter().all(|entry| entry.ready), "the right is back, but the check says: {}", told(&now));
    }
    Ok(())
}

/// Without credentials no right can be missing: the harness has none to take.
async fn nothing_to_miss(w: &mut World) -> Checked {
    if checked(w.profile()) == Applies::Absent {
        return no_check(w).await;
    }
    let rights = w.hand().rights();
    hold!(
        rights.is_empty(),
        "the profile says that no credentials are needed, but these rights are: {rights:?}"
    );
    let now = check(w).await?;
    hold!(now.iter().all(|entry| entry.ready), "nothing is wrong, but the check says: {}", told(&now));
    Ok(())
}
