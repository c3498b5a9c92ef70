//! A way to a host's daemon by OpenSSH's own client: a socket of this machine that leads there.

use std::{
    io,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// How long a login may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who is dialled, and with what.
#[derive(Clone, Debug)]
pub(crate) struct Far {
    /// `host`, `host:port` or `[address]:port`.
    pub(crate) address: String,
    pub(crate) user: String,
    pub(crate) key_file: PathBuf,
    pub(crate) known_hosts_file: PathBuf,
    /// The daemon's socket, there.
    pub(crate) socket: String,
}

/// A way that ends with it.
#[derive(Debug)]
pub(crate) struct Tunnel {
    folder: TempDir,
    client: Child,
}

impl Tunnel {
    /// Logs in, and waits until the socket is there.
    ///
    /// # Errors
    /// When there is no client, or it makes no socket; why not, it says itself.
    pub(crate) fn open(far: &Far) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let near = folder.path().join("socket");
        let (host, port) = host_and_port(&far.address);
        let mut command = Command::new("ssh");
        command.args(["-F", "none", "-N", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes"]);
        command.args(["-o", "StrictHostKeyChecking=yes", "-o", "GlobalKnownHostsFile=none"]);
        command.arg("-o").arg(format!("UserKnownHostsFile={}", far.known_hosts_file.display()));
        command.arg("-i").arg(&far.key_file).args(["-l", &far.user, "-p", port]);
        command.arg("-L").arg(format!("{}:{}", near.display(), far.socket));
        command.arg(host).stdin(Stdio::null()).stdout(Stdio::null());
        let client =
            command.spawn().map_err(|error| io::Error::other(format!("OpenSSH's client: {error}")))?;
        let mut tunnel = Self { folder, client };
        let begun = Instant::now();
        while !near.exists() {
            if tunnel.client.try_wait()?.is_some() {
                return Err(io::Error::other("ssh has ended; it says above why"));
            }
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other("ssh has made no socket"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(tunnel)
    }

    /// The socket on this machine.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

/// The parts of an address, an IPv6 one without its brackets.
pub(crate) fn host_and_port(address: &str) -> (&str, &str) {
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port),
        _ => (address, "22"),
    };
    (host.trim_matches(['[', ']']), port)
}
