//! What a case logs: one global subscriber that records for the threads that asked for it, and is nearly free for all
//! others. Rules judge log lines and spans by it; what they judge is in `rules/`.
//!
//! A case runs on one thread, so parallel cases never mix. Work that a case hands to another thread records for it
//! when it is [carried](carry) there.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
};

use futures::future::BoxFuture;
use provider_api::{OperationId, Spawner};
use tracing::{
    Event as RawEvent, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{Interest, set_global_default},
};
use tracing_subscriber::{
    Registry,
    layer::{Context, Layer, SubscriberExt},
};

/// Everything that one case logged.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The spans, in the order in which they were opened.
    pub spans: Vec<Span>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its level.
    pub level: Level,
    /// The module that it comes from, unless it says otherwise.
    pub target: &'static str,
    /// Its message.
    pub message: String,
    /// Its other fields, as text, in the order of the source.
    pub fields: Vec<(String, String)>,
    /// The spans that it stands in, outermost first, as places in [`Captured::spans`].
    pub spans: Vec<usize>,
    /// The operation that wrote it; none for what a library's own task or the fake wrote meanwhile.
    pub operation: Option<OperationId>,
}

/// One span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its name; `otel.name` where it is given.
    pub name: String,
    /// Its level.
    pub level: Level,
    /// The module that it comes from.
    pub target: &'static str,
    /// Its fields, as text; what is recorded later replaces what stood there.
    pub fields: Vec<(String, String)>,
    /// The span that it stands in, as a place in [`Captured::spans`].
    pub parent: Option<usize>,
    /// `otel.kind`, where it is given.
    pub kind: Option<String>,
    /// `otel.status_code`, where it is given.
    pub status: Option<String>,
}

impl Event {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        find(&self.fields, name)
    }
}

impl Span {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        find(&self.fields, name)
    }
}

impl Captured {
    /// The events with that message.
    pub fn said<'c>(&'c self, message: &'c str) -> impl Iterator<Item = &'c Event> {
        self.events.iter().filter(move |event| event.message == message)
    }

    /// Where a text stands in any event or span, in words; `None` when it stands nowhere.
    pub fn mention(&self, text: &str) -> Option<String> {
        let in_fields = |fields: &[(String, String)]| {
            fields.iter().find(|(_, value)| value.contains(text)).map(|(name, _)| name.clone())
        };
        let in_event = |event: &Event| {
            let field = in_fields(&event.fields);
            let field = field.or_else(|| event.message.contains(text).then(|| "message".to_owned()))?;
            Some(format!("a line at level {} from {:?}, in its field `{field}`,", event.level, event.target))
        };
        let in_span = |span: &Span| {
            let field = in_fields(&span.fields);
            let field = field.or_else(|| span.name.contains(text).then(|| "name".to_owned()))?;
            Some(format!("a span at level {} from {:?}, in its field `{field}`,", span.level, span.target))
        };
        self.events.iter().find_map(in_event).or_else(|| self.spans.iter().find_map(in_span))
    }
}

/// Begins to record what this thread logs; what it recorded before is thrown away.
///
/// # Panics
/// When another global subscriber is in place: a deaf recorder would make rules of secrecy pass.
pub fn start() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Who was first shows below, by whether the recorder hears itself.
        let _ = set_global_default(Registry::default().with(Recorder));
    });
    CANARY.set(false);
    set(Some(Recording::default()));
    tracing::trace!(target: CANARY_TARGET, "recording");
    assert!(
        CANARY.get(),
        "another tracing subscriber is installed; the kit cannot hear what a provider logs"
    );
}

/// Ends the recording of this thread and answers with it; empty when there was none.
pub fn take() -> Captured {
    let Some(recording) = set(None) else { return Captured::default() };
    let mut state = recording.lock();
    state.closed = true;
    std::mem::take(&mut state.captured)
}

/// A handle by which work on another thread records for the case that made it; cheap when nothing is recorded.
pub fn carry() -> Carry {
    Carry(RECORDING.with_borrow(Clone::clone), tracing::Span::current())
}

/// See [`carry`].
#[derive(Clone)]
pub struct Carry(Option<Recording>, tracing::Span);

