//! `xtask e2e kube-node`: a cluster of one node that runs real Pods, and the tests that judge a Pod's life by it.
//! etcd, API server, controller manager, scheduler, kubelet with dockerd, all of it inside namespaces of its own; no
//! registry and no network plugin, so a Pod has an address on dockerd's bridge and images are those made here.
//!
//! Needs root and cgroup v1 (Kubernetes 1.20 knows no other). Leaves no trace: one SIGKILL ends all inside.

use super::credentials::{ADMIN, ALICE, Credentials, User};
use super::inside::Inside;
use super::kube::{add_credentials, answers, etcd_command};
use super::node_inside::{self, ADDRESS};
use super::process::Server;
use super::reaper::Reaper;
use super::suite::{self, Environment};
use super::{cgroups, images, old_servers, servers};
use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use crate::workspace::Workspace;
use crate::{flags, setup};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The image that a test's Pod runs; it is on the node already, so its pull policy is Never.
const SQUID_IMAGE: &str = "localhost/squid:1";
const PAUSE_IMAGE: &str = "localhost/pause:1";
const NODE: &str = "n1";
const DOCKER: &str = "unix:///run/docker.sock";

const CONTROLLERS: User = User { context: "controllers", name: "system:kube-controller-manager", group: "" };
const SCHEDULER: User = User { context: "scheduler", name: "system:kube-scheduler", group: "" };
const KUBELET: User = User { context: "kubelet", name: "system:node:n1", group: "system:nodes" };

/// True if the workspace has tests for a node.
pub(crate) fn has_tests(workspace: &Workspace) -> bool {
    suite::exist(workspace, suite::NODE)
}

pub(crate) fn command(flags: &flags::KubeNode) -> Outcome {
    let progress = Progress::new();
    let workspace = Workspace::read()?;
    if let Some(why) = impossible() {
        return Err(Stop::cannot(format!("a one-node cluster cannot run here: {why}")));
    }
    setup::require(
        flags.install,
        &[setup::KUBE, setup::OLD_KUBE, setup::NODE].concat(),
        "a one-node cluster",
    )?;
    let programs = Programs {
        etcd: servers::etcd(&progress, flags.install)?,
        kubernetes: old_servers::servers(&progress)?,
        images: images::images(&progress)?,
    };
    progress.say(&format!(
        "Kubernetes {} is {}, the images are {}",
        old_servers::VERSION,
        programs.kubernetes.display(),
        programs.images.display()
    ));
    if flags.build_only {
        return Ok(());
    }
    let tests = suite::wanted(&workspace, suite::NODE, &flags.instead)?;
    tests.build(&workspace, &progress)?;
    let node = Cluster::start(&workspace.target, &programs, &progress)?;
    let outcome =
        tests.run(&workspace, &progress, &node.environment(), |command| node.inside.enter(&command));
    node.end(outcome)
}

/// Why this machine cannot run the cluster, if it cannot.
pub(crate) fn impossible() -> Option<&'static str> {
    if !setup::is_root() {
        return Some("it needs root, for namespaces, mounts and cgroups; run it as root");
    }
    let kind = run::read(Command::new("stat").args(["-fc", "%T", "/sys/fs/cgroup"])).unwrap_or_default();
    if kind.trim() != "tmpfs" {
        return Some("it needs cgroup v1, and this machine has not mounted it at /sys/fs/cgroup");
    }
    None
}

struct Programs {
    etcd: PathBuf,
    kubernetes: PathBuf,
    images: PathBuf,
}

/// The running cluster. Dropping it ends it.
struct Cluster {
    folder: PathBuf,
    data: PathBuf,
    kubeconfig: PathBuf,
    // Its drop ends all inside, so it comes before them.
    _reaper: Reaper,
    inside: Inside,
    servers: Vec<Server>,
}

