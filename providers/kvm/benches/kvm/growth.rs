//! How far an image makes the memory of a process grow that has brought one before: a process of its own, so that nobody
//! else's memory is in the figure.

use std::{
    env, fs,
    process::{Command, ExitCode, Stdio},
};

use crate::{
    MIB,
    host::{Host, Way},
    server::{self, Server, Speed},
};

/// What such a process finds in its environment: the address of the server, and the way to the host.
const SERVER: &str = "KVM_BENCH_GROWTH_SERVER";
const WAY: &str = "KVM_BENCH_GROWTH_WAY";
/// What is brought beforehand, so that all that is made once is there.
const FIRST_MIB: u64 = 8;

/// The growth of a child, in KiB.
pub(crate) fn of_a_child(server: &Server, way: Way) -> u64 {
    let child = Command::new(env::current_exe().unwrap())
        .env(SERVER, server.address())
        .env(WAY, way.to_string())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(child.status.success(), "the process that is measured failed");
    String::from_utf8(child.stdout).unwrap().trim().parse().unwrap()
}

pub(crate) fn is_asked_for() -> bool {
    env::var_os(SERVER).is_some()
}

/// Brings a small image, then the large one, and prints by how many KiB that made this process grow at its largest.
pub(crate) async fn measure() -> ExitCode {
    let address = env::var(SERVER).unwrap();
    let way = if env::var(WAY).unwrap() == Way::Ssh.to_string() { Way::Ssh } else { Way::Socket };
    let host = Host::offered();
    let bring = async |mib| {
        let url = server::url(&address, Speed::Fast, mib);
        host.bring(&host.provider(way, &url, &server::sha256(mib), mib)).await;
    };
    bring(FIRST_MIB).await;
    // Forgets the peak of before; where that cannot be done, the figure is rather too high.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = kib("VmRSS:");
    bring(MIB).await;
    println!("{}", kib("VmHWM:").saturating_sub(before));
    ExitCode::SUCCESS
}

fn kib(what: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
