//! The errors that admins meet, a test for each, as `docs/kvm.md` lists them: class, code, a message to act on, nothing that
//! is left on the host, no secret in error or log, and that the same create goes through once somebody has acted.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, OnceLock, atomic::Ordering},
    time::Duration,
};

use libvirt_rpc::Procedure;
use provider_api::{Built, CreateRequest, Error, FailureClass, Secret, reasons};
use russh::keys::{HashAlg, key::safe_rng, ssh_key::LineEnding};

use super::{
    bench::{Bench, POOL, fails, request, until},
    images::Serves,
    sshd::{by_ssh, new_key, write_key},
};

const SOON: Duration = Duration::from_secs(5);
const SQUID: &str = "/squid.qcow2";

/// All that this process logs, from the first case on.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn of_the_process() -> &'static Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Self::default();
            let writer = log.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_ansi(false)
                .with_writer(move || writer.clone())
                .finish();
            tracing::subscriber::set_global_default(subscriber).unwrap();
            log
        })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// A provider that is asked for an instance which it cannot make yet.
struct Trial {
    bench: Bench,
    built: Built,
    request: CreateRequest,
    /// What nobody may be shown, beside the key.
    secrets: Vec<String>,
}

impl Trial {
    /// `uid` tells its secrets from those of other cases.
    fn of(bench: Bench, uid: &str) -> Self {
        Log::of_the_process();
        let payload = format!("swordfish of {uid}");
        let mut request = request(uid);
        request.cloud_init = Secret::new(format!("#cloud-config\nfinal_message: {payload}\n"));
        let built = bench.built();
        Self { bench, built, request, secrets: vec![payload] }
    }

    fn hides(mut self, secret: &str) -> Self {
        self.secrets.push(secret.to_owned());
        self
    }

    fn path(&self, name: &str) -> String {
        self.bench.path(name).to_str().unwrap().to_owned()
    }

    /// What is on the host.
    fn things(&self) -> Vec<String> {
        let domains = self.bench.host().domains().into_iter().map(|domain| domain.name);
        domains.chain(self.bench.host().volumes().into_iter().map(|volume| volume.name)).collect()
    }

