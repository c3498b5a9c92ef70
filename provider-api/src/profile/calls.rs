//! The backend calls of a provider, what they may cost, and what its backend's states mean.

use std::{fmt, time::Duration};

use serde::Serialize;

use crate::{Class, FailureClass, Operation, StateKind};

/// One kind of backend call that the provider makes: what the seam is told of it, and what plans and reports call it.
///
/// ```
/// use std::time::Duration;
/// use provider_api::CallKind;
/// const INSERT: CallKind = CallKind::upload("insert").within(Duration::from_secs(120));
/// assert!(INSERT.mutates && INSERT.payload);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct CallKind {
    /// Its name, once in a profile; spans are called `<type>.<name>`.
    pub name: &'static str,
    /// Whether it changes something on the backend; `get` and listings make no such call (`get.read-only`,
    /// `list.read-only`).
    pub mutates: bool,
    /// Whether it carries a payload that must not be shown; of its errors only code and reason survive
    /// (`create.hides-secrets`).
    pub payload: bool,
    /// A budget of its own, where [`Budgets::call`] does not fit: a dial, an upload, a download.
    pub budget: Option<Duration>,
}

impl CallKind {
    /// A call that reads, and changes nothing.
    pub const fn read(name: &'static str) -> Self {
        Self { name, mutates: false, payload: false, budget: None }
    }

    /// A call that changes something.
    pub const fn write(name: &'static str) -> Self {
        Self { mutates: true, ..Self::read(name) }
    }

    /// A call that changes something and carries cloud-init, keys or passwords.
    pub const fn upload(name: &'static str) -> Self {
        Self { payload: true, ..Self::write(name) }
    }

    /// The same kind with a budget of its own (`create.budget-per-call`).
    #[must_use]
    pub const fn within(self, budget: Duration) -> Self {
        Self { budget: Some(budget), ..self }
    }
}

/// One row of the native-state table: a state that an instance can be in, and what `get` makes of it.
///
/// Profile and `get` read the same rows (`get.native-state-table`). What the table does not have is Stopped, with its name
/// as the reason (`get.unknown-state-is-stopped`). A deletion in progress is no row: it is looked for before the state.
///
/// ```
/// use provider_api::{FailureClass, NativeState, StateKind};
/// const TABLE: &[NativeState] = &[
///     NativeState::new("booting", StateKind::Provisioning),
///     NativeState::new("up", StateKind::Running),
///     // A lock that passes by itself: `delete` waits for it, and may give up for now.
///     NativeState::reasoned("cloning", StateKind::Provisioning),
///     // A lock under which it goes on running.
///     NativeState::new("backup", StateKind::Running).locked(),
///     NativeState::reasoned("halted", StateKind::Stopped).started(),
///     NativeState::reasoned("broken", StateKind::Terminated),
///     NativeState::fails("migrating", FailureClass::Transient),
/// ];
/// assert_eq!(TABLE[4].state(), Some(StateKind::Stopped));
/// assert_eq!(TABLE[6].state(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct NativeState {
    /// The backend's state, with its reason where that decides, as the harness can set it
    /// (`Hand::set_native_state` of the kit).
    pub native: &'static str,
    /// What `get` answers when the backend shows an address.
    pub shown: Shown,
    /// Whether the answer carries a reason (`get.reasons-reach-the-caller`).
    pub reasoned: bool,
    /// Whether `create` brings an own instance that it finds so to running (`create.adopts-own-partial`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub started: bool,
    /// Whether somebody's work keeps others off the instance, so that `delete` may go on answering an error until it is
    /// over (`delete.every-native-state`), and `create` need not start it. A Provisioning with a reason counts so too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub locked: bool,
}

impl NativeState {
    /// A native state that is reported as `state`.
    pub const fn new(native: &'static str, state: StateKind) -> Self {
        Self { native, shown: Shown::State(state), reasoned: false, started: false, locked: false }
    }

    /// A native state that is reported as `state`, with the native state or better as the reason.
    pub const fn reasoned(native: &'static str, state: StateKind) -> Self {
        Self { native, shown: Shown::State(state), reasoned: true, started: false, locked: false }
    }

