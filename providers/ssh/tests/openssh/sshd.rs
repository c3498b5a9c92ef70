//! A real sshd on a port of its own on loopback, a folder with all that it reads, and a unix socket behind it.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use provider_api::{CredentialFile, SystemClock, TokioSpawner};
use ssh::{Access, DialError, Dialer, HostKeys, Session, Target};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixListener,
};

const SSHD: &str = "/usr/sbin/sshd";

/// Keys, config and known hosts of one test. The user's key is `id`, the host's are `host_ed25519` and so on.
pub(crate) struct Site {
    folder: TempDir,
}

/// A running daemon. It ends when it is dropped.
pub(crate) struct Sshd {
    pub(crate) port: u16,
    child: Child,
}

impl Site {
    pub(crate) fn new() -> Self {
        assert!(
            Path::new(SSHD).is_file(),
            "this test runs the real sshd, which is not installed; install the package `openssh-server`"
        );
        let site = Self { folder: tempfile::tempdir().unwrap() };
        site.keygen("id", &["-t", "ed25519", "-N", ""]);
        site.keygen("host_ed25519", &["-t", "ed25519", "-N", ""]);
        site.write("known_hosts", "");
        site.allow("id");
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Makes a key pair, `name` and `name.pub`.
    pub(crate) fn keygen(&self, name: &str, flags: &[&str]) {
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-C", "", "-f"]).arg(self.path(name)).args(flags);
        run(&mut command);
    }

    /// The public key in one line.
    pub(crate) fn public(&self, name: &str) -> String {
        let text = self.read(&format!("{name}.pub"));
        text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
    }

    /// Lets this key in, and no other.
    pub(crate) fn allow(&self, name: &str) {
        self.write("authorized_keys", &format!("{}\n", self.public(name)));
    }

    /// Starts a daemon with the host keys that are given and with further lines of config.
    pub(crate) fn sshd(&self, host_keys: &[&str], lines: &str) -> Sshd {
        // Debian's build refuses to start as root without it; elsewhere a service manager makes it.
        if whoami("-u") == "0" {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let keys: String =
            host_keys.iter().map(|key| format!("HostKey {}\n", self.path(key).display())).collect();
        // The first value of a word counts, so what a test wants comes first.
        let config = format!(
            "{lines}\nPort {port}\nListenAddress 127.0.0.1\n{keys}AuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nLogLevel DEBUG1\n",
            self.path("authorized_keys").display()
        );
        self.write("sshd_config", &config);
        let log = fs::File::create(self.path("log")).unwrap();
        let mut command = Command::new(SSHD);
        command.args(["-D", "-e", "-f"]).arg(self.path("sshd_config"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let mut sshd = Sshd { port, child };
        let by = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = sshd.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < by, "sshd does not start: {}", self.read("log"));
            std::thread::sleep(Duration::from_millis(20));
        }
        sshd
    }

    /// Makes this host key known.
    pub(crate) fn know(&self, sshd: &Sshd, key: &str) {
        self.write("known_hosts", &format!("[127.0.0.1]:{} {}\n", sshd.port, self.public(key)));
    }

    pub(crate) fn access(&self) -> Access {
        Access {
            key: CredentialFile::new(self.path("id")),
            passphrase: None,
            host_keys: HostKeys::KnownHosts(CredentialFile::new(self.path("known_hosts"))),
        }
    }

    pub(crate) async fn dial(&self, sshd: &Sshd) -> Result<Session, DialError> {
        dialer().dial(&target(sshd), &self.access()).await
    }

    /// Whether OpenSSH's own client gets in, with the same files.
    pub(crate) fn openssh_gets_in(&self, sshd: &Sshd) -> bool {
        let mut command = Command::new("ssh");
        command.args(["-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]);
        command.args([
            "-o",
            "GlobalKnownHostsFile=/dev/null",
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "UpdateHostKeys=no",
        ]);
        command.arg("-o").arg(format!("UserKnownHostsFile={}", self.path("known_hosts").display()));
        command.arg("-i").arg(self.path("id")).args(["-p", &sshd.port.to_string(), "127.0.0.1", "true"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    }

    /// A unix socket that sends back what comes.
    pub(crate) fn echo(&self) -> String {
        let path = self.path("socket");
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.into_split();
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                    let _ = write.shutdown().await;
                });
            }
        });
        path.to_str().unwrap().to_owned()
    }

    /// A unix socket that takes connections and reads nothing; says when one is closed by the other side.
    pub(crate) fn deaf(&self) -> (String, tokio::sync::mpsc::UnboundedReceiver<()>) {
        let path = self.path("deaf");
        let listener = UnixListener::bind(&path).unwrap();
        let (tell, told) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let tell = tell.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(2)).await;
                    let _ = stream.read_to_end(&mut Vec::new()).await;
                    let _ = tell.send(());
                });
            }
        });
        (path.to_str().unwrap().to_owned(), told)
    }
}

impl Sshd {
    /// The processes that serve its connections.
    pub(crate) fn children(&self) -> Vec<String> {
        children(&self.child.id().to_string())
    }

    /// Sends a signal to all processes that serve its connections.
    pub(crate) fn signal(&self, signal: &str) {
        let children = self.children();
        assert!(!children.is_empty(), "nobody is connected");
        // One may end with another, before its own signal comes.
        let _ = Command::new("kill").arg(signal).args(children).stderr(Stdio::null()).status().unwrap();
    }
}

fn children(of: &str) -> Vec<String> {
    let direct = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    let mut all = Vec::new();
    for child in direct.split_whitespace() {
        all.push(child.to_owned());
        all.extend(children(child));
    }
    all
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let children = self.children();
        if !children.is_empty() {
            // They may have ended since; that is what is wanted.
            let _ = Command::new("kill").arg("-KILL").args(children).stderr(Stdio::null()).status();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn dialer() -> Dialer {
    Dialer::new(Arc::new(SystemClock::default()), Arc::new(TokioSpawner))
}

pub(crate) fn target(sshd: &Sshd) -> Target {
    Target::parse(&format!("127.0.0.1:{}", sshd.port), &whoami("-un")).unwrap()
}

pub(crate) fn whoami(flag: &str) -> String {
    let output = Command::new("id").arg(flag).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
