//! `xtask e2e kube`: etcd and a real kube-apiserver on free loopback ports, the tests that judge the fake by it, and
//! the conformance suite of the kubernetes provider on it.
//!
//! There is no controller manager, scheduler or kubelet: namespaces never finish terminating, quota is counted only
//! where a test writes its status, and a Pod's status is what a test patches.

use super::credentials::{ADMIN, ALICE, Credentials};
use super::process::{self, Server};
use super::reaper::Reaper;
use super::servers::{self, Servers};
use super::suite::{self, Environment};
use crate::cache::cannot_write;
use crate::conformance::{self, Beside};
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use crate::workspace::Workspace;
use crate::{flags, setup};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// Another program may take a port between our look and the server's.
const TRIES: u32 = 3;

/// How many cases of the suite run at once: on a real server a case waits more than it works.
const JOBS: &str = "8";

/// True if the workspace has tests for a bare API server.
pub(crate) fn has_tests(workspace: &Workspace) -> bool {
    suite::exist(workspace, suite::KUBE)
}

pub(crate) fn command(flags: &flags::Kube) -> Outcome {
    let progress = Progress::new();
    let workspace = Workspace::read()?;
    setup::require(flags.install, setup::KUBE, "an API server")?;
    let servers = servers::servers(&progress, flags.install)?;
    progress.say(&format!("kube-apiserver {} is {}", servers.version, servers.kube_apiserver.display()));
    if flags.build_only {
        return Ok(());
    }
    let tests = suite::wanted(&workspace, suite::KUBE, &flags.instead)?;
    tests.build(&workspace, &progress)?;
    let suite = match flags.instead.is_empty() {
        true => {
            let package = conformance::package_with_suite(&workspace, "kubernetes")?;
            Some(conformance::build(&workspace, &package, Beside::Everything)?)
        }
        false => None,
    };
    let cluster = Cluster::start(&workspace.target, &servers)?;
    progress.say(&format!("kube-apiserver {} is ready at {}", servers.version, cluster.server));
    let outcome = tests.run(&workspace, &progress, &cluster.environment(&servers), |command| command);
    let outcome = match suite {
        Some(suite) => both(outcome, cluster.conformance(suite, &progress)),
        None => outcome,
    };
    cluster.end(outcome)
}

/// What the tests and the suite came to together; both ran.
pub(super) fn both(tests: Outcome, suite: Outcome) -> Outcome {
    match (tests, suite) {
        (Err(tests), Err(suite)) => Err(Stop { says: format!("{}; {}", tests.says, suite.says), ..tests }),
        (tests, suite) => tests.and(suite),
    }
}

/// A running API server. Dropping it ends it.
struct Cluster {
    folder: PathBuf,
    server: String,
    etcd_url: String,
    kubeconfig: PathBuf,
    // Its drop ends both servers, so it comes before them.
    _reaper: Reaper,
    etcd: Server,
    api: Server,
}

impl Cluster {
    fn start(target: &Path, servers: &Servers) -> Outcome<Self> {
        let mut tries = 1;
        loop {
            match Self::try_start(target, servers) {
                Err(Trouble::PortTaken) if tries < TRIES => tries += 1,
                Err(Trouble::PortTaken) => {
                    return Err(Stop::cannot(format!(
                        "{TRIES} times another program took the ports on 127.0.0.1 that were free just before: \
                         run it again when the machine is quieter"
                    )));
                }
                Err(Trouble::Other(stop)) => return Err(stop),
                Ok(cluster) => return Ok(cluster),
            }
        }
    }

    fn try_start(target: &Path, servers: &Servers) -> Result<Self, Trouble> {
        let folder = target.join(format!("e2e/kube-{}", std::process::id()));
        let data = folder.join("data");
        fs::create_dir_all(&data).map_err(|error| cannot_write(&data, &error))?;
        let mut reaper = Reaper::start()?;
        reaper.folder(&data)?;
        let credentials = Credentials::make(&data.join("credentials"), &[ADMIN, ALICE])?;
        let [client, peer, secure] = process::free_ports()?;

        let etcd_url = format!("http://127.0.0.1:{client}");
        let mut etcd = Server::start(
            &mut reaper,
            &folder,
            "etcd",
            &mut etcd_command(&servers.etcd, &data, &etcd_url, peer),
        )?;
        etcd.wait_until(|| answers(Command::new("curl").args(["-sf", &format!("{etcd_url}/health")])))
            .map_err(|stop| Trouble::of(stop, &etcd))?;

        let server = format!("https://127.0.0.1:{secure}");
        let mut flags = Command::new(&servers.kube_apiserver);
        flags
            .arg(format!("--etcd-servers={etcd_url}"))
            .args(["--bind-address=127.0.0.1", &format!("--secure-port={secure}")])
            // The machine need not have another address, and nothing reads the endpoint of `kubernetes.default`.
            .args(["--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"])
            .args(["--authorization-mode=RBAC", "--allow-privileged=true"])
            // Nothing makes service accounts here, and no Pod could be created without one.
            .args(["--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24"])
            .arg(format!("--service-account-issuer={server}/"));
        add_credentials(&mut flags, &credentials);
        let mut api = Server::start(&mut reaper, &folder, "kube-apiserver", &mut flags)?;
        let authority = credentials.authority();
        api.wait_until(|| {
            answers(
                Command::new("curl")
                    .arg("-sf")
                    .arg("--cacert")
                    .arg(&authority)
                    .arg(format!("{server}/readyz")),
            )
        })
        .map_err(|stop| Trouble::of(stop, &api))?;
        let kubeconfig = credentials.kubeconfig("kubeconfig", &server, &[ADMIN.context, ALICE.context])?;
        Ok(Self { folder, server, etcd_url, kubeconfig, etcd, api, _reaper: reaper })
    }

