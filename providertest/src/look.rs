//! What rules look at beside the verbs of `world.rs`: what an outside change has done, what a read has left as it was,
//! what an operation has cost.

use std::{collections::BTreeSet, time::Duration};

use provider_api::{
    CallKind, CreateRequest, GetError, Identity, InstallationId, Instance, Mark, ProviderId, Timestamp, Uid,
    reasons,
};

use crate::{
    broken,
    harness::{Planted, Thing, ThingKind},
    hold,
    rule::{Checked, Stop},
    wire::Condition,
    world::{Tweaks, World},
};

/// How far a creation time that a backend writes may lie off on a real backend, whose clock is not ours.
const SKEW: Duration = Duration::from_secs(300);

/// The count of calls at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    wire: usize,
    seam: u64,
    changing: u64,
}

impl World {
    /// Stops the check as blocked on a real backend, which cannot do this.
    ///
    /// # Errors
    /// Blocked on a real backend.
    pub fn only_on_a_fake(&self, power: &str) -> Checked {
        if self.is_fake() { Ok(()) } else { Err(Stop::Blocked(format!("a real backend cannot {power}"))) }
    }

    /// Cuts targets off, lets them hang, or mends them with `None`. On a real backend that is one target the hand does
    /// it, where it can provoke the reason that a check then gives.
    ///
    /// # Errors
    /// Blocked where the harness cannot do it.
    pub async fn condition(&self, targets: &[String], condition: Option<Condition>) -> Checked {
        if self.is_fake() {
            targets.iter().for_each(|target| self.wire().set_condition(target, condition));
            return Ok(());
        }
        let (reason, power) = match condition {
            None => return Ok(self.hand().set_check_fault(None).await?),
            Some(Condition::Cut) => (reasons::UNREACHABLE, "cut off"),
            Some(Condition::Hangs) => (reasons::TIMEOUT, "let hang"),
            Some(Condition::Slow(_)) => {
                return Err(Stop::Blocked("a real backend cannot be made slow".into()));
            }
        };
        if self.backend().targets().len() != 1 || !self.hand().check_faults().contains(&reason) {
            return Err(Stop::Blocked(format!("a real backend cannot be {power} by this harness")));
        }
        Ok(self.hand().set_check_fault(Some(reason)).await?)
    }

    /// Lets what somebody else did come to show: as long as an answer of `get` may be old, and the backend late.
    pub async fn catch_up(&self) {
        let profile = self.profile();
        let age = profile.listing_max_age + profile.settle;
        if !age.is_zero() {
            self.pass(age + Duration::from_secs(1)).await;
        }
    }

    /// Has listings served in pages of one, where there are pages at all: what reads a page only is then short.
    ///
    /// # Errors
    /// When the provider cannot be built anew.
    pub async fn in_pages_of_one(&mut self) -> Checked {
        // A harness whose listings have no pages lacks that power rightly. Where the provider names the size, it reads it
        // from its config.
        match self.hand().set_page_size(1).await {
            Ok(()) => self.restart(&Tweaks::default()),
            Err(_) => Ok(()),
        }
    }