impl Cluster {
    fn start(target: &Path, programs: &Programs, progress: &Progress) -> Outcome<Self> {
        let name = format!("egress-node-{}", std::process::id());
        let folder = target.join(format!("e2e/kube-node-{}", std::process::id()));
        let data = folder.join("data");
        fs::create_dir_all(&data).map_err(|error| cannot_write(&data, &error))?;
        node_inside::can_take(&data)?;
        let mut reaper = Reaper::start()?;
        reaper.folder(&data)?;
        cgroups::make(&mut reaper, &name)?;
        let credentials =
            Credentials::make(&data.join("credentials"), &[ADMIN, ALICE, CONTROLLERS, SCHEDULER, KUBELET])?;
        let inside = Inside::make(&mut reaper, &name)?;
        node_inside::furnish(&inside, &data)?;
        let server = format!("https://{ADDRESS}:6443");
        let kubeconfig = credentials.kubeconfig("kubeconfig", &server, &[ADMIN.context, ALICE.context])?;
        let mut start = Start {
            name: &name,
            folder: &folder,
            data: &data,
            programs,
            credentials: &credentials,
            server: &server,
            inside: &inside,
            reaper: &mut reaper,
            servers: Vec::new(),
        };
        start.dockerd()?;
        start.etcd_and_api_server()?;
        start.load_images()?;
        start.controllers_and_scheduler()?;
        start.kubelet()?;
        progress.say("dockerd and the servers run; waiting for the node to be ready");
        start.wait_for_node()?;
        progress.say(&format!("node {NODE} is ready, the API server is {server} inside"));
        let servers = start.servers;
        Ok(Self { folder, data, kubeconfig, inside, servers, _reaper: reaper })
    }

    fn environment(&self) -> Environment {
        let mut environment = Environment::of_kubernetes(&self.kubeconfig, old_servers::VERSION);
        environment.set("KUBERNETES_TEST_NODE", NODE);
        environment.set("KUBERNETES_TEST_IMAGE", SQUID_IMAGE);
        environment.set("KUBERNETES_TEST_KUBELET", pid_of_kubelet(&self.data));
        // Everything was compiled outside, and inside there is no way out.
        environment.set("CARGO_NET_OFFLINE", "true");
        environment
    }

    fn end(mut self, outcome: Outcome) -> Outcome {
        let outcome = outcome.and_then(|()| self.servers.iter_mut().try_for_each(Server::still_runs));
        let folder = self.folder.clone();
        drop(self);
        suite::keep_logs_of_failure(&folder, outcome)
    }
}

/// What starting the servers one by one needs.
struct Start<'a> {
    name: &'a str,
    folder: &'a Path,
    data: &'a Path,
    programs: &'a Programs,
    credentials: &'a Credentials,
    server: &'a str,
    inside: &'a Inside,
    reaper: &'a mut Reaper,
    servers: Vec<Server>,
}

