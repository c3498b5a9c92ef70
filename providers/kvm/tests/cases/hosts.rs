//! Hosts that hang, die and come back: what that costs the operation in question, and no other.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use libvirt_rpc::Procedure;
use provider_api::{Error, FailureClass, Provider, ProviderId, StateKind, reasons};
use tokio::task::JoinHandle;

use super::{
    bench::{Bench, fails, request, shown, until},
    images::Serves,
    sshd::by_ssh,
};

/// The library asks for it by one of these, as the daemon's age has it.
const STARTS: [Procedure; 2] = [Procedure::DomainCreate, Procedure::DomainCreateWithFlags];

/// A create in a task of its own.
fn create(provider: &Arc<dyn Provider>, uid: &str) -> JoinHandle<Result<ProviderId, Error>> {
    let (provider, request) = (Arc::clone(provider), request(uid));
    tokio::spawn(async move { provider.create(&request).await })
}

/// Everything that others do on the host meanwhile.
async fn others_go_on(bench: &Bench, provider: &dyn Provider, uid: &str) {
    let began = Instant::now();
    let (request, id) = bench.running(provider, uid).await;
    assert_eq!(shown(provider, &id).await.state.kind(), StateKind::Running);
    let listed = provider.list_by_tag().await.unwrap();
    assert!(listed.unreachable.is_empty() && listed.items.iter().any(|item| item.name == request.name));
    provider.delete(&id).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "it took {:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_hangs_ends_by_its_budget_and_ends_no_other() {
    let mut bench = Bench::new().await;
    bench.entry["budgets"]["call"] = "2s".into();
    let provider = bench.provider();
    bench.running(&*provider, "uid-0").await;
    // What is in flight when the hang begins, and what comes while it lasts.
    bench.daemons[0].hang_in_next(&STARTS);
    let hung = create(&provider, "uid-1");
    until("the hang", || bench.daemons[0].hanging() == 1).await;
    others_go_on(&bench, &*provider, "uid-2").await;
    assert!(!hung.is_finished(), "it hangs still");
    let error = fails(Duration::from_secs(4), async { hung.await.unwrap() }).await;
    assert_eq!((error.class(), error.code()), (FailureClass::Transient, Some("Timeout")), "{error}");
    others_go_on(&bench, &*provider, "uid-3").await;

    // The daemon has gone on with it, whatever became of the caller; the repetition takes it up.
    bench.daemons[0].let_go();
    let name = request("uid-1").name;
    provider.create(&request("uid-1")).await.unwrap();
    assert!(bench.host().domain_named(name.as_str()).is_some_and(|domain| domain.id.is_some()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_goes_away_leaves_nothing_behind_that_waits() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    bench.running(&*provider, "uid-0").await;
    bench.daemons[0].hang_in_next(&STARTS);
    let caller = create(&provider, "uid-1");
    until("the hang", || bench.daemons[0].hanging() == 1).await;
    let before = bench.host().connections();
    caller.abort();
    others_go_on(&bench, &*provider, "uid-2").await;
    bench.daemons[0].let_go();
    // The library's thread has returned and closed its end, or the connection would stand for ever.
    until("the end of its connection", || bench.host().connections() < before + 1).await;
    others_go_on(&bench, &*provider, "uid-3").await;
}

/// How a call that hangs comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    ByItsBudget,
    WithItsCaller,
}

/// Two operations are in flight on one host, and its daemon hangs in a call of the one. Neither that, nor how it ends,
/// delays or fails the other, or anything else that is asked of that host: by one SSH session, which all of them share, and
/// by its socket.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_operations_in_flight_on_a_host_one_may_hang() {
    let cases = [false, true].map(|ssh| [Ends::ByItsBudget, Ends::WithItsCaller].map(|ends| (ssh, ends)));
    for (ssh, ends) in cases.into_iter().flatten() {
        let case = format!("by SSH: {ssh}, {ends:?}");
        let (mut bench, server) = match ssh {
            true => {
                let (bench, server) = by_ssh().await;
                (bench, Some(server))
            }
            false => (Bench::new().await, None),
        };
        bench.entry["budgets"]["call"] = "5s".into();
        bench.images.serve("/other.qcow2", Serves::Waits);
        let provider = bench.provider();
        let usual = timed(others_go_on(&bench, &*provider, "uid-0")).await;
        let at_most = usual * 3 + Duration::from_millis(500);

        // This one is at work for as long as its image waits.
        let goes_on = {
            let (provider, mut request) = (Arc::clone(&provider), request("uid-goes-on"));
            request.placement.image = Some("other".to_owned());
            tokio::spawn(async move { provider.create(&request).await })
        };
        let uploads = bench.daemons[0].calls_of(Procedure::StorageVolUpload);
        until("the transfer", || bench.daemons[0].calls_of(Procedure::StorageVolUpload) > uploads).await;
        bench.daemons[0].hang_in_next(&STARTS);
        let hangs = create(&provider, "uid-hangs");
        until("the hang", || bench.daemons[0].hanging() == 1).await;

        let beside = timed(others_go_on(&bench, &*provider, "uid-1")).await;
        assert!(!hangs.is_finished() && !goes_on.is_finished(), "{case}: both are in flight still");
        assert!(beside < at_most, "{case}: it took {beside:?}, and {usual:?} before");
        match ends {
            Ends::ByItsBudget => {
                let error = hangs.await.unwrap().unwrap_err();
                assert_eq!(error.code(), Some("Timeout"), "{case}: {error}");
            }
            Ends::WithItsCaller => {
                hangs.abort();
                assert!(hangs.await.unwrap_err().is_cancelled());
            }
        }
        let after = timed(others_go_on(&bench, &*provider, "uid-2")).await;
        assert!(after < at_most, "{case}: it took {after:?}, and {usual:?} before");
        assert!(!goes_on.is_finished(), "{case}: it is in flight still");
        bench.images.let_come();
        let rest = timed(async { goes_on.await.unwrap().unwrap() }).await;
        assert!(rest < at_most, "{case}: the rest of it took {rest:?}");
        if let Some(server) = server {
            assert_eq!(server.shared.connections.load(Ordering::SeqCst), 1, "{case}");
        }
    }
}

