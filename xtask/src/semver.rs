//! `xtask semver`: the public API of the crates that authors depend on, held to what is written down of it.
//!
//! Beside each crate stands `public-api.txt`, one line for each public item. Its first line says of which version it is,
//! and whether that version is released. Before a release the list is kept up to date, so that a change of the API is
//! seen by whoever reads the change. After it the list stays as it was released, and the crate's version has to grow by
//! what Cargo takes for compatible: see `needed`. `--release` writes the list of a new release.
//!
//! The items come from rustdoc's JSON, by the library behind `cargo public-api`.

use crate::cache::cannot_write;
use crate::new_provider::standalone::KIT;
use crate::outcome::{Outcome, Stop};
use crate::workspace::Workspace;
use crate::{flags, run};
use public_api::Builder;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Its name in each crate's folder.
const LIST: &str = "public-api.txt";
/// How many items a message names; the rest is counted.
const NAMED: usize = 20;

pub(crate) fn command(flags: &flags::Semver) -> Outcome {
    let workspace = Workspace::read()?;
    let folder = documented(&workspace)?;
    let mut wrong = Vec::new();
    for name in KIT {
        let (path, version) = list_of(&workspace, name)?;
        let items = items(&folder, name)?;
        let now = List { version, released: flags.release, items };
        let written = fs::read_to_string(&path).ok().map(|text| List::read(&text, &path)).transpose()?;
        let verdict = judge(name, written.as_ref(), &now);
        let fresh = match verdict {
            Verdict::Same | Verdict::Compatible(_) if flags.release => Some(&now),
            Verdict::Outdated(_) if flags.write || flags.release => Some(&now),
            _ => None,
        };
        match (fresh, verdict) {
            (Some(list), _) => {
                fs::write(&path, list.to_string()).map_err(|error| cannot_write(&path, &error))?;
                println!("wrote {}", path.display());
            }
            (None, Verdict::Same) => println!("{name}: {} public items, as written down", now.items.len()),
            (None, Verdict::Compatible(what)) => println!("{name}: {what}"),
            (None, Verdict::Outdated(what) | Verdict::Breaks(what)) => wrong.push(what),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Stop::failed(wrong.join("\n"))) }
}

/// A crate's public items, and of which version they are.
#[derive(Debug)]
struct List {
    version: Version,
    released: bool,
    items: BTreeSet<String>,
}

/// As Cargo reads it, without what comes before a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u64, u64, u64);

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    /// It differs from a release, and the version has grown enough.
    Compatible(String),
    /// Nothing was released yet, and the list is to be written anew.
    Outdated(String),
    /// It differs from a release, and the version has not grown enough.
    Breaks(String),
}

fn judge(name: &str, written: Option<&List>, now: &List) -> Verdict {
    let Some(written) = written else {
        return Verdict::Outdated(format!("{name} has no {LIST}: run `cargo xtask semver --write`"));
    };
    let gone: Vec<_> = written.items.difference(&now.items).collect();
    let new: Vec<_> = now.items.difference(&written.items).collect();
    if gone.is_empty() && new.is_empty() && (written.released || written.version == now.version) {
        return Verdict::Same;
    }
    let differs = differences(&gone, &new);
    if !written.released {
        return Verdict::Outdated(format!(
            "the public API of {name} is not what {LIST} says; if that is meant, run `cargo xtask semver --write`{differs}"
        ));
    }
    let needed = needed(written.version, !gone.is_empty());
    if now.version >= needed {
        return Verdict::Compatible(format!(
            "{} items gone or changed and {} new since {}; {} says so",
            gone.len(),
            new.len(),
            written.version,
            now.version
        ));
    }
    Verdict::Breaks(format!(
        "the public API of {name} has changed since {}, so its version has to be {needed} at least, and is {}{differs}",
        written.version, now.version
    ))
}

/// The lowest version that may differ so from a released one, by Cargo's rules: below 1.0.0 the second number says what
/// breaks, below 0.1.0 the third.
fn needed(Version(major, minor, patch): Version, breaks: bool) -> Version {
    match (major, minor, breaks) {
        (0, 0, _) => Version(0, 0, patch + 1),
        (0, _, true) => Version(0, minor + 1, 0),
        (0, _, false) => Version(0, minor, patch + 1),
        (_, _, true) => Version(major + 1, 0, 0),
        (_, _, false) => Version(major, minor + 1, 0),
    }
}

fn differences(gone: &[&String], new: &[&String]) -> String {
    let mut text = String::new();
    for (sign, items) in [('-', gone), ('+', new)] {
        items.iter().take(NAMED).for_each(|item| text.push_str(&format!("\n  {sign} {item}")));
        if items.len() > NAMED {
            text.push_str(&format!("\n  {sign} and {} more", items.len() - NAMED));
        }
    }
    text
}

/// Where a crate's list stands, and the crate's version.
fn list_of(workspace: &Workspace, name: &str) -> Outcome<(PathBuf, Version)> {
    let unknown = || Stop::cannot(format!("cargo knows no package {name}, which authors depend on"));
    let manifest = workspace.manifest(name).ok_or_else(unknown)?;
    let version = workspace.version(name).ok_or_else(unknown)?;
    let parsed = Version::read(version).ok_or_else(|| {
        Stop::cannot(format!("{name} has the version {version}, which is not three numbers"))
    })?;
    Ok((Path::new(manifest).with_file_name(LIST), parsed))
}

