//! The proof that the template holds: as it is made, its crate compiles without a warning and runs the whole suite, whose
//! red rules name the files to write; with what an author would write, it is conformant.

use super::{Files, Spelling, make_at, write_all};
use crate::conformance::{self, SUITE};
use crate::outcome::{Outcome, Stop};
use crate::run;
use crate::workspace::Workspace;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What an author would write for the template's backend, in the place of what the template leaves.
const FILLED: Files = files![
    "filled":
    "src/create.rs",
    "src/delete.rs",
    "src/get.rs",
    "src/list.rs",
    "tests/harness/fake.rs",
];

/// How many lines an author may have to write until the crate is conformant.
const MOST_LINES: usize = 600;
/// The crate's tests beside the suite.
const TLS: &str = "tls";
/// The verdict of a suite without a red rule.
const CONFORMANT: &str = "conformant";

/// Makes a crate, runs its suite, fills it, and runs it again.
pub(crate) fn step(workspace: &Workspace) -> Outcome {
    let sample = Sample::make(workspace)?;
    let fresh = sample.judge()?;
    let red = red(&fresh);
    if red.is_empty() {
        return Err(Stop::failed("a fresh crate has no red rule, and nothing of it is written"));
    }
    for file in FILLED.iter().map(|(path, _)| *path) {
        if !red.iter().any(|rule| rule.to_string().contains(file)) {
            return Err(Stop::failed(format!(
                "no red rule of a fresh crate says that {file} is to be written"
            )));
        }
    }
    let silent: Vec<_> = red.iter().filter(|rule| !rule.to_string().contains("not written yet")).collect();
    if let Some(rule) = silent.first() {
        return Err(Stop::failed(format!(
            "{} red rules of a fresh crate do not say what to write: {} says {}",
            silent.len(),
            rule["id"],
            rule["reason"]
        )));
    }
    println!("a fresh crate: {} red rules, and each says what is to be written where", red.len());
    let lines = sample.fill()?;
    let filled = sample.judge()?;
    if filled["verdict"]["is"] != CONFORMANT {
        return Err(Stop::failed(format!("with what is to be written, the crate is {}", filled["verdict"])));
    }
    println!("with {lines} lines in {} files beyond the generated ones: conformant", FILLED.len());
    if lines >= MOST_LINES {
        return Err(Stop::failed(format!("that is more than {MOST_LINES} lines of an author's own")));
    }
    Ok(())
}

/// A crate made from the template.
struct Sample<'w> {
    workspace: &'w Workspace,
    spelling: Spelling,
    folder: PathBuf,
}

