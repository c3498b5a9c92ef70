//! Tasks: what an accepted call began and the clock brings to its end.

use provider_api::profile::AsyncOp;

use super::{
    CloudError, Outcome, Task, native,
    store::{Record, Store, TaskRecord},
};

impl Store {
    /// Begins the task that makes an instance; the clock decides when it is over, and whoever asked for it, that it
    /// fails.
    pub(crate) fn begin_task(&mut self, record: &Record) -> Option<u64> {
        if !self.profile.async_ops.contains(&AsyncOp::TaskHandle) {
            return None;
        }
        let id = self.count();
        let fails = self.next_fails.take().map(|id| native(&id, &self.profile, &record.name));
        self.tasks.push(TaskRecord {
            id,
            zone: record.zone.clone(),
            name: record.name.clone(),
            marks: record.marks.clone(),
            incarnation: record.incarnation,
            due: record.made_at,
            over: false,
            fails,
        });
        Some(id)
    }

    pub(crate) fn task(&self, zone: &str, id: u64) -> Option<Task> {
        self.tasks.iter().find(|task| task.zone == zone && task.id == id).map(shown)
    }

    pub(crate) fn tasks_of(&self, zone: &str, name: &str) -> Vec<Task> {
        self.tasks.iter().filter(|task| task.zone == zone && task.name == name).map(shown).collect()
    }

    /// A task that has failed already, for a plan that has a call accepted in vain.
    pub(crate) fn fail_at_once(&mut self, zone: &str, name: &str, marks: &Marks, error: CloudError) -> u64 {
        let id = self.count();
        self.tasks.push(TaskRecord {
            id,
            zone: zone.to_owned(),
            name: name.to_owned(),
            marks: marks.clone(),
            incarnation: 0,
            due: self.now,
            over: true,
            fails: Some(error),
        });
        id
    }
}

type Marks = std::collections::BTreeMap<String, String>;

fn shown(task: &TaskRecord) -> Task {
    let outcome = match (&task.fails, task.over) {
        (_, false) => Outcome::Running,
        (None, true) => Outcome::Done,
        (Some(error), true) => Outcome::Failed(error.clone()),
    };
    Task { id: task.id, marks: task.marks.clone(), outcome }
}
