//! The requests that 1,000 Proxies cost through their lives, counted at the server.

use std::time::Duration;

use crate::{
    figures::verdict,
    operator::{Probes, Running, Thin},
    place::{Counts, GET_DELETING, Place, is_ready, until},
};

const PROXIES: usize = 1_000;
/// What a life cannot do without: the finalizer on, the intent, the instance, that it is Ready, the finalizer off.
const FLOOR: usize = 5;
/// Polls of everything that runs, in which nothing is to be written.
const QUIET: usize = 3;

pub(crate) async fn measure() -> bool {
    let mut reached = true;
    for probes in [Probes::Off, Probes::Pass] {
        reached &= lives(probes).await;
    }
    reached
}

async fn lives(probes: Probes) -> bool {
    let how = if probes == Probes::Off { "not probed" } else { "probed" };
    let place = Place::new().await;
    let thin = Thin::new();
    let _running = Running::start(place.client(), &thin, probes);
    // From then on it hears of whatever is made; what it lists at its start is behind it.
    until("the operator watches", async || place.seen.count("watch proxies") > 0).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("{how}, at the start: {}", shown(&place.seen.take()));

    let made = place.make(PROXIES).await;
    place.until_ready(PROXIES).await;
    all_is_told(&place).await;
    let coming = place.seen.take();
    println!("{how}, until all are Ready: {}", shown(&coming));
    assert_eq!(place.count(is_ready).await, PROXIES, "the server agrees");

    let before = thin.gets();
    until("everything is polled", async || thin.gets() >= before + QUIET * PROXIES).await;
    let quiet = place.seen.take();
    println!("{how}, in {} looks at instances: {}", thin.gets() - before, shown(&quiet));

    place.delete(&made).await;
    place.until_gone().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let going = place.seen.take();
    println!("{how}, until all are gone: {}", shown(&going));

    let all = [&coming, &quiet, &going];
    let writes: usize =
        all.map(|counts| of(counts, |kind| is_write(kind) && is_of_proxies(kind))).iter().sum();
    let share = writes as f64 / (FLOOR * PROXIES) as f64;
    let mut reached = verdict(
        &format!("writes / the floor of {FLOOR} a Proxy, {how}: {share:.3}"),
        "at most 1.25",
        share <= 1.25,
    );
    let idle = of(&quiet, |kind| is_write(kind) && !kind.ends_with(" leases"));
    reached &=
        verdict(&format!("writes in three quiet rounds but the Lease's, {how}: {idle}"), "0", idle == 0);
    let reads: usize =
        all.map(|counts| of(counts, |kind| is_read(kind) && kind != GET_DELETING)).iter().sum();
    let share = reads as f64 / PROXIES as f64;
    reached &= verdict(
        &format!("GET and LIST after the start / Proxy, {how}: {share:.3}"),
        "at most 0.01",
        share <= 0.01,
    );
    let live: usize = all.map(|counts| of(counts, |kind| kind == GET_DELETING)).iter().sum();
    println!(
        "live reads of a Proxy before its instance is deleted and it is released, {how}: {:.3}",
        live as f64 / PROXIES as f64
    );
    reached
}

/// Events go one after the other: waits until there are no more.
async fn all_is_told(place: &Place) {
    let mut before = None;
    loop {
        let now = Some(place.seen.count("create events"));
        if now == before {
            return;
        }
        before = now;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn of(counts: &Counts, is_meant: impl Fn(&str) -> bool) -> usize {
    counts.iter().filter(|(kind, _)| is_meant(kind)).map(|(_, count)| count).sum()
}

fn is_read(kind: &str) -> bool {
    kind.starts_with("get ") || kind.starts_with("list ")
}

fn is_write(kind: &str) -> bool {
    !is_read(kind) && !kind.starts_with("watch ")
}

fn is_of_proxies(kind: &str) -> bool {
    kind.ends_with(" proxies") || kind.ends_with(" proxies/status")
}

fn shown(counts: &Counts) -> String {
    let all: Vec<_> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}
