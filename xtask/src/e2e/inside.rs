//! Namespaces in which a whole cluster can live without touching the machine: a network with no way out, mounts and
//! process numbers of their own. Everything inside ends with the first process.

use super::reaper::Reaper;
use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use crate::run;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The node's address, on a bridge that has no other end.
pub(super) const ADDRESS: &str = "10.77.0.1";

/// Folders whose writes go to the run's folder instead of the machine's disk.
const OVERLAID: [&str; 4] = ["/var", "/etc", "/opt", "/usr/libexec"];

/// What kubelet writes for the whole machine; it leaves alone what already reads right.
const SYSCTLS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

/// The inside, as seen from outside.
pub(super) struct Inside {
    first: u32,
    // Kept so that the process is ours until the reaper has ended it.
    _unshare: Child,
}

impl Inside {
    /// Makes the namespaces; `name` is the network's, `folder` takes what is written.
    pub(super) fn make(reaper: &mut Reaper, name: &str, folder: &Path) -> Outcome<Self> {
        if let Some(above) = OVERLAID.iter().find(|above| folder.starts_with(above)) {
            return Err(Stop::cannot(format!(
                "{} lies under {above}, which is covered inside: set CARGO_TARGET_DIR to a folder elsewhere",
                folder.display()
            )));
        }
        reaper.network(name)?;
        run::read(Command::new("ip").args(["netns", "add", name]))?;
        // `ip netns exec` would mount /sys anew and hide the cgroups; nsenter does not.
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/run/netns/{name}"))
            .args(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--propagation", "private"])
            // A shell as first process collects the dead.
            .args(["sh", "-c", "while :; do sleep 3600 & wait $!; done"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0);
        let mut unshare = command.spawn().map_err(|error| run::not_started(&command, &error))?;
        reaper.group(unshare.id())?;
        let first = first_below(unshare.id()).ok_or_else(|| {
            let _ = unshare.kill();
            Stop::cannot("no namespaces could be made here: it takes root, and a machine that allows it")
        })?;
        reaper.first_of_namespace(first)?;
        let inside = Self { first, _unshare: unshare };
        inside.mount(folder)?;
        inside.connect()?;
        Ok(inside)
    }

    /// A command that runs inside.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.first.to_string(), "-n", "-m", "-p", "--"]).arg(program);
        command
    }

    /// Puts a command inside, with its arguments, environment and folder.
    pub(super) fn enter(&self, outside: &Command) -> Command {
        // Entering a mount namespace leads to its root folder; `env` goes on from there.
        let mut command = match outside.get_current_dir() {
            Some(folder) => {
                let mut command = self.command("env");
                command.arg("-C").arg(folder).arg(outside.get_program());
                command
            }
            None => self.command(outside.get_program()),
        };
        command.args(outside.get_args());
        for (name, value) in outside.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    fn mount(&self, folder: &Path) -> Outcome {
        for lower in OVERLAID.iter().filter(|lower| Path::new(lower).is_dir()) {
            let upper = new_folder(folder.join(format!("overlay{}", lower.replace('/', "-"))))?;
            let work = new_folder(upper.with_extension("work"))?;
            let options = format!("lowerdir={lower},upperdir={},workdir={}", upper.display(), work.display());
            self.run("mount", &["-t", "overlay", "overlay", "-o", &options, lower]).map_err(|stop| {
                Stop::cannot(format!(
                    "{}: {} lies on a file system that an overlay cannot write to (it takes ext4 or xfs); set \
                     CARGO_TARGET_DIR to one that is",
                    stop.says,
                    folder.display()
                ))
            })?;
        }
        self.run("mount", &["-t", "tmpfs", "tmpfs", "/run"])?;
        self.run("mkdir", &["-p", "/run/lock"])?;
        let values = new_folder(folder.join("sysctl"))?;
        for (name, value) in SYSCTLS {
            let file = values.join(name.replace('/', "-"));
            fs::write(&file, value).map_err(|error| cannot_write(&file, &error))?;
            self.run("mount", &["--bind", &file.display().to_string(), &format!("/proc/sys/{name}")])?;
        }
        // No DNS inside: a refusal at once, where a lost packet would be a wait.
        self.run("sh", &["-c", "echo nameserver 127.0.0.1 >/etc/resolv.conf"])?;
        self.run("sh", &["-c", &format!("printf '127.0.0.1 localhost\\n{ADDRESS} n1\\n' >/etc/hosts")])?;
        self.run("mount", &["--make-rshared", "/"])
    }

    fn connect(&self) -> Outcome {
        self.run("ip", &["link", "set", "lo", "up"])?;
        self.run("ip", &["link", "add", "node0", "type", "bridge"])?;
        self.run("ip", &["address", "add", &format!("{ADDRESS}/24"), "dev", "node0"])?;
        self.run("ip", &["link", "set", "node0", "up"])?;
        self.run("ip", &["route", "add", "default", "dev", "node0"])
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Outcome {
        run::read(self.command(program).args(arguments)).map(drop)
    }
}

/// The process that `unshare --fork` started: the first of the new pid namespace.
fn first_below(unshare: u32) -> Option<u32> {
    let children = format!("/proc/{unshare}/task/{unshare}/children");
    for _ in 0..100 {
        let first =
            fs::read_to_string(&children).ok()?.split_whitespace().next().and_then(|pid| pid.parse().ok());
        if let Some(first) = first.filter(|first| is_shell(*first)) {
            return Some(first);
        }
        thread::sleep(Duration::from_millis(50));
    }
    None
}

/// True once unshare has mounted /proc and become the shell.
fn is_shell(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sh")
}

fn new_folder(folder: PathBuf) -> Outcome<PathBuf> {
    fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
    Ok(folder)
}
