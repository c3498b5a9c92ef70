//! A crate as a workspace of its own, outside of this one.

use super::{Shape, cannot_be_made, write};
use crate::outcome::{Outcome, Stop};
use crate::workspace::Workspace;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The workspace's own manifest, from which a workspace elsewhere takes versions, lints and profiles.
const MANIFEST: &str = include_str!("../../../Cargo.toml");
pub(super) const RUSTFMT: &str = include_str!("../../../rustfmt.toml");
const CLIPPY: &str = include_str!("../../../clippy.toml");
/// Our own crates that a provider depends on.
pub(crate) const KIT: [&str; 2] = ["provider-api", "providertest"];

/// Where a workspace of its own has our crates from.
pub(super) enum Kit<'k> {
    /// This checkout.
    Checkout,
    /// The published ones of that version.
    Version(&'k str),
    /// Packages that were unpacked into that folder, each under its name.
    Unpacked(&'k Path),
}

impl<'k> Kit<'k> {
    /// The published crates of a version as `--kit-version` names it.
    pub(super) fn version(text: &'k str) -> Outcome<Self> {
        let (numbers, before) = text.split_once('-').unwrap_or((text, "x"));
        let is_number =
            |part: &str| !part.is_empty() && part.len() < 10 && part.bytes().all(|b| b.is_ascii_digit());
        let is_label = before
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
        if numbers.split('.').count() <= 3 && numbers.split('.').all(is_number) && is_label {
            return Ok(Self::Version(text));
        }
        Err(Stop::cannot(format!("--kit-version {text:?} is no version: use one such as 0.2 or 0.2.1")))
    }
}

/// Makes the crate as a workspace of its own, and says of how many files.
pub(super) fn make_at(workspace: &Workspace, shape: &Shape, folder: &Path, from: &Kit<'_>) -> Outcome<usize> {
    let mut files = shape.rendered();
    let path = |name: &str| match from {
        Kit::Checkout => Some(workspace.root.join(name)),
        Kit::Version(_) => None,
        Kit::Unpacked(folder) => Some(folder.join(name)),
    };
    let kit = |name: &str| match (from, path(name)) {
        (Kit::Version(version), _) => format!("{name} = {version:?}"),
        (_, path) => format!("{name} = {{ path = {:?} }}", path.unwrap_or_default()),
    };
    let published = matches!(from, Kit::Version(_));
    for (_, text) in files.iter_mut().filter(|(path, _)| path == "Cargo.toml") {
        *text = standalone(text, kit);
        if !published {
            // A checkout's crates may change like one's own, and are built as those are.
            for name in KIT {
                *text += &format!("\n[profile.dev.package.{name}]\nopt-level = 0\n");
            }
        }
        if let (Kit::Unpacked(_), Some(path)) = (from, path(KIT[0])) {
            // A package names its dependency by version alone, as if both were published.
            *text += &format!("\n[patch.crates-io]\n{} = {{ path = {path:?} }}\n", KIT[0]);
        }
    }
    let mut add = |path: &str, text: &str| files.push((path.to_owned(), text.to_owned()));
    add("rustfmt.toml", RUSTFMT);
    add("clippy.toml", CLIPPY);
    add(".gitignore", "/target\n");
    if !published {
        let lock = workspace.root.join("Cargo.lock");
        let text = fs::read_to_string(&lock)
            .map_err(|error| Stop::cannot(format!("cannot read {}: {error}", lock.display())))?;
        add("Cargo.lock", &text);
    }
    let staging = folder.parent().ok_or_else(|| cannot_be_made(folder))?;
    write(folder, staging, &files)?;
    Ok(files.len())
}

/// A package's manifest with all that it takes from the workspace, as a workspace of its own.
fn standalone(package: &str, kit: impl Fn(&str) -> String) -> String {
    let mut text = format!("{package}\n[workspace]\nresolver = \"3\"\n");
    text += &format!("\n[workspace.package]\n{}\n\n[workspace.dependencies]\n", section("workspace.package"));
    let dependencies = section("workspace.dependencies");
    let mut named = BTreeSet::new();
    let names = package
        .lines()
        .filter(|line| line.contains("{ workspace = true"))
        .filter_map(|line| line.split_once(" = "));
    for (name, _) in names.filter(|(name, _)| named.insert(*name)) {
        let line = dependencies
            .lines()
            .find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(" = ")));
        text += &if KIT.contains(&name) { kit(name) } else { line.unwrap_or_default().to_owned() };
        text.push('\n');
    }
    for name in ["workspace.lints.rust", "workspace.lints.clippy", "profile.dev", "profile.dev.package.\"*\""]
    {
        text += &format!("\n[{name}]\n{}\n", section(name));
    }
    text
}

/// What stands under a header of the workspace's manifest.
fn section(name: &str) -> &'static str {
    let header = format!("\n[{name}]\n");
    let after = MANIFEST.split_once(&header).map_or("", |(_, after)| after);
    let mut text = after.split("\n[").next().unwrap_or_default().trim_end();
    // A comment at the end is about what follows.
    while let Some((before, _)) = text.rsplit_once('\n').filter(|(_, last)| last.starts_with('#')) {
        text = before.trim_end();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::TEMPLATE;
    use super::*;

    #[test]
    fn what_is_no_version_is_refused() {
        for good in ["1", "0.2", "0.2.1", "0.3.0-rc.1"] {
            assert!(Kit::version(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "v1", "1.", ".1", "1.2.3.4", "1.2-", "^1", "latest", "1.2 .3"] {
            let stop = Kit::version(bad).err().unwrap_or_else(|| panic!("{bad:?} passed"));
            assert_eq!(stop.code, 2);
            assert!(stop.says.starts_with("--kit-version "), "{}", stop.says);
        }
    }

    #[test]
    fn a_workspace_elsewhere_has_all_that_the_crate_takes_from_this_one() {
        let (_, package) = TEMPLATE[0];
        let text = standalone(package, |name| format!("{name} = \"9.9\""));
        for line in [
            "resolver = \"3\"",
            "edition = \"2024\"",
            "provider-api = \"9.9\"",
            "providertest = \"9.9\"",
            "missing_docs = \"deny\"",
            "[profile.dev.package.\"*\"]",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(text.lines().any(|line| line.starts_with("reqwest = { version")), "{text}");
        assert_eq!(text.matches("\nprovider-api = \"9.9\"").count(), 1, "{text}");
    }
}