    fn environment(&self, servers: &Servers) -> Environment {
        let mut environment = Environment::of_kubernetes(&self.kubeconfig, &servers.version);
        // A compaction through etcd's own door is the first step to a 410.
        environment.set("KUBERNETES_TEST_ETCD", &self.etcd_url);
        if let Some(kubectl) = &servers.kubectl {
            environment.set("KUBERNETES_TEST_KUBECTL", kubectl);
            environment.set("PATH", with_kubectl_first(kubectl));
        }
        environment
    }

    /// Runs the conformance suite on this server; it prints its report and verdict.
    fn conformance(&self, mut suite: Command, progress: &Progress) -> Outcome {
        let config = self.folder.join("conformance.yaml");
        // JSON is YAML, whatever is in a path.
        let text = serde_json::json!({
            "kubeconfig": self.kubeconfig, "context": ADMIN.context, "controllers": false
        });
        fs::write(&config, text.to_string()).map_err(|error| cannot_write(&config, &error))?;
        suite.args(["--backend", "real", "--jobs", JOBS, "--config"]).arg(&config);
        progress.say(&run::line(&suite));
        run::hand_on(&mut suite).map_err(|stop| match stop.says.is_empty() {
            true => Stop {
                says: format!(
                    "the conformance suite on the real API server ended with exit code {}",
                    stop.code
                ),
                ..stop
            },
            false => stop,
        })
    }

    /// Ends the servers. Their logs stay where something failed.
    fn end(mut self, outcome: Outcome) -> Outcome {
        let outcome = outcome.and_then(|()| self.etcd.still_runs()).and_then(|()| self.api.still_runs());
        let folder = self.folder.clone();
        drop(self);
        suite::keep_logs_of_failure(&folder, outcome)
    }
}

/// The search path on which `kubectl` is this one.
fn with_kubectl_first(kubectl: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = kubectl.parent().map(Path::to_owned).into_iter().chain(env::split_paths(&path));
    // A folder whose name holds a colon cannot be on a search path; kubectl is then the machine's own.
    env::join_paths(folders).unwrap_or(path)
}

/// Why the servers did not start.
enum Trouble {
    PortTaken,
    Other(Stop),
}

impl Trouble {
    fn of(stop: Stop, server: &Server) -> Self {
        if server.port_was_taken() { Self::PortTaken } else { Self::Other(stop) }
    }
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Self {
        Self::Other(stop)
    }
}

/// etcd on loopback; what it stores need not outlive the machine's power.
pub(super) fn etcd_command(program: &Path, folder: &Path, client: &str, peer: u16) -> Command {
    let mut command = Command::new(program);
    command
        .arg(format!("--data-dir={}", folder.join("etcd").display()))
        .arg(format!("--listen-client-urls={client}"))
        .arg(format!("--advertise-client-urls={client}"))
        .arg(format!("--listen-peer-urls=http://127.0.0.1:{peer}"))
        .arg("--unsafe-no-fsync=true");
    command
}

/// The flags by which an API server knows its users and makes its own certificate.
pub(super) fn add_credentials(command: &mut Command, credentials: &Credentials) {
    let key = credentials.service_account_key();
    command
        .arg(format!("--cert-dir={}", credentials.certificates().display()))
        .arg(format!("--token-auth-file={}", credentials.token_file().display()))
        .arg(format!("--service-account-key-file={}", key.display()))
        .arg(format!("--service-account-signing-key-file={}", key.display()));
}

/// True if it ends well; what it prints does not matter.
pub(super) fn answers(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // The machine's proxy has no business with loopback.
        .env("no_proxy", "*")
        .status()
        .is_ok_and(|status| status.success())
}
