//! Ending what we started, however we end: `xtask e2e reap` runs beside us in a process group of its own, so that
//! Ctrl-C does not reach it, and reads what to end from a pipe. When the pipe closes, because we dropped it, panicked
//! or were killed, it ends all of it by SIGKILL. There is no second way out, so every run tests this one.

use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

/// The other end of the pipe. Dropping it ends everything that was told to it, and waits until that is done.
pub(crate) struct Reaper {
    process: Child,
    pipe: Option<ChildStdin>,
    waits: bool,
}

impl Reaper {
    pub(crate) fn start() -> Outcome<Self> {
        let own =
            env::current_exe().map_err(|error| Stop::cannot(format!("cannot find xtask itself: {error}")))?;
        let mut command = Command::new(own);
        command.args(["e2e", "reap"]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut process = command
            .spawn()
            .map_err(|error| Stop::cannot(format!("cannot start xtask a second time: {error}")))?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe, waits: true })
    }

    /// This process group is killed.
    pub(crate) fn group(&mut self, leader: u32) -> Outcome {
        self.tell(&format!("group {leader}"))
    }

    /// This process is killed and its end waited for; as the first of a pid namespace it takes all inside with it.
    pub(crate) fn first_of_namespace(&mut self, pid: u32) -> Outcome {
        self.tell(&format!("first {pid}"))
    }

    /// This container is removed, before anything else is: its processes are nobody's children. `host` is its engine.
    pub(crate) fn container(&mut self, host: Option<&str>, name: &str) -> Outcome {
        self.tell(&format!("container {name} {}", host.unwrap_or_default()))
    }

    /// This network namespace is removed.
    pub(crate) fn network(&mut self, name: &str) -> Outcome {
        self.tell(&format!("network {name}"))
    }

    /// This cgroup is removed, with those below it.
    pub(crate) fn cgroup(&mut self, folder: &Path) -> Outcome {
        self.tell(&format!("cgroup {}", folder.display()))
    }

    /// This folder is removed, last of all.
    pub(crate) fn folder(&mut self, folder: &Path) -> Outcome {
        self.tell(&format!("folder {}", folder.display()))
    }

    /// Ends everything as dropping does, but does not wait for it.
    pub(crate) fn let_go(mut self) {
        self.waits = false;
    }

    fn tell(&mut self, line: &str) -> Outcome {
        let pipe = self.pipe.as_mut().expect("the pipe is closed in drop only");
        writeln!(pipe, "{line}")
            .map_err(|error| Stop::cannot(format!("the process that cleans up after us has ended: {error}")))
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.pipe = None;
        if !self.waits {
            return;
        }
        // Its own complaints are on standard error already.
        let _ = self.process.wait();
    }
}

/// `xtask e2e reap`: waits for the end of its input and ends all that was named there.
pub(crate) fn command() -> Outcome {
    reap(io::stdin().lock())
}

fn reap(input: impl BufRead) -> Outcome {
    let mut things = Vec::new();
    for line in input.lines() {
        // An input that cannot be read any more has ended.
        let Ok(line) = line else { break };
        if let Some((kind, what)) = line.split_once(' ') {
            things.push((kind.to_owned(), what.to_owned()));
        }
    }
    let named =
        |kind: &'static str| things.iter().filter(move |(found, _)| found == kind).map(|(_, what)| what);
    for (name, host) in named("container").filter_map(|what| what.split_once(' ')) {
        let mut docker = Command::new("docker");
        if !host.is_empty() {
            docker.args(["-H", host]);
        }
        quiet(docker.args(["rm", "--force", name]));
    }
    named("group").for_each(|leader| kill(&format!("-{leader}")));
    named("first").for_each(|pid| kill(pid));
    let processes: Vec<_> = named("group").chain(named("first")).collect();
    wait_until(|| processes.iter().all(|pid| has_ended(pid)));
    for name in named("network") {
        quiet(Command::new("ip").args(["netns", "delete", name]));
    }
    for folder in named("cgroup") {
        // A cgroup can be removed once the kernel has let go of its last process.
        wait_until(|| remove_cgroup(Path::new(folder)).is_ok());
    }
    for folder in named("folder") {
        wait_until(|| remove(Path::new(folder)).is_ok());
        remove(Path::new(folder))?;
    }
    match processes.iter().find(|pid| !has_ended(pid)) {
        Some(pid) => Err(Stop::cannot(format!("process {pid} could not be ended: end it by hand"))),
        None => Ok(()),
    }
}

fn kill(pid: &str) {
    // The shell's own kill, since a bare machine may lack the program, in the one spelling that dash takes a group in.
    quiet(Command::new("sh").args(["-c", "kill -s KILL -- \"$1\"", "sh", pid]));
}

/// True if it is gone, or dead and not yet collected by whoever started it.
fn has_ended(pid: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    // The state follows the name, which is in brackets and may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']))
}

fn quiet(command: &mut Command) {
    // What has ended by itself cannot be ended again; that is no error.
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn wait_until(mut done: impl FnMut() -> bool) {
    for _ in 0..100 {
        if done() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn remove(folder: &Path) -> Outcome {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot_write(folder, &error)),
        _ => Ok(()),
    }
}

fn remove_cgroup(folder: &Path) -> io::Result<()> {
    let entries: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    entries.iter().filter(|entry| entry.is_dir()).try_for_each(|entry| remove_cgroup(entry))?;
    fs::remove_dir(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn ends_groups_and_removes_folders_once_the_input_ends() {
        let folder = env::temp_dir().join(format!("xtask-reaper-{}", std::process::id()));
        fs::create_dir_all(folder.join("below")).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 300; true"]).process_group(0);
        let mut process = command.spawn().unwrap();
        let input = format!("group {}\nfolder {}\n", process.id(), folder.display());
        reap(input.as_bytes()).unwrap();
        assert!(has_ended(&process.id().to_string()));
        assert_eq!(process.wait().unwrap().signal(), Some(9));
        assert!(!folder.exists());
    }

    #[test]
    fn what_is_gone_already_is_no_error() {
        reap("group 999999999\nfolder /nowhere/at/all\nnetwork\n".as_bytes()).unwrap();
    }
}