/// Documents the workspace as JSON and returns the folder with it.
///
/// Stable Rust writes that format only when told to forget that it is stable. That is told to rustdoc alone: build
/// scripts that look for it would be run anew, and all above them built.
fn documented(workspace: &Workspace) -> Outcome<PathBuf> {
    let wrapper = workspace.target.join("rustdoc-json");
    let script = "#!/bin/sh\n# Written by `cargo xtask semver`.\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    fs::create_dir_all(&workspace.target).map_err(|error| cannot_write(&workspace.target, &error))?;
    fs::write(&wrapper, script).map_err(|error| cannot_write(&wrapper, &error))?;
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))
        .map_err(|error| cannot_write(&wrapper, &error))?;
    let mut doc = workspace.cargo();
    doc.args(["doc", "--workspace", "--no-deps", "--lib", "--locked", "--quiet"])
        .env("RUSTDOC", &wrapper)
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
    run::check(&mut doc)?;
    Ok(workspace.target.join("doc"))
}

/// The public items of a crate, each as its declaration. What is derived or automatic follows from the rest.
fn items(folder: &Path, name: &str) -> Outcome<BTreeSet<String>> {
    let json = folder.join(format!("{}.json", name.replace('-', "_")));
    let api = Builder::from_rustdoc_json(&json).omit_blanket_impls(true).omit_auto_trait_impls(true).build();
    let api = api.map_err(|error| {
        Stop::cannot(format!(
            "{} cannot be read: {error}. The public API is read from the JSON of the rustdoc of Rust 1.95; another Rust \
             may write another form of it",
            json.display()
        ))
    })?;
    Ok(api.items().map(ToString::to_string).collect())
}

impl List {
    fn read(text: &str, path: &Path) -> Outcome<Self> {
        let unreadable = || {
            let name = path.display();
            Stop::cannot(format!(
                "{name}: its first line is not `# VERSION, released` or `# VERSION, not released`"
            ))
        };
        let (first, items) = text.split_once('\n').ok_or_else(unreadable)?;
        let (version, state) =
            first.strip_prefix("# ").and_then(|rest| rest.split_once(", ")).ok_or_else(unreadable)?;
        let released = match state {
            "released" => true,
            "not released" => false,
            _ => return Err(unreadable()),
        };
        let version = Version::read(version).ok_or_else(unreadable)?;
        Ok(Self { version, released, items: items.lines().map(str::to_owned).collect() })
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}, {}", self.version, if self.released { "released" } else { "not released" })?;
        self.items.iter().try_for_each(|item| writeln!(f, "{item}"))
    }
}

impl Version {
    fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        let version = Self(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(version: &str, released: bool, items: &[&str]) -> List {
        let items = items.iter().map(|&item| item.to_owned()).collect();
        List { version: Version::read(version).unwrap(), released, items }
    }

    #[test]
    fn a_list_reads_back() {
        let written = list("0.1.0", true, &["pub fn a::b()", "pub mod a"]);
        let read = List::read(&written.to_string(), Path::new(LIST)).unwrap();
        assert_eq!((read.version, read.released, read.items), (written.version, true, written.items));
        for bad in ["", "# 0.1, released\n", "# 0.1.0, perhaps\n", "pub mod a\n"] {
            assert_eq!(List::read(bad, Path::new(LIST)).unwrap_err().code, 2, "{bad}");
        }
    }

    #[test]
    fn before_a_release_every_change_is_to_be_written_down() {
        let written = list("0.1.0", false, &["pub mod a"]);
        assert_eq!(judge("kit", Some(&written), &list("0.1.0", false, &["pub mod a"])), Verdict::Same);
        for now in [&["pub mod a", "pub mod b"][..], &[]] {
            assert!(matches!(judge("kit", Some(&written), &list("0.1.0", false, now)), Verdict::Outdated(_)));
        }
        assert!(matches!(judge("kit", None, &written), Verdict::Outdated(_)));
    }

    #[test]
    fn after_a_release_the_version_has_to_grow_by_what_changed() {
        let written = list("0.1.0", true, &["pub mod a"]);
        let more = |version| list(version, false, &["pub mod a", "pub mod b"]);
        let less = |version| list(version, false, &[]);
        for (now, good) in
            [(more("0.1.0"), false), (more("0.1.1"), true), (less("0.1.1"), false), (less("0.2.0"), true)]
        {
            let verdict = judge("kit", Some(&written), &now);
            assert_eq!(matches!(verdict, Verdict::Compatible(_)), good, "{now:?}: {verdict:?}");
            assert_eq!(matches!(verdict, Verdict::Breaks(_)), !good, "{now:?}: {verdict:?}");
        }
    }

    #[test]
    fn what_breaks_is_what_cargo_takes_for_incompatible() {
        let needed = |version, breaks| needed(Version::read(version).unwrap(), breaks).to_string();
        assert_eq!((needed("1.2.3", true), needed("1.2.3", false)), ("2.0.0".into(), "1.3.0".into()));
        assert_eq!((needed("0.2.3", true), needed("0.2.3", false)), ("0.3.0".into(), "0.2.4".into()));
        assert_eq!((needed("0.0.3", true), needed("0.0.3", false)), ("0.0.4".into(), "0.0.4".into()));
    }
}
