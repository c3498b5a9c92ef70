//! The wire: where a fake's requests are recorded, held, broken and answered. Every fake passes each request through
//! [`Wire::serve`], below the provider's own client.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use provider_api::{CallId, OperationId};

use crate::{
    faults::{Answer, Call, CallerThen, Effect, Fault, Match},
    ledger::{Ledger, Ticket},
};

/// A request that has been read whole.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The seam call's id, where the wire carries it.
    pub call: Option<CallId>,
    /// The wire's name for the request.
    pub kind: Cow<'static, str>,
    /// The part of the backend that can fail on its own: a host, a zone, the API server.
    pub target: String,
    /// What the request is about.
    pub subject: String,
    /// Whether it changes something on the backend.
    pub mutates: bool,
    /// Whether its client blocks a thread.
    pub blocking: bool,
}

/// What a fake gives back.
#[derive(Debug)]
pub enum Reply<A> {
    /// This answer.
    Answer(A),
    /// A broken connection.
    Reset,
}

/// How a part of the backend behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It reads requests and never answers.
    Hangs,
    /// Its connections break.
    Cut,
    /// Each of its answers takes that long.
    Slow(Duration),
}

/// As reports say it of a target: `z1 is cut off`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hangs => f.write_str("hangs"),
            Self::Cut => f.write_str("is cut off"),
            Self::Slow(each) => write!(f, "takes {each:?} for each answer"),
        }
    }
}

/// The recorder and fault engine of one case. Cheap to clone.
#[derive(Clone)]
pub struct Wire {
    ledger: Ledger,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    calls: Vec<Call>,
    counts: BTreeMap<(Option<OperationId>, String), u32>,
    armed: Vec<(Fault, u32)>,
    /// A fault for the how-manieth call of an operation, whatever its kind.
    armed_nth: Option<(OperationId, u32, Box<dyn FnOnce(Match) -> Fault + Send>)>,
    /// How many calls each operation has made.
    per_operation: BTreeMap<OperationId, u32>,
    hits: usize,
    landed: bool,
    late: Vec<Late>,
    conditions: BTreeMap<String, Condition>,
    latency: Duration,
    watchers: Vec<UnboundedSender<()>>,
    under_way: BTreeMap<String, BTreeMap<OperationId, usize>>,
    peaks: BTreeMap<String, usize>,
}

struct Late {
    operation: Option<OperationId>,
    effect: Box<dyn FnOnce() + Send>,
}

impl Wire {
    /// The wire of a case.
    pub fn new(ledger: Ledger) -> Self {
        Self { ledger, state: Arc::default() }
    }

    /// The ledger that it reports to.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Serves one request: `effect` does what it asks for and answers, `native` makes the answer of a catalogued
    /// error.
    ///
    /// The effect happens when the request arrives, never while the answer waits. A fake whose client may close the
    /// connection runs this in a task of its own, so that a closed connection decides nothing.
    pub async fn serve<A: Send>(
        &self,
        incoming: Incoming,
        effect: impl FnOnce() -> A + Send + 'static,
        native: impl FnOnce(&str) -> A + Send,
    ) -> Reply<A> {
        let ticket = self.ledger.arrive(incoming.call, incoming.blocking);
        let (fault, condition, latency, operation) = self.record(&incoming);
        let _under_way = operation.map(|operation| UnderWay::begin(self, &incoming.target, operation));
        match condition {
            Some(Condition::Cut) => return Reply::Reset,
            Some(Condition::Hangs) => return self.silence(&ticket).await,
            Some(Condition::Slow(_)) | None => {}
        }
        let Some(fault) = fault else {
            let answer = effect();
            if !latency.is_zero() {
                self.ledger.latency(&ticket, latency).await;
            }
            return Reply::Answer(answer);
        };
        let normal = match fault.effect {
            Effect::Now => Some(effect()),
            Effect::Never => None,
            Effect::AfterNextOperation => {
                let effect = Box::new(move || drop(effect()));
                self.lock().late.push(Late { operation, effect });
                None
            }
        };
        if fault.caller != CallerThen::Waits {
            // The caller goes once everything rests; whatever was to be answered, nobody is there to hear it.
            self.ledger.ask_to_drop(operation, fault.caller == CallerThen::Restarts);
            return self.silence(&ticket).await;
        }
        match (&fault.answer, normal) {
            (Answer::Normal, Some(answer)) => Reply::Answer(answer),
            (Answer::Native(id), _) => Reply::Answer(native(id)),
            // A call that takes no effect has no normal answer to give.
            (Answer::Reset, _) | (Answer::Normal, None) => Reply::Reset,
            (Answer::Silence, _) => self.silence(&ticket).await,
        }
    }

    /// Arms faults; each waits for its call.
    pub fn arm(&self, faults: impl IntoIterator<Item = Fault>) {
        self.lock().armed.extend(faults.into_iter().map(|fault| (fault, 0)));
    }

    /// Arms a fault for the `nth` call of an operation, counted from 0 over all kinds; random sequences aim so.
    pub(crate) fn arm_nth(&self, operation: OperationId, nth: u32, fault: impl FnOnce(Match) -> Fault) {
        // The match is filled in when the call is met; what else the fault says is fixed now.
        let Fault { effect, answer, caller, repeats, .. } =
            fault(Match { operation: operation.0, kind: String::new(), nth: 0 });
        let fault = move |at| Fault { at, effect, answer, caller, repeats };
        self.lock().armed_nth = Some((operation, nth, Box::new(fault)));
    }

    /// How many calls have met a fault so far.
    pub(crate) fn hits(&self) -> usize {
        self.lock().hits
    }

