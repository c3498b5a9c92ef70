//! Hosts behind a real SSH server of this process: who is let in, who is believed, and what is said when it ends there.
//! More of it is tried where the client stands, in `ssh`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use fixture_libvirt::Host;
use provider_api::{FailureClass, StateKind, reasons};
use russh::{
    Channel, ChannelOpenFailure,
    keys::{Algorithm, PrivateKey, PublicKey, ssh_key::LineEnding},
    server::{self, Auth, ChannelOpenHandle, Handler, Msg, Session, VerifiedPublicKey},
};
use tokio::{net::TcpListener, task::JoinHandle};

use super::{
    bench::{Bench, fails, request, shown},
    daemon::Tap,
};

const SOON: Duration = Duration::from_secs(5);

/// A server. It ends when it is dropped.
struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    host: Host,
    tap: Tap,
    /// Where the daemon listens there.
    socket: PathBuf,
    key: PrivateKey,
    user: Mutex<PublicKey>,
    connections: AtomicUsize,
    channels: AtomicUsize,
    /// How many clients are hung up on before a word is said.
    to_drop: AtomicUsize,
}

struct Guarded(Arc<Shared>);

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
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, task }
    }

    /// What is known of it, as a file of OpenSSH's.
    fn known(&self) -> String {
        let key = self.shared.key.public_key().to_openssh().unwrap();
        format!("[{}]:{} {key}\n", self.address.ip(), self.address.port())
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
        if left > 0 {
            shared.to_drop.store(left - 1, Ordering::SeqCst);
            continue;
        }
        let (config, guarded) = (Arc::clone(&config), Guarded(Arc::clone(&shared)));
        tokio::spawn(async move {
            if let Ok(session) = server::run_stream(config, stream, guarded).await {
                let _ = session.await;
            }
        });
    }
}

impl Handler for Guarded {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        let known = self.0.user.lock().unwrap().key_data() == key.public_key.key_data();
        Ok(if known && user == "proxies" { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_direct_streamlocal(
        &mut self,
        channel: Channel<Msg>,
        socket: &str,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        if Path::new(socket) != self.0.socket {
            reply.reject(ChannelOpenFailure::ConnectFailed).await;
            return Ok(());
        }
        self.0.channels.fetch_add(1, Ordering::SeqCst);
        reply.accept().await;
        self.0.tap.stand_before(&self.0.host, channel.into_stream());
        Ok(())
    }
}

fn new_key() -> PrivateKey {
    PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap()
}

/// A bench whose host is reached by SSH, as the first user.
async fn by_ssh() -> (Bench, Server) {
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
    block["hosts"][0]["user"] = "proxies".into();
    block["hosts"][0]["socket"] = socket.to_str().unwrap().into();
    (bench, server)
}

fn write_key(bench: &Bench, key: &PrivateKey) {
    std::fs::write(bench.path("key"), key.to_openssh(LineEnding::LF).unwrap().as_bytes()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_life_by_ssh_takes_one_session_and_a_channel_for_each_connection() {
    let (bench, server) = by_ssh().await;
    let built = bench.built();
    let provider = &*built.provider;
    let (_, id) = bench.running(provider, "uid-1").await;
    let gets = (0..4).map(|_| shown(provider, &id));
    assert!(futures::future::join_all(gets).await.iter().all(|it| it.state.kind() == StateKind::Running));
    let [host] = built.checker.as_ref().unwrap().check(bench.in_seconds(10)).await.try_into().unwrap();
    assert!(host.ready, "{host:?}");
    provider.delete(&id).await.unwrap();
    assert_eq!(bench.host().domains().len(), 0);
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 1);
    let channels = server.shared.channels.load(Ordering::SeqCst);
    assert!((2..=6).contains(&channels), "{channels}");
}

/// terraform-provider-libvirt#944: an unknown key makes users switch the judgement off.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l11_an_unknown_host_is_refused_and_everything_is_named() {
    let (bench, server) = by_ssh().await;
    std::fs::write(bench.path("known_hosts"), "other.example ssh-ed25519 AAAA\n").unwrap();
    let built = bench.built();
    let error = fails(SOON, built.provider.create(&request("uid-1"))).await;
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    for named in ["127.0.0.1", "ssh-ed25519", "known_hosts"] {
        assert!(error.message().contains(named), "{named} in {error}");
    }
    let [host] = built.checker.unwrap().check(bench.in_seconds(5)).await.try_into().unwrap();
    assert_eq!((host.ready, &*host.reason.code), (false, "HostKeyMismatch"));
    assert_eq!(server.shared.channels.load(Ordering::SeqCst), 0);
    // The file is read again by itself.
    std::fs::write(bench.path("known_hosts"), server.known()).unwrap();
    built.provider.create(&request("uid-1")).await.unwrap();
}

/// virtrigaud#149: hosts were never judged.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l12_only_the_explicit_switch_believes_anybody() {
    let (mut bench, _server) = by_ssh().await;
    bench.block().as_object_mut().unwrap().remove("knownHostsFile");
    let report = bench.load().unwrap_err().to_string();
    assert!(report.contains("knownHostsFile"), "{report}");
    bench.block()["insecureIgnoreHostKey"] = true.into();
    bench.provider().create(&request("uid-1")).await.unwrap();
}

/// virtrigaud#191: a server that is busy hangs up before it says a word.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l14_a_server_that_hangs_up_at_once_is_transient_and_passes() {
    let (bench, server) = by_ssh().await;
    server.shared.to_drop.store(1, Ordering::SeqCst);
    let provider = bench.provider();
    let error = fails(SOON, provider.create(&request("uid-1"))).await;
    assert_eq!(error.class(), FailureClass::Transient, "{error}");
    provider.create(&request("uid-1")).await.unwrap();
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 2, "nothing is tried again by itself");
}

/// libvirt#34, by SSH.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l16_a_socket_that_is_not_there_is_transient() {
    let (mut bench, _server) = by_ssh().await;
    bench.block()["hosts"][0]["socket"] = "/run/nowhere".into();
    let built = bench.built();
    let error = fails(SOON, built.provider.create(&request("uid-1"))).await;
    assert_eq!(error.class(), FailureClass::Transient, "{error}");
    let [host] = built.checker.unwrap().check(bench.in_seconds(5)).await.try_into().unwrap();
    assert_eq!((host.ready, &*host.reason.code), (false, reasons::UNREACHABLE));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_replaced_is_used_from_the_next_operation_on() {
    let (bench, server) = by_ssh().await;
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    let next = new_key();
    *server.shared.user.lock().unwrap() = next.public_key().clone();
    write_key(&bench, &next);
    assert_eq!(shown(&*provider, &id).await.state.kind(), StateKind::Running);
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 2);

    // One that nobody accepts ends nothing but what needs it.
    write_key(&bench, &new_key());
    let error = fails(SOON, provider.create(&request("uid-2"))).await;
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    write_key(&bench, &next);
    provider.create(&request("uid-2")).await.unwrap();
}
