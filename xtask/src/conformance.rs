//! `xtask conformance`: finds a provider's suite and runs it. Flags, output and exit code are the suite's own.

use crate::flags;
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use crate::workspace::{Kind, Workspace};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Every provider and the package that has its suite, as a test target named `conformance`.
const PROVIDERS: [(&str, &str); 6] = [
    ("memory", "providertest"),
    ("kubernetes", "provider-kubernetes"),
    ("gcp", "provider-gcp"),
    ("kvm", "provider-kvm"),
    ("kvm2", "provider-kvm2"),
    ("proxmox", "provider-proxmox"),
];

/// The name of the test target that is a suite.
pub(crate) const SUITE: &str = "conformance";

pub(crate) fn command(flags: &flags::Conformance) -> Outcome {
    let workspace = Workspace::read()?;
    let (provider, suite_flags) = split(&flags.provider_and_flags)?;
    if provider == "all" {
        return all(&workspace, suite_flags);
    }
    let package = package_with_suite(&workspace, provider)?;
    run(&workspace, package, suite_flags)
}

/// The package that has a provider's suite.
pub(crate) fn package_with_suite(workspace: &Workspace, provider: &str) -> Outcome<&'static str> {
    let package = package(provider)?;
    if workspace.has(package, Kind::Test, SUITE) {
        return Ok(package);
    }
    let with_suite = names(with_suite(workspace));
    let with_suite = if with_suite.is_empty() { "none yet" } else { &with_suite };
    Err(Stop::cannot(format!(
        "the provider `{provider}` has no conformance suite yet; providers that have one: {with_suite}"
    )))
}

/// The providers that have a suite, with their packages.
pub(crate) fn with_suite(workspace: &Workspace) -> impl Iterator<Item = (&'static str, &'static str)> {
    PROVIDERS.into_iter().filter(|(_, package)| workspace.has(package, Kind::Test, SUITE))
}

/// Builds one suite and runs it.
///
/// Not by `cargo test`, which would run it in the package's folder, where a report's path means another file than
/// the one that was asked for, and would follow the suite's one sentence with three lines of its own.
pub(crate) fn run(workspace: &Workspace, package: &str, suite_flags: &[String]) -> Outcome {
    let suite = build(workspace, package)?;
    // The suite reads there what cargo knows it by, for the line that replays a case.
    run::hand_on(Command::new(suite).args(suite_flags).env("CARGO_PKG_NAME", package))
}

/// Builds a suite and says where it is.
fn build(workspace: &Workspace, package: &str) -> Outcome<PathBuf> {
    let mut cargo = workspace.cargo();
    cargo.args([
        "test",
        "--no-run",
        "--message-format=json-render-diagnostics",
        "-p",
        package,
        "--test",
        SUITE,
    ]);
    cargo.stderr(Stdio::inherit());
    let output = cargo.output().map_err(|error| run::not_started(&cargo, &error))?;
    if !output.status.success() {
        return Err(Stop::cannot(format!("the suite of {package} could not be built; cargo says why above")));
    }
    executable(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        Stop::cannot(format!("cargo built the suite of {package} and did not say where it is"))
    })
}

/// The suite's path in what cargo reports, one JSON object a line.
fn executable(messages: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == SUITE)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

fn all(workspace: &Workspace, suite_flags: &[String]) -> Outcome {
    let progress = Progress::new();
    let mut worst = 0;
    for (provider, package) in with_suite(workspace) {
        progress.say(&format!("conformance of {provider}"));
        if let Err(stop) = run(workspace, package, suite_flags) {
            if !stop.says.is_empty() {
                return Err(stop);
            }
            progress.say(&format!("conformance of {provider} ended with exit code {}", stop.code));
            worst = worse(worst, stop.code);
        }
    }
    let without = PROVIDERS.into_iter().filter(|(_, package)| !workspace.has(package, Kind::Test, SUITE));
    let without = names(without);
    if !without.is_empty() {
        println!("no suite yet: {without}");
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
fn split(words: &[String]) -> Outcome<(&str, &[String])> {
    match words.split_first() {
        Some((first, _)) if first == "--self-check" => Ok(("memory", words)),
        Some((first, rest)) if !first.starts_with('-') => {
            // `-- FLAGS` and `FLAGS` mean the same.
            let rest = rest.strip_prefix(&["--".to_owned()]).unwrap_or(rest);
            Ok((first, rest))
        }
        _ => Err(Stop::cannot(format!("name the provider first: {}, all", names(PROVIDERS.into_iter())))),
    }
}

fn package(provider: &str) -> Outcome<&'static str> {
    PROVIDERS.into_iter().find(|(name, _)| *name == provider).map(|(_, package)| package).ok_or_else(|| {
        Stop::cannot(format!(
            "there is no provider `{provider}`; the providers are {}, and `all` means each of them",
            names(PROVIDERS.into_iter())
        ))
    })
}

fn names(providers: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    providers.map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn flags_go_on_as_they_are_with_or_without_two_dashes() {
        let flags = words(&["--rule", "create.idempotent", "--seed=7"]);
        let plain = words(&["memory", "--rule", "create.idempotent", "--seed=7"]);
        let dashed = words(&["memory", "--", "--rule", "create.idempotent", "--seed=7"]);
        assert_eq!(split(&plain).unwrap(), ("memory", flags.as_slice()));
        assert_eq!(split(&dashed).unwrap(), ("memory", flags.as_slice()));
    }

    #[test]
    fn a_self_check_needs_no_provider() {
        let flags = words(&["--self-check", "--json", "x"]);
        assert_eq!(split(&flags).unwrap(), ("memory", flags.as_slice()));
    }

    #[test]
    fn an_unknown_provider_is_told_the_known_ones() {
        let stop = package("azure").unwrap_err();
        assert_eq!(stop.code, 2);
        assert!(
            stop.says.contains("`azure`")
                && stop.says.contains("memory, kubernetes, gcp, kvm, kvm2, proxmox")
        );
        assert_eq!(split(&words(&["--list"])).unwrap_err().code, 2);
    }

    #[test]
    fn the_suite_is_found_among_what_cargo_reports() {
        let messages = concat!(
            "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"providertest\"},\"executable\":null}\n",
            "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"conformance\"},\"executable\":\"/t/conformance-1\"}\n",
            "{\"reason\":\"build-finished\",\"success\":true}\n",
        );
        assert_eq!(executable(messages), Some(PathBuf::from("/t/conformance-1")));
        assert_eq!(executable("no JSON\n{}\n"), None);
    }

    #[test]
    fn the_worst_exit_code_wins() {
        assert_eq!([3, 2, 0].into_iter().fold(0, worse), 2);
        assert_eq!([2, 1, 3].into_iter().fold(0, worse), 1);
        assert_eq!([0, 3].into_iter().fold(0, worse), 3);
    }

    #[test]
    fn every_provider_is_a_package_of_the_workspace() {
        let workspace = Workspace::read().unwrap();
        let members = workspace.members();
        for (provider, package) in PROVIDERS {
            assert!(members.contains(package), "{provider} has no package {package}");
        }
    }
}
