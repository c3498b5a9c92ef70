//! Running other programs: progress lines, exit codes, and a sentence for a program that is not there.
//! The lines are plain text, so they read the same in a pipe and in a terminal.

use crate::outcome::{Outcome, Stop};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{env, io};

/// Prints the steps of a command with the time since it began.
pub(crate) struct Progress {
    began: Instant,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now() }
    }

    /// A step begins, or something worth a line happened.
    pub(crate) fn say(&self, what: &str) {
        println!("[{}] {what}", elapsed(self.began.elapsed()));
    }
}

/// `75.2 s` as `1m15s`, and `4.2 s` as `4.2s`.
pub(crate) fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1}s", time.as_secs_f64()),
        _ => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

/// The cargo that runs us, so that a pinned toolchain stays the same.
///
/// What that cargo told us about our own package goes no further: build scripts that read such a variable, ring's for
/// one, would be run anew whenever a command is given by `cargo xtask` after one that was not, and all above them built.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_of_a_package)) {
        cargo.env_remove(name);
    }
    cargo
}

fn is_of_a_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| variable.starts_with(start))
}

/// A command as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let mut line = String::new();
    for (at, word) in words.enumerate() {
        let word = word.to_string_lossy();
        let word = if at == 0 { word.rsplit('/').next().unwrap_or(&word) } else { &word };
        if at > 0 {
            line.push(' ');
        }
        if word.is_empty() || word.contains([' ', '\'', '"', '$', '*', ';', '&', '|']) {
            line.push_str(&format!("'{}'", word.replace('\'', "'\\''")));
        } else {
            line.push_str(word);
        }
    }
    line
}

/// Runs it with our own input and output; any exit but 0 is a failed check.
pub(crate) fn check(command: &mut Command) -> Outcome {
    let status = status(command)?;
    if status.success() {
        return Ok(());
    }
    Err(Stop::failed(format!("`{}` failed with {}", line(command), how(status))))
}

/// Runs it and hands its exit code on as it is.
pub(crate) fn hand_on(command: &mut Command) -> Outcome {
    let status = status(command)?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Stop::code(u8::try_from(code).unwrap_or(1))),
        None => Err(Stop::failed(format!("`{}` ended by {}", line(command), how(status)))),
    }
}

/// Runs it and returns what it printed; any exit but 0 means that it could not run, and its last words are told.
pub(crate) fn read(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|error| not_started(command, &error))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = errors.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join("; ");
        let said = if last.is_empty() { "it said nothing" } else { &last };
        return Err(Stop::cannot(format!("`{}` failed with {}: {said}", line(command), how(output.status))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// True if there is such a program on `PATH`.
pub(crate) fn exists(program: &str) -> bool {
    let Some(path) = env::var_os("PATH") else { return false };
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Why a program did not start, and what to do.
pub(crate) fn not_started(command: &Command, error: &io::Error) -> Stop {
    let program = command.get_program().to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => Stop::cannot(format!(
            "the program `{program}` is not installed: run `cargo xtask setup`, or install it by hand"
        )),
        _ => Stop::cannot(format!("the program `{program}` could not be started: {error}")),
    }
}

fn status(command: &mut Command) -> Outcome<ExitStatus> {
    command.status().map_err(|error| not_started(command, &error))
}

fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_pasted_into_a_shell() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["test", "-p", "xtask", "it's"]);
        assert_eq!(line(&command), "cargo test -p xtask 'it'\\''s'");
    }

    #[test]
    fn a_missing_program_is_a_sentence_and_exit_code_2() {
        let stop = check(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert_eq!(stop.code, 2);
        assert!(stop.says.contains("`no-such-program-anywhere` is not installed"), "{}", stop.says);
    }

    #[test]
    fn a_childs_exit_code_is_handed_on() {
        let stop = hand_on(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!((stop.code, stop.says.as_str()), (3, ""));
        assert!(hand_on(&mut Command::new("true")).is_ok());
    }

    #[test]
    fn what_is_said_of_this_package_is_not_handed_on() {
        let removed: Vec<_> = cargo()
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| name.to_owned())
            .collect();
        assert!(removed.iter().any(|name| name == "CARGO_PKG_NAME"), "{removed:?}");
        assert!(!is_of_a_package("CARGO_TARGET_DIR") && !is_of_a_package("CARGO_HOME"));
    }

    #[test]
    fn times_read_well() {
        assert_eq!(elapsed(Duration::from_millis(4_240)), "4.2s");
        assert_eq!(elapsed(Duration::from_secs(605)), "10m05s");
    }
}
