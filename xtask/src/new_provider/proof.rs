//! The proof that the template holds, in workspaces of their own over the packages as they would be published: in shapes
//! in which every two ways of a backend meet its crate compiles without a warning and runs the whole suite, whose red
//! rules name the file to write, and with what an author would write it is conformant. In the plainest that is put in
//! operation by operation, and each time the red rules are fewer and name the next file. The examples show how far it is
//! from there to other backends.

use super::{Files, Kit, Shape, lines, make_at, packages, write_all};
use crate::conformance::{self, SUITE};
use crate::flags::{self, Pages, Tasks};
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

/// The crate's tests beside the suite.
const TESTS: [&str; 3] = ["--lib", "--test", TLS];
const TLS: &str = "tls";
/// The verdict of a suite without a red rule.
const CONFORMANT: &str = "conformant";

/// Makes crates of every shape, runs their suites, fills them; counts the lines of the examples.
pub(crate) fn step(workspace: &Workspace) -> Outcome {
    let host = run::read(Command::new("rustc").arg("-vV"))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    // Whatever the lock file names is had before; from here on nothing is.
    run::read(workspace.cargo().args(["fetch", "--locked", "--target", host]))?;
    let home = workspace.target.join("new-provider");
    let kit = home.join("packages");
    packages::unpack(workspace, &kit)?;
    for flags in shapes() {
        let sample = Sample::make(workspace, &kit, &home.join("sample"), &flags)?;
        println!("{}", sample.shape.command);
        let made = lines::read(&sample.folder)?;
        // The fresh crate's own tests are the same in all shapes; what is filled has them all once more.
        let is_plainest = flags == flags::Shape::default();
        let report = sample.judge(if is_plainest { &TESTS } else { &[] })?;
        all_say_what_to_write(&report)?;
        let report = if is_plainest {
            fill_by_steps(&sample, report)?
        } else {
            (0..FILLED.len()).try_for_each(|at| sample.fill(at))?;
            sample.judge(&TESTS)?
        };
        let lines = lines::between(&made, &lines::read(&sample.folder)?);
        if report["verdict"]["is"] != CONFORMANT {
            let verdict = &report["verdict"];
            return Err(Stop::failed(format!("with what is to be written, the crate is {verdict}")));
        }
        println!("with {lines} lines beyond the generated ones: conformant");
        if lines >= lines::MOST {
            return Err(Stop::failed(format!("{} lines of an author's own are too many", lines::MOST)));
        }
    }
    let examples = workspace.root.join("examples");
    for entry in fs::read_dir(&examples).map_err(|error| cannot("read", &examples, &error))? {
        let folder = entry.map_err(|error| cannot("read", &examples, &error))?.path();
        lines::count(workspace, &folder)?;
    }
    Ok(())
}

/// The plainest shape, and others with other words in which every two things meet that a backend may have both.
fn shapes() -> Vec<flags::Shape> {
    let word = |word: &str| Some(word.to_owned());
    let (late, wait) = (Some(Tasks::Late), Some(Tasks::Wait));
    let (number, none) = (Some(Pages::Number), Some(Pages::None));
    let zones = || flags::Shape { target: word("host"), instance: word("box"), ..flags::Shape::default() };
    let hosts = || flags::Shape { endpoint_per_target: true, ..zones() };
    let places =
        || flags::Shape { placement: word("site"), instance: word("box"), ..flags::Shape::default() };
    let parts = |shape| flags::Shape { parts: word("disk"), ..shape };
    let reset = |shape| flags::Shape { reset_header: word("X-RateLimit-Reset"), ..shape };
    vec![
        flags::Shape::default(),
        reset(flags::Shape { tasks: wait, pages: number, ..places() }),
        flags::Shape { tasks: late, ..places() },
        flags::Shape { pages: none, ..places() },
        parts(flags::Shape { tasks: wait, ..hosts() }),
        flags::Shape { tasks: late, pages: number, ..hosts() },
        reset(flags::Shape { pages: none, ..hosts() }),
        parts(flags::Shape { pages: number, ..zones() }),
        reset(parts(flags::Shape { tasks: late, pages: none, ..zones() })),
        flags::Shape { tasks: wait, pages: none, ..zones() },
    ]
}

