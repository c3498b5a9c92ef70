//! Tasks: what an accepted call began and the clock brings to its end. Those that make instances the store begins by itself,
//! where the backend has tasks; others are the fake's own.

use std::time::Duration;

use super::{Marks, Record, Refusal, Store};

/// A task. It stays to be read after its end; how it goes, [`Store::outcome`] says.
///
/// ```
/// use std::time::Duration;
/// use providertest::fake::{store::{New, Outcome, Shared, Store, Ways}, trial::Trial};
///
/// let trial = Trial::new();
/// let ways = Ways { tasks: true, work: Duration::from_secs(4), ..Ways::default() };
/// let store: Shared<()> = Shared::new(Store::new(ways, ["north"]), trial.case().clock.clone());
/// let new = New { key: "a".into(), name: "a".into(), ..New::default() };
/// let made = store.open().make("north", new).unwrap();
/// let id = made.task.unwrap();
/// let ended = |store: &Store<()>| store.outcome(store.task(id).unwrap()) == Outcome::Done;
/// assert!(!ended(&store.open()));
/// trial.pass(Duration::from_secs(4));
/// assert!(ended(&store.open()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id; later tasks have higher ones.
    pub id: u64,
    /// What it does, as the fake calls it; `make` for those that a store begins by itself.
    pub kind: &'static str,
    /// The place that it runs in.
    pub place: String,
    /// The name of the instance that it is about.
    pub name: String,
    /// The marks of what it makes.
    pub marks: Marks,
    /// The life that it is about; 0 for one that never began.
    pub incarnation: u64,
    /// When it is over, on the case's clock.
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

/// How a task goes at one moment.
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
    /// Begins a task of the fake's own about an instance, which is over at `due` on the case's clock. What it does to the
    /// instance is the fake's to do.
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

    /// The task with that number, whether or not it is over.
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

    /// How a task goes at this moment.
    pub fn outcome<'t>(&self, task: &'t Task) -> Outcome<'t> {
        match &task.failure {
            _ if self.now < task.due => Outcome::Running,
            None => Outcome::Done,
            Some(failure) => Outcome::Failed(failure),
        }
    }
}
