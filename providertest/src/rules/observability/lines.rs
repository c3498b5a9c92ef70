//! Lines and spans.

use std::collections::{BTreeMap, BTreeSet};

use provider_api::{Built, Profile};
use tracing::Level;

use super::tour::{Visit, tour};
use crate::{
    broken,
    capture::{Captured, Event, Span},
    hold,
    rule::{Checked, Stop},
    world::{Tweaks, World},
};

/// The message of a line about an operation's outcome.
const OUTCOME: &str = "operation ended";
/// The message of a line about a backend call.
const CALL: &str = "backend call";

pub(super) async fn decorator_drops_none(w: &mut World) -> Checked {
    let bare = bare(w)?;
    let decorated = w.built().clone();
    let abilities = |built: &Built| {
        [
            ("check", built.checker.is_some()),
            ("leftovers", built.leftovers.is_some()),
            ("watch", built.watch.is_some()),
        ]
    };
    for ((ability, before), (_, after)) in abilities(&bare).into_iter().zip(abilities(&decorated)) {
        hold!(
            before == after,
            "the ability {ability} is {before} on the bare provider, and {after} on the decorated one"
        );
    }
    let (inner, outer) = (bare.provider.profile(), decorated.provider.profile());
    hold!(
        inner == outer,
        "the decorated provider declares another profile than the bare one: {}",
        difference(outer, inner)
    );
    hold!(
        inner == w.profile(),
        "`Provider::profile` answers another profile than the setup has, by which the provider is judged: {}",
        difference(inner, w.profile())
    );
    // Each goes through: it reaches the backend, and is seen on its way.
    for visit in tour(w, &decorated).await? {
        let span = format!("provider.{}", visit.operation);
        let seen = visit.captured.spans.iter().any(|seen| seen.name == span);
        hold!(seen, "{visit} did not pass the decorator: there is no span {span}");
    }
    Ok(())
}

/// The provider as its constructor made it.
fn bare(w: &World) -> Checked<Built> {
    let yaml = w.config(&Tweaks::default())?;
    let surroundings = |_: &provider_api::ProviderName| w.context().clone();
    let providers =
        w.registry().load_finished(&Default::default(), &yaml, |_| {}, surroundings, |built, _| built);
    let providers =
        providers.map_err(|report| Stop::Error(format!("the harness's config does not load: {report}")))?;
    let entry = providers.iter().next().map(|(_, entry)| entry.built.clone());
    entry.ok_or_else(|| Stop::Error("the config has no entry".into()))
}

/// Where two profiles first differ.
fn difference(declared: &Profile, due: &Profile) -> String {
    let (declared, due) = (format!("{declared:#?}"), format!("{due:#?}"));
    let first = declared.lines().zip(due.lines()).find(|(declared, due)| declared != due);
    let (declared, due) = first.unwrap_or(("more or fewer rows", "the others"));
    format!("it has `{}`, where `{}` was due", declared.trim(), due.trim())
}

pub(super) async fn one_outcome_line(w: &mut World) -> Checked {
    let built = w.built().clone();
    for visit in tour(w, &built).await? {
        let lines: Vec<_> = visit.captured.said(OUTCOME).collect();
        let [line] = lines.as_slice() else {
            let from: Vec<_> = lines.iter().map(|line| line.target).collect();
            broken!(
                "{visit} ended with {} lines `{OUTCOME}`; one was due; they come from {from:?}",
                lines.len()
            )
        };
        hold!(line.level == Level::DEBUG, "{visit} says how it ended at level {}", line.level);
        let expected = [
            ("provider", World::PROVIDER),
            ("operation", visit.operation.as_str()),
            ("subject", &visit.subject),
            ("class", visit.class),
        ];
        for (field, due) in expected {
            let said = line.field(field).unwrap_or("nothing");
            hold!(said == due, "the line about {visit} says {field} {said:?} instead of {due:?}");
        }
        let is_error = !matches!(visit.class, "OK" | "NotFound" | "Cancelled");
        let has_error = line.field("error").is_some();
        hold!(is_error == has_error, "the line about {visit} has an error: {has_error}");
    }
    Ok(())
}