impl Carry {
    /// Runs `work` on this thread as a part of the case that made the handle, inside the spans it was made in.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Back(Option<Recording>);
        impl Drop for Back {
            fn drop(&mut self) {
                set(self.0.take());
            }
        }
        let _back = Back(set(self.0.clone()));
        self.1.in_scope(work)
    }
}

impl fmt::Debug for Carry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carry").field("records", &self.0.is_some()).finish()
    }
}

/// A spawner whose blocking work is [carried](carry): what a provider logs on another thread is its case's too.
#[derive(Debug)]
pub struct Carrying<S>(pub S);

impl<S: Spawner> Spawner for Carrying<S> {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        // A case's tasks run on the case's own thread.
        self.0.spawn(task);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        let carry = carry();
        self.0.spawn_blocking(Box::new(move || carry.run(work)));
    }
}

const CANARY_TARGET: &str = "providertest::capture::canary";

thread_local! {
    // Read for every event and span of the program, so it is a flag of its own.
    static RECORDS: Cell<bool> = const { Cell::new(false) };
    static CANARY: Cell<bool> = const { Cell::new(false) };
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// What one case has recorded so far.
#[derive(Clone, Default)]
struct Recording(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    captured: Captured,
    /// Where each open span stands.
    places: HashMap<Id, usize>,
    /// Work on another thread may outlive its case.
    closed: bool,
}

impl Recording {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn set(recording: Option<Recording>) -> Option<Recording> {
    RECORDS.set(recording.is_some());
    RECORDING.replace(recording)
}

/// Changes what this thread records to, if it records.
fn record<T>(change: impl FnOnce(&mut State) -> T) -> Option<T> {
    let recording = RECORDING.with_borrow(Clone::clone)?;
    let mut state = recording.lock();
    if state.closed { None } else { Some(change(&mut state)) }
}

fn find<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

struct Recorder;

impl<S: Subscriber + for<'l> tracing_subscriber::registry::LookupSpan<'l>> Layer<S> for Recorder {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Asked again for each event, since it depends on the thread.
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>, _: Context<'_, S>) -> bool {
        RECORDS.get()
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let parent = context.span(id).and_then(|span| span.parent()).map(|parent| parent.id());
        record(|state| {
            let mut span = Span {
                name: metadata.name().to_owned(),
                level: *metadata.level(),
                target: metadata.target(),
                fields: Vec::new(),
                parent: parent.and_then(|id| state.places.get(&id)).copied(),
                kind: None,
                status: None,
            };
            span.take_over(fields);
            state.places.insert(id.clone(), state.captured.spans.len());
            state.captured.spans.push(span);
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        record(|state| {
            let place = state.places.get(id).copied();
            if let Some(span) = place.and_then(|place| state.captured.spans.get_mut(place)) {
                span.take_over(fields);
            }
        });
    }

    fn on_event(&self, event: &RawEvent<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        if metadata.target() == CANARY_TARGET {
            CANARY.set(true);
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let within: Vec<Id> = context
            .event_scope(event)
            .map(|scope| scope.from_root().map(|span| span.id()).collect())
            .unwrap_or_default();
        record(|state| {
            let spans = within.iter().filter_map(|id| state.places.get(id)).copied().collect();
            let Fields { message, fields } = fields;
            let (level, target) = (*metadata.level(), metadata.target());
            let operation = provider_api::current_operation();
            state.captured.events.push(Event { level, target, message, fields, spans, operation });
        });
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        // The registry gives ids out again.
        record(|state| state.places.remove(&id));
    }
}

impl Span {
    fn take_over(&mut self, fields: Fields) {
        for (name, value) in fields.fields {
            match name.as_str() {
                "otel.name" => self.name = value.clone(),
                "otel.kind" => self.kind = Some(value.clone()),
                "otel.status_code" => self.status = Some(value.clone()),
                _ => {}
            }
            match self.fields.iter_mut().find(|(known, _)| *known == name) {
                Some(field) => field.1 = value,
                None => self.fields.push((name, value)),
            }
        }
    }
}

/// The fields of one event or span as text.
#[derive(Default)]
struct Fields {
    message: String,
    fields: Vec<(String, String)>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.message = value,
            name => self.fields.push((name.to_owned(), value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.to_owned());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        // With its causes: a formatter may print them, so a secret in one of them is a leak.
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        self.put(field, text);
    }
}

#[cfg(test)]
mod tests {
    use tracing::{debug, info_span};

    use super::*;

    fn names(captured: &Captured, event: &Event) -> Vec<String> {
        event.spans.iter().map(|place| captured.spans[*place].name.clone()).collect()
    }

    #[test]
    fn events_spans_and_what_is_recorded_later_are_captured() {
        start();
        let outer = info_span!("outer", provider = "a", late = tracing::field::Empty);
        outer.in_scope(|| {
            let call = info_span!("backend.call", otel.name = "x.read", otel.kind = "client");
            call.in_scope(|| debug!(n = 1, text = "t", error = Some("e"), absent = None::<u8>, "said {}", 2));
            outer.record("late", "now");
            outer.record("late", "later");
        });
        debug!("alone");
        let captured = take();
        let [said, alone] = captured.events.as_slice() else { panic!("{captured:?}") };
        assert_eq!(said.message, "said 2");
        let fields = [("n", "1"), ("text", "t"), ("error", "e")].map(|(k, v)| (k.into(), v.into()));
        assert_eq!(said.fields, fields);
        assert_eq!(names(&captured, said), ["outer", "x.read"]);
        assert!(alone.spans.is_empty());
        assert_eq!(captured.spans[0].field("late"), Some("later"));
        assert_eq!(captured.spans[1].parent, Some(0));
        assert_eq!(captured.spans[1].kind.as_deref(), Some("client"));
        assert!(captured.mention("later").is_some() && captured.mention("never").is_none());
    }

    #[test]
    fn nothing_is_formatted_when_nobody_records() {
        struct Loud;
        impl fmt::Debug for Loud {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                panic!("formatted")
            }
        }
        start();
        take();
        debug!(loud = ?Loud, "not recorded");
        // With the feature `log` of tracing on, a disabled span still knows its name.
        assert!(tracing::info_span!("not recorded").is_disabled());
        assert_eq!(take().events, []);
    }

    #[test]
    fn threads_do_not_mix_and_carried_work_is_recorded() {
        std::thread::scope(|scope| {
            for case in 0..4_usize {
                scope.spawn(move || {
                    start();
                    let span = info_span!("case", case);
                    let carry = span.in_scope(carry);
                    std::thread::scope(|inner| {
                        inner.spawn(move || carry.run(|| debug!(case, "carried")));
                        inner.spawn(move || debug!(case, "lost"));
                    });
                    debug!(case, "here");
                    let captured = take();
                    let seen: Vec<_> = captured.events.iter().map(|event| event.message.as_str()).collect();
                    assert_eq!(seen, ["carried", "here"]);
                    assert!(captured.events.iter().all(|e| e.field("case") == Some(&case.to_string())));
                    assert_eq!(names(&captured, &captured.events[0]), ["case"]);
                });
            }
        });
    }

    #[test]
    fn a_span_that_is_polled_again_and_again_is_one_span() {
        start();
        let span = info_span!("operation");
        for _ in 0..3 {
            span.in_scope(|| assert!(!tracing::Span::current().is_none()));
        }
        assert!(tracing::Span::current().is_none());
        assert_eq!(take().spans.len(), 1);
    }

    #[test]
    fn blocking_work_is_its_cases() {
        struct Threads;
        impl Spawner for Threads {
            fn spawn(&self, _: BoxFuture<'static, ()>) {}
            fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
                std::thread::spawn(work).join().unwrap();
            }
        }
        start();
        Carrying(Threads).spawn_blocking(Box::new(|| debug!("from a thread")));
        assert_eq!(take().said("from a thread").count(), 1);
    }

    #[test]
    fn what_outlives_its_case_is_not_recorded_for_the_next() {
        start();
        let carry = carry();
        take();
        start();
        std::thread::spawn(move || carry.run(|| debug!("late"))).join().unwrap();
        assert_eq!(take().events, []);
    }
}
