//! `check`: whether the API server answers, and whether our identity may do what `create`, `get`, `delete` and
//! `list_by_tag` do, in the same scope. It stores nothing.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use provider_api::{CallError, Class, Deadline, Reason, TargetStatus, reasons};

use crate::{
    backend::Quota,
    error::{ApiError, classify},
    provider::Kubernetes,
};

/// The rights that the operations need.
const VERBS: [&str; 4] = ["create", "get", "list", "delete"];
/// How quotas count Pods.
const COUNTED: [&str; 2] = ["pods", "count/pods"];

/// What has been found so far; a check that runs into its deadline shows that much.
#[derive(Default)]
struct Found(Mutex<BTreeMap<String, String>>);

impl Found {
    fn put(&self, key: &str, value: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), value);
    }
}

impl Kubernetes {
    /// The one target, by the deadline.
    pub(crate) async fn check_server(&self, by: Deadline) -> TargetStatus {
        let clock = self.seam.clock();
        let started = clock.monotonic();
        let found = Found::default();
        // check.prompt-at-deadline
        let verdict = self.seam.bounded(by.remaining(clock), self.examine(&found)).await;
        let (ready, reason) = match verdict {
            Ok(Ok(())) => {
                (true, Reason::new(reasons::REACHABLE, "the API server answers and grants every right"))
            }
            Ok(Err(reason)) => (false, reason),
            Err(_) => (
                false,
                Reason::new(reasons::TIMEOUT, "the API server did not answer everything by the deadline"),
            ),
        };
        let mut status = TargetStatus::new("apiserver", self.backend.address(), ready, reason);
        status.latency = clock.monotonic().saturating_sub(started);
        status.details = found.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        status
    }

    async fn examine(&self, found: &Found) -> Result<(), Reason> {
        let version = self.backend.version(&self.seam).await.map_err(|error| reason(&error))?;
        found.put("serverVersion", version.git);
        let scopes: Vec<Option<&str>> = match self.config.namespaces.as_slice() {
            [] => vec![None],
            namespaces => namespaces.iter().map(|namespace| Some(namespace.as_str())).collect(),
        };
        let mut missing = Vec::new();
        for scope in &scopes {
            for verb in VERBS {
                let may = self.backend.may(&self.seam, verb, *scope).await.map_err(|error| reason(&error))?;
                if !may {
                    missing.push(format!("{verb} pods {}", place(*scope)));
                }
            }
        }
        // check.missing-right-named
        found.put("rights", if missing.is_empty() { "complete".into() } else { "incomplete".into() });
        self.quota_headroom(&scopes, found).await;
        if missing.is_empty() {
            return Ok(());
        }
        let text = format!("our identity lacks the right to {}; grant it by RBAC", missing.join(", "));
        Err(Reason::new(reasons::FORBIDDEN, text))
    }

    /// How many more Pods the tightest quota lets in. Reading quotas is a right of its own, and nothing depends on it.
    async fn quota_headroom(&self, scopes: &[Option<&str>], found: &Found) {
        let mut tightest: Option<(i64, String)> = None;
        for scope in scopes {
            let quotas = match self.backend.quotas(&self.seam, *scope).await {
                Ok(quotas) => quotas,
                Err(error) => {
                    let verdict = classify(&error);
                    return found.put("quotaHeadroom", format!("unknown: {}", verdict.says));
                }
            };
            for (left, text) in quotas.iter().filter_map(headroom) {
                if tightest.as_ref().is_none_or(|(least, _)| left < *least) {
                    tightest = Some((left, text));
                }
            }
        }
        found.put("quotaHeadroom", tightest.map_or_else(|| "no quota counts Pods".into(), |(_, text)| text));
    }
}

/// What is left in a quota that counts Pods, and that in words.
fn headroom(quota: &Quota) -> Option<(i64, String)> {
    let number = |map: &BTreeMap<String, String>, key: &str| map.get(key)?.parse::<i64>().ok();
    let left = COUNTED.iter().filter_map(|key| {
        let hard = number(&quota.status.hard, key)?;
        Some((hard - number(&quota.status.used, key).unwrap_or(0), hard))
    });
    let (left, hard) = left.min()?;
    let meta = &quota.metadata;
    Some((left, format!("{left} of {hard} Pods left in quota {}/{}", meta.namespace, meta.name)))
}

fn place(scope: Option<&str>) -> String {
    scope.map_or_else(|| "in all namespaces".to_owned(), |namespace| format!("in namespace {namespace}"))
}

/// The reason of a target that could not be examined (`check.reasons-table`).
fn reason(error: &CallError<ApiError>) -> Reason {
    let verdict = classify(error);
    let code = match error {
        CallError::Overlong(_) => reasons::TIMEOUT,
        CallError::Backend(ApiError::Unreachable(_)) => reasons::UNREACHABLE,
        CallError::Backend(ApiError::Certificate(_)) => reasons::CERTIFICATE_INVALID,
        CallError::Backend(ApiError::Credentials(_)) => reasons::CREDENTIALS_UNAVAILABLE,
        CallError::Backend(ApiError::Unreadable(_)) => reasons::API_ERROR,
        CallError::Backend(ApiError::Refused(refusal)) => match (refusal.status, verdict.class) {
            (401, _) => reasons::UNAUTHORIZED,
            (403, Class::Permanent) => reasons::FORBIDDEN,
            _ => reasons::API_ERROR,
        },
    };
    Reason::new(code, verdict.says)
}
