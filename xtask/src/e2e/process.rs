//! A server that runs while tests run: started in a process group of its own, its output in a log file, watched until
//! it is ready, and told to the reaper so that it never outlives us.

use super::reaper::Reaper;
use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use crate::run;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a slow machine that compiles something beside it.
const READY_WITHIN: Duration = Duration::from_secs(90);

/// A running server.
pub(crate) struct Server {
    name: &'static str,
    process: Child,
    log: PathBuf,
}

impl Server {
    /// Starts it; `folder` gets its log.
    pub(crate) fn start(
        reaper: &mut Reaper,
        folder: &Path,
        name: &'static str,
        command: &mut Command,
    ) -> Outcome<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).map_err(|error| cannot_write(&log, &error))?;
        let again = file.try_clone().map_err(|error| cannot_write(&log, &error))?;
        command.stdin(Stdio::null()).stdout(file).stderr(again).process_group(0);
        let process = command.spawn().map_err(|error| run::not_started(command, &error))?;
        reaper.group(process.id())?;
        Ok(Self { name, process, log })
    }

    /// Waits until `ready` says so. A server that ends before, or is never ready, is told with its last words.
    pub(crate) fn wait_until(&mut self, mut ready: impl FnMut() -> bool) -> Outcome {
        let began = Instant::now();
        while !ready() {
            if let Some(status) = self.process.try_wait().ok().flatten() {
                return Err(self.in_trouble(&format!("ended while it was starting ({status})")));
            }
            if began.elapsed() > READY_WITHIN {
                return Err(self.in_trouble(&format!("was not ready within {}", run::elapsed(READY_WITHIN))));
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Waits until its log has these words.
    pub(crate) fn wait_to_say(&mut self, words: &str) -> Outcome {
        let log = self.log.clone();
        self.wait_until(|| says(&log, words))
    }

    /// True if it lost a race for its port to another program.
    pub(crate) fn port_was_taken(&self) -> bool {
        says(&self.log, "address already in use")
    }

    /// Fails if it has ended although nobody asked it to.
    pub(crate) fn still_runs(&mut self) -> Outcome {
        match self.process.try_wait() {
            Ok(Some(status)) => Err(self.in_trouble(&format!("ended during the tests ({status})"))),
            _ => Ok(()),
        }
    }

    fn in_trouble(&self, what: &str) -> Stop {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<_> = log.lines().rev().filter(|line| !line.trim().is_empty()).take(5).collect();
        let last: String = last.into_iter().rev().map(|line| format!("\n  {line}")).collect();
        let said =
            if last.is_empty() { "; it said nothing".to_owned() } else { format!("; its last words:{last}") };
        Stop::cannot(format!("{} {what}{said}", self.name))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Collects it where the reaper has ended it; never waits for one that still runs.
        let _ = self.process.try_wait();
    }
}

fn says(log: &Path, words: &str) -> bool {
    fs::read_to_string(log).is_ok_and(|log| log.contains(words))
}

/// Ports on loopback that were free just now. They are all held until the last is known, so they differ.
pub(crate) fn free_ports<const N: usize>() -> Outcome<[u16; N]> {
    let none = |error| Stop::cannot(format!("there is no free port on 127.0.0.1: {error}"));
    let mut listeners = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(none)?;
        *port = listener.local_addr().map_err(none)?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::free_ports;

    #[test]
    fn free_ports_differ() {
        let ports = free_ports::<3>().unwrap();
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2]);
    }
}