    fn shows_no_secret(&self, text: &str) {
        let key = std::fs::read_to_string(self.bench.path("key")).unwrap_or_default();
        // The first lines have the format and the public key alone.
        let key = key.lines().skip(2).filter(|line| line.len() > 8 && !line.starts_with('-'));
        for secret in self.secrets.iter().map(String::as_str).chain(key) {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }

    fn judge(&self, error: &Error, class: FailureClass, code: &str, says: &[&str]) {
        assert_eq!((error.class(), error.code()), (class, Some(code)), "{error}");
        for part in says {
            assert!(error.message().contains(part), "{part} is not in {error}");
        }
        self.shows_no_secret(&format!("{error} {error:?}"));
        self.shows_no_secret(&Log::of_the_process().text());
    }

    /// A create fails so, and leaves nothing.
    async fn fails(&self, class: FailureClass, code: &str, says: &[&str]) {
        let before = self.things();
        let error = fails(SOON, self.built.provider.create(&self.request)).await;
        self.judge(&error, class, code, says);
        assert_eq!(self.things(), before, "{error}");
    }

    /// What a check says of the host.
    async fn checked(&self) -> String {
        let checker = self.built.checker.as_ref().unwrap();
        let [host] = checker.check(self.bench.in_seconds(4)).await.try_into().unwrap();
        self.shows_no_secret(&format!("{host:?}"));
        host.reason.code.into_owned()
    }

    /// It was acted on: the same create goes through, and what it makes can be removed without a rest.
    async fn passes(self) {
        let id = self.built.provider.create(&self.request).await.unwrap();
        let name = self.request.name.as_str();
        assert!(Log::of_the_process().text().contains(name), "the log is caught");
        self.built.provider.delete(&id).await.unwrap();
        let left = self.things();
        assert!(matches!(&*left, [copy, marker] if *marker == format!("{copy}.whole")), "{left:?}");
        self.shows_no_secret(&Log::of_the_process().text());
        drop(self.built);
        until("the end of all connections", || self.bench.host().connections() == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_key_that_has_changed() {
    let (bench, server) = by_ssh().await;
    let former = new_key();
    std::fs::write(bench.path("known_hosts"), server.known_by(&former)).unwrap();
    let trial = Trial::of(bench, "uid-changed");
    let line = format!("{} line 1", trial.path("known_hosts"));
    let known = former.fingerprint(HashAlg::Sha256).to_string();
    let says = ["rack-1", "127.0.0.1", "has changed", "ssh-ed25519", &server.fingerprint(), &known, &line];
    trial.fails(FailureClass::Permanent, "HostKeyMismatch", &says).await;
    assert_eq!(trial.checked().await, "HostKeyMismatch");
    assert_eq!(server.shared.channels.load(Ordering::SeqCst), 0);
    std::fs::write(trial.bench.path("known_hosts"), server.known()).unwrap();
    trial.passes().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_file_that_is_missing() {
    let (bench, server) = by_ssh().await;
    let key = std::fs::read(bench.path("key")).unwrap();
    std::fs::remove_file(bench.path("key")).unwrap();
    let trial = Trial::of(bench, "uid-missing");
    let says = [&*trial.path("key"), "No such file"];
    trial.fails(FailureClass::Transient, reasons::CREDENTIALS_UNAVAILABLE, &says).await;
    assert_eq!(trial.checked().await, reasons::CREDENTIALS_UNAVAILABLE);
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 0);
    std::fs::write(trial.bench.path("key"), key).unwrap();
    trial.passes().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passphrase_that_is_wrong() {
    let (mut bench, server) = by_ssh().await;
    let user = new_key();
    *server.shared.user.lock().unwrap() = user.public_key().clone();
    let locked = user.encrypt(&mut safe_rng(), "correct horse").unwrap();
    std::fs::write(bench.path("key"), locked.to_openssh(LineEnding::LF).unwrap().as_bytes()).unwrap();
    std::fs::write(bench.path("passphrase"), "battery staple\n").unwrap();
    bench.block()["sshKeyPassphraseFile"] = bench.path("passphrase").to_str().unwrap().into();
    let trial = Trial::of(bench, "uid-passphrase").hides("battery").hides("correct horse");
    let says =
        ["rack-1", &*trial.path("key"), "does not open with the passphrase in", &*trial.path("passphrase")];
    trial.fails(FailureClass::Permanent, reasons::CREDENTIALS_UNAVAILABLE, &says).await;
    assert_eq!(trial.checked().await, reasons::CREDENTIALS_UNAVAILABLE);
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 0);
    std::fs::write(trial.bench.path("passphrase"), "correct horse\n").unwrap();
    trial.passes().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_is_inactive() {
    let trial = Trial::of(Bench::new().await, "uid-inactive");
    trial.bench.host().set_pool_active(POOL, false).unwrap();
    let says = ["the pool default on host rack-1 is inactive: start it"];
    trial.fails(FailureClass::Transient, "PoolNotActive", &says).await;
    assert_eq!(trial.checked().await, "PoolNotActive");
    trial.bench.host().set_pool_active(POOL, true).unwrap();
    trial.passes().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_is_full() {
    let trial = Trial::of(Bench::new().await, "uid-full");
    trial.bench.host().set_available(POOL, 10 << 30).unwrap();
    let says = ["the pool default on host rack-1 has 10240 MiB free, and 10256 are needed"];
    trial.fails(FailureClass::QuotaExceeded, "PoolFull", &says).await;
    trial.bench.host().set_available(POOL, 20 << 30).unwrap();
    trial.passes().await;
}

/// There was room when it was asked, and others have taken it.
#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_runs_full_meanwhile() {
    let trial = Trial::of(Bench::new().await, "uid-filled");
    trial.bench.host().refuse(Procedure::StorageVolUpload, Some("pool-full-while-writing"));
    let says = ["on host rack-1", "there is no room left"];
    trial.fails(FailureClass::QuotaExceeded, "libvirt 38 errno 28", &says).await;
    trial.bench.host().refuse(Procedure::StorageVolUpload, None);
    trial.passes().await;
}

/// A bench whose image's URL has a token in it.
async fn with_a_token(token: &str) -> (Bench, String) {
    let mut bench = Bench::new().await;
    let path = format!("{SQUID}?token={token}");
    bench.block()["images"]["squid"]["url"] = format!("http://images.example{path}").into();
    (bench, path)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_not_there() {
    let (bench, path) = with_a_token("3141592").await;
    bench.images.serve(&path, Serves::Status(404));
    let trial = Trial::of(bench, "uid-404").hides("3141592");
    let says = ["the image squid from images.example", "answered 404"];
    trial.fails(FailureClass::Permanent, "HTTP 404", &says).await;
    trial.bench.images.serve(&path, Serves::Whole);
    trial.passes().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_not_as_promised() {
    let (bench, path) = with_a_token("2718281").await;
    bench.images.serve(&path, Serves::OtherBytes);
    let trial = Trial::of(bench, "uid-sha256").hides("2718281");
    let promised = trial.bench.images.sha256();
    let says = ["the image squid from images.example", "sha256 is", &format!("{promised} was promised")];
    trial.fails(FailureClass::Permanent, "ChecksumMismatch", &says).await;
    trial.bench.images.serve(&path, Serves::Whole);
    trial.passes().await;
}

/// No TCP goes to a multicast address: the system has no route for it, on every machine alike, and sends nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_no_route_leads_to() {
    let (mut bench, server) = by_ssh().await;
    let address = std::mem::replace(&mut bench.block()["hosts"][0]["address"], "224.0.0.1".into());
    let mut trial = Trial::of(bench, "uid-route");
    let says = ["rack-1", "proxies@224.0.0.1", "Network is unreachable", "while connecting"];
    trial.fails(FailureClass::Transient, "ENETUNREACH", &says).await;
    assert_eq!(trial.checked().await, reasons::UNREACHABLE);
    trial.bench.block()["hosts"][0]["address"] = address;
    trial.built = trial.bench.built();
    trial.passes().await;
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 1);
}

/// `MaxStartups`: all of a burst but one are hung up on before a word is said. Whoever is refused so comes again, and finds
/// the session that the one has made.
#[tokio::test(flavor = "multi_thread")]
async fn an_sshd_that_drops_a_burst() {
    const BURST: usize = 4;
    let (bench, server) = by_ssh().await;
    server.shared.max_startups.store(1, Ordering::SeqCst);
    server.shared.silent.send_replace(true);
    let trial = Trial::of(bench, "uid-burst");
    let requests: Vec<_> = (0..BURST).map(|number| request(&format!("uid-burst-{number}"))).collect();
    let creates: Vec<_> = requests
        .iter()
        .cloned()
        .map(|request| {
            let provider = Arc::clone(&trial.built.provider);
            tokio::spawn(async move { provider.create(&request).await })
        })
        .collect();
    until("the drops", || server.shared.dropped.load(Ordering::SeqCst) == BURST - 1).await;
    server.shared.silent.send_replace(false);
    let mut refused = 0;
    for create in creates {
        let Err(error) = create.await.unwrap() else { continue };
        let says = ["rack-1", "closed the connection before its greeting", "MaxStartups", "fail2ban"];
        trial.judge(&error, FailureClass::Transient, "closed before the version exchange", &says);
        refused += 1;
    }
    assert_eq!(refused, BURST - 1);
    assert_eq!(trial.bench.host().domains().len(), 1, "the refused have left nothing");

    let provider = &trial.built.provider;
    let ids = futures::future::join_all(requests.iter().map(|request| provider.create(request))).await;
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), BURST, "nobody has dialled again");
    assert_eq!((trial.bench.host().domains().len(), trial.bench.parts().len()), (BURST, 2 * BURST));
    for id in ids {
        provider.delete(&id.unwrap()).await.unwrap();
    }
    trial.passes().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_sshd_answers_after_the_budget() {
    let (mut bench, server) = by_ssh().await;
    bench.entry["budgets"]["connect"] = "1s".into();
    server.shared.silent.send_replace(true);
    let trial = Trial::of(bench, "uid-late");
    let says = ["rack-1", "proxies@127.0.0.1", "no answer within 900ms while exchanging SSH keys"];
    trial.fails(FailureClass::Transient, "ETIMEDOUT", &says).await;
    assert_eq!(trial.checked().await, reasons::TIMEOUT);
    // Now it answers those who are gone.
    server.shared.silent.send_replace(false);
    trial.passes().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_daemon_answers_after_the_budget() {
    let mut bench = Bench::new().await;
    bench.entry["budgets"]["call"] = "1s".into();
    let trial = Trial::of(bench, "uid-later");
    trial.bench.daemons[0].hang_in_next(&[Procedure::StoragePoolGetInfo]);
    let says = ["storage_pool_get_info of default on host rack-1"];
    trial.fails(FailureClass::Transient, reasons::TIMEOUT, &says).await;
    trial.bench.daemons[0].let_go();
    // The late answer came on a connection that nobody uses any more.
    trial.passes().await;
}

/// A key that the host does not take is refused for good, and named as people compare it.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_host_does_not_take() {
    let (bench, server) = by_ssh().await;
    let stranger = new_key();
    write_key(&bench, &stranger);
    let trial = Trial::of(bench, "uid-stranger");
    let fingerprint = stranger.fingerprint(HashAlg::Sha256).to_string();
    let says = ["rack-1", "proxies", &fingerprint, &*trial.path("key")];
    trial.fails(FailureClass::Permanent, "SSH_MSG_USERAUTH_FAILURE", &says).await;
    assert_eq!(trial.checked().await, reasons::UNAUTHORIZED);
    *server.shared.user.lock().unwrap() = stranger.public_key().clone();
    trial.passes().await;
}
