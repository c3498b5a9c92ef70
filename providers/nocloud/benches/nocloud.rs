//! A seed image against `genisoimage`, which providers usually run for it: `cargo xtask bench nocloud`.
//!
//! Both make an image of the same small user data; rounds of both alternate. The run fails when a goal is missed, and
//! also where `genisoimage` is not there to compare with.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use nocloud::Seed;
use provider_api::Secret;

const ROUNDS: usize = 21;
/// Images of ours in a round: one alone is too short to time.
const IMAGES: u32 = 200;

fn main() -> ExitCode {
    let user_data = b"#cloud-config\npackages: [squid]\nruncmd:\n  - [systemctl, restart, squid]\n";
    let seed = Seed::new("i-1", "proxy-a", Secret::new(*user_data)).network_config("version: 2\n");
    let ours = || {
        let started = Instant::now();
        for _ in 0..IMAGES {
            std::hint::black_box(seed.image().unwrap());
        }
        started.elapsed() / IMAGES
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("user-data"), user_data).unwrap();
    fs::write(folder.path().join("meta-data"), "instance-id: \"i-1\"\nlocal-hostname: \"proxy-a\"\n")
        .unwrap();
    fs::write(folder.path().join("network-config"), "version: 2\n").unwrap();

    // One of each, so that neither pays for a first time.
    let alone = ours();
    let size = seed.image().unwrap().len();
    let same = (0..100).all(|_| seed.image().unwrap() == seed.image().unwrap());
    let Some((_, their_size)) = theirs(folder.path()) else {
        println!(
            "genisoimage is not installed, so there is nothing to compare with; install the package `genisoimage`"
        );
        println!("an image: {alone:?}, {size} bytes");
        return ExitCode::FAILURE;
    };
    let pairs: Vec<_> =
        (0..ROUNDS).map(|_| (theirs(folder.path()).expect("it ran just now").0, ours())).collect();
    show("genisoimage", pairs.iter().map(|(theirs, _)| *theirs).collect());
    show("an image", pairs.iter().map(|(_, ours)| *ours).collect());
    let mut ratios: Vec<_> =
        pairs.iter().map(|(theirs, ours)| theirs.as_secs_f64() / ours.as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    let (ratio, bytes) = (ratios[ROUNDS / 2], their_size as f64 / size as f64);
    let (least, most) = (ratios[0], ratios[ROUNDS - 1]);
    let reached = [
        goal(&format!("times faster: {ratio:.0} ({least:.0} to {most:.0})"), "at least 100", ratio >= 100.0),
        goal(
            &format!("times smaller: {bytes:.1} ({size} against {their_size} bytes)"),
            "at least 5",
            bytes >= 5.0,
        ),
        goal(&format!("the same bytes twice: {same}"), "true", same),
    ];
    if reached.into_iter().all(|reached| reached) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes an image as the manual of cloud-init has it; its time with the start of the process, and its bytes.
fn theirs(folder: &Path) -> Option<(Duration, u64)> {
    let started = Instant::now();
    let status = Command::new("genisoimage")
        .current_dir(folder)
        .args(["-quiet", "-output", "seed.iso", "-volid", "cidata", "-joliet", "-rock"])
        .args(["user-data", "meta-data", "network-config"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let took = started.elapsed();
    status
        .is_ok_and(|status| status.success())
        .then(|| (took, fs::metadata(folder.join("seed.iso")).unwrap().len()))
}

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    println!("{what}: median {:?} ({:?} to {:?})", times[times.len() / 2], times[0], times[times.len() - 1]);
}

fn goal(what: &str, says: &str, reached: bool) -> bool {
    println!("{what}; goal {says}: {}", if reached { "reached" } else { "MISSED" });
    reached
}
