//! The rules of the group `observability`, judged on what the registry hands out: the decorated provider. What is
//! logged is heard by `capture.rs`, what was called is told by the wire, what was counted by the metrics.

mod lines;
mod metrics;
mod tour;

use futures::FutureExt;
use provider_api::profile::ChildSpans;

use crate::rule::{Caller, Check, Level, Rule, always, when};

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    Rule {
        id: "observability.decorator-drops-none",
        level: Level::Must,
        says: "The decorated provider has every ability of the bare one, each goes through, and both declare the profile \
               that they are judged by.",
        caller: Caller::Everybody,
        applies: always,
        check: Check::Decorated(|w| lines::decorator_drops_none(w).boxed()),
        absent: None,
        mend: "Wrap each of the four parts of what was built, and hand on what is wrapped.",
    },
    Rule {
        id: "observability.one-outcome-line",
        level: Level::Must,
        says: "Every operation, cancelled ones too, ends with one line at debug that says provider, operation, subject and class.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Decorated(|w| lines::one_outcome_line(w).boxed()),
        absent: None,
        mend: "Write the line where the operation ends, in the decorator and nowhere else.",
    },
    Rule {
        id: "observability.every-backend-call-logged-once",
        level: Level::Must,
        says: "Every backend call has one line at debug that says provider, call and target.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Decorated(|w| lines::every_backend_call_logged_once(w).boxed()),
        absent: None,
        mend: "Make every backend call through the seam, one closure a call.",
    },
    Rule {
        id: "observability.every-backend-call-has-a-child-span",
        level: Level::Must,
        says: "Every backend call has a client span of its own, named type.call, below the operation's.",
        caller: Caller::Operator,
        applies: |profile| when(profile.child_spans != ChildSpans::None),
        check: Check::Decorated(|w| lines::every_backend_call_has_a_child_span(w).boxed()),
        absent: Some(|w| lines::no_child_spans(w).boxed()),
        mend: "Make every backend call through the seam, in the task that the operation runs in.",
    },
    Rule {
        id: "observability.metrics-by-class",
        level: Level::Must,
        says: "Every operation counts once, under provider, operation and class; no label bears an instance or a message.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Decorated(|w| metrics::metrics_by_class(w).boxed()),
        absent: None,
        mend: "Count in the decorator, in the metrics of the context.",
    },
    Rule {
        id: "observability.ids-on-lines",
        level: Level::Must,
        says: "Every line that an operation writes stands in its span, so that trace and span ids are on it.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Decorated(|w| lines::ids_on_lines(w).boxed()),
        absent: None,
        mend: "Log inside the operation's future; what is spawned takes the current span along.",
    },
];