impl<'w> Sample<'w> {
    fn make(workspace: &'w Workspace) -> Outcome<Self> {
        let host = run::read(Command::new("rustc").arg("-vV"))?;
        let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        // Whatever the lock file names is had before; from here on nothing is.
        run::read(workspace.cargo().args(["fetch", "--locked", "--target", host]))?;
        let home = workspace.target.join("new-provider");
        let folder = home.join("sample");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| cannot("clear", &folder, &error))?;
        }
        let spelling = Spelling::of("sample")?;
        make_at(workspace, &spelling, &folder, None)?;
        Ok(Self { workspace, spelling, folder })
    }

    /// Builds its tests without a warning, runs those of the crate, and returns the report of its suite.
    fn judge(&self) -> Outcome<Value> {
        let package = self.spelling.package();
        let mut cargo = run::cargo();
        cargo.args(["test", "--offline", "--lib", "--test", SUITE, "--test", TLS]);
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.workspace.target);
        let messages = conformance::built(&mut cargo, &package)?;
        let warned = messages.iter().filter(|message| message["reason"] == "compiler-message");
        // Of the kit too, which is no member there; but of its own code there must be none.
        if warned.filter(|message| message["message"]["level"] == "warning").count() > 0 {
            return Err(Stop::failed(format!("{package} does not compile without a warning")));
        }
        let found = |target: &str| {
            conformance::executable(&messages, target).ok_or_else(|| {
                Stop::cannot(format!("cargo built {package} and did not say where {target} is"))
            })
        };
        for own in [&*package.replace('-', "_"), TLS] {
            run::read(Command::new(found(own)?).arg("--quiet").current_dir(&self.folder))?;
        }
        self.report(&found(SUITE)?)
    }

    /// Runs the suite. Its report says how it went; its exit code must say the same.
    fn report(&self, suite: &Path) -> Outcome<Value> {
        let file = self.folder.join("report.json");
        let mut suite = Command::new(suite);
        suite
            .arg("--json")
            .arg(&file)
            .env("CARGO_PKG_NAME", self.spelling.package())
            .current_dir(&self.folder);
        let output = suite.output().map_err(|error| run::not_started(&suite, &error))?;
        let text = fs::read_to_string(&file).map_err(|error| {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Stop::failed(format!("the suite left no report ({error}); it said: {said}"))
        })?;
        let report: Value = serde_json::from_str(&text)
            .map_err(|error| Stop::failed(format!("the suite's report is no JSON: {error}")))?;
        let expected = i32::from(report["verdict"]["is"] != CONFORMANT);
        if output.status.code() != Some(expected) {
            let verdict = &report["verdict"]["is"];
            return Err(Stop::failed(format!("the suite says {verdict}, and ended with {}", output.status)));
        }
        Ok(report)
    }

    /// Writes what an author would write, and says how many lines the template did not have.
    fn fill(&self) -> Outcome<usize> {
        let mut lines = 0;
        let mut files = Vec::new();
        for (path, text) in FILLED {
            let text = self.spelling.put(text);
            let path_here = self.folder.join(path);
            let before =
                fs::read_to_string(&path_here).map_err(|error| cannot("read", &path_here, &error))?;
            lines += added(&before, &text);
            files.push(((*path).to_owned(), text));
        }
        let library = self.folder.join("src/lib.rs");
        let text = fs::read_to_string(&library).map_err(|error| cannot("read", &library, &error))?;
        // Once all is written, the compiler asks for that.
        let kept = text.lines().filter(|line| !line.starts_with("#![expect(dead_code"));
        files.push(("src/lib.rs".to_owned(), kept.map(|line| format!("{line}\n")).collect()));
        write_all(&self.folder, &files).map_err(|error| cannot("write", &self.folder, &error))?;
        Ok(lines)
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Stop {
    Stop::cannot(format!("cannot {what} {}: {error}", path.display()))
}

/// The rules that are not as they should be.
fn red(report: &Value) -> Vec<&Value> {
    let setups = report["setups"].as_array().into_iter().flatten();
    let rules = setups.flat_map(|setup| setup["rules"].as_array().into_iter().flatten());
    rules.filter(|rule| ["fail", "error", "blocked"].iter().any(|status| rule["status"] == *status)).collect()
}

/// How many lines of a text another one does not have, empty ones apart.
fn added(before: &str, after: &str) -> usize {
    let mut known: Vec<_> = before.lines().map(str::trim).collect();
    let news = after.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_new = |line: &&str| match known.iter().position(|other| other == line) {
        Some(at) => {
            known.swap_remove(at);
            false
        }
        None => true,
    };
    news.filter(is_new).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_often_as_they_stand() {
        assert_eq!(added("a\nb\n", "  b\na\n\na\nc\n"), 2);
        assert_eq!(added("a\n", "a\n"), 0);
    }

    #[test]
    fn every_file_that_is_filled_is_one_of_the_template() {
        for (path, text) in FILLED {
            let (_, template) = super::super::TEMPLATE.iter().find(|(known, _)| known == path).unwrap();
            assert!(added(template, text) > 0, "{path}");
            assert!(template.contains("// TO WRITE"), "{path}");
        }
    }
}
