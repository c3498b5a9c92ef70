//! What cargo knows about the workspace: its packages, their targets and the resolved dependency graph.

use crate::outcome::{Outcome, Stop};
use crate::run;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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

    /// True if `package` is ours and has such a target.
    pub(crate) fn has(&self, package: &str, kind: Kind, target: &str) -> bool {
        self.targets(package, kind).any(|name| name == target)
    }

    /// The names of a package's targets of one kind.
    pub(crate) fn targets<'a>(&'a self, package: &'a str, kind: Kind) -> impl Iterator<Item = &'a str> {
        let kind = match kind {
            Kind::Test => "test",
            Kind::Bench => "bench",
        };
        self.member_ids()
            .filter_map(|id| self.package(id))
            .filter(move |found| text(&found["name"]) == package)
            .flat_map(|found| array(&found["targets"]))
            .filter(move |target| array(&target["kind"]).any(|found| text(found) == kind))
            .map(|target| text(&target["name"]))
    }

    /// Everything that `package` links in a normal build, itself left out.
    pub(crate) fn normal_dependencies(&self, package: &str) -> BTreeSet<&str> {
        let nodes: BTreeMap<&str, &Value> =
            array(&self.metadata["resolve"]["nodes"]).map(|node| (text(&node["id"]), node)).collect();
        let start = self.member_ids().find(|id| self.name(id) == Some(package));
        let mut seen = BTreeSet::new();
        let mut ahead: Vec<&str> = start.into_iter().collect();
        while let Some(id) = ahead.pop() {
            for dependency in nodes.get(id).into_iter().flat_map(|node| array(&node["deps"])) {
                let normal = array(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
                let id = text(&dependency["pkg"]);
                if normal && seen.insert(id) {
                    ahead.push(id);
                }
            }
        }
        seen.into_iter().filter_map(|id| self.name(id)).collect()
    }

    fn member_ids(&self) -> impl Iterator<Item = &str> {
        array(&self.metadata["workspace_members"]).map(text)
    }

    fn package(&self, id: &str) -> Option<&Value> {
        array(&self.metadata["packages"]).find(|package| text(&package["id"]) == id)
    }

    fn name(&self, id: &str) -> Option<&str> {
        self.package(id).map(|package| text(&package["name"]))
    }
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
