//! The check: asks every zone about itself, all at once, and answers by the deadline whatever they do.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::join_all;
use provider_api::{Checker, Deadline, Reason, TargetStatus, reasons};

use super::{
    cloud::About,
    config::Zone,
    error::{Meaning, Refused},
    profile,
    provider::MemoryProvider,
};

/// The ability to tell whether the zones can be used.
pub(super) struct Check(pub(super) Arc<MemoryProvider>);

#[async_trait]
impl Checker for Check {
    async fn check(&self, by: Deadline) -> Vec<TargetStatus> {
        join_all(self.0.config.zones.iter().map(|zone| self.0.check_zone(zone, by))).await
    }
}

impl MemoryProvider {
    async fn check_zone(&self, zone: &Zone, by: Deadline) -> TargetStatus {
        let clock = self.seam.clock();
        let began = clock.monotonic();
        let budget = by.remaining(clock).min(self.budgets.call);
        let answer = match budget {
            Duration::ZERO => Err((reasons::TIMEOUT, "there was no time to ask".to_owned())),
            budget => self.backend.about(&zone.name, budget).await.map_err(|refused| said(&refused)),
        };
        let reason = match &answer {
            Ok(about) => self.judged(about),
            Err((code, message)) => Reason::new(*code, message.clone()),
        };
        let ready = reason.code == reasons::REACHABLE;
        let mut status = TargetStatus::new(&zone.name, format!("memory://{}", zone.name), ready, reason);
        status.latency = clock.monotonic().saturating_sub(began);
        if let Ok(about) = answer {
            status.details.insert("version".to_owned(), about.version.to_owned());
            status.details.insert("instances".to_owned(), about.instances.to_string());
            let quota = about.quota.map_or_else(|| "unlimited".to_owned(), |quota| quota.to_string());
            status.details.insert("quota".to_owned(), quota);
        }
        status
    }

    /// Whether a zone that answers lets us do our work (`check.missing-right-named`).
    fn judged(&self, about: &About) -> Reason {
        let parts = profile::has_parts(&self.profile);
        let needed = ["instances.read", "instances.write"];
        let needed = needed.into_iter().chain(["parts.read", "parts.write"].into_iter().filter(|_| parts));
        let missing: Vec<_> = needed.filter(|right| !about.rights.contains(right)).collect();
        match missing.as_slice() {
            [] => Reason::new(reasons::REACHABLE, format!("version {}", about.version)),
            missing => {
                let text = format!("the credentials lack {}; grant it in the cloud", missing.join(", "));
                Reason::new(reasons::FORBIDDEN, text)
            }
        }
    }
}

fn said(refused: &Refused) -> (&'static str, String) {
    let code = match refused.meaning {
        Meaning::Overlong => reasons::TIMEOUT,
        Meaning::Reset => reasons::UNREACHABLE,
        Meaning::Unauthorized => reasons::UNAUTHORIZED,
        Meaning::Forbidden => reasons::FORBIDDEN,
        _ if refused.error.code() == Some(reasons::CREDENTIALS_UNAVAILABLE) => {
            reasons::CREDENTIALS_UNAVAILABLE
        }
        _ => reasons::API_ERROR,
    };
    (code, refused.error.message().to_owned())
}