    /// A native state in which nothing can be said about the instance, and `get` fails so.
    pub const fn fails(native: &'static str, class: FailureClass) -> Self {
        Self { native, shown: Shown::Failure(class), reasoned: true, started: false, locked: false }
    }

    /// The same row, of a state from which `create` brings its own instance to running.
    #[must_use]
    pub const fn started(self) -> Self {
        Self { started: true, ..self }
    }

    /// The same row, of a state under a lock: a backup of what runs and goes on running.
    #[must_use]
    pub const fn locked(self) -> Self {
        Self { locked: true, ..self }
    }

    /// The state that `get` answers with, if it answers with one.
    pub const fn state(&self) -> Option<StateKind> {
        match self.shown {
            Shown::State(state) => Some(state),
            Shown::Failure(_) => None,
        }
    }
}

/// What `get` makes of a native state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// The instance in this state.
    State(StateKind),
    /// An error: a lock, say, under which the backend's own answer does not tell.
    Failure(FailureClass),
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(state) => write!(f, "{state:?}"),
            Self::Failure(class) => write!(f, "an error, {}", Class::from(*class)),
        }
    }
}

/// The most backend calls that an operation makes without faults, polls apart. The suite measures `get` and `check`
/// (`get.call-budget`, `check.read-only-and-cheap`); the others are for readers, who plan rate limits by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CallBudget {
    /// For a create from nothing.
    pub create: u32,
    /// For a get, of what stands and of what is gone.
    pub get: u32,
    /// For a delete of a running instance.
    pub delete: u32,
    /// For a listing, per target and page.
    pub list: u32,
    /// For a listing, more per instance listed: what has to be asked about each one by itself. Where it is not zero, one
    /// instance may be unreadable, or vanish meanwhile (`list.one-unreadable-is-reported`, `list.vanishing-during-list`).
    pub list_each: u32,
    /// For a check, per target.
    pub check: u32,
}

/// How long each operation may take altogether, and a call (contract 7). An entry's `budgets` take the place of the
/// profile's, see [`BudgetOverrides`](crate::config::BudgetOverrides). What takes longer is Transient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Budgets {
    /// A whole create.
    pub create: Duration,
    /// A whole get.
    pub get: Duration,
    /// A whole delete.
    pub delete: Duration,
    /// A whole listing, of instances or of leftovers.
    pub list: Duration,
    /// Making a connection, where that is a call of its own.
    pub connect: Duration,
    /// One backend call whose kind has no budget of its own.
    pub call: Duration,
}

impl Budgets {
    /// The budget of an operation; leftovers are budgeted like a listing, a check has its caller's deadline.
    pub fn of(&self, operation: Operation) -> Option<Duration> {
        match operation {
            Operation::Create => Some(self.create),
            Operation::Get => Some(self.get),
            Operation::Delete => Some(self.delete),
            Operation::List | Operation::Leftovers => Some(self.list),
            Operation::Check => None,
        }
    }

    /// The budget of one backend call.
    pub fn of_call(&self, kind: CallKind) -> Duration {
        kind.budget.unwrap_or(self.call)
    }
}

/// A wait inside an operation: something is polled until it holds, and at most this long.
///
/// Its pauses are [`Seam::pause`](crate::Seam::pause), its polls do not count in the [`CallBudget`], and it ends with the
/// operation's budget too.
///
/// ```
/// use std::time::Duration;
/// use provider_api::{BoundedWait, Error, Seam};
///
/// const UNLOCKED: BoundedWait =
///     BoundedWait { for_what: "unlocked", every: Duration::from_secs(2), at_most: Duration::from_secs(60) };
///
/// async fn until_unlocked(seam: &Seam, is_locked: impl AsyncFn() -> bool) -> Result<(), Error> {
///     let began = seam.clock().monotonic();
///     while is_locked().await {
///         if seam.clock().monotonic().saturating_sub(began) >= UNLOCKED.at_most {
///             return Err(Error::transient(format!("it is still not {}", UNLOCKED.for_what)).coded("Locked"));
///         }
///         seam.pause(UNLOCKED.every).await;
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct BoundedWait {
    /// What is waited for: `running`, `clone task`.
    pub for_what: &'static str,
    /// The pause between two looks; less than `at_most`.
    pub every: Duration,
    /// When the operation gives up, as Transient; no longer than the budget of create or of delete.
    pub at_most: Duration,
}
