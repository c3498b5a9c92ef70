//! Late failures: what the cloud accepted and could not do is found on the cloud, never kept in memory
//! (`create.late-failure-reported-until-acknowledged`).

use provider_api::{CreateRequest, Error, FailureId, LeftBehind, Ownership, Profile};

use super::{
    backend::Backend,
    cloud::{CloudError, Outcome, Task},
    error, mark, profile,
    provider::MemoryProvider,
};

impl MemoryProvider {
    /// The newest task for this instance as an error, when it failed and the caller has not said that it knows.
    pub(super) async fn late_failure(
        &self,
        backend: &Backend,
        zone: &str,
        request: &CreateRequest,
    ) -> Result<Option<Error>, Error> {
        if !self.profile.late_failures {
            return Ok(None);
        }
        let name = request.name.as_str();
        let mut tasks = backend.tasks(zone, name).await?;
        tasks.retain(|task| {
            matches!(mark::owner_of(name, &task.marks, &self.identity), Ownership::Ours(_))
                && Some(task.id) > request.acknowledged_failure.as_ref().and_then(number)
        });
        let newest = tasks.into_iter().max_by_key(|task| task.id);
        Ok(newest.and_then(|task| match &task.outcome {
            Outcome::Failed(error) => Some(failure(&self.profile, &task, error)),
            Outcome::Running | Outcome::Done => None,
        }))
    }
}

/// The error that a failed task is. Only the code of the cloud's answer goes on: the call carried a payload.
pub(super) fn failure(profile: &Profile, task: &Task, error: &CloudError) -> Error {
    let (_, class) = error::classify(error);
    let left = if profile::has_parts(profile) { LeftBehind::Unknown } else { LeftBehind::Nothing };
    let failed = Error::new(class, "the cloud accepted it, and could not make it in the end")
        .coded(error.code.clone())
        .retry_after(error.retry_after)
        .leaving(left);
    if profile.late_failures { failed.for_failure(id(task.id)) } else { failed }
}

fn id(task: u64) -> FailureId {
    FailureId::new(format!("tasks/{task}"))
}

fn number(failure: &FailureId) -> Option<u64> {
    failure.as_str().strip_prefix("tasks/")?.parse().ok()
}
