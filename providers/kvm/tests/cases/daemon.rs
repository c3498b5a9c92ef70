//! A fake daemon on a socket of the file system, with a tap before it: it can hold a call back, so that the daemon seems to
//! hang in it, and it keeps what came.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fixture_libvirt::{Clients, Host};
use libvirt_rpc::Procedure;
use provider_kvm::CATALOGUE;
use providertest::{ledger::Ledger, wire::Wire};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream},
    net::UnixListener,
    sync::watch,
    task::JoinHandle,
};

/// A host and the way to it.
pub(crate) struct Daemon {
    pub(crate) host: Host,
    pub(crate) socket: PathBuf,
    tap: Tap,
    task: JoinHandle<()>,
}

/// What is held back, and what came.
#[derive(Clone)]
pub(crate) struct Tap {
    shared: Arc<Mutex<Shared>>,
    /// How often all that hung was let go.
    let_go: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct Shared {
    /// The next call of one of these hangs.
    to_hang: Vec<Procedure>,
    hanging: usize,
    came: Vec<Vec<u8>>,
}

impl Tap {
    fn new() -> Self {
        Self { shared: Arc::default(), let_go: Arc::new(watch::Sender::new(0)) }
    }

    fn open(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stands between a client and the daemon of a host.
    pub(crate) fn stand_before(
        &self,
        host: &Host,
        client: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) {
        let server = host.server(Wire::new(Ledger::default()), CATALOGUE, Clients::Unknown);
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        tokio::spawn(async move { server.speak(theirs).await });
        let tap = self.clone();
        tokio::spawn(async move { tap.carry(client, ours).await });
    }

    async fn carry(
        &self,
        client: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        daemon: DuplexStream,
    ) {
        let (mut from_client, mut to_client) = tokio::io::split(client);
        let (mut from_daemon, mut to_daemon) = tokio::io::split(daemon);
        let out = async {
            let mut bytes = vec![0; 64 << 10];
            while let Ok(count @ 1..) = from_client.read(&mut bytes).await {
                let piece = &bytes[..count];
                self.open().came.push(piece.to_vec());
                self.hang_if_due(piece).await;
                if to_daemon.write_all(piece).await.is_err() {
                    break;
                }
            }
        };
        let home = async { tokio::io::copy(&mut from_daemon, &mut to_client).await };
        tokio::select! { () = out => {}, _ = home => {} }
    }

    /// Hangs if this is the call that is to hang. The library sends a packet at a time.
    async fn hang_if_due(&self, piece: &[u8]) {
        let mut let_go = self.let_go.subscribe();
        {
            let mut shared = self.open();
            if !shared.to_hang.iter().any(|due| procedure(piece) == Some(due.number())) {
                return;
            }
            shared.to_hang.clear();
            shared.hanging += 1;
        }
        let _ = let_go.changed().await;
        self.open().hanging -= 1;
    }
}

/// The procedure that a packet calls.
fn procedure(packet: &[u8]) -> Option<i32> {
    let word = |at: usize| packet.get(at..at + 4).map(|word| i32::from_be_bytes(word.try_into().unwrap()));
    const CALL: i32 = 0;
    (word(16)? == CALL).then(|| word(12))?
}

impl Daemon {
    pub(crate) async fn start(host: Host, socket: PathBuf) -> Self {
        let tap = Tap::new();
        let listener = UnixListener::bind(&socket).unwrap();
        let task = tokio::spawn(accept(listener, host.clone(), tap.clone()));
        Self { host, socket, tap, task }
    }

    /// Lets the daemon hang in the next call of one of these, and in that one alone.
    pub(crate) fn hang_in_next(&self, procedures: &[Procedure]) {
        self.tap.open().to_hang = procedures.to_vec();
    }

    /// Lets it go on with what it hangs in.
    pub(crate) fn let_go(&self) {
        self.tap.open().to_hang.clear();
        self.tap.let_go.send_modify(|times| *times += 1);
    }

    /// How many calls hang.
    pub(crate) fn hanging(&self) -> usize {
        self.tap.open().hanging
    }

    /// Whether these bytes came from a client.
    pub(crate) fn heard(&self, bytes: &[u8]) -> bool {
        let shared = self.tap.open();
        shared.came.iter().any(|piece| piece.windows(bytes.len()).any(|part| part == bytes))
    }

    /// How many calls of it came.
    pub(crate) fn calls_of(&self, asked: Procedure) -> usize {
        self.tap.open().came.iter().filter(|piece| procedure(piece) == Some(asked.number())).count()
    }

    /// Removes the socket, as a daemon does that is stopped; its connections end too.
    pub(crate) fn stop(&self) -> io::Result<()> {
        self.task.abort();
        self.host.restart();
        std::fs::remove_file(&self.socket)
    }

    /// The tap, for another way to the same host.
    pub(crate) fn tap(&self) -> Tap {
        self.tap.clone()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: UnixListener, host: Host, tap: Tap) {
    while let Ok((client, _)) = listener.accept().await {
        tap.stand_before(&host, client);
    }
}
