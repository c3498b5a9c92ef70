//! Bytes through a channel to a unix socket behind a real sshd, against the same through OpenSSH's own client
//! (`ssh -L`), both with AES-128-GCM: `cargo xtask bench ssh`.
//!
//! Rounds of both alternate. The run fails when the goal is missed, and where OpenSSH is not installed.
#![allow(clippy::unwrap_used)]

#[path = "../tests/openssh/sshd.rs"]
#[allow(dead_code, unreachable_pub)]
mod sshd;

use std::{
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use sshd::{Site, Sshd, whoami};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

const ROUNDS: usize = 7;
const MIB: usize = 512;
/// What libvirt's streams carry in a message.
const BLOCK: usize = 262_120;

#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(compare())
}

async fn compare() -> ExitCode {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "");
    site.know(&sshd, "host_ed25519");
    let session = site.dial(&sshd).await.unwrap();
    assert_eq!(session.cipher(), "aes128-gcm@openssh.com");
    let sink = sink(&site);
    let forward = Forward::start(&site, &sshd, &sink).await;

    let mut reached = true;
    for (way, name) in [(Way::Up, "up"), (Way::Down, "down")] {
        let mut rates = Vec::new();
        for _ in 0..=ROUNDS {
            let ours = rate(session.streamlocal(&sink).await.unwrap(), way).await;
            let theirs = rate(UnixStream::connect(&forward.path).await.unwrap(), way).await;
            rates.push((ours, theirs));
        }
        // The first round pays for what is done once.
        rates.remove(0);
        show(&format!("ours, {name}"), rates.iter().map(|(ours, _)| *ours));
        show(&format!("ssh -L, {name}"), rates.iter().map(|(_, theirs)| *theirs));
        let mut ratios: Vec<_> = rates.iter().map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        let (median, least, most) = (ratios[ROUNDS / 2], ratios[0], ratios[ROUNDS - 1]);
        let good = median >= 0.9;
        let verdict = if good { "reached" } else { "MISSED" };
        println!(
            "ours / ssh -L, {name}: {median:.2} ({least:.2} to {most:.2}); goal at least 0.9: {verdict}"
        );
        reached &= good;
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A socket that swallows what comes after the letter `u`, and gives as much after the letter `d`.
fn sink(site: &Site) -> String {
    let path = site.path("sink");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut block, mut letter) = (vec![7; BLOCK], [0]);
                // The question whether somebody listens says nothing.
                if stream.read_exact(&mut letter).await.is_err() {
                    return;
                }
                if letter == *b"d" {
                    let mut left = MIB << 20;
                    while left > 0 {
                        let some = left.min(BLOCK);
                        stream.write_all(&block[..some]).await.unwrap();
                        left -= some;
                    }
                    return;
                }
                let mut seen = 0;
                while seen < MIB << 20 {
                    seen += stream.read(&mut block).await.unwrap();
                }
                stream.write_all(b"!").await.unwrap();
            });
        }
    });
    path.to_str().unwrap().to_owned()
}

/// MiB a second, until the other side has all of it.
async fn rate(mut stream: impl AsyncRead + AsyncWrite + Unpin, way: Way) -> f64 {
    let mut block = vec![7; BLOCK];
    let started = Instant::now();
    match way {
        Way::Up => {
            stream.write_all(b"u").await.unwrap();
            let mut left = MIB << 20;
            while left > 0 {
                let some = left.min(BLOCK);
                stream.write_all(&block[..some]).await.unwrap();
                left -= some;
            }
            stream.read_exact(&mut block[..1]).await.unwrap();
        }
        Way::Down => {
            stream.write_all(b"d").await.unwrap();
            let mut left = MIB << 20;
            while left > 0 {
                left -= stream.read(&mut block).await.unwrap();
            }
        }
    }
    MIB as f64 / started.elapsed().as_secs_f64()
}

/// OpenSSH's client, which forwards a socket here to the one there.
struct Forward {
    path: String,
    child: Child,
}

impl Forward {
    async fn start(site: &Site, sshd: &Sshd, sink: &str) -> Self {
        let path = site.path("forward").to_str().unwrap().to_owned();
        let mut command = Command::new("ssh");
        command.args(["-F", "none", "-N", "-o", "BatchMode=yes", "-o", "GlobalKnownHostsFile=/dev/null"]);
        command.arg("-o").arg(format!("UserKnownHostsFile={}", site.path("known_hosts").display()));
        command
            .args(["-c", "aes128-gcm@openssh.com", "-L", &format!("{path}:{sink}"), "-i"])
            .arg(site.path("id"));
        command.args(["-p", &sshd.port.to_string(), "-l", &whoami("-un"), "127.0.0.1"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let by = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(&path).await.is_err() {
            assert!(Instant::now() < by, "ssh does not forward");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Self { path, child }
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn show(what: &str, rates: impl Iterator<Item = f64>) {
    let mut rates: Vec<_> = rates.collect();
    rates.sort_by(f64::total_cmp);
    println!("{what}: median {:.0} MiB/s ({:.0} to {:.0})", rates[ROUNDS / 2], rates[0], rates[ROUNDS - 1]);
}
