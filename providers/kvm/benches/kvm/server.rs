//! The server of the image, a process of its own: as fast as it can, or as a slow network would be.

use std::{
    env,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::{MIB, timed};

/// What a process that is to be the server finds in its environment.
const ROLE: &str = "KVM_BENCH_SERVES";
/// What comes again and again: 1 MiB that no layer can make smaller.
const BLOCK: usize = 1 << 20;
/// How many MiB a second the slow one gives: less than any other stage takes.
const SLOW: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speed {
    Slow,
    Fast,
}

/// The server, as seen from the process that asks. It ends when it is dropped.
pub(crate) struct Server {
    address: String,
    child: Child,
    sha256: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .env(ROLE, "images")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { address: address.trim().to_owned(), child, sha256: sha256(MIB) }
    }

    pub(crate) fn url(&self, speed: Speed) -> String {
        url(&self.address, speed, MIB)
    }

    /// Where it is, for another process.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The sum of the image.
    pub(crate) fn sha256(&self) -> &str {
        &self.sha256
    }

    /// How long it takes to read so many MiB from it and do nothing with them.
    pub(crate) fn read(&self, speed: Speed, mib: u64) -> Duration {
        timed(|| {
            let mut stream = TcpStream::connect(&self.address).unwrap();
            write!(stream, "GET /{speed:?}/{mib} HTTP/1.1\r\n\r\n").unwrap();
            let (mut buffer, mut came) = (vec![0; 256 << 10], 0);
            while let count @ 1.. = stream.read(&mut buffer).unwrap() {
                came += count as u64;
            }
            assert!(came >= mib << 20, "{came} bytes came");
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where an image of so many MiB is.
pub(crate) fn url(address: &str, speed: Speed, mib: u64) -> String {
    format!("http://{address}/{speed:?}/{mib}")
}

/// The sum of an image of so many MiB.
pub(crate) fn sha256(mib: u64) -> String {
    let (block, mut hash) = (block(), Sha256::new());
    for _ in 0..mib {
        hash.update(&block);
    }
    HEXLOWER.encode(&hash.finalize())
}

/// The content, for whoever writes it to a file.
pub(crate) fn block() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..BLOCK / 8).flat_map(|_| word()).collect()
}

pub(crate) fn is_asked_for() -> bool {
    env::var_os(ROLE).is_some()
}

/// Is the server, until it is killed.
pub(crate) fn serve() -> ! {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    println!("{}", listener.local_addr().unwrap());
    let block: &[u8] = block().leak();
    loop {
        let (client, _) = listener.accept().unwrap();
        thread::spawn(move || {
            // Whoever has heard enough hangs up.
            let _ = converse(client, block);
        });
    }
}

fn converse(mut client: TcpStream, block: &[u8]) -> std::io::Result<()> {
    let mut lines = BufReader::new(client.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let mut words = first.split([' ', '/']).filter(|word| !word.is_empty());
    let (method, speed, mib) = (words.next(), words.next(), words.next());
    let mib: u64 = mib.and_then(|mib| mib.parse().ok()).unwrap_or(0);
    write!(client, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", mib << 20)?;
    if method == Some("HEAD") {
        return Ok(());
    }
    let began = Instant::now();
    for sent in 0..mib {
        if speed == Some("Slow") {
            let due = Duration::from_millis(sent * 1000 / SLOW);
            thread::sleep(due.saturating_sub(began.elapsed()));
        }
        client.write_all(block)?;
    }
    Ok(())
}
