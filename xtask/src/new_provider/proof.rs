//! The proof that the template holds, in a workspace of its own over the packages as they would be published: as it is
//! made, its crate compiles without a warning and runs the whole suite, whose red rules name the file to write. What an
//! author would write is put in operation by operation; each time the red rules are fewer and name the next file, and in
//! the end the crate is conformant.

use super::{Files, Kit, Spelling, make_at, packages, write_all};
use crate::conformance::{self, SUITE};
use crate::outcome::{Outcome, Stop};
use crate::run;
use crate::workspace::Workspace;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What an author would write for the template's backend in the place of what the template leaves, in the order in which
/// the red rules ask for it.
const FILLED: [Files; 4] = [
    files!["filled": "src/create.rs", "tests/harness/fake.rs"],
    files!["filled": "src/get.rs"],
    files!["filled": "src/delete.rs"],
    files!["filled": "src/list.rs"],
];
/// What a file says that is still to be written, when it is called.
const UNWRITTEN: &str = "is not written yet: write it in ";

/// How many lines an author may have to write until the crate is conformant.
const MOST_LINES: usize = 600;
/// The crate's tests beside the suite.
const TLS: &str = "tls";
/// The verdict of a suite without a red rule.
const CONFORMANT: &str = "conformant";

/// Makes a crate, and runs its suite before and after each file that is filled.
pub(crate) fn step(workspace: &Workspace) -> Outcome {
    let sample = Sample::make(workspace)?;
    let mut report = sample.judge(&[])?;
    let silent: Vec<_> =
        red(&report).into_iter().filter(|rule| !rule.to_string().contains(UNWRITTEN)).collect();
    if let Some(rule) = silent.first() {
        return Err(Stop::failed(format!(
            "{} red rules of a fresh crate do not say what to write: {} says {}",
            silent.len(),
            rule["id"],
            rule["reason"]
        )));
    }
    let mut lines = 0;
    for (at, files) in FILLED.iter().enumerate() {
        let (path, _) = files[0];
        let red = red(&report);
        let naming =
            red.iter().filter(|rule| rule.to_string().contains(&format!("{UNWRITTEN}{path}"))).count();
        println!("{:>3} red rules, of which {naming} say that {path} is to be written", red.len());
        if naming == 0 {
            return Err(Stop::failed(format!("{path} is to be written next, and no red rule says so")));
        }
        let before = red.len();
        lines += sample.fill(at)?;
        let tests: &[_] = if at + 1 == FILLED.len() { &["--lib", "--test", TLS] } else { &[] };
        report = sample.judge(tests)?;
        if self::red(&report).len() >= before {
            return Err(Stop::failed(format!("with {path} written, no fewer rules are red than before")));
        }
    }
    if report["verdict"]["is"] != CONFORMANT {
        return Err(Stop::failed(format!("with what is to be written, the crate is {}", report["verdict"])));
    }
    println!("with {lines} lines beyond the generated ones: conformant");
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
        let kit = home.join("packages");
        packages::unpack(workspace, &kit)?;
        make_at(workspace, &spelling, &folder, &Kit::Unpacked(&kit))?;
        let sample = Self { workspace, spelling, folder };
        // Of its own code no warning is let pass.
        let manifest = sample.read("Cargo.toml")?;
        let strict =
            manifest.replace("[workspace.lints.rust]\n", "[workspace.lints.rust]\nwarnings = \"deny\"\n");
        sample.write(&[("Cargo.toml".to_owned(), strict)])?;
        Ok(sample)
    }

    /// Builds its suite and these tests, runs the tests, and returns the report of the suite.
    fn judge(&self, tests: &[&str]) -> Outcome<Value> {
        let package = self.spelling.package();
        let mut cargo = run::cargo();
        cargo.args(["test", "--offline", "--test", SUITE]).args(tests);
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.workspace.target);
        let messages = conformance::built(&mut cargo, &package)?;
        let found = |target: &str| {
            conformance::executable(&messages, target).ok_or_else(|| {
                Stop::cannot(format!("cargo built {package} and did not say where {target} is"))
            })
        };
        if !tests.is_empty() {
            for own in [&*package.replace('-', "_"), TLS] {
                run::check(Command::new(found(own)?).arg("--quiet").current_dir(&self.folder))?;
            }
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

    /// Writes what an author would write next, and says how many lines the template did not have.
    fn fill(&self, at: usize) -> Outcome<usize> {
        let mut lines = 0;
        let mut files = Vec::new();
        for (path, text) in FILLED[at] {
            let text = self.spelling.put(text);
            lines += added(&self.read(path)?, &text);
            files.push(((*path).to_owned(), text));
        }
        if at + 1 == FILLED.len() {
            // Once all is written, the compiler asks for these two.
            let library = self.read("src/lib.rs")?;
            let kept = library.lines().filter(|line| !line.starts_with("#![expect(dead_code"));
            files.push(("src/lib.rs".to_owned(), kept.map(|line| format!("{line}\n")).collect()));
            let errors = self.read("src/error.rs")?;
            let (before, after) =
                errors.split_once("/// The answer of an operation that is still").unwrap_or_default();
            let after = after.split_once("\n}\n\n").map_or("", |(_, after)| after);
            files.push(("src/error.rs".to_owned(), format!("{before}{after}")));
        }
        self.write(&files)?;
        Ok(lines)
    }

    fn read(&self, path: &str) -> Outcome<String> {
        let path = self.folder.join(path);
        fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))
    }

    fn write(&self, files: &[(String, String)]) -> Outcome {
        write_all(&self.folder, files).map_err(|error| cannot("write", &self.folder, &error))
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
        for (path, text) in FILLED.into_iter().flatten() {
            let (_, template) = super::super::TEMPLATE.iter().find(|(known, _)| known == path).unwrap();
            assert!(added(template, text) > 0, "{path}");
            assert!(template.contains("// TO WRITE"), "{path}");
        }
    }
}
