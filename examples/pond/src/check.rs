//! The check: asks every target about itself, all at once, and answers by the deadline whatever they do.

use async_trait::async_trait;
use futures::future::join_all;
use provider_api::{Checker, Deadline, Reason, TargetStatus, reasons};

use crate::{
    error::{Meaning, Refused},
    provider::Pond,
};

#[async_trait]
impl Checker for Pond {
    async fn check(&self, by: Deadline) -> Vec<TargetStatus> {
        join_all(self.config.targets.iter().map(|target| self.check_target(&target.name, by))).await
    }
}

impl Pond {
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
            Ok(()) => Reason::new(reasons::REACHABLE, "it lists its machines"),
            Err(reason) => reason.clone(),
        };
        let ready = verdict.code == reasons::REACHABLE;
        let mut status = TargetStatus::new(target, self.backend.address(target), ready, verdict);
        status.latency = clock.monotonic().saturating_sub(began);
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
    Reason::new(code, refused.error.message().to_owned())
}
