//! The check: asks for a list of one, and answers by the deadline whatever the API does. The API tells nobody which rights
//! a token has, and a check changes nothing, so want of `servers.write` shows when something is made or deleted.

use async_trait::async_trait;
use provider_api::{Checker, Deadline, Reason, TargetStatus, reasons};

use crate::{
    config::TARGET,
    error::{Meaning, Refused},
    provider::Harbour,
};

#[async_trait]
impl Checker for Harbour {
    async fn check(&self, by: Deadline) -> Vec<TargetStatus> {
        vec![self.check_target(TARGET, by).await]
    }
}

impl Harbour {
    async fn check_target(&self, target: &str, by: Deadline) -> TargetStatus {
        let clock = self.seam.clock();
        let began = clock.monotonic();
        let budget = by.remaining(clock).min(self.budgets.call);
        let answer = if budget.is_zero() {
            Err(Reason::new(reasons::TIMEOUT, "there was no time to ask"))
        } else {
            self.backend.about(target, budget).await.map_err(|refused| reason(&refused))
        };
        let verdict = match &answer {
            Ok(page) => Reason::new(reasons::REACHABLE, format!("{} servers", page.meta.total)),
            Err(reason) => reason.clone(),
        };
        let ready = verdict.code == reasons::REACHABLE;
        let mut status = TargetStatus::new(target, self.backend.address(target), ready, verdict);
        status.latency = clock.monotonic().saturating_sub(began);
        if let Ok(page) = answer {
            status.details.insert("servers".to_owned(), page.meta.total.to_string());
        }
        status
    }
}

/// The reason of a target that could not be asked (`check.reasons-table`).
fn reason(refused: &Refused) -> Reason {
    let code = match refused.meaning {
        Meaning::Overlong => reasons::TIMEOUT,
        Meaning::Unreachable => reasons::UNREACHABLE,
        Meaning::Certificate => reasons::CERTIFICATE_INVALID,
        Meaning::Unauthorized => reasons::UNAUTHORIZED,
        Meaning::Forbidden => reasons::FORBIDDEN,
        Meaning::Credentials => reasons::CREDENTIALS_UNAVAILABLE,
        _ => reasons::API_ERROR,
    };
    // check.missing-right-named
    let lacks = if refused.meaning == Meaning::Forbidden { "the token lacks servers.read: " } else { "" };
    Reason::new(code, format!("{lacks}{}", refused.error.message()))
}
