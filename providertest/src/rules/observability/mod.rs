//! The rules of the group `observability`, judged on what the registry hands out: the decorated provider. What is
//! logged is heard by `capture.rs`, what was called is told by the wire, what was counted by the metrics.

mod lines;
mod metrics;
mod tour;

use futures::FutureExt;
use provider_api::profile::ChildSpans;

use crate::rule::{Absence, Caller, Check, Level, Rule, always, when};

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
        why: "A decorator that forgets an ability turns it off without a word, and in production only: no \
              checks, no leftovers collected, no hints.",
        tested: "Compares the decorated provider with the bare one: abilities and profile must be the \
                 same, and the profile the one that the suite goes by. Then drives every operation, on a \
                 fake also a failing and a cancelled get: each must open its span on the way through.",
        mend: "Leave the wrapping to `provider_api::decorate`, which the registry applies; a wrapper of your \
               own wraps all four parts of `Built`, hands on what is wrapped, and answers the inner profile. \
               Let the provider and the harness's setup take their profile from one function.",
    },
    Rule {
        id: "observability.one-outcome-line",
        level: Level::Must,
        says: "Every operation, cancelled ones too, ends with one line at debug that says provider, operation, subject and class.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Decorated(|w| lines::one_outcome_line(w).boxed()),
        absent: None,
        why: "An admin asks what became of a create last night. Without its line nobody can tell; with two \
              lines every count by logs is wrong, and without the class none can be filtered.",
        tested: "Drives every operation, with NotFound, Permanent and, on a fake, a failed and a cancelled \
                 get. Each must write one line `operation ended` at debug, with provider, operation, subject \
                 and class, and with an error just where it failed.",
        mend: "Leave the line to `provider_api::decorate`, which writes it for dropped futures too. Two \
               lines of its module say that it stands over itself: the registry decorates already. Write \
               none in the provider.",
    },
    Rule {
        id: "observability.every-backend-call-logged-once",
        level: Level::Must,
        says: "Every backend call has one line at debug that says provider, call and target.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Decorated(|w| lines::every_backend_call_logged_once(w).boxed()),
        absent: None,
        why: "When a backend misbehaves, the lines of its calls are what an admin has. A call beside the \
              seam is invisible; one that is logged twice looks like a retry that never was.",
        tested: "Drives every operation and counts the seam's calls that reached the wire. For each kind \
                 there must be as many lines `backend call` at debug, with provider, call, target and \
                 elapsed time; a line about a call that the profile does not know is broken.",
        mend: "Make every backend call through `Seam::call` or `Seam::blocking`, one closure a call, dials \
               and downloads too, with a `CallKind` that the profile lists. Log none by hand.",
    },
    Rule {
        id: "observability.every-backend-call-has-a-child-span",
        level: Level::Must,
        says: "Every backend call has a client span of its own, named type.call, below the operation's.",
        caller: Caller::Operator,
        applies: |profile| when(profile.child_spans != ChildSpans::None),
        check: Check::Decorated(|w| lines::every_backend_call_has_a_child_span(w).boxed()),
        absent: Some(Absence {
            check: |w| lines::no_child_spans(w).boxed(),
            shows: "a tour through all operations opened no span of a backend call",
        }),
        why: "A trace says that a create took a minute. Without a span for each call nobody sees which of \
              them took it; spans without a parent are a trace each, and bury the others.",
        tested: "Drives every operation: each kind of call on the wire must have as many client spans, named \
                 type.call, below the operation's. On the bare provider no client span may stand without a \
                 parent. Where child spans are declared absent, there must be none.",
        mend: "Make every backend call through the `Seam`, in the task that the operation runs in. A future \
               for `Seam::spawn` or a task of yours takes the current span along (`in_current_span`): \
               without one the seam opens no span. Open no client span by hand.",
    },
    Rule {
        id: "observability.metrics-by-class",
        level: Level::Must,
        says: "Every operation counts once, under provider, operation and class; no label bears an instance or a message.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Decorated(|w| metrics::metrics_by_class(w).boxed()),
        absent: None,
        why: "Alerts go by counts for each provider and class. A double count raises false ones; a label \
              with an instance's name makes new series for each proxy, until the metrics store gives out.",
        tested: "Drives every operation: each must be counted under its operation and class, the total be as \
                 many as were driven, and none be left in flight. No line of the exported text may hold an \
                 instance's id or name, and the configured name must be there.",
        mend: "Leave counting to `provider_api::decorate`, and give it the `Context` as it came: its \
               `Metrics` are the ones that the program shows, not a set of your own. Count nothing in the \
               provider, and let labels of your own hold only what config or code can enumerate.",
    },
    Rule {
        id: "observability.ids-on-lines",
        level: Level::Must,
        says: "Every line that an operation writes stands in its span, so that trace and span ids are on it.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Decorated(|w| lines::ids_on_lines(w).boxed()),
        absent: None,
        why: "A hundred creates run at once, and their lines mix. Only the ids of the span on each line \
              bring together what belongs to one proxy.",
        tested: "Drives every operation and looks at each line that it writes itself: its outermost span \
                 must be the operation's, with the configured name and the subject. An operation that writes \
                 no line is broken.",
        mend: "Log inside the operation's future; a future for `Seam::spawn` takes the current span along \
               (`in_current_span`). In a closure of `Seam::blocking` enter a span that was captured before, \
               or log after its answer.",
    },
];
