//! Namespaces in which a whole cluster or hypervisor can live without touching the machine: a network with no way out,
//! mounts and process numbers of their own. Everything inside ends with the first process. What is mounted and connected
//! there is the affair of whoever lives inside.

use super::reaper::Reaper;
use crate::outcome::{Outcome, Stop};
use crate::run;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The inside, as seen from outside.
pub(super) struct Inside {
    first: u32,
    // Kept so that the process is ours until the reaper has ended it.
    _unshare: Option<Child>,
}

impl Inside {
    /// Makes the namespaces; `name` is the network's, which has loopback and nothing else.
    pub(super) fn make(reaper: &mut Reaper, name: &str) -> Outcome<Self> {
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
        let inside = Self { first, _unshare: Some(unshare) };
        inside.run("ip", &["link", "set", "lo", "up"])?;
        Ok(inside)
    }

    /// The inside of a container whose first process this is, as the machine numbers it.
    pub(super) fn of_container(first: u32) -> Self {
        Self { first, _unshare: None }
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

    /// Runs a command inside, which must end well.
    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> Outcome {
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
