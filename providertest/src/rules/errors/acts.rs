//! Everything that a provider can be asked to do, each thing with the state of the backend that it starts from, so
//! that between them they make every kind of call.

use std::{str::FromStr, sync::Arc, time::Duration};

use futures::{
    StreamExt,
    future::{Either, select},
};
use provider_api::{
    CreateRequest, Deleted, Error, GetError, Leftover, Operation, ProviderId, Shown, StateKind, Wait,
    profile::{SecondaryResources, WatchSupport},
};

use crate::{
    rule::{Checked, Stop},
    world::World,
};

/// Something to ask a provider for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A create from nothing.
    Create,
    /// A create of what runs already.
    CreateAgain,
    /// A create of what stands still.
    CreateStopped,
    /// A get of what runs.
    Get,
    /// A delete of what runs.
    Delete,
    /// A delete of what has lost its instance and kept its parts.
    DeleteParts,
    /// A listing.
    List,
    /// A listing of leftovers, of which there are some.
    Leftovers,
    /// A delete of one leftover.
    DeleteLeftover,
    /// A check.
    Check,
    /// The first hint of a stream.
    Watch,
}

/// What an act starts from.
pub(super) struct Prepared {
    pub(super) request: CreateRequest,
    /// There is none before a first create.
    pub(super) id: Option<ProviderId>,
    leftover: Option<Leftover>,
}

/// How an act ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Well.
    Done,
    /// With a part left out and named.
    Partly,
    /// With the proof that the instance is gone.
    Absent,
    /// With an error.
    Failed(Error),
}

impl Act {
    const ALL: [Self; 11] = [
        Self::Create,
        Self::CreateAgain,
        Self::CreateStopped,
        Self::Get,
        Self::Delete,
        Self::DeleteParts,
        Self::List,
        Self::Leftovers,
        Self::DeleteLeftover,
        Self::Check,
        Self::Watch,
    ];

    /// The acts that a provider of this profile can be asked for.
    pub(super) fn all(w: &World) -> Vec<Self> {
        let profile = w.profile();
        let has_parts = profile.secondary_resources != SecondaryResources::None;
        let has_leftovers = has_parts && w.built().leftovers.is_some();
        let fits = |act: &Self| match act {
            Self::DeleteParts => has_parts,
            Self::Leftovers | Self::DeleteLeftover => has_leftovers,
            Self::Check => w.built().checker.is_some(),
            Self::Watch => profile.watch == WatchSupport::Hints,
            Self::CreateStopped => stopped(w).is_some(),
            _ => true,
        };
        Self::ALL.into_iter().filter(fits).collect()
    }

    /// The operation that it is.
    pub(super) fn operation(self) -> Operation {
        match self {
            Self::Create | Self::CreateAgain | Self::CreateStopped => Operation::Create,
            Self::Get => Operation::Get,
            Self::Delete | Self::DeleteParts => Operation::Delete,
            Self::List => Operation::List,
            Self::Leftovers | Self::DeleteLeftover => Operation::Leftovers,
            Self::Check | Self::Watch => Operation::Check,
        }
    }

    /// The id or name that its errors are to carry, where there is one.
    pub(super) fn subject(self, prepared: &Prepared) -> Option<String> {
        match self {
            Self::Create | Self::CreateAgain | Self::CreateStopped => Some(prepared.request.name.to_string()),
            Self::Get | Self::Delete | Self::DeleteParts => prepared.id.as_ref().map(ToString::to_string),
            Self::DeleteLeftover => prepared.leftover.as_ref().map(|leftover| leftover.id.to_string()),
            Self::List | Self::Leftovers | Self::Check | Self::Watch => None,
        }
    }

    /// Brings the backend to where it starts.
    pub(super) async fn prepare(self, w: &mut World) -> Checked<Prepared> {
        if self == Self::Create {
            return Ok(Prepared { request: w.request(), id: None, leftover: None });
        }
        let (request, id, _) = w.running().await?;
        let mut prepared = Prepared { request, id: Some(id), leftover: None };
        let name = &prepared.request.name;
        match self {
            Self::CreateStopped => {
                let native = stopped(w).ok_or_else(|| Stop::Error("no native state is Stopped".into()))?;
                w.hand().set_native_state(name, native).await?;
            }
            Self::DeleteParts => w.hand().remove_instance_only(name).await?,
            Self::Leftovers | Self::DeleteLeftover => {
                w.hand().remove_instance_only(name).await?;
                // One that lives is looked at too.
                w.running().await?;
            }
            _ => {}
        }
        // No answer may come from a listing that was read before.
        w.pass(w.profile().listing_max_age + Duration::from_secs(1)).await;
        if self == Self::DeleteLeftover {
            let mut leftovers = w.leftovers().await?.items;
            leftovers.retain(|leftover| leftover.owner == prepared.request.name);
            prepared.leftover = leftovers.pop();
            if prepared.leftover.is_none() {
                return Err(Stop::Broken(
                    "an instance is gone, its parts are not, and no leftover is listed".into(),
                ));
            }
        }
        Ok(prepared)
    }