/// Checks that each red rule of a fresh crate says what to write.
fn all_say_what_to_write(report: &Value) -> Outcome {
    let red = red(report);
    let silent: Vec<_> = red.iter().filter(|rule| !rule.to_string().contains(UNWRITTEN)).collect();
    match silent.first() {
        Some(rule) => Err(Stop::failed(format!(
            "{} red rules of a fresh crate do not say what to write: {} says {}",
            silent.len(),
            rule["id"],
            rule["reason"]
        ))),
        None if red.is_empty() => Err(Stop::failed("a fresh crate has no red rule")),
        None => {
            println!("{:>3} red rules, each of which says what is to be written", red.len());
            Ok(())
        }
    }
}

/// Puts in what an author would write, runs the suite after each file, and returns the last report.
fn fill_by_steps(sample: &Sample<'_>, mut report: Value) -> Outcome<Value> {
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
        sample.fill(at)?;
        let tests: &[_] = if at + 1 == FILLED.len() { &TESTS } else { &[] };
        report = sample.judge(tests)?;
        if self::red(&report).len() >= before {
            return Err(Stop::failed(format!("with {path} written, no fewer rules are red than before")));
        }
    }
    Ok(report)
}

/// A crate made from the template.
struct Sample<'w> {
    workspace: &'w Workspace,
    shape: Shape,
    folder: PathBuf,
}

impl<'w> Sample<'w> {
    fn make(workspace: &'w Workspace, kit: &Path, folder: &Path, flags: &flags::Shape) -> Outcome<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|error| cannot("clear", folder, &error))?;
        }
        let shape = Shape::of("sample", flags)?;
        make_at(workspace, &shape, folder, &Kit::Unpacked(kit))?;
        let sample = Self { workspace, shape, folder: folder.to_owned() };
        // Of its own code no warning is let pass.
        let manifest = sample.read("Cargo.toml")?;
        let strict =
            manifest.replace("[workspace.lints.rust]\n", "[workspace.lints.rust]\nwarnings = \"deny\"\n");
        sample.write(&[("Cargo.toml".to_owned(), strict)])?;
        Ok(sample)
    }

    /// Builds its suite and these tests, runs the tests, and returns the report of the suite.
    fn judge(&self, tests: &[&str]) -> Outcome<Value> {
        let package = self.shape.name.package();
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
            .env("CARGO_PKG_NAME", self.shape.name.package())
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

    /// Writes what an author would write next.
    fn fill(&self, at: usize) -> Outcome {
        let put = |(path, text): &(&str, &str)| ((*path).to_owned(), self.shape.render(text));
        let mut files: Vec<_> = FILLED[at].iter().map(put).collect();
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
        self.write(&files)
    }

    fn read(&self, path: &str) -> Outcome<String> {
        let path = self.folder.join(path);
        fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))
    }

    fn write(&self, files: &[(String, String)]) -> Outcome {
        write_all(&self.folder, files).map(drop).map_err(|error| cannot("write", &self.folder, &error))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_filled_stands_in_the_place_of_what_is_to_be_written() {
        for flags in shapes() {
            let shape = Shape::of("sample", &flags).unwrap();
            let template: BTreeMap<_, _> = shape.rendered().into_iter().collect();
            for (path, text) in FILLED.into_iter().flatten() {
                let (made, filled) = (&template[*path], shape.render(text));
                assert!(made.contains("// TO WRITE"), "{path}");
                assert!(lines::added(made, &filled) > 0, "{path}");
                if path.starts_with("src/") {
                    let (_, after) = made.split_once("Err(unwritten(").unwrap();
                    let (_, given) = after.split_once("\n    }\n").unwrap();
                    assert!(filled.ends_with(given), "{}: {path} lacks what is written", shape.command);
                }
            }
        }
    }
}
