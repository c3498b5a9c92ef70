//! Tasks: what an accepted call began and the clock brings to its end.

use std::time::Duration;

use super::{Marks, Record, Refusal, Store};

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id; later tasks have higher ones.
    pub id: u64,
    /// What it does, as the fake calls it; `make` for those that a store begins by itself.
    pub kind: &'static str,
    /// Where it runs.
    pub place: String,
    /// The name of the instance that it is about.
    pub name: String,
    /// The marks of what it makes.
    pub marks: Marks,
    /// The life that it is about; 0 for one that never began.
    pub incarnation: u64,
    /// When it is over.
    pub due: Duration,
    /// How it fails, if it does.
    pub failure: Option<Failure>,
}

/// A failure that shows in a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The id of a catalogued error.
    pub id: String,
    /// Its text, where it is not the catalogue's: it quotes what was sent.
    pub text: Option<String>,
}

/// How a task goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'t> {
    /// It is at work.
    Running,
    /// It is done.
    Done,
    /// It failed; what a task of kind `make` had begun is gone.
    Failed(&'t Failure),
}

/// The kind of the tasks that make instances.
pub(super) const MAKE: &str = "make";

impl<I, P> Store<I, P> {
    /// Begins a task of the fake's own about an instance, which is over at `due`.
    pub fn begin_task(&mut self, kind: &'static str, record: &Record<I>, due: Duration) -> u64 {
        let id = self.count();
        self.tasks.push(Task {
            id,
            kind,
            place: record.place.clone(),
            name: record.name.clone(),
            marks: record.marks.clone(),
            incarnation: record.incarnation,
            due,
            failure: None,
        });
        id
    }

    /// Begins the task that makes an instance, where making one is a task.
    pub(super) fn begin_making(&mut self, record: &Record<I>) -> Option<u64> {
        if !self.ways.tasks {
            return None;
        }
        let id = self.begin_task(MAKE, record, record.made_at);
        let failure = self.next_fails.take().map(|id| Failure { id, text: None });
        if let Some(task) = self.tasks.last_mut() {
            task.failure = failure;
        }
        Some(id)
    }

    /// A task that has failed already, for a plan that has a call accepted in vain: `Fake::native` answers so to an
    /// error that shows in a task.
    pub fn fail_at_once(&mut self, place: &str, name: &str, marks: &Marks, failure: Failure) -> u64 {
        let (id, due) = (self.count(), self.now);
        self.tasks.push(Task {
            id,
            kind: MAKE,
            place: place.to_owned(),
            name: name.to_owned(),
            marks: marks.clone(),
            incarnation: 0,
            due,
            failure: Some(failure),
        });
        id
    }

    /// A task.
    ///
    /// # Errors
    /// TaskNotFound where there is none.
    pub fn task(&self, id: u64) -> Result<&Task, Refusal> {
        self.tasks.iter().find(|task| task.id == id).ok_or(Refusal::TaskNotFound)
    }

    /// The tasks about instances of that name, oldest first.
    pub fn tasks_of(&self, name: &str) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(move |task| task.name == name)
    }

    /// How a task goes.
    pub fn outcome<'t>(&self, task: &'t Task) -> Outcome<'t> {
        match &task.failure {
            _ if self.now < task.due => Outcome::Running,
            None => Outcome::Done,
            Some(failure) => Outcome::Failed(failure),
        }
    }
}
