//! Records the spans and events of the thread it is started on; every test has a thread of its own.

use std::{cell::RefCell, collections::BTreeMap, fmt, sync::Once};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

/// A span or an event, as it was given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) level: String,
    pub(crate) fields: BTreeMap<String, String>,
    /// The names of the spans around it, the outermost first.
    pub(crate) within: Vec<String>,
}

impl Seen {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
}

#[derive(Default)]
struct Records {
    spans: Vec<(u64, Seen)>,
    events: Vec<Seen>,
}

thread_local! {
    static RECORDS: RefCell<Records> = RefCell::default();
}

/// Forgets what this thread recorded, and records from here on.
pub(crate) fn start() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        tracing::subscriber::set_global_default(Registry::default().with(Recorder)).unwrap();
    });
    RECORDS.with_borrow_mut(|records| *records = Records::default());
}

/// The spans of this thread, in the order they were opened.
pub(crate) fn spans() -> Vec<Seen> {
    RECORDS.with_borrow(|records| records.spans.iter().map(|(_, seen)| seen.clone()).collect())
}

/// The events of this thread whose message is `message`.
pub(crate) fn events(message: &str) -> Vec<Seen> {
    RECORDS
        .with_borrow(|records| records.events.iter().filter(|seen| seen.name == message).cloned().collect())
}

/// Everything that this thread recorded, as one text to search for what must not be there.
pub(crate) fn all_text() -> String {
    RECORDS.with_borrow(|records| format!("{:?}{:?}", records.spans, records.events))
}

struct Recorder;

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

fn seen(metadata: &Metadata<'_>, fields: Fields, within: Vec<String>) -> Seen {
    Seen { name: metadata.name().to_owned(), level: metadata.level().to_string(), fields: fields.0, within }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let around =
            context.span(id).into_iter().flat_map(|span| span.scope().from_root().collect::<Vec<_>>());
        let mut within: Vec<_> = around.map(|span| span.name().to_owned()).collect();
        within.pop();
        let span = seen(attributes.metadata(), fields, within);
        RECORDS.with_borrow_mut(|records| records.spans.push((id.into_u64(), span)));
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        record.record(&mut fields);
        RECORDS.with_borrow_mut(|records| {
            let span = records.spans.iter_mut().rev().find(|(known, _)| *known == id.into_u64());
            span.unwrap().1.fields.extend(fields.0);
        });
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let around = context.event_scope(event).into_iter().flat_map(|scope| scope.from_root());
        let within = around.map(|span| span.name().to_owned()).collect();
        let name = fields.0.remove("message").unwrap_or_default();
        let event = Seen { name, ..seen(event.metadata(), fields, within) };
        RECORDS.with_borrow_mut(|records| records.events.push(event));
    }
}
