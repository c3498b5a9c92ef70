//! What cargo knows about the workspace: its packages, their targets and what each of them links.

use crate::outcome::{Outcome, Stop};
use crate::{run, setup};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The answer of `cargo metadata`.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    metadata: Value,
}

/// A target of a package that cargo can run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Test,
    Bench,
}

impl Workspace {
    pub(crate) fn read() -> Outcome<Self> {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace's root");
        let json =
            run::read(run::cargo().args(["metadata", "--format-version=1", "--locked"]).current_dir(root))?;
        let metadata: Value = serde_json::from_str(&json)
            .map_err(|error| Stop::cannot(format!("cargo metadata printed no JSON: {error}")))?;
        let target = PathBuf::from(text(&metadata["target_directory"]));
        Ok(Self { root: root.to_owned(), target, metadata })
    }

    /// Cargo, run from the root.
    pub(crate) fn cargo(&self) -> std::process::Command {
        let mut cargo = run::cargo();
        cargo.current_dir(&self.root);
        cargo
    }

    /// The names of our own packages.
    pub(crate) fn members(&self) -> BTreeSet<&str> {
        self.member_ids().filter_map(|id| self.package(id)).map(|package| text(&package["name"])).collect()
    }

    /// Those of them that can be compiled here.
    pub(crate) fn compiled(&self) -> BTreeSet<&str> {
        let mut members = self.members();
        members.retain(|member| setup::missing(setup::to_compile(member)).is_empty());
        members
    }

    /// The words that name those to cargo.
    pub(crate) fn whole(&self) -> Vec<&str> {
        let compiled = self.compiled();
        let members = self.members();
        let without = members.difference(&compiled).flat_map(|member| ["--exclude", member]);
        std::iter::once("--workspace").chain(without).collect()
    }

    /// The path of the manifest of one of our own packages.
    pub(crate) fn manifest(&self, package: &str) -> Option<&str> {
        self.member(package)?["manifest_path"].as_str()
    }

    /// The version of one of our own packages.
    pub(crate) fn version(&self, package: &str) -> Option<&str> {
        self.member(package)?["version"].as_str()
    }

    /// True if `package` is ours and has such a target.
    pub(crate) fn has(&self, package: &str, kind: Kind, target: &str) -> bool {
        self.targets(package, kind).any(|name| name == target)
    }

    /// The names of a package's targets of one kind.
    pub(crate) fn targets<'a>(&'a self, package: &'a str, kind: Kind) -> impl Iterator<Item = &'a str> {
        self.all_targets(package, kind).map(|target| text(&target["name"]))
    }

    /// The names of these members' test targets that `cargo test` runs unasked.
    pub(crate) fn unasked_tests<'a>(&'a self, members: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
        members
            .iter()
            .flat_map(|package| self.all_targets(package, Kind::Test))
            .filter(|target| target["test"] == true)
            .map(|target| text(&target["name"]))
            .collect()
    }

    fn all_targets<'a>(&'a self, package: &str, kind: Kind) -> impl Iterator<Item = &'a Value> + use<'a> {
        let kind = match kind {
            Kind::Test => "test",
            Kind::Bench => "bench",
        };
        self.member_ids()
            .filter_map(|id| self.package(id))
            .find(|found| text(&found["name"]) == package)
            .into_iter()
            .flat_map(|found| array(&found["targets"]))
            .filter(move |target| array(&target["kind"]).any(|found| text(found) == kind))
    }

    /// Everything that `package` links in a normal build with its default features, itself left out.
    ///
    /// `cargo metadata` would not do: it gives a package every feature that any other member asks it for.
    pub(crate) fn normal_dependencies(&self, package: &str) -> Outcome<BTreeSet<String>> {
        let tree = run::read(
            self.cargo()
                .args(["tree", "--locked", "-e", "normal", "--prefix", "none", "-f", "{p}", "-p", package]),
        )?;
        let names = tree.lines().filter_map(|line| line.split_whitespace().next());
        Ok(names.filter(|name| *name != package).map(str::to_owned).collect())
    }

    fn member(&self, name: &str) -> Option<&Value> {
        self.member_ids().filter_map(|id| self.package(id)).find(|package| text(&package["name"]) == name)
    }

    fn member_ids(&self) -> impl Iterator<Item = &str> {
        array(&self.metadata["workspace_members"]).map(text)
    }

    fn package(&self, id: &str) -> Option<&Value> {
        array(&self.metadata["packages"]).find(|package| text(&package["id"]) == id)
    }
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
