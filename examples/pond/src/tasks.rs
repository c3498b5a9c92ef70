//! Tasks: what the API accepted goes on in one, and may fail in the end.
//! What failed is read back from the API, never kept in memory.

use provider_api::{CreateRequest, Error, FailureId, LeftBehind};

use crate::{error::classify, id::MachineId, mark, provider::Pond};

/// The status of the answer that a task began with.
const ACCEPTED: u16 = 202;

impl Pond {
    /// Says that the last making of ours failed after it was accepted, until the caller acknowledges that
    /// (`create.late-failure-reported-until-acknowledged`). Tasks come oldest first, so whatever was acknowledged is no
    /// newer than the last.
    pub(crate) async fn late_failure(&self, request: &CreateRequest, id: &MachineId) -> Result<(), Error> {
        let name = request.name.as_str();
        let mut tasks = self.backend.task_list(id.target(), name).await?;
        tasks.retain(|task| mark::ownership(name, &task.labels, &self.identity).ours().is_some());
        let Some(task) = tasks.pop() else { return Ok(()) };
        let (Some(failure), failed) = (task.error, FailureId::new(task.id)) else { return Ok(()) };
        if request.acknowledged_failure.as_ref() == Some(&failed) {
            return Ok(());
        }
        // Its text may quote what was sent, so only the code goes on (create.hides-secrets).
        let refusal = failure.refusal(ACCEPTED);
        let (_, class) = classify(&refusal);
        let text = format!("{} failed after it was accepted: {}", id.to_id(), refusal.code());
        let error = Error::new(class, text).coded(refusal.code()).for_failure(failed);
        Err(error.leaving(LeftBehind::Nothing))
    }
}