impl Start<'_> {
    fn dockerd(&mut self) -> Outcome {
        let clamp = self.write("runc-clamp", include_str!("runc-clamp.sh"))?;
        fs::set_permissions(&clamp, fs::Permissions::from_mode(0o755))
            .map_err(|error| cannot_write(&clamp, &error))?;
        let mut command = self.inside.command("dockerd");
        command
            .args(["-H", DOCKER, "--exec-root=/run/docker", "--pidfile=/run/docker.pid", "--log-level=warn"])
            // In memory: a few hundred MiB, and thousands of files whose removal would take longer than the tests.
            .arg("--data-root=/run/docker-data")
            .args(["--iptables=false", "--ip-forward=false", "--bip=10.78.0.1/16"])
            .args(["--exec-opt=native.cgroupdriver=cgroupfs", &format!("--cgroup-parent=/{}", self.name)])
            .args([&format!("--add-runtime=clamp={}", clamp.display()), "--default-runtime=clamp"]);
        self.start("dockerd", command)
    }

    fn etcd_and_api_server(&mut self) -> Outcome {
        let url = "http://127.0.0.1:2379";
        let etcd = self.inside.enter(&etcd_command(&self.programs.etcd, self.data, url, 2380));
        self.start("etcd", etcd)?;
        let mut command = self.kubernetes("kube-apiserver");
        command
            .arg(format!("--etcd-servers={url}"))
            .args([&format!("--advertise-address={ADDRESS}"), "--bind-address=0.0.0.0", "--secure-port=6443"])
            .args(["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"])
            // Names do not resolve inside.
            .args(["--allow-privileged=true", "--kubelet-preferred-address-types=InternalIP"])
            .args(["--service-account-issuer=https://kubernetes.default.svc"])
            .arg("--service-cluster-ip-range=10.0.0.0/24");
        add_credentials(&mut command, self.credentials);
        self.start("kube-apiserver", command)?;
        let (inside, server) = (self.inside, self.server);
        let authority = self.credentials.authority();
        self.last().wait_until(|| {
            let mut command = inside.command("curl");
            answers(command.arg("-sf").arg("--cacert").arg(&authority).arg(format!("{server}/readyz")))
        })
    }

    fn load_images(&mut self) -> Outcome {
        let inside = self.inside;
        self.servers[0].wait_until(|| answers(inside.command("docker").args(["-H", DOCKER, "version"])))?;
        for (file, image, change) in [
            ("pause.tar", PAUSE_IMAGE, "ENTRYPOINT [\"/pause\"]"),
            // What Debian's own package would run.
            ("squid.tar", SQUID_IMAGE, "ENTRYPOINT [\"/usr/sbin/squid\", \"-N\"]"),
        ] {
            let mut command = inside.command("docker");
            command.args(["-H", DOCKER, "import", "--change", change]);
            run::read(command.arg(self.programs.images.join(file)).arg(image))?;
        }
        Ok(())
    }

    fn controllers_and_scheduler(&mut self) -> Outcome {
        let kubeconfig = self.kubeconfig(&CONTROLLERS)?;
        let mut command = self.kubernetes("kube-controller-manager");
        command
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args([
                "--use-service-account-credentials=true",
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
            ])
            // A lost node is known as such in seconds; kubelet's lease is as much shorter.
            .args(["--node-monitor-grace-period=12s", "--node-monitor-period=1s"])
            .arg(format!(
                "--service-account-private-key-file={}",
                self.credentials.service_account_key().display()
            ))
            .arg(format!("--root-ca-file={}", self.credentials.authority().display()))
            .arg(format!("--cert-dir={}", self.data.join("controllers").display()));
        self.start("kube-controller-manager", command)?;
        let kubeconfig = self.kubeconfig(&SCHEDULER)?;
        let mut command = self.kubernetes("kube-scheduler");
        command
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(["--leader-elect=false", "--bind-address=127.0.0.1"])
            .arg(format!("--cert-dir={}", self.data.join("scheduler").display()));
        self.start("kube-scheduler", command)
    }

    fn kubelet(&mut self) -> Outcome {
        let kubeconfig = self.kubeconfig(&KUBELET)?;
        let config = include_str!("kubelet.yaml").replace("CGROUP", self.name).replace("ADDRESS", ADDRESS);
        let config = self.write("kubelet.yaml", &config)?;
        let mut command = self.inside.command("sh");
        command
            // A test may stop it by this number, which holds inside.
            .args(["-c", "echo $$ >\"$0\"; exec \"$@\""])
            .arg(pid_of_kubelet(self.data))
            .arg(self.programs.kubernetes.join("kubelet"))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--config={}", config.display()))
            .args([&format!("--hostname-override={NODE}"), &format!("--node-ip={ADDRESS}")])
            .arg(format!("--root-dir={}", self.data.join("kubelet").display()))
            .arg(format!("--cert-dir={}", self.data.join("kubelet-certificates").display()))
            .args(["--container-runtime=docker", &format!("--docker-endpoint={DOCKER}"), "--network-plugin="])
            .arg(format!("--pod-infra-container-image={PAUSE_IMAGE}"));
        self.start("kubelet", command)
    }

    /// The node is ready, and Pods can be created: that takes the default service account and its secret.
    fn wait_for_node(&mut self) -> Outcome {
        let kubeconfig_token = self.credentials.token(ADMIN.context).to_owned();
        let (inside, server, authority) = (self.inside, self.server, self.credentials.authority());
        let get = |path: &str| -> Option<Value> {
            let mut command = inside.command("curl");
            command.arg("-sf").arg("--cacert").arg(&authority);
            command.args([
                "-H",
                &format!("Authorization: Bearer {kubeconfig_token}"),
                &format!("{server}{path}"),
            ]);
            serde_json::from_str(&run::read(&mut command).ok()?).ok()
        };
        self.last().wait_until(|| {
            let ready = get(&format!("/api/v1/nodes/{NODE}")).is_some_and(|node| {
                node["status"]["conditions"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
            });
            ready
                && get("/api/v1/namespaces/default/serviceaccounts/default")
                    .is_some_and(|account| account["secrets"].is_array())
        })
    }

    fn kubernetes(&self, program: &str) -> Command {
        self.inside.command(self.programs.kubernetes.join(program))
    }

    fn kubeconfig(&self, user: &User) -> Outcome<PathBuf> {
        self.credentials.kubeconfig(&format!("{}.kubeconfig", user.context), self.server, &[user.context])
    }

    fn start(&mut self, name: &'static str, mut command: Command) -> Outcome {
        command.env("no_proxy", "*");
        self.servers.push(Server::start(self.reaper, self.folder, name, &mut command)?);
        Ok(())
    }

    fn last(&mut self) -> &mut Server {
        self.servers.last_mut().expect("a server was started before")
    }

    fn write(&self, name: &str, text: &str) -> Outcome<PathBuf> {
        let path = self.data.join(name);
        fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
        Ok(path)
    }
}

/// The file with the kubelet's process number inside.
fn pid_of_kubelet(data: &Path) -> PathBuf {
    data.join("kubelet.pid")
}