    /// Asks for it.
    pub(super) async fn perform(self, w: &World, prepared: &Prepared) -> Checked<Outcome> {
        let id = || prepared.id.clone().ok_or_else(|| Stop::Error("the act has no instance".into()));
        Ok(match self {
            Self::Create | Self::CreateAgain | Self::CreateStopped => of(w.create(&prepared.request).await?),
            Self::Get => match w.get(&id()?).await? {
                Ok(_) => Outcome::Done,
                Err(GetError::NotFound) => Outcome::Absent,
                Err(GetError::Failed(error)) => Outcome::Failed(error),
            },
            Self::Delete | Self::DeleteParts => match w.delete(&id()?).await? {
                Ok(Deleted::Abandoned(_)) => Outcome::Partly,
                other => of(other),
            },
            Self::List => match w.list().await? {
                Ok(listing) if !listing.unreachable.is_empty() => Outcome::Partly,
                other => of(other),
            },
            Self::Leftovers => self::leftovers(w).await?,
            Self::DeleteLeftover => {
                let leftover = prepared.leftover.as_ref();
                let leftover = leftover.ok_or_else(|| Stop::Error("the act has no leftover".into()))?;
                of(w.delete_leftover(leftover).await?)
            }
            Self::Check => {
                let targets = w.check(Duration::from_secs(30)).await?.unwrap_or_default();
                if targets.iter().all(|target| target.ready) { Outcome::Done } else { Outcome::Partly }
            }
            Self::Watch => watch(w).await?,
        })
    }

    /// The kinds of calls that it makes, on the wire and as the seam knows them, each once.
    pub(super) async fn kinds(self, w: &mut World) -> Checked<Vec<(String, String)>> {
        let prepared = self.prepare(w).await?;
        let operation = w.next_operation();
        match self.perform(w, &prepared).await? {
            Outcome::Done => {}
            other => return Err(Stop::Broken(format!("{self}, undisturbed, ended with {other:?}"))),
        }
        let mut kinds = Vec::new();
        for call in w.calls() {
            let kind = (call.kind.clone(), call.known_as().to_owned());
            if call.operation.is_some_and(|id| id.0 >= operation) && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(kinds)
    }
}

/// The native state of an instance that stands still.
fn stopped(w: &World) -> Option<&'static str> {
    // Where create starts nothing anew, a create of what stands still is one of what stands.
    let mut states = w.profile().native_states.iter().filter(|row| row.started);
    states.find(|row| row.shown == Shown::State(StateKind::Stopped)).map(|row| row.native)
}

fn of<T>(result: Result<T, Error>) -> Outcome {
    match result {
        Ok(_) => Outcome::Done,
        Err(error) => Outcome::Failed(error),
    }
}

async fn leftovers(w: &World) -> Checked<Outcome> {
    let Some(leftovers) = w.built().leftovers.clone() else {
        return Err(Stop::Error("the provider lists no leftovers".into()));
    };
    Ok(match w.alone(async move { leftovers.list().await }).await? {
        Ok(listing) if !listing.unreachable.is_empty() => Outcome::Partly,
        other => of(other),
    })
}

/// Waits for a hint, a minute at most; a stream has no error to give, it takes itself up again.
async fn watch(w: &World) -> Checked<Outcome> {
    let Some(watch) = w.built().watch.clone() else {
        return Err(Stop::Error("the provider gives no hints".into()));
    };
    let clock = Arc::clone(&w.case().clock);
    let first = async move {
        let mut hints = watch.hints();
        let minute = clock.sleep(Duration::from_secs(60), Wait::Idle);
        matches!(select(hints.next(), minute).await, Either::Left((Some(_), _)))
    };
    Ok(if w.alone(first).await? { Outcome::Done } else { Outcome::Partly })
}

impl std::fmt::Display for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::CreateAgain => "create-again",
            Self::CreateStopped => "create-stopped",
            Self::Get => "get",
            Self::Delete => "delete",
            Self::DeleteParts => "delete-parts",
            Self::List => "list",
            Self::Leftovers => "leftovers",
            Self::DeleteLeftover => "delete-leftover",
            Self::Check => "check",
            Self::Watch => "watch",
        })
    }
}

/// Reads what [`std::fmt::Display`] writes: plans carry it.
impl FromStr for Act {
    type Err = Stop;
    fn from_str(text: &str) -> Result<Self, Stop> {
        let act = Self::ALL.into_iter().find(|act| act.to_string() == text);
        act.ok_or_else(|| Stop::Error(format!("no act is called {text:?}")))
    }
}
