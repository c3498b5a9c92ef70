//! The reference model: what may be true of a backend after a sequence of steps. It is kept dead simple, so that it
//! can be believed by reading it.

use std::collections::{BTreeMap, BTreeSet};

use provider_api::{Class, Deleted, Error, FailureClass, StateKind};

use crate::{broken, hold, rule::Checked};

/// An owner, by number.
pub(super) type Who = u8;

/// What may stand on the backend for one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    /// Nothing.
    Absent,
    /// One instance, whole or in parts, or nothing: an operation was cut off.
    Unsure,
    /// One whole instance.
    Exists,
    /// One instance whose deletion was accepted, or nothing any more.
    Leaving,
}

/// What is believed of all owners.
#[derive(Debug, Default)]
pub(super) struct Model(BTreeMap<Who, Belief>);

impl Model {
    pub(super) fn of(&self, who: Who) -> Belief {
        self.0.get(&who).copied().unwrap_or(Belief::Absent)
    }

    fn set(&mut self, who: Who, belief: Belief) {
        self.0.insert(who, belief);
    }

    /// An operation on `who` was cut off, or somebody else's hand was at it.
    pub(super) fn unsure(&mut self, who: Who) {
        self.set(who, Belief::Unsure);
    }

    /// Somebody else removed the instance.
    pub(super) fn removed(&mut self, who: Who) {
        // Its parts may be left, which only a delete takes away.
        self.set(who, Belief::Unsure);
    }

    /// A create ended; `cut` says that a fault met it.
    pub(super) fn created(&mut self, who: Who, answer: Result<(), &Error>, cut: bool) -> Checked {
        match (answer.map_err(|error| (error.class(), error)), self.of(who)) {
            (Ok(()), _) => self.set(who, Belief::Exists),
            (Err(_), _) if cut => self.unsure(who),
            // What is being deleted, or half there, may stand in the way for a while.
            (Err((FailureClass::Transient, _)), Belief::Leaving | Belief::Unsure) => self.unsure(who),
            (Err((class, error)), belief) => {
                broken!("create of owner {who} answered {class:?} though it was {belief:?}: {error}")
            }
        }
        Ok(())
    }

    /// A get ended.
    pub(super) fn got(&self, who: Who, answer: Result<StateKind, Class>, cut: bool) -> Checked {
        match (answer, self.of(who)) {
            (Ok(_), Belief::Absent) => broken!("get finds owner {who}, of whom nothing exists"),
            (Ok(StateKind::Running), Belief::Leaving) => {
                broken!("get says Running of owner {who}, which is leaving")
            }
            (Err(Class::NotFound), Belief::Exists) => {
                broken!("get answered NotFound for owner {who}, which exists")
            }
            (Err(class), Belief::Exists | Belief::Absent) if class != Class::NotFound && !cut => {
                broken!("get of owner {who} answered {class} without a fault")
            }
            _ => Ok(()),
        }
    }

    /// A delete ended.
    pub(super) fn deleted(&mut self, who: Who, answer: Result<&Deleted, FailureClass>, cut: bool) -> Checked {
        match answer {
            Ok(Deleted::Gone) => self.set(who, Belief::Absent),
            Ok(Deleted::Accepted) => self.set(who, Belief::Leaving),
            Ok(Deleted::Abandoned(what)) => {
                broken!("delete of owner {who} abandoned {what}, though all is configured")
            }
            Err(_) if cut => self.unsure(who),
            Err(FailureClass::Transient) if self.of(who) != Belief::Exists => self.unsure(who),
            Err(class) => broken!("delete of owner {who} answered {class:?} without a fault"),
        }
        Ok(())
    }

    /// A whole listing was answered.
    pub(super) fn listed(&self, listed: &BTreeSet<Who>) -> Checked {
        for (who, belief) in &self.0 {
            let there = listed.contains(who);
            hold!(there || *belief != Belief::Exists, "the listing lacks owner {who}, which exists");
            hold!(
                !there || *belief != Belief::Absent,
                "the listing shows owner {who}, of whom nothing exists"
            );
        }
        Ok(())
    }

    /// What the observer sees: how many instances of each owner.
    pub(super) fn seen(&self, who: Who, instances: usize) -> Checked {
        hold!(instances <= 1, "there are {instances} instances of owner {who}");
        match (self.of(who), instances) {
            (Belief::Absent, 1) => {
                broken!("an instance of owner {who} stands, though it was said to be gone")
            }
            (Belief::Exists, 0) => broken!("no instance of owner {who} stands, though it was said to exist"),
            _ => Ok(()),
        }
    }
}
