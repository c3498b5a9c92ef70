//! The generated configuration before a real Squid: it parses, it starts as a user without rights, and it lets in whom
//! it should. Needs the package `squid`.
#![allow(clippy::unwrap_used)]

mod bench;

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use bench::{Bench, NAMESPACE, request};
use provider_api::{Credentials, Provider, Secret};

const USER: &str = "crawler";
const PASSWORD: &str = "s:pecial #words \u{e9}";

/// The files as the kubelet would mount them, in `folder`.
async fn files(folder: &Path, port: u16, sources: &[&str], with_password: bool) -> std::path::PathBuf {
    let bench = Bench::new();
    let mut request = request("uid-1");
    request.port = std::num::NonZeroU16::new(port).unwrap();
    request.access.allowed_sources = sources.iter().map(|net| net.parse().unwrap()).collect();
    request.access.credentials =
        with_password.then(|| Credentials { username: USER.into(), password: Secret::new(PASSWORD) });
    bench.provider().create(&request).await.unwrap();
    let pod = bench.server.object("pods", NAMESPACE, request.name.as_str()).unwrap();
    for file in ["squid.conf", "passwd"] {
        if let Some(text) = pod["metadata"]["annotations"][format!("proxy-operator/{file}")].as_str() {
            // The one thing that differs from a Pod: where the files lie.
            let text = text.replace("/etc/proxy/", &format!("{}/", folder.display()));
            std::fs::write(folder.join(file), text).unwrap();
        }
    }
    folder.join("squid.conf")
}

fn squid() -> Command {
    let found = Command::new("squid").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(
        found.is_ok_and(|status| status.success()),
        "this test runs the real Squid, which is not installed; install the package `squid`"
    );
    Command::new("squid")
}

#[tokio::test]
async fn squid_reads_what_was_written() {
    for with_password in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let conf = files(folder.path(), 3128, &["10.0.0.0/8", "fd00::/8"], with_password).await;
        let parsed = squid().args(["-k", "parse", "-f"]).arg(&conf).output().unwrap();
        let said = String::from_utf8_lossy(&parsed.stderr);
        assert!(parsed.status.success(), "{said}");
        for word in ["WARNING", "ERROR", "FATAL", "Bungled"] {
            assert!(!said.contains(word), "{said}");
        }
    }
}

#[tokio::test]
async fn squid_lets_in_whom_it_should_and_no_one_else() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let conf = files(folder.path(), port, &["127.0.0.0/8"], true).await;
    let proxy = Running::start(&conf, port);
    let ask = |header: &str, url: &str| proxy.ask(header, url);
    let right = format!("Proxy-Authorization: Basic {}\r\n", basic(USER, PASSWORD));
    let wrong = format!("Proxy-Authorization: Basic {}\r\n", basic(USER, "guessed"));
    // An address that is nowhere: whoever is let in gets a gateway error.
    let away = "http://192.0.2.1:9/";
    assert_eq!(ask("", away), 407, "{}", proxy.said());
    assert_eq!(ask(&wrong, away), 407, "{}", proxy.said());
    let let_in = ask(&right, "http://nowhere.invalid/");
    assert!((500..600).contains(&let_in), "{let_in}: {}", proxy.said());
    // Not even with the password: the proxy's own host, and what stands beside every machine of a cloud.
    assert_eq!(ask(&right, "http://127.0.0.1:1/"), 403, "{}", proxy.said());
    assert_eq!(ask(&right, "http://169.254.169.254/"), 403, "{}", proxy.said());
}

#[tokio::test]
async fn squid_refuses_a_source_that_is_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let conf = files(folder.path(), port, &["10.0.0.0/8"], false).await;
    let proxy = Running::start(&conf, port);
    assert_eq!(proxy.ask("", "http://nowhere.invalid/"), 403, "{}", proxy.said());
}

struct Running {
    squid: Child,
    port: u16,
    log: std::path::PathBuf,
}

impl Running {
    /// Starts it as the Pod does: in the foreground, and where the test is root, as a user who is not.
    fn start(conf: &Path, port: u16) -> Self {
        let folder = conf.parent().unwrap();
        let log = folder.join("log");
        std::fs::File::create(&log).unwrap();
        let mut command = squid();
        if is_root() {
            let status = Command::new("chown").args(["-R", "13:13"]).arg(folder).status().unwrap();
            assert!(status.success());
            command = Command::new("setpriv");
            command.args([
                "--reuid=13",
                "--regid=13",
                "--clear-groups",
                "--no-new-privs",
                "--bounding-set=-all",
            ]);
            command.arg("squid");
        }
        let open = || std::fs::OpenOptions::new().append(true).open(&log).unwrap();
        let squid = command.args(["-N", "-f"]).arg(conf).stdout(open()).stderr(open()).spawn().unwrap();
        let running = Self { squid, port, log };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(20), "Squid did not start: {}", running.said());
            std::thread::sleep(Duration::from_millis(50));
        }
        running
    }

    /// The status of one request through the proxy.
    fn ask(&self, header: &str, url: &str) -> u16 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let host = url.split('/').nth(2).unwrap();
        write!(stream, "GET {url} HTTP/1.1\r\nHost: {host}\r\n{header}Connection: close\r\n\r\n").unwrap();
        let mut answer = [0; 64];
        let length = stream.read(&mut answer).unwrap();
        let line = String::from_utf8_lossy(&answer[..length]).into_owned();
        line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It is ours, and it may have ended by itself.
        let _ = self.squid.kill();
        let _ = self.squid.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

fn basic(user: &str, password: &str) -> String {
    data_encoding::BASE64.encode(format!("{user}:{password}").as_bytes())
}
