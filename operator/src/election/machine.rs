//! The state machine of one candidate. It is told what is seen and written, and says what to do next.

use std::time::Duration;

use provider_api::Timestamp;

use super::Terms;
use crate::cluster::{ClusterError, Lease};

/// One candidate.
#[derive(Clone, Debug)]
pub struct Election {
    me: String,
    terms: Terms,
    /// The lease that was seen last, and since when it has been unchanged for us.
    seen: Option<(Option<Lease>, Duration)>,
    /// Until when we lead, and when we renew.
    held: Option<Held>,
    /// No write before that.
    not_before: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    until: Duration,
    renew_at: Duration,
}

/// What a candidate does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Write this lease.
    Write(Lease),
    /// Nothing, until the lease changes or this much time has passed.
    Wait(Option<Duration>),
}

impl Election {
    /// A candidate by a name that no other process has or ever had.
    pub fn new(me: String, terms: Terms) -> Self {
        Self { me, terms, seen: None, held: None, not_before: Duration::ZERO }
    }

    /// Until when it leads, if it does.
    pub fn leads_until(&self, tick: Duration) -> Option<Duration> {
        self.held.map(|held| held.until).filter(|until| tick < *until)
    }

    /// The next move.
    pub fn next(&mut self, tick: Duration, now: Timestamp) -> Move {
        let wait = |until: Duration| Move::Wait(Some(until.saturating_sub(tick)));
        if self.held.is_some_and(|held| tick >= held.until) {
            self.held = None;
        }
        let Some((seen, since)) = &self.seen else { return Move::Wait(None) };
        let is_ours = seen.as_ref().is_some_and(|lease| lease.holder == self.me);
        let due = match (self.held, seen) {
            (Some(held), _) if is_ours => held.renew_at.min(held.until),
            // Somebody else has it: whatever we thought of it is over.
            (Some(_), _) => {
                self.held = None;
                return Move::Wait(Some(Duration::ZERO));
            }
            // It was ours by a write whose answer was lost: nobody else has it.
            (None, Some(_)) if is_ours => tick,
            (None, Some(lease)) if !lease.holder.is_empty() => *since + lease.duration.max(self.terms.lease),
            (None, _) => tick,
        };
        let due = due.max(self.not_before);
        if tick < due {
            let until = self.held.map_or(due, |held| due.min(held.until));
            return wait(until);
        }
        Move::Write(self.claim(seen.as_ref(), now))
    }

    fn claim(&self, over: Option<&Lease>, now: Timestamp) -> Lease {
        let is_ours = over.is_some_and(|lease| lease.holder == self.me);
        let transitions = over.map_or(0, |lease| lease.transitions + u32::from(!is_ours));
        Lease {
            version: over.and_then(|lease| lease.version.clone()),
            holder: self.me.clone(),
            duration: self.terms.lease,
            acquired: over.filter(|_| is_ours).map_or(now, |lease| lease.acquired),
            renewed: now,
            transitions,
        }
    }

    /// The lease was seen.
    pub fn seen(&mut self, lease: Option<Lease>, tick: Duration) {
        if let Some((Some(known), _)) = &self.seen {
            let older = lease.as_ref().and_then(|lease| lease.version.as_ref()).zip(known.version.as_ref());
            if older.is_some_and(|(seen, known)| seen == known || seen.older_than(known)) {
                return;
            }
        }
        self.seen = Some((lease, tick));
    }

    /// A write that began at `began` has ended.
    pub fn wrote(&mut self, result: Result<Lease, ClusterError>, began: Duration, tick: Duration) {
        match result {
            Ok(lease) => {
                self.held =
                    Some(Held { until: began + self.terms.deadline, renew_at: began + self.terms.retry });
                self.not_before = Duration::ZERO;
                self.seen(Some(lease), tick);
            }
            // Whether it was written or not, the watch will tell; until then there is no point in hurry.
            Err(_) => self.not_before = tick + self.terms.retry / 2,
        }
    }

    /// What releases the lease, if it is held.
    pub fn release(&self, now: Timestamp) -> Option<Lease> {
        let (lease, _) = self.seen.as_ref()?;
        let lease = lease.as_ref().filter(|lease| lease.holder == self.me)?;
        Some(Lease { holder: String::new(), renewed: now, ..lease.clone() })
    }
}