pub(super) async fn every_backend_call_logged_once(w: &mut World) -> Checked {
    let built = w.built().clone();
    let mut seen = 0;
    for visit in tour(w, &built).await? {
        let made = made(&visit);
        seen += made.values().sum::<usize>();
        let mut said: BTreeMap<&str, usize> = BTreeMap::new();
        for line in visit.captured.said(CALL) {
            hold!(
                line.level == Level::DEBUG,
                "{visit} says that it called the backend at level {}",
                line.level
            );
            for field in ["provider", "call", "target", "elapsed_ms"] {
                hold!(
                    line.field(field).is_some(),
                    "a line about a backend call of {visit} does not say {field}"
                );
            }
            *said.entry(line.field("call").unwrap_or_default()).or_default() += 1;
        }
        for (call, count) in &made {
            let lines = said.get(call).copied().unwrap_or(0);
            hold!(
                lines == *count,
                "{visit} made {count} {call} calls, and {lines} lines `{CALL}` say so; as many were due"
            );
        }
        // A call that never reached the backend, a dial or a download, is no call of the wire's, but one the profile knows.
        let stray = said.keys().find(|call| !made.contains_key(*call) && w.profile().call(call).is_none());
        if let Some(stray) = stray {
            broken!("{visit} says that it called {stray}, which the profile does not know");
        }
    }
    if seen == 0 && w.is_fake() {
        return Err(Stop::Error("no call on the wire could be told to be the seam's".into()));
    }
    Ok(())
}

/// The seam's calls of a visit, as the wire tells of them; one of them may be several on the wire.
fn made(visit: &Visit) -> BTreeMap<&'static str, usize> {
    let distinct: BTreeSet<_> = visit.calls.iter().filter_map(|call| call.seam).collect();
    let mut made = BTreeMap::new();
    for (_, kind) in distinct {
        *made.entry(kind).or_default() += 1;
    }
    made
}

pub(super) async fn every_backend_call_has_a_child_span(w: &mut World) -> Checked {
    let built = w.built().clone();
    let type_name = w.registry().types()[0].name;
    let mut seen = 0;
    for visit in tour(w, &built).await? {
        let captured = &visit.captured;
        let operation = format!("provider.{}", visit.operation);
        for (call, count) in made(&visit) {
            seen += count;
            let name = format!("{type_name}.{call}");
            let spans: Vec<_> = captured.spans.iter().filter(|span| span.name == name).collect();
            let found = spans.len();
            hold!(
                found == count,
                "{visit} made {count} {call} calls and opened {found} spans {name}; as many were due, and a call that is \
                 made where no span is open, as in a task of its own, opens none"
            );
            for span in spans {
                let kind = span.kind.as_deref().unwrap_or("none");
                hold!(kind == "client", "the span {name} of {visit} is of kind {kind}, not client");
                hold!(
                    is_below(captured, span, &operation),
                    "the span {name} of {visit} does not stand below {operation}"
                );
            }
        }
    }
    if seen == 0 && w.is_fake() {
        return Err(Stop::Error("no call on the wire could be told to be the seam's".into()));
    }
    // Only under a parent: a call of nobody's would be a trace of its own.
    let bare = bare(w)?;
    for visit in tour(w, &bare).await? {
        if let Some(span) =
            visit.captured.spans.iter().find(|span| span.parent.is_none() && span.kind.is_some())
        {
            broken!("undecorated, {visit} opened the span {} without a parent", span.name);
        }
    }
    Ok(())
}

fn is_below(captured: &Captured, span: &Span, operation: &str) -> bool {
    let mut parent = span.parent;
    while let Some(place) = parent {
        let span = &captured.spans[place];
        if span.name == operation {
            return true;
        }
        parent = span.parent;
    }
    false
}

pub(super) async fn no_child_spans(w: &mut World) -> Checked {
    let built = w.built().clone();
    for visit in tour(w, &built).await? {
        let client = visit.captured.spans.iter().find(|span| span.kind.as_deref() == Some("client"));
        if let Some(span) = client {
            broken!("child spans are declared absent, and {visit} opened {}", span.name);
        }
    }
    Ok(())
}

pub(super) async fn ids_on_lines(w: &mut World) -> Checked {
    let built = w.built().clone();
    for visit in tour(w, &built).await? {
        hold!(!visit.captured.events.is_empty(), "{visit} wrote no line");
        let operation = format!("provider.{}", visit.operation);
        // Only what the operation itself writes; a client's own task may speak too.
        for event in visit.captured.events.iter().filter(|event| event.operation.is_some()) {
            let root = event.spans.first().map(|place| &visit.captured.spans[*place]);
            let Some(root) = root else {
                broken!("{visit} wrote a line outside of any span: {}", told(event))
            };
            hold!(
                root.name == operation,
                "{visit} wrote a line under {}, not {operation}: {}",
                root.name,
                told(event)
            );
            for (field, due) in [("provider", World::PROVIDER), ("subject", &visit.subject)] {
                let said = root.field(field).unwrap_or("nothing");
                hold!(
                    said == due,
                    "the span {operation} of {visit} says {field} {said:?} instead of {due:?}"
                );
            }
        }
    }
    Ok(())
}

fn told(event: &Event) -> String {
    format!("{} ({})", event.message, event.target)
}
