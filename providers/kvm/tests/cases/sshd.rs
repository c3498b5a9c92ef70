//! A real SSH server of this process before the daemon of a bench, with the manners that servers have: it knows one user,
//! bounds how many may be logging in, and hangs up or keeps silent where a case wants that.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use fixture_libvirt::Host;
use russh::{
    Channel, ChannelOpenFailure,
    keys::{Algorithm, HashAlg, PrivateKey, PublicKey, ssh_key::LineEnding},
    server::{self, Auth, ChannelOpenHandle, Handler, Msg, Session, VerifiedPublicKey},
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use super::{bench::Bench, daemon::Tap};

/// Who may log in.
pub(crate) const USER: &str = "proxies";

/// A server. It ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) shared: Arc<Shared>,
    task: JoinHandle<()>,
}

pub(crate) struct Shared {
    host: Host,
    tap: Tap,
    /// Where the daemon listens there.
    pub(crate) socket: PathBuf,
    key: PrivateKey,
    pub(crate) user: Mutex<PublicKey>,
    pub(crate) connections: AtomicUsize,
    pub(crate) channels: AtomicUsize,
    /// How many clients are hung up on before a word is said.
    pub(crate) to_drop: AtomicUsize,
    /// `MaxStartups`: how many clients may be there that are not logged in yet; any more are hung up on.
    pub(crate) max_startups: AtomicUsize,
    startups: AtomicUsize,
    /// How many clients were hung up on.
    pub(crate) dropped: AtomicUsize,
    /// While it is set, clients are let in and nothing is said to them.
    pub(crate) silent: watch::Sender<bool>,
    /// While it is set, whoever wants a channel waits for an answer.
    pub(crate) opens_nothing: AtomicBool,
    unanswered: Mutex<Vec<ChannelOpenHandle>>,
}

/// A client that is let in and not logged in yet.
struct Startup(Arc<Shared>);

impl Drop for Startup {
    fn drop(&mut self) {
        self.0.startups.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Guarded {
    shared: Arc<Shared>,
    startup: Option<Startup>,
}

impl Server {
    async fn start(bench: &Bench, user: &PrivateKey) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            host: bench.host().clone(),
            tap: bench.daemons[0].tap(),
            socket: PathBuf::from("/run/libvirt/libvirt-sock"),
            key: new_key(),
            user: Mutex::new(user.public_key().clone()),
            connections: AtomicUsize::new(0),
            channels: AtomicUsize::new(0),
            to_drop: AtomicUsize::new(0),
            max_startups: AtomicUsize::new(usize::MAX),
            startups: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            silent: watch::Sender::new(false),
            opens_nothing: AtomicBool::new(false),
            unanswered: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, task }
    }

    /// What is known of it, as a file of OpenSSH's.
    pub(crate) fn known(&self) -> String {
        self.known_by(&self.shared.key)
    }

    /// The same, with another key.
    pub(crate) fn known_by(&self, key: &PrivateKey) -> String {
        let key = key.public_key().to_openssh().unwrap();
        format!("[{}]:{} {key}\n", self.address.ip(), self.address.port())
    }

    /// Its key, as people compare it.
    pub(crate) fn fingerprint(&self) -> String {
        self.shared.key.fingerprint(HashAlg::Sha256).to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let config = server::Config {
        keys: vec![shared.key.clone()],
        auth_rejection_time: Duration::ZERO,
        ..server::Config::default()
    };
    let config = Arc::new(config);
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let left = shared.to_drop.load(Ordering::SeqCst);
        let startups = shared.startups.load(Ordering::SeqCst);
        if left > 0 || startups >= shared.max_startups.load(Ordering::SeqCst) {
            shared.to_drop.store(left.saturating_sub(1), Ordering::SeqCst);
            shared.dropped.fetch_add(1, Ordering::SeqCst);
            continue;
        }
        shared.startups.fetch_add(1, Ordering::SeqCst);
        let startup = Startup(Arc::clone(&shared));
        let (config, shared) = (Arc::clone(&config), Arc::clone(&shared));
        tokio::spawn(async move {
            let mut silent = shared.silent.subscribe();
            let _ = silent.wait_for(|silent| !silent).await;
            let guarded = Guarded { shared, startup: Some(startup) };
            if let Ok(session) = server::run_stream(config, stream, guarded).await {
                let _ = session.await;
            }
        });
    }
}

impl Handler for Guarded {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        let known = self.shared.user.lock().unwrap().key_data() == key.public_key.key_data();
        let accepted = known && user == USER;
        if accepted {
            self.startup = None;
        }
        Ok(if accepted { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_direct_streamlocal(
        &mut self,
        channel: Channel<Msg>,
        socket: &str,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        if self.shared.opens_nothing.load(Ordering::SeqCst) {
            self.shared.unanswered.lock().unwrap().push(reply);
            return Ok(());
        }
        if Path::new(socket) != self.shared.socket {
            reply.reject(ChannelOpenFailure::ConnectFailed).await;
            return Ok(());
        }
        self.shared.channels.fetch_add(1, Ordering::SeqCst);
        reply.accept().await;
        self.shared.tap.stand_before(&self.shared.host, channel.into_stream());
        Ok(())
    }
}

pub(crate) fn new_key() -> PrivateKey {
    PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap()
}

/// A bench whose host is reached by SSH, as the first user.
pub(crate) async fn by_ssh() -> (Bench, Server) {
    let mut bench = Bench::new().await;
    let user = new_key();
    let server = Server::start(&bench, &user).await;
    write_key(&bench, &user);
    std::fs::write(bench.path("known_hosts"), server.known()).unwrap();
    let (key, known) = (bench.path("key"), bench.path("known_hosts"));
    let socket = server.shared.socket.clone();
    let address = server.address.to_string();
    let block = bench.block();
    block["sshKeyFile"] = key.to_str().unwrap().into();
    block["knownHostsFile"] = known.to_str().unwrap().into();
    block["hosts"][0]["address"] = address.into();
    block["hosts"][0]["user"] = USER.into();
    block["hosts"][0]["socket"] = socket.to_str().unwrap().into();
    (bench, server)
}

pub(crate) fn write_key(bench: &Bench, key: &PrivateKey) {
    std::fs::write(bench.path("key"), key.to_openssh(LineEnding::LF).unwrap().as_bytes()).unwrap();
}
