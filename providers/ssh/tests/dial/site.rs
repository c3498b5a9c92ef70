//! A folder with keys and known hosts, a clock and a dialer: what one test has.

use std::{fs, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use provider_api::{BackendError, CredentialFile, FailureClass, TokioSpawner};
use russh::keys::{
    Algorithm, EcdsaCurve, PrivateKey,
    key::safe_rng,
    ssh_key::{self, LineEnding},
};
use ssh::{Access, Budgets, DialError, Dialer, HostKeys, Keepalive, Session, Stage, Target};
use tempfile::TempDir;

use crate::{
    clock::HandClock,
    server::{Manners, Server},
};

pub(crate) struct Site {
    pub(crate) folder: TempDir,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) user: PrivateKey,
    pub(crate) host: PrivateKey,
    pub(crate) budgets: Budgets,
}

pub(crate) fn ed25519() -> PrivateKey {
    PrivateKey::random(&mut safe_rng(), Algorithm::Ed25519).unwrap()
}

pub(crate) fn ecdsa() -> PrivateKey {
    PrivateKey::random(&mut safe_rng(), Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 }).unwrap()
}

/// A short one: making a long one takes its time.
pub(crate) fn rsa() -> PrivateKey {
    let key = ssh_key::private::RsaKeypair::random(&mut safe_rng(), 2048).unwrap();
    PrivateKey::new(ssh_key::private::KeypairData::Rsa(key), "").unwrap()
}

impl Site {
    pub(crate) fn new() -> Self {
        let budgets = Budgets {
            credentials: Duration::from_secs(1),
            tcp: Duration::from_secs(2),
            handshake: Duration::from_secs(3),
            auth: Duration::from_secs(4),
            channel: Duration::from_secs(5),
            total: Duration::from_secs(60),
        };
        let folder = tempfile::tempdir().unwrap();
        let site = Self { folder, clock: HandClock::new(), user: ed25519(), host: ed25519(), budgets };
        site.write("id", site.user.to_openssh(LineEnding::LF).unwrap().as_bytes());
        site.write("known_hosts", b"");
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn manners(&self) -> Manners {
        Manners {
            users: vec![self.user.public_key().clone()],
            keys: vec![self.host.clone()],
            ..Manners::default()
        }
    }

    /// A server that takes our key, and whose key is known.
    pub(crate) async fn server(&self, manners: Manners) -> Server {
        let server = Server::start(manners).await;
        let key = self.host.public_key().to_openssh().unwrap();
        self.write("known_hosts", format!("[127.0.0.1]:{} {key}\n", server.address.port()).as_bytes());
        server
    }

    pub(crate) fn access(&self) -> Access {
        Access {
            key: CredentialFile::new(self.path("id")),
            passphrase: None,
            host_keys: HostKeys::KnownHosts(CredentialFile::new(self.path("known_hosts"))),
        }
    }

    pub(crate) fn dialer(&self) -> Dialer {
        let keepalive = Keepalive { every: Duration::from_secs(15), patience: 3 };
        Dialer::new(Arc::clone(&self.clock) as _, Arc::new(TokioSpawner))
            .budgets(self.budgets)
            .keepalive(keepalive)
    }

    pub(crate) async fn dial(&self, address: SocketAddr) -> Result<Session, DialError> {
        let target = Target::parse(&address.to_string(), "libvirt").unwrap();
        // The clock of a test stands still, so a dial that nobody answers would wait for ever.
        let (dialer, access) = (self.dialer(), self.access());
        let dial = tokio::time::timeout(Duration::from_secs(20), dialer.dial(&target, &access));
        dial.await.expect("a dial hangs that should end")
    }
}

/// Asserts where, how and by which code a dial failed; gives its words.
#[track_caller]
pub(crate) fn assert_fails<T>(
    result: Result<T, DialError>,
    stage: Stage,
    class: FailureClass,
    code: &str,
) -> String {
    let error = result.err().expect("it should fail");
    assert_eq!((error.stage(), error.class(), error.code().as_str()), (stage, class, code), "{error}");
    error.to_string()
}
