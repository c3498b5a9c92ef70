//! `xtask conformance`: finds a provider's suite and runs it. Flags, output and exit code are the suite's own.

use crate::flags::{self, Install};
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use crate::setup;
use crate::workspace::{Kind, Workspace};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A provider, and the package that has its suite as a test target named `conformance`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) package: String,
}

/// The name of the test target that is a suite.
pub(crate) const SUITE: &str = "conformance";

pub(crate) fn command(flags: &flags::Conformance) -> Outcome {
    let workspace = Workspace::read()?;
    let (provider, suite_flags) = split(&flags.provider_and_flags, &providers(&workspace))?;
    if provider == "all" {
        return all(&workspace, flags.install, suite_flags);
    }
    let package = package_with_suite(&workspace, provider)?;
    setup::require(flags.install, setup::to_compile(&package), &format!("the provider `{provider}`"))?;
    run(&workspace, &package, Beside::Nothing, suite_flags)
}

/// What a suite is built beside. With other packages, cargo gives their common dependencies all of their features: the
/// same ones as every other build of the whole workspace, so that nothing is compiled twice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// It alone: the least that has to be compiled for it.
    Nothing,
    /// The suites of all the others.
    Everything,
}

/// Every provider: the kit's own one, and each member called `provider-NAME`.
pub(crate) fn providers(workspace: &Workspace) -> Vec<Provider> {
    named(workspace.members())
}

fn named<'m>(members: impl IntoIterator<Item = &'m str>) -> Vec<Provider> {
    let memory = Provider { name: "memory".to_owned(), package: "providertest".to_owned() };
    let others = members.into_iter().filter(|package| *package != "provider-api").filter_map(|package| {
        Some(Provider { name: package.strip_prefix("provider-")?.to_owned(), package: package.to_owned() })
    });
    std::iter::once(memory).chain(others).collect()
}

/// The package that has a provider's suite.
pub(crate) fn package_with_suite(workspace: &Workspace, provider: &str) -> Outcome<String> {
    let package = package(&providers(workspace), provider)?;
    if workspace.has(&package, Kind::Test, SUITE) {
        return Ok(package);
    }
    let with_suite = names(&with_suite(workspace));
    Err(Stop::cannot(format!(
        "the provider `{provider}` has no conformance suite yet; providers that have one: {with_suite}"
    )))
}

/// The providers that have a suite.
pub(crate) fn with_suite(workspace: &Workspace) -> Vec<Provider> {
    let mut providers = providers(workspace);
    providers.retain(|provider| workspace.has(&provider.package, Kind::Test, SUITE));
    providers
}

/// Builds one suite and runs it.
///
/// Not by `cargo test`, which would run it in the package's folder, where a report's path means another file than
/// the one that was asked for, and would follow the suite's one sentence with three lines of its own.
pub(crate) fn run(workspace: &Workspace, package: &str, beside: Beside, suite_flags: &[String]) -> Outcome {
    run::hand_on(build(workspace, package, beside)?.args(suite_flags))
}

/// Builds a suite; the command runs it.
pub(crate) fn build(workspace: &Workspace, package: &str, beside: Beside) -> Outcome<Command> {
    let suite = compile(workspace, package, beside)?;
    let mut command = Command::new(suite);
    // The suite reads there what cargo knows it by, for the line that replays a case.
    command.env("CARGO_PKG_NAME", package);
    Ok(command)
}

/// Compiles a suite and says where it is.
fn compile(workspace: &Workspace, package: &str, beside: Beside) -> Outcome<PathBuf> {
    let what = format!("the suite of {package}");
    let mut cargo = workspace.cargo();
    match beside {
        Beside::Nothing => cargo.args(["test", "-p", package, "--test", SUITE]),
        Beside::Everything => cargo.arg("test").args(workspace.whole()).args(["--test", SUITE]),
    };
    let mut messages = built(&mut cargo, &what)?;
    let manifest = workspace.manifest(package);
    messages.retain(|message| message["manifest_path"].as_str() == manifest);
    executable(&messages, SUITE)
        .ok_or_else(|| Stop::cannot(format!("cargo built {what} and did not say where it is")))
}

