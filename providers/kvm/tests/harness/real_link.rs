//! The last piece of the way to a real host: a port of this machine that leads to the host's SSH server, so that a case can
//! cut the provider off, or let it wait, and nobody else. The host's keys are known under that port.

use std::{io, process::Command};

use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::real_config::BySsh;
use crate::outside::tunnel::host_and_port;

/// What becomes of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// They lead to the host.
    Open,
    /// They end at once, those that stood too.
    Cut,
    /// Nothing passes any more, on those that stood neither.
    Silent,
}

/// A port that leads to a host for as long as it lives.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) port: u16,
    passage: watch::Sender<Passage>,
}

impl Link {
    /// Opens one, in the case's runtime.
    pub(crate) async fn open(address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let (passage, seen) = watch::channel(Passage::Open);
        let (host, to) = host_and_port(address);
        let to = to.parse().map_err(|_| io::Error::other(format!("{address}: {to} is no port")))?;
        let to: (String, u16) = (host.to_owned(), to);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(lead(near, to.clone(), seen.clone()));
            }
        });
        Ok(Self { port, passage })
    }

    pub(crate) fn set(&self, passage: Passage) {
        self.passage.send_replace(passage);
    }
}

/// Leads one connection to the host, as long as that is open.
async fn lead(mut near: TcpStream, to: (String, u16), mut passage: watch::Receiver<Passage>) {
    let before = *passage.borrow_and_update();
    if before == Passage::Open
        && let Ok(mut far) = TcpStream::connect((to.0.as_str(), to.1)).await
    {
        // Neither waits for more to send along.
        let _ = (near.set_nodelay(true), far.set_nodelay(true));
        tokio::select! {
            _ = copy_bidirectional(&mut near, &mut far) => {}
            _ = passage.changed() => {}
        }
    }
    // What was silent for a while has lost bytes, and is of no use afterwards.
    let _ = passage.wait_for(|now| *now != Passage::Silent).await;
}

/// The keys of a host as a file of known hosts has them, without whose they are: `ssh-ed25519 AAAA…`.
pub(crate) fn host_keys(ssh: &BySsh) -> io::Result<Vec<String>> {
    let (host, port) = host_and_port(&ssh.address);
    let name = if port == "22" { host.to_owned() } else { format!("[{host}]:{port}") };
    let output = Command::new("ssh-keygen").args(["-F", &name, "-f"]).arg(&ssh.known_hosts_file).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    // A line about a certificate begins with a marker, and would not hold for a port of this machine.
    let lines = said.lines().filter(|line| !line.starts_with(['#', '@']));
    let keys: Vec<_> = lines.filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect();
    match keys.is_empty() {
        true => Err(io::Error::other(format!("{} has no key of {name}", ssh.known_hosts_file.display()))),
        false => Ok(keys),
    }
}

/// A pair of keys that nobody knows.
#[derive(Debug)]
pub(crate) struct Stranger {
    pub(crate) private: String,
    pub(crate) public: String,
}

impl Stranger {
    pub(crate) fn make() -> io::Result<Self> {
        let folder = TempDir::new()?;
        let path = folder.path().join("key");
        let mut command = Command::new("ssh-keygen");
        let status = command.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(&path).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("ssh-keygen: {status}")));
        }
        let public = std::fs::read_to_string(path.with_extension("pub"))?.trim().to_owned();
        Ok(Self { private: std::fs::read_to_string(&path)?, public })
    }
}