/// How long something takes.
async fn timed<T>(work: impl Future<Output = T>) -> Duration {
    let began = Instant::now();
    work.await;
    began.elapsed()
}

/// The runtime can end while a call hangs: no thread is left that waits for the daemon.
#[test]
fn a_process_can_end_while_a_host_hangs() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let bench = Bench::new().await;
        let provider = bench.provider();
        bench.daemons[0].hang_in_next(&[Procedure::ConnectListAllDomains]);
        let listing = {
            let provider = Arc::clone(&provider);
            tokio::spawn(async move { provider.list_by_tag().await })
        };
        until("the hang", || bench.daemons[0].hanging() == 1).await;
        listing.abort();
        let _ = listing.await;
    });
    let began = Instant::now();
    // It waits for every thread that blocks.
    drop(runtime);
    assert!(began.elapsed() < Duration::from_secs(2), "it took {:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_hangs_keeps_no_other_hosts_answers() {
    let mut bench = Bench::of(&["rack-1", "rack-2"], |_| ()).await;
    bench.entry["budgets"]["call"] = "1s".into();
    let built = bench.built();
    bench.running(&*built.provider, "uid-1").await;
    bench.daemons[1].hang_in_next(&[Procedure::ConnectListAllDomains]);
    let listed = built.provider.list_by_tag().await.unwrap();
    assert_eq!((listed.items.len(), listed.unreachable.len()), (1, 1), "{listed:?}");
    assert_eq!(listed.unreachable[0].target, "rack-2");

    bench.daemons[1].hang_in_next(&[Procedure::ConnectGetLibVersion]);
    let began = Instant::now();
    let [first, second] = built.checker.unwrap().check(bench.in_seconds(2)).await.try_into().unwrap();
    assert!(began.elapsed() < Duration::from_secs(3));
    assert!(first.ready, "{first:?}");
    assert_eq!((second.ready, &*second.reason.code), (false, reasons::TIMEOUT));
}

/// Opening a connection is a call as any other: a daemon that accepts and says nothing costs its budget.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_never_greets_costs_the_budget_of_a_call() {
    let mut bench = Bench::new().await;
    bench.entry["budgets"]["call"] = "1s".into();
    bench.daemons[0].hang_in_next(&[Procedure::AuthList]);
    let provider = bench.provider();
    let error = fails(Duration::from_secs(3), provider.create(&request("uid-1"))).await;
    assert_eq!((error.class(), error.code()), (FailureClass::Transient, Some("Timeout")), "{error}");
    bench.daemons[0].let_go();
    provider.create(&request("uid-1")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_was_started_anew_costs_nobody_anything() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    for _ in 0..3 {
        bench.host().restart();
        assert_eq!(shown(&*provider, &id).await.state.kind(), StateKind::Running);
        bench.host().restart();
        let listed = provider.list_by_tag().await.unwrap();
        assert_eq!((listed.items.len(), listed.unreachable.len()), (1, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_kept_for_the_next_one_and_shared_by_none() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    for _ in 0..20 {
        shown(&*provider, &id).await;
    }
    assert_eq!(bench.daemons[0].calls_of(Procedure::ConnectOpen), 1);
    let gets = (0..8).map(|_| shown(&*provider, &id));
    futures::future::join_all(gets).await;
    // As many as may be on a host at once.
    let opened = bench.daemons[0].calls_of(Procedure::ConnectOpen);
    assert!((2..=4).contains(&opened), "{opened}");
    drop(provider);
    until("the end of all connections", || bench.host().connections() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decommissioned_host_takes_nothing_new_and_loses_nothing() {
    let mut bench = Bench::of(&["rack-1", "rack-2"], |_| ()).await;
    let (first, id) = bench.running(&*bench.provider(), "uid-1").await;
    bench.block()["hosts"][0]["decommissioned"] = true.into();
    let provider = bench.provider();
    let error = fails(Duration::from_secs(1), provider.create(&request("uid-2"))).await;
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    assert_eq!(shown(&*provider, &id).await.name, first.name);
    assert_eq!(provider.list_by_tag().await.unwrap().items.len(), 1);
    provider.delete(&id).await.unwrap();
    assert_eq!(bench.host().domains().len(), 0);
}
