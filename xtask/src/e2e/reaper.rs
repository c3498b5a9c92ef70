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
        Ok(Self { process, pipe })
    }

    /// This process group is killed.
    pub(crate) fn group(&mut self, leader: u32) -> Outcome {
        self.tell(&format!("group {leader}"))
    }

    /// This process is killed and its end waited for; as the first of a pid namespace it takes all inside with it.
    pub(crate) fn first_of_namespace(&mut self, pid: u32) -> Outcome {
        self.tell(&format!("first {pid}"))
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

    fn tell(&mut self, line: &str) -> Outcome {
        let pipe = self.pipe.as_mut().expect("the pipe is closed in drop only");
        writeln!(pipe, "{line}")
            .map_err(|error| Stop::cannot(format!("the process that cleans up after us has ended: {error}")))
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.pipe = None;
        // Its own complaints are on standard error already.
        let _ = self.process.wait();
    }
}

/// `xtask e2e reap`: waits for the end of its input and ends all that was named there.
pub(crate) fn command() -> Outcome {
    let mut things = Vec::new();
    for line in io::stdin().lock().lines() {
        // An input that cannot be read any more has ended.
        let Ok(line) = line else { break };
        if let Some((kind, what)) = line.split_once(' ') {
            things.push((kind.to_owned(), what.to_owned()));
        }
    }
    let named =
        |kind: &'static str| things.iter().filter(move |(found, _)| found == kind).map(|(_, what)| what);
    named("group").for_each(|leader| kill(&format!("-{leader}")));
    for pid in named("first") {
        kill(pid);
        wait_until(|| !Path::new("/proc").join(pid).exists());
    }
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
    Ok(())
}

fn kill(pid: &str) {
    // The shell's own kill: a bare machine may lack the program.
    quiet(Command::new("sh").args(["-c", "kill -KILL -- \"$1\"", "sh", pid]));
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