/// Builds the tests that a cargo command would run, and returns what cargo reports of it.
pub(crate) fn built(cargo: &mut Command, what: &str) -> Outcome<Vec<Value>> {
    cargo.args(["--no-run", "--message-format=json-render-diagnostics"]);
    cargo.stderr(Stdio::inherit());
    let output = cargo.output().map_err(|error| run::not_started(cargo, &error))?;
    if !output.status.success() {
        return Err(Stop::cannot(format!("{what} could not be built; cargo says why above")));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // One JSON object a line.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// The path of a target's tests in what cargo reports.
pub(crate) fn executable(messages: &[Value], target: &str) -> Option<PathBuf> {
    messages
        .iter()
        .filter(|message| message["target"]["name"] == target)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// What is one provider's affair: a report's file, which each suite would write over the last one's; what is the same for
/// all; the kit's own; a backend.
const OF_ONE: [&str; 11] = [
    "--json",
    "--junit",
    "--html",
    "--explain",
    "--print-rule-table",
    "--print-rules",
    "--print-profile",
    "--self-check",
    "--saboteur",
    "--plan",
    "--config",
];

/// The first flag that means nothing to all suites.
fn of_one(suite_flags: &[String]) -> Option<&'static str> {
    let given = |flag: &&str| {
        suite_flags.iter().any(|word| word.split_once('=').map_or(word.as_str(), |(name, _)| name) == *flag)
    };
    OF_ONE.into_iter().find(given)
}

fn all(workspace: &Workspace, install: Install, suite_flags: &[String]) -> Outcome {
    if let Some(flag) = of_one(suite_flags) {
        let known = names(&with_suite(workspace));
        return Err(Stop::cannot(format!(
            "{flag} is for one suite; name the provider instead of `all`: {known}"
        )));
    }
    let progress = Progress::new();
    let mut worst = 0;
    for Provider { name: provider, package } in with_suite(workspace) {
        if !setup::ensure(install, setup::to_compile(&package))?.is_empty() {
            progress.say(&format!("conformance of {provider} is left out without them"));
            worst = worse(worst, Stop::left_out("").code);
            continue;
        }
        progress.say(&format!("conformance of {provider}"));
        if let Err(stop) = run(workspace, &package, Beside::Everything, suite_flags) {
            if !stop.says.is_empty() {
                return Err(stop);
            }
            progress.say(&format!("conformance of {provider} ended with exit code {}", stop.code));
            worst = worse(worst, stop.code);
        }
    }
    let mut without = providers(workspace);
    without.retain(|provider| !workspace.has(&provider.package, Kind::Test, SUITE));
    if !without.is_empty() {
        println!("no suite yet: {}", names(&without));
    }
    if worst == 0 { Ok(()) } else { Err(Stop::code(worst)) }
}

/// A failed rule outweighs a suite that could not run, and that one something left out.
fn worse(one: u8, other: u8) -> u8 {
    let weight = |code| match code {
        0 => 0,
        3 => 1,
        2 => 2,
        _ => 3,
    };
    if weight(other) > weight(one) { other } else { one }
}

/// The provider, and what is the suite's. A self-check is the kit's own affair and needs no provider's name.
fn split<'w>(words: &'w [String], known: &[Provider]) -> Outcome<(&'w str, &'w [String])> {
    match words.split_first() {
        Some((first, _)) if first == "--self-check" => Ok(("memory", words)),
        Some((first, rest)) if !first.starts_with('-') => {
            // `-- FLAGS` and `FLAGS` mean the same.
            let rest = rest.strip_prefix(&["--".to_owned()]).unwrap_or(rest);
            Ok((first, rest))
        }
        _ => Err(Stop::cannot(format!("name the provider first: {}, all", names(known)))),
    }
}

fn package(known: &[Provider], provider: &str) -> Outcome<String> {
    let found = known.iter().find(|known| known.name == provider);
    found.map(|found| found.package.clone()).ok_or_else(|| {
        Stop::cannot(format!(
            "there is no provider `{provider}`; the providers are {}, and `all` means each of them",
            names(known)
        ))
    })
}

fn names(providers: &[Provider]) -> String {
    providers.iter().map(|provider| provider.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn flags_go_on_as_they_are_with_or_without_two_dashes() {
        let flags = words(&["--rule", "create.idempotent", "--seed=7"]);
        let plain = words(&["memory", "--rule", "create.idempotent", "--seed=7"]);
        let dashed = words(&["memory", "--", "--rule", "create.idempotent", "--seed=7"]);
        assert_eq!(split(&plain, &[]).unwrap(), ("memory", flags.as_slice()));
        assert_eq!(split(&dashed, &[]).unwrap(), ("memory", flags.as_slice()));
    }

    #[test]
    fn a_self_check_needs_no_provider() {
        let flags = words(&["--self-check", "--json", "x"]);
        assert_eq!(split(&flags, &[]).unwrap(), ("memory", flags.as_slice()));
    }

    #[test]
    fn an_unknown_provider_is_told_the_known_ones() {
        let known = named(["provider-api", "provider-gcp", "providertest", "xtask"]);
        let stop = package(&known, "azure").unwrap_err();
        assert_eq!(stop.code, 2);
        assert!(stop.says.contains("`azure`") && stop.says.contains("memory, gcp, and"), "{}", stop.says);
        assert_eq!(split(&words(&["--list"]), &known).unwrap_err().code, 2);
        assert_eq!(package(&known, "gcp").unwrap(), "provider-gcp");
    }

    #[test]
    fn the_suite_is_found_among_what_cargo_reports() {
        let messages = [
            json!({"reason": "compiler-artifact", "target": {"name": "providertest"}, "executable": null}),
            json!({"reason": "compiler-artifact", "target": {"name": SUITE}, "executable": "/t/conformance-1"}),
            json!({"reason": "build-finished", "success": true}),
        ];
        assert_eq!(executable(&messages, SUITE), Some(PathBuf::from("/t/conformance-1")));
        assert_eq!(executable(&messages[..1], "providertest"), None);
    }

    #[test]
    fn all_suites_take_no_flag_of_one() {
        assert_eq!(of_one(&words(&["--rule", "create.idempotent", "--quiet"])), None);
        assert_eq!(of_one(&words(&["--quiet", "--json", "f"])), Some("--json"));
        assert_eq!(of_one(&words(&["--html=f"])), Some("--html"));
    }

    #[test]
    fn the_worst_exit_code_wins() {
        assert_eq!([3, 2, 0].into_iter().fold(0, worse), 2);
        assert_eq!([2, 1, 3].into_iter().fold(0, worse), 1);
        assert_eq!([0, 3].into_iter().fold(0, worse), 3);
    }

    #[test]
    fn the_reference_is_among_the_providers() {
        let workspace = Workspace::read().unwrap();
        assert!(with_suite(&workspace).iter().any(|provider| provider.name == "memory"));
    }
}
