//! The decorator drops no ability and observes each operation once (`observability.decorator-drops-none`,
//! `observability.one-outcome-line`, `observability.metrics-by-class`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::{FutureExt as _, StreamExt as _, executor::block_on};
use provider_api::{
    Built, Deadline, Error, GetError, Hint, LeftoverId, Metrics, Operation, ProviderId, decorate,
};

use crate::{
    canned::{Answer, Canned, request, uid},
    doubles::{name, rig},
    recorder,
};

fn decorated(answer: Answer) -> (Built, Metrics) {
    let context = rig().context;
    (decorate(Canned::built(answer), &context), context.metrics)
}

/// Runs every operation there is; answers their names and how many times each was run.
fn run_all(built: &Built) -> [(Operation, u64); 6] {
    let id = ProviderId::new("x");
    let leftovers = built.leftovers.as_ref().unwrap();
    block_on(async {
        let _ = built.provider.create(&request()).await;
        let _ = built.provider.get(&id).await;
        let _ = built.provider.delete(&id).await;
        let _ = built.provider.list_by_tag().await;
        let _ = leftovers.list().await;
        let _ = leftovers.delete(&LeftoverId::new("part")).await;
        built.checker.as_ref().unwrap().check(Deadline::at(std::time::Duration::MAX)).await;
    });
    [
        (Operation::Create, 1),
        (Operation::Get, 1),
        (Operation::Delete, 1),
        (Operation::List, 1),
        (Operation::Leftovers, 2),
        (Operation::Check, 1),
    ]
}

#[test]
fn it_drops_none_and_invents_none() {
    let (built, _) = decorated(Answer::Good);
    assert!(built.checker.is_some() && built.leftovers.is_some() && built.watch.is_some());
    let hint = block_on(built.watch.unwrap().hints().next());
    assert_eq!(hint, Some(Hint::Resync));
    let bare = decorate(Built::new(Canned::built(Answer::Good).provider), &rig().context);
    assert!(bare.checker.is_none() && bare.leftovers.is_none() && bare.watch.is_none());
    assert_eq!(bare.provider.profile().provider, "toy");
}

#[test]
fn every_operation_has_one_span_one_line_and_one_count() {
    recorder::start();
    let (built, metrics) = decorated(Answer::Good);
    let operations = run_all(&built);
    let lines = recorder::events("operation ended");
    let spans = recorder::spans();
    for (operation, count) in operations {
        let span = format!("provider.{operation}");
        assert_eq!(spans.iter().filter(|seen| seen.name == span).count() as u64, count, "{span}");
        let ended: Vec<_> =
            lines.iter().filter(|line| line.field("operation") == Some(operation.as_str())).collect();
        assert_eq!(ended.len() as u64, count, "{span}");
        for line in ended {
            assert_eq!(line.within, [span.as_str()], "the line is in its operation's span");
            assert_eq!((line.level.as_str(), line.field("class")), ("DEBUG", Some("OK")));
            assert_eq!(line.field("provider"), Some("here"));
        }
        assert_eq!(metrics.operations(&name("here"), operation, "OK"), count, "{span}");
        assert_eq!(metrics.in_flight(&name("here"), operation), 0);
    }
    assert!(spans.iter().all(|span| span.field("otel.status_code").is_none()), "nothing failed");
}

#[test]
fn a_failure_is_counted_by_its_class_and_marks_its_span() {
    recorder::start();
    let (built, metrics) =
        decorated(Answer::Bad(Error::quota("the zone is out of stock").coded("STOCK_OUT")));
    for (operation, count) in run_all(&built) {
        let class = if operation == Operation::Check { "NotReady" } else { "QuotaExceeded" };
        assert_eq!(metrics.operations(&name("here"), operation, class), count, "{operation}");
        assert_eq!(metrics.operations(&name("here"), operation, "OK"), 0, "{operation}");
    }
    for span in recorder::spans() {
        assert_eq!(span.field("otel.status_code"), Some("ERROR"), "{}", span.name);
    }
    let lines = recorder::events("operation ended");
    let create = lines.iter().find(|line| line.field("operation") == Some("create")).unwrap();
    assert_eq!(create.field("error"), Some("the zone is out of stock (STOCK_OUT)"));
}

#[test]
fn proven_absent_is_an_answer_and_no_error() {
    recorder::start();
    let (built, metrics) = decorated(Answer::Gone);
    assert_eq!(block_on(built.provider.get(&ProviderId::new("x"))), Err(GetError::NotFound));
    assert_eq!(metrics.operations(&name("here"), Operation::Get, "NotFound"), 1);
    assert_eq!(recorder::spans()[0].field("otel.status_code"), None);
}

#[test]
fn an_operation_whose_caller_goes_away_ends_as_cancelled_in_its_own_span() {
    recorder::start();
    let (built, metrics) = decorated(Answer::Never);
    let id = ProviderId::new("x");
    let mut get = built.provider.get(&id);
    assert!(get.as_mut().now_or_never().is_none());
    assert_eq!(metrics.in_flight(&name("here"), Operation::Get), 1);
    drop(get);
    assert_eq!(metrics.in_flight(&name("here"), Operation::Get), 0);
    assert_eq!(metrics.operations(&name("here"), Operation::Get, "Cancelled"), 1);
    let lines = recorder::events("operation ended");
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (lines[0].field("class"), lines[0].within.as_slice()),
        (Some("Cancelled"), &["provider.get".into()][..])
    );
}

#[test]
fn a_panic_is_counted_as_one_goes_on_and_is_not_repeated() {
    recorder::start();
    let (built, metrics) = decorated(Answer::Panic);
    let id = ProviderId::new("x");
    let panic = catch_unwind(AssertUnwindSafe(|| block_on(built.provider.delete(&id))));
    assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"swordfish"));
    assert_eq!(metrics.in_flight(&name("here"), Operation::Delete), 0);
    assert_eq!(metrics.operations(&name("here"), Operation::Delete, "Panicked"), 1);
    assert_eq!(metrics.operations(&name("here"), Operation::Delete, "Cancelled"), 0);
    let lines = recorder::events("operation ended");
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (lines[0].field("class"), lines[0].field("error"), lines[0].within.as_slice()),
        (Some("Panicked"), Some("the provider panicked"), &["provider.delete".into()][..])
    );
    assert_eq!(recorder::spans()[0].field("otel.status_code"), Some("ERROR"));
    assert!(!recorder::all_text().contains("swordfish"));
}

#[test]
fn an_operation_that_goes_away_in_anothers_panic_is_cancelled() {
    recorder::start();
    let (built, metrics) = decorated(Answer::Never);
    let id = ProviderId::new("x");
    let beside = catch_unwind(AssertUnwindSafe(|| {
        let mut get = built.provider.get(&id);
        assert!(get.as_mut().now_or_never().is_none());
        panic!("the caller's own");
    }));
    assert!(beside.is_err());
    assert_eq!(metrics.operations(&name("here"), Operation::Get, "Cancelled"), 1);
}

#[test]
fn what_a_request_holds_is_not_recorded() {
    recorder::start();
    let (built, _) = decorated(Answer::Good);
    let mut request = request();
    request.cloud_init = provider_api::Secret::new("#cloud-config swordfish");
    block_on(built.provider.create(&request)).unwrap();
    assert!(recorder::all_text().contains(provider_api::Name::from_uid(&uid()).as_str()));
    assert!(!recorder::all_text().contains("swordfish"));
    assert!(!format!("{request:?}").contains("swordfish"));
}