    /// Whether an effect is still to land.
    pub(crate) fn has_late(&self) -> bool {
        !self.lock().late.is_empty()
    }

    /// Whether an effect has landed late since this was last asked.
    pub(crate) fn landed_late(&self) -> bool {
        std::mem::take(&mut self.lock().landed)
    }

    /// The armed faults that no call has met.
    pub fn missed(&self) -> Vec<Fault> {
        self.lock().armed.iter().filter(|(_, hits)| *hits == 0).map(|(fault, _)| fault.clone()).collect()
    }

    /// Takes all faults away, met or not.
    pub fn disarm(&self) {
        let mut state = self.lock();
        state.armed.clear();
        state.armed_nth = None;
    }

    /// Every call so far, in the order of arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// The calls since there were `first` of them. Of a long case this is much less than all.
    pub(crate) fn calls_since(&self, first: usize) -> Vec<Call> {
        self.lock().calls.get(first..).unwrap_or_default().to_vec()
    }

    /// How many calls there have been so far.
    pub fn call_count(&self) -> usize {
        self.lock().calls.len()
    }

    /// Lets late effects land whose operation began before `now`; all of them when `now` is `None`.
    pub fn land(&self, now: Option<OperationId>) -> usize {
        let due: Vec<Late> = {
            let mut state = self.lock();
            let (due, later): (Vec<_>, Vec<_>) =
                state.late.drain(..).partition(|late| now.is_none() || late.operation < now);
            state.late = later;
            state.landed |= !due.is_empty();
            due
        };
        let count = due.len();
        for late in due {
            (late.effect)();
        }
        count
    }

    /// Makes a part of the backend misbehave, or behave again.
    pub fn set_condition(&self, target: &str, condition: Option<Condition>) {
        let mut state = self.lock();
        match condition {
            Some(condition) => state.conditions.insert(target.to_owned(), condition),
            None => state.conditions.remove(target),
        };
        state.watchers.retain(|watcher| watcher.unbounded_send(()).is_ok());
    }

    /// How a part of the backend behaves now.
    pub fn condition(&self, target: &str) -> Option<Condition> {
        self.lock().conditions.get(target).copied()
    }

    /// An item for each change of a condition, for connections that stand.
    pub(crate) fn condition_changes(&self) -> UnboundedReceiver<()> {
        let (send, receive) = unbounded();
        self.lock().watchers.push(send);
        receive
    }

    /// How long every answer takes.
    pub fn set_latency(&self, latency: Duration) {
        self.lock().latency = latency;
    }

    /// The most operations that ever had requests at a target at once.
    pub fn peak(&self, target: &str) -> usize {
        self.lock().peaks.get(target).copied().unwrap_or(0)
    }

    async fn silence<A>(&self, ticket: &Ticket) -> Reply<A> {
        ticket.park();
        pending().await
    }

    fn record(
        &self,
        incoming: &Incoming,
    ) -> (Option<Fault>, Option<Condition>, Duration, Option<OperationId>) {
        let seam = incoming.call.and_then(|call| self.ledger.call(call));
        let operation = seam.as_ref().and_then(|seam| seam.operation);
        let mut state = self.lock();
        let state = &mut *state;
        let count = state.counts.entry((operation, incoming.kind.to_string())).or_default();
        let nth = *count;
        *count += 1;
        let meets = |fault: &Fault, hits: u32| {
            operation == Some(OperationId(fault.at.operation))
                && fault.at.kind == incoming.kind
                && (fault.at.nth == nth || (fault.repeats && fault.at.nth < nth))
                && (fault.repeats || hits == 0)
        };
        let fault = state.armed.iter_mut().find(|(fault, hits)| meets(fault, *hits)).map(|(fault, hits)| {
            *hits += 1;
            fault.clone()
        });
        let fault = fault.or_else(|| {
            let operation = operation?;
            let count = state.per_operation.entry(operation).or_default();
            *count += 1;
            let index = *count - 1;
            let (_, _, fault) = state.armed_nth.take_if(|(at, nth, _)| *at == operation && *nth == index)?;
            Some(fault(Match { operation: operation.0, kind: incoming.kind.to_string(), nth }))
        });
        state.hits += usize::from(fault.is_some());
        state.calls.push(Call {
            operation,
            kind: incoming.kind.to_string(),
            target: incoming.target.clone(),
            subject: incoming.subject.clone(),
            nth,
            seam: incoming.call.zip(seam.map(|seam| seam.kind)),
            mutates: incoming.mutates,
            fault: fault.clone(),
        });
        let condition = state.conditions.get(&incoming.target).copied();
        let latency = match condition {
            Some(Condition::Slow(each)) => each,
            _ => state.latency,
        };
        (fault, condition, latency, operation)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("calls", &self.call_count()).finish_non_exhaustive()
    }
}

/// One request at a target, for the count of operations that are there at once.
struct UnderWay<'w> {
    wire: &'w Wire,
    target: String,
    operation: OperationId,
}

impl<'w> UnderWay<'w> {
    fn begin(wire: &'w Wire, target: &str, operation: OperationId) -> Self {
        let mut state = wire.lock();
        let at_target = state.under_way.entry(target.to_owned()).or_default();
        *at_target.entry(operation).or_default() += 1;
        let now = at_target.len();
        let peak = state.peaks.entry(target.to_owned()).or_default();
        *peak = now.max(*peak);
        drop(state);
        Self { wire, target: target.to_owned(), operation }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut state = self.wire.lock();
        let Some(at_target) = state.under_way.get_mut(&self.target) else { return };
        if let Some(count) = at_target.get_mut(&self.operation) {
            *count -= 1;
            if *count == 0 {
                at_target.remove(&self.operation);
            }
        }
    }
}
