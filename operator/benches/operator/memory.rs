//! The memory of an operator that is alone in its process, and how many connections it makes; the API server is in the process
//! that asks. One operator makes all Proxies' instances, the next one finds them running.

use std::{
    env,
    process::ExitCode,
    time::{Duration, Instant},
};

use proxy_operator::apiserver::{self, Settings};
use tokio::net::TcpListener;

use crate::{
    figures::{Other, answer, kb, verdict},
    operator::{Probes, RUNNING_POLL, Running, Thin},
    place::{Place, is_ready},
};

/// What such a process finds in its environment: where the API server is.
const SERVER: &str = "OPERATOR_BENCH_SERVER";
const FEW: usize = 1_000;
const MANY: usize = 10_000;
/// Watches, the lease, and what a process has open anyway.
const OTHERS: usize = 24;

/// What an operator takes in memory, in kB.
struct Taken {
    made: f64,
    restarted: f64,
    peak: f64,
    open: usize,
}

pub(crate) fn is_asked_for() -> bool {
    env::var_os(SERVER).is_some()
}

/// The process that is measured.
pub(crate) async fn operate() -> ExitCode {
    let config = kube::Config::new(env::var(SERVER).unwrap().parse().unwrap());
    let thin = Thin::new();
    let _running = Running::start(apiserver::client(config).unwrap(), &thin, Probes::Pass);
    let answers = tokio::task::spawn_blocking(move || {
        answer(|_| vec![thin.gets() as f64, kb("VmRSS") as f64, kb("VmHWM") as f64]);
    });
    answers.await.unwrap();
    ExitCode::SUCCESS
}

pub(crate) async fn measure() -> bool {
    let (few, many) = (taken(FEW).await, taken(MANY).await);
    for (count, taken) in [(FEW, &few), (MANY, &many)] {
        let Taken { made, restarted, peak, open } = taken;
        println!(
            "{count} Proxies: {made} kB once all are Ready, {restarted} kB after a restart, {peak} kB at most on the way there; \
             {open} files and sockets open at most"
        );
    }
    let slope = |of: fn(&Taken) -> f64| (of(&many) - of(&few)) / (MANY - FEW) as f64;
    let mut reached = true;
    for (when, slope) in
        [("all made by it", slope(|taken| taken.made)), ("after a restart", slope(|taken| taken.restarted))]
    {
        reached &=
            verdict(&format!("memory for each Proxy, {when}: {slope:.2} kB"), "at most 4 kB", slope <= 4.0);
    }
    let peak = many.peak / many.restarted;
    reached &=
        verdict(&format!("peak at a restart with {MANY} / steady: {peak:.2}"), "at most 1.2", peak <= 1.2);
    let (open, most) = (few.open.max(many.open), Settings::default().at_once + OTHERS);
    reached
        & verdict(
            &format!("files and sockets open at once: {open}"),
            &format!("at most {most}"),
            open <= most,
        )
}

async fn taken(count: usize) -> Taken {
    let place = Place::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = place.server.serve(listener, None).unwrap();
    let address = format!("http://{}", serving.address().unwrap());
    place.make(count).await;
    let mut first = Other::start(&[(SERVER, &address)]);
    let mut open = 0;
    let since = Instant::now();
    while place.seen.ready() < count {
        open = open.max(first.open_files());
        assert!(since.elapsed() < Duration::from_secs(300), "{count} Proxies are not Ready");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let [made, _] = settled(&mut first, count).await;
    // It holds the lease no more than its successor waits for.
    drop(first);
    let mut second = Other::start(&[(SERVER, &address)]);
    let [restarted, peak] = settled(&mut second, count).await;
    assert_eq!(place.count(is_ready).await, count, "all stay Ready");
    Taken { made, restarted, peak, open: open.max(second.open_files()) }
}

/// Memory now and at most, once everything was looked at three times.
async fn settled(other: &mut Other, count: usize) -> [f64; 2] {
    let since = Instant::now();
    let mut before = None;
    loop {
        let [gets, now, most] = other.ask("figures");
        let goal = *before.get_or_insert(gets) + 3.0 * count as f64;
        if gets >= goal {
            return [now, most];
        }
        assert!(since.elapsed() < Duration::from_secs(120), "{count} Proxies are not looked at");
        tokio::time::sleep(RUNNING_POLL / 4).await;
    }
}
