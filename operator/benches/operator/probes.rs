//! The real prober and its schedule on 10,000 endpoints, in a process of its own; the endpoints, which are all one listener,
//! are in the process that asks. Of each thousand connections one is closed without an answer, as it happens to healthy
//! proxies: whoever does not confirm would call that one dead.

use std::{
    env,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures::{StreamExt, channel::mpsc::unbounded};
use provider_api::SystemClock;
use proxy_operator::{
    health::proxy::{Fault, HttpProber, ProbeUrl, Prober, ProxiesHealth, Settings},
    resource::Key,
    shell::{Tells, Told},
    step::Health,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::figures::{Other, answer, processor, verdict};

/// What such a process finds in its environment: the port of the endpoints, and the seconds between probes of one.
const PORT: &str = "OPERATOR_BENCH_PROBED_PORT";
const INTERVAL: &str = "OPERATOR_BENCH_PROBED_EVERY";
const ENDPOINTS: u32 = 10_000;
/// How long the processor's time is measured.
const MEASURED: Duration = Duration::from_secs(20);
/// How long probes are looked at for wrong verdicts, and how many instead if all are asked for.
const LOOKED: Duration = Duration::from_secs(60);
const MILLION: f64 = 1e6;
/// One connection of so many gets no answer.
const FAILS: usize = 1_009;

pub(crate) fn is_asked_for() -> bool {
    env::var_os(PORT).is_some()
}

#[derive(Default)]
struct Counts {
    probes: AtomicUsize,
    failed: AtomicUsize,
    healthy: AtomicUsize,
    unhealthy: AtomicUsize,
}

/// The real prober, counted.
struct Counted(HttpProber, Arc<Counts>);

#[async_trait]
impl Prober for Counted {
    async fn probe(&self, endpoint: &str) -> Result<(), Fault> {
        let ended = self.0.probe(endpoint).await;
        self.1.probes.fetch_add(1, Ordering::Relaxed);
        self.1.failed.fetch_add(usize::from(ended.is_err()), Ordering::Relaxed);
        ended
    }
}

/// The process that is measured: it answers with its processor time, its probes, those that failed, and verdicts.
pub(crate) async fn probe() -> ExitCode {
    let port = env::var(PORT).unwrap();
    let interval = Duration::from_secs(env::var(INTERVAL).unwrap().parse().unwrap());
    let counts = Arc::new(Counts::default());
    let (tells, heard) = unbounded();
    let (told_by, mut told) = unbounded();
    let url = ProbeUrl::parse("http://probe.example/health").unwrap();
    let prober = Counted(HttpProber::new(Some(&url)), Arc::clone(&counts));
    let settings = Settings { interval, ..Settings::default() };
    let health =
        ProxiesHealth::new(Arc::new(prober), Arc::new(SystemClock::default()), settings, heard, told_by);
    for number in 0..ENDPOINTS {
        let key = Key { namespace: "bench".to_owned(), name: format!("proxy-{number:05}") };
        // All of 127.0.0.0/8 is here.
        let endpoint = format!("127.0.{}.{}:{port}", number / 200 + 1, number % 200 + 1);
        tells.unbounded_send(Tells::Up(key, endpoint)).unwrap();
    }
    tokio::spawn(health.run());
    let verdicts = Arc::clone(&counts);
    tokio::spawn(async move {
        while let Some(told) = told.next().await {
            match told {
                Told::Health(_, Health::Healthy) => verdicts.healthy.fetch_add(1, Ordering::Relaxed),
                Told::Health(_, Health::Unhealthy { .. }) => {
                    verdicts.unhealthy.fetch_add(1, Ordering::Relaxed)
                }
                _ => 0,
            };
        }
    });
    let answers = tokio::task::spawn_blocking(move || {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed) as f64;
        answer(|_| {
            let Counts { probes, failed, healthy, unhealthy } = &*counts;
            vec![processor(), of(probes), of(failed), of(healthy), of(unhealthy)]
        });
    });
    answers.await.unwrap();
    // Whoever is probed hears of it until the end.
    drop(tells);
    ExitCode::SUCCESS
}

pub(crate) async fn measure(is_million: bool) -> bool {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let endpoints = tokio::spawn(serve(listener));
    let mut reached = processor_time(&port).await;
    reached &= wrong_verdicts(&port, is_million).await;
    endpoints.abort();
    reached
}

async fn processor_time(port: &str) -> bool {
    let mut prober = Other::start(&[(PORT, port), (INTERVAL, "5")]);
    // Everything was probed once.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let (since, [time, probes, ..]) = (Instant::now(), prober.ask::<5>("figures"));
    tokio::time::sleep(MEASURED).await;
    let [end, all, _, healthy, _] = prober.ask::<5>("figures");
    let seconds = since.elapsed().as_secs_f64();
    assert_eq!(healthy as u32, ENDPOINTS, "every endpoint was found healthy");
    let (rate, share) = ((all - probes) / seconds, (end - time) / seconds);
    println!(
        "{rate:.0} probes a second of {ENDPOINTS} endpoints, {:.0} for each second of the processor",
        rate / share
    );
    let due = f64::from(ENDPOINTS) / 5.0;
    let reached = verdict(
        &format!("probes made / probes that were due: {:.3}", rate / due),
        "0.98 to 1.02",
        (0.98..=1.02).contains(&(rate / due)),
    );
    reached & verdict(&format!("processors in use: {share:.3}"), "at most 0.25", share <= 0.25)
}

async fn wrong_verdicts(port: &str, is_million: bool) -> bool {
    // As fast as the timeout allows.
    let mut prober = Other::start(&[(PORT, port), (INTERVAL, "2")]);
    let since = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let [_, probes, failed, healthy, unhealthy] = prober.ask::<5>("figures");
        let is_enough = if is_million { probes >= MILLION } else { since.elapsed() >= LOOKED };
        if is_enough {
            assert!(failed > 0.0, "some probes fail");
            println!(
                "{probes} probes of healthy endpoints, {failed} of which failed by themselves, {healthy} found healthy"
            );
            return verdict(
                &format!("healthy endpoints called unhealthy: {unhealthy}"),
                "0",
                unhealthy == 0.0,
            );
        }
    }
}

/// A proxy that answers what it is asked.
async fn serve(listener: TcpListener) {
    let count = AtomicUsize::new(0);
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let fails = (count.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(FAILS);
        tokio::spawn(respond(stream, fails));
    }
}

async fn respond(mut stream: TcpStream, fails: bool) {
    let mut buffer = [0; 512];
    let mut length = 0;
    while !fails && !buffer[..length].ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer[length..]).await {
            Ok(0) | Err(_) => return,
            Ok(read) => length += read,
        }
    }
    if !fails {
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").await;
    }
    // It closes first, and waits for the other side, so that no port is left waiting.
    let _ = stream.shutdown().await;
    while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
}
