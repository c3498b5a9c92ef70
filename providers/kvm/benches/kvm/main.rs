//! How an image of 1 GiB comes to a host, on a real libvirtd: `cargo xtask bench kvm`, which brings one.
//!
//! - From a server that is the slowest stage: the whole against reading from that server alone.
//! - From memory: the rate of the upload by itself against that of `virsh vol-upload` on the same daemon and socket. Each
//!   makes a connection and fills a volume that is there.
//! - From a server that is faster than the host: the rate of the whole, without a goal, for on two cores server, download and
//!   hash take from the upload what they need; and how far the memory of the process grows.
//!
//! Rounds of all sides alternate. A round with a server is a whole create, from its call until the copy is marked as whole;
//! what stands before and after the transfer is in its time. Server and measured process are processes of their own. The run
//! fails when a goal is missed, and where no host is offered.
#![allow(clippy::unwrap_used)]

mod growth;
mod host;
mod server;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use host::{Host, Way};
use server::{Server, Speed};

/// How large an image is.
const MIB: u64 = 1024;
/// How often the slow server is read from.
const SLOW_ROUNDS: usize = 3;
const FAST_ROUNDS: usize = 5;
/// More than that no memory may be taken.
const GROWTH_KIB: u64 = 16 << 10;

fn main() -> ExitCode {
    if server::is_asked_for() {
        server::serve();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if growth::is_asked_for() {
        return runtime.block_on(growth::measure());
    }
    runtime.block_on(compare())
}

async fn compare() -> ExitCode {
    let server = Server::start();
    let host = Host::offered();
    let mut reached = true;
    for way in [Way::Socket, Way::Ssh] {
        reached &= overlaps(&host, &server, way).await;
    }
    reached &= beside_virsh(&host, &server).await;
    for way in [Way::Socket, Way::Ssh] {
        let grown = growth::of_a_child(&server, way);
        reached &= verdict(
            &format!("memory growth, {way}: {:.1} MiB", grown as f64 / 1024.0),
            "at most 16 MiB",
            grown <= GROWTH_KIB,
        );
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// From the slow server: all of it against that server alone.
async fn overlaps(host: &Host, server: &Server, way: Way) -> bool {
    let built = host.provider(way, &server.url(Speed::Slow), server.sha256(), MIB);
    let (mut alone, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..SLOW_ROUNDS {
        alone.push(seconds(server.read(Speed::Slow, MIB)));
        whole.push(seconds(host.bring(&built).await));
    }
    show(&format!("the server alone, {way}"), &alone, "s");
    show(&format!("download, hash and upload, {way}"), &whole, "s");
    let ratios = ratios(&whole, &alone);
    let shown = spread(&ratios, 3);
    verdict(&format!("whole / slowest stage, {way}: {shown}"), "at most 1.15", median(&ratios) <= 1.15)
}

/// The rate of the upload alone, and from the fast server that of all of it, against `virsh`, which reads a file.
async fn beside_virsh(host: &Host, server: &Server) -> bool {
    let built = host.provider(Way::Socket, &server.url(Speed::Fast), server.sha256(), MIB);
    let (mut whole, mut alone, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=FAST_ROUNDS {
        let (all, our) = (rate(host.bring(&built).await), rate(host.upload(MIB).await));
        let their = rate(host.vol_upload(MIB));
        // The first round pays for what is done once.
        if round > 0 {
            whole.push(all);
            alone.push(our);
            theirs.push(their);
        }
    }
    show("download, hash and upload, socket", &whole, "MiB/s");
    show("upload alone, socket", &alone, "MiB/s");
    show("virsh vol-upload", &theirs, "MiB/s");
    println!("download, hash and upload / virsh vol-upload: {}", spread(&ratios(&whole, &theirs), 2));
    let ratios = ratios(&alone, &theirs);
    let shown = spread(&ratios, 2);
    verdict(&format!("upload / virsh vol-upload: {shown}"), "at least 0.9", median(&ratios) >= 0.9)
}

fn verdict(figure: &str, goal: &str, good: bool) -> bool {
    println!("{figure}; goal {goal}: {}", if good { "reached" } else { "MISSED" });
    good
}

fn seconds(took: Duration) -> f64 {
    took.as_secs_f64()
}

/// MiB a second.
fn rate(took: Duration) -> f64 {
    MIB as f64 / took.as_secs_f64()
}

fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(our, their)| our / their).collect()
}

fn sorted(figures: &[f64]) -> Vec<f64> {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    figures
}

fn median(figures: &[f64]) -> f64 {
    sorted(figures)[figures.len() / 2]
}

fn spread(figures: &[f64], digits: usize) -> String {
    let (least, most) = (sorted(figures)[0], sorted(figures)[figures.len() - 1]);
    format!("{:.digits$} ({least:.digits$} to {most:.digits$})", median(figures))
}

fn show(what: &str, figures: &[f64], unit: &str) {
    println!("{what}: median {} {unit}", spread(figures, if unit == "s" { 2 } else { 0 }));
}

/// How long a thing takes that blocks.
fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}
