//! The check: asks every target about itself, all at once, and answers by the deadline whatever they do.
//!
//! TO ADAPT: [`RIGHTS`]. What a target says about itself is `view.rs`.

use async_trait::async_trait;
//@if not places
use futures::future::join_all;
//@end
use provider_api::{Checker, Deadline, Reason, TargetStatus, reasons};

use crate::{
    //@if places
    config::TARGET,
    //@end
    error::{Meaning, Refused},
    provider::Newcloud,
    view::About,
};

/// The rights that the operations need, as the backend names them.
const RIGHTS: &[&str] = &["newmachines.read", "newmachines.write"];

#[async_trait]
impl Checker for Newcloud {
    async fn check(&self, by: Deadline) -> Vec<TargetStatus> {
        //@if places
        vec![self.check_target(TARGET, by).await]
        //@else
        join_all(self.config.targets.iter().map(|target| self.check_target(&target.name, by))).await
        //@end
    }
}

impl Newcloud {
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
            Ok(about) => judged(about),
            Err(reason) => reason.clone(),
        };
        let ready = verdict.code == reasons::REACHABLE;
        let mut status = TargetStatus::new(target, self.backend.address(target), ready, verdict);
        status.latency = clock.monotonic().saturating_sub(began);
        if let Ok(about) = answer {
            status.details.extend(about.details());
        }
        status
    }
}

/// Whether a target that answers lets us do our work (`check.missing-right-named`).
fn judged(about: &About) -> Reason {
    let missing: Vec<_> =
        RIGHTS.iter().copied().filter(|right| !about.rights.iter().any(|has| has == right)).collect();
    if missing.is_empty() {
        return Reason::new(reasons::REACHABLE, format!("version {}", about.version));
    }
    let text = format!("the token lacks {}; grant it at the backend", missing.join(", "));
    Reason::new(reasons::FORBIDDEN, text)
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