    /// Asks why a rule was broken, with listings served in one page again: what is amiss with pages is told from what is
    /// amiss anyway. Says whether there are pages at all.
    ///
    /// # Errors
    /// When the provider cannot be built anew.
    pub async fn in_one_page(&mut self) -> Checked<bool> {
        self.asks_why();
        match self.hand().set_page_size(1_000).await {
            Ok(()) => self.restart(&Tweaks::default()).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Lets a while pass, long enough to tell a kept time stamp from a fresh one.
    pub async fn wait_a_while(&self) {
        self.pass(if self.is_fake() { Duration::from_secs(3_600) } else { Duration::from_secs(4) }).await;
    }

    /// The identity of the case's own installation.
    pub fn identity(&self) -> &Identity {
        &self.context().identity
    }

    /// Another installation, which this case can tell from all others.
    ///
    /// # Errors
    /// An error of the suite when the case's tag is no part of an identity.
    pub fn other_installation(&self) -> Checked<InstallationId> {
        InstallationId::parse(&format!("{}-elsewhere", self.case().tag))
            .map_err(|error| Stop::Error(error.to_string()))
    }

    /// The identity of another installation, which differs from the case's own in case only.
    ///
    /// # Errors
    /// An error of the suite when the case's tag is no part of an identity.
    pub fn installation_in_capitals(&self) -> Checked<InstallationId> {
        InstallationId::parse(&self.identity().installation.as_str().to_ascii_uppercase())
            .map_err(|error| Stop::Error(error.to_string()))
    }

    /// Something for somebody else to make, where a plain request would be made, with the mark of `uid` and
    /// `installation`.
    pub fn marked(&self, name: &str, uid: &Uid, installation: &InstallationId) -> Planted {
        let mark = Mark {
            uid: uid.clone(),
            installation: installation.clone(),
            created_at: Some(self.case().clock.now()),
        };
        let marks = mark.pairs().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Planted { name: name.to_owned(), marks, placement: self.backend().request(uid).placement }
    }

    /// Holds that get proves the instance gone.
    ///
    /// # Errors
    /// Broken when it answers anything but NotFound.
    pub async fn is_gone(&self, id: &ProviderId, after: &str) -> Checked {
        match self.get(id).await? {
            Err(GetError::NotFound) => Ok(()),
            Ok(instance) => {
                broken!("after {after}, get {id} answered {:?}; NotFound was due", instance.state)
            }
            Err(error) => {
                broken!("after {after}, get {id} failed as {} ({error}); NotFound was due", error.class())
            }
        }
    }

    /// The secondary resources that an instance needs.
    ///
    /// # Errors
    /// When the backend cannot be looked at.
    pub async fn parts(&self, instance: &Thing) -> Checked<Vec<Thing>> {
        let mut things = self.everything().await?;
        things.retain(|thing| thing.kind == ThingKind::Secondary && instance.references.contains(&thing.key));
        Ok(things)
    }

    // --- what a read leaves

    /// What stands on the backend, to be compared later by [`World::untouched`].
    ///
    /// # Errors
    /// When the backend cannot be looked at.
    pub async fn snapshot(&self) -> Checked<Vec<Thing>> {
        let mut things = self.everything().await?;
        if !self.is_fake() {
            // A real backend is not ours alone, and its instances boot while we look.
            let tag = &self.case().tag;
            things.retain(|thing| thing.marks.values().any(|value| value.contains(tag)));
            things.iter_mut().for_each(|thing| thing.native_state.clear());
        }
        things.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(things)
    }

    /// Holds that since `moment` nothing was changed: no call that changes something, and everything as it stood.
    ///
    /// # Errors
    /// Broken when something was.
    pub async fn untouched(&self, moment: Moment, before: &[Thing], what: &str) -> Checked {
        if let Some(call) = self.calls_since(moment.wire).iter().find(|call| call.mutates) {
            broken!("{what} made the call {} on {}, which changes something", call.kind, call.subject);
        }
        let after = self.snapshot().await?;
        let gone = before.iter().find(|thing| !after.iter().any(|other| other.key == thing.key));
        hold!(gone.is_none(), "after {what} this was no longer there: {}", named(gone));
        let new = after.iter().find(|thing| !before.iter().any(|other| other.key == thing.key));
        hold!(new.is_none(), "after {what} this was there, and not before: {}", named(new));
        let changed = before.iter().zip(&after).find(|(before, after)| before != after);
        if let Some((before, after)) = changed {
            broken!("{what} changed {}: it was {before:?}, and is {after:?}", named(Some(after)));
        }
        Ok(())
    }

    // --- what an operation costs

    /// The count of calls now.
    pub fn moment(&self) -> Moment {
        let count = |kind: &CallKind| self.metrics().calls(&self.context().name, kind.name);
        let kinds = &self.profile().calls;
        let changing = kinds.iter().filter(|kind| kind.mutates).map(count).sum();
        Moment { wire: self.wire().call_count(), seam: kinds.iter().map(count).sum(), changing }
    }

    /// How many backend calls were made since: what the seam counted, or what reached the wire where that is more.
    pub fn cost(&self, since: Moment) -> u64 {
        let counted = self.moment().seam.saturating_sub(since.seam);
        let calls = self.calls_since(since.wire);
        let on_wire: BTreeSet<_> = calls.iter().filter_map(|call| call.seam.map(|(id, _)| id)).collect();
        counted.max(on_wire.len() as u64)
    }

    /// How many calls were made since that change something: what reached the wire, or on a real backend, whose wire
    /// nobody sees, what the seam counted.
    pub fn changes(&self, since: Moment) -> u64 {
        if self.is_fake() {
            return self.calls_since(since.wire).iter().filter(|call| call.mutates).count() as u64;
        }
        self.moment().changing.saturating_sub(since.changing)
    }

    // --- what an answer says

    /// Holds that an instance is the one that was asked for, and was made when it was.
    ///
    /// # Errors
    /// Broken when it is not.
    pub fn is_of(&self, instance: &Instance, request: &CreateRequest, id: &ProviderId) -> Checked {
        hold!(instance.id == *id, "get {id} answered for the id {}", instance.id);
        hold!(
            instance.name == request.name,
            "get {id} says the name {}, not {}",
            instance.name,
            request.name
        );
        hold!(instance.uid == request.uid, "get {id} says the uid {}, not {}", instance.uid, request.uid);
        Ok(())
    }

    /// Holds that a creation time lies where the instance, or its part, was made.
    ///
    /// # Errors
    /// Broken when it is unknown or lies elsewhere.
    pub fn made_between(
        &self,
        created_at: Option<Timestamp>,
        from: Timestamp,
        to: Timestamp,
        who: &str,
    ) -> Checked {
        let Some(at) = created_at else {
            broken!("{who} has no `created_at`, though the instance was made between {from} and {to}")
        };
        // Backends cut fractions of a second, and real ones have a clock of their own.
        let slack = if self.is_fake() { Duration::from_secs(1) } else { SKEW };
        let made = if from == to { format!("at {from}") } else { format!("between {from} and {to}") };
        hold!(
            at.after(slack) >= from && at <= to.after(slack),
            "{who} says that it was made at {}; it was made {made}",
            stamp(created_at, self.case().clock.now())
        );
        Ok(())
    }
}

/// A time as a reader takes it in: `4 h`, `1 h 30 min`, `90 s`.
pub(crate) fn spelt(how_long: Duration) -> String {
    let secs = how_long.as_secs();
    let (hours, minutes, seconds) = (secs / 3_600, secs % 3_600 / 60, secs % 60);
    let units = [(hours, "h"), (minutes, "min"), (seconds, "s")];
    let told: Vec<_> = units.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n} {unit}")).collect();
    if told.is_empty() { "a moment".into() } else { told.join(" ") }
}

/// A time stamp as a reader takes it in, beside the present: whether it is that is half of what it tells.
pub(crate) fn stamp(at: Option<Timestamp>, now: Timestamp) -> String {
    match at {
        None => "none".into(),
        Some(at) if at == now => format!("{at}, which is now"),
        Some(at) => format!("{at}, and it is {now} now"),
    }
}

fn named(thing: Option<&Thing>) -> String {
    thing.map(|thing| format!("{:?} {} on {}", thing.kind, thing.name, thing.target)).unwrap_or_default()
}
