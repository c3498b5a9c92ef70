//! `xtask new-provider`: makes the crate of a new provider, file for file as the others, with a fake to test it on.
//!
//! The template beside this file is a provider over a small REST backend of no vendor's: JSON, a bearer token, listings
//! in pages. Flags say what the backend calls its things and which of a few common ways it has; `shape.rs` chooses and
//! puts the words. What is the same for every provider is written: config, client, seam, errors, marks, ids, check, and
//! the harness. What is not, the four operations and the calls of the fake, is left to be written, a screen each, and
//! says so when it is called. So a fresh crate compiles and runs the whole suite, and its red rules name the file that is
//! to be written next. A skeleton that did the four operations too would be conformant from the start to a backend that
//! nobody has.
//!
//! `new_provider/filled/` is what an author would write for the plainest of these backends; `proof.rs` shows that it
//! makes the crate conformant. `lines.rs` counts what an author has written.

use crate::flags;
use crate::outcome::{Outcome, Stop};
use crate::run;
use crate::workspace::Workspace;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The files of a template, by path.
type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!($folder, "/", $path)))),+]
    };
}

mod lines;
mod packages;
pub(crate) mod proof;
mod shape;
mod spelling;
pub(crate) mod standalone;

use shape::Shape;
use standalone::{Kit, make_at};

const TEMPLATE: Files = files![
    "new_provider/template":
    "Cargo.toml",
    "README.md",
    "samples/providers.yaml",
    "src/answer.rs",
    "src/backend.rs",
    "src/catalogue.rs",
    "src/check.rs",
    "src/client.rs",
    "src/config.rs",
    "src/create.rs",
    "src/delete.rs",
    "src/error.rs",
    "src/get.rs",
    "src/hint.rs",
    "src/id.rs",
    "src/leftovers.rs",
    "src/lib.rs",
    "src/list.rs",
    "src/mark.rs",
    "src/parts.rs",
    "src/placement.rs",
    "src/profile.rs",
    "src/provider.rs",
    "src/state.rs",
    "src/tasks.rs",
    "src/view.rs",
    "tests/conformance.rs",
    "tests/harness/fake.rs",
    "tests/harness/mod.rs",
    "tests/tls.rs",
];

pub(crate) fn command(flags: &flags::NewProvider) -> Outcome {
    if let Some(folder) = &flags.diff {
        return lines::command(folder);
    }
    let shape = Shape::of(flags.name.as_deref().unwrap_or_default(), &flags.shape)?;
    let kit = flags.kit_version.as_deref().map_or(Ok(Kit::Checkout), Kit::version)?;
    let workspace = Workspace::read()?;
    let Some(at) = &flags.at else { return make_here(&workspace, &shape) };
    let of_flag = |stop: Stop| Stop::cannot(format!("--at {at:?}: {}", stop.says));
    let folder = std::path::absolute(at).map_err(|error| of_flag(Stop::cannot(error.to_string())))?;
    if is_member(&workspace.root, &folder) {
        // Cargo reads no workspace that has another one for a member.
        let text =
            "it would be a crate of this workspace; make it without the flag, and move it where you like";
        return Err(of_flag(Stop::cannot(text)));
    }
    let files = make_at(&workspace, &shape, &folder, &kit).map_err(of_flag)?;
    println!("made {} in {}: {files} files", shape.name.package(), folder.display());
    println!("next:\n  cd {} && cargo test --test conformance -- --fail-fast", folder.display());
    println!("  then write what the first red rule names; README.md has the order");
    Ok(())
}

fn make_here(workspace: &Workspace, shape: &Shape) -> Outcome {
    let (package, name) = (shape.name.package(), &shape.name.kebab);
    if workspace.members().contains(package.as_str()) {
        let text = format!("there is a package {package} already; choose another name");
        return Err(Stop::cannot(text));
    }
    let place = format!("providers/{name}");
    let folder = workspace.root.join(&place);
    let files = shape.rendered();
    write(&folder, &workspace.root, &files)?;
    // What a provider links stands in the lock file already; only the new crate is to be entered.
    run::read(workspace.cargo().args(["update", "--workspace", "--offline", "--quiet"])).map_err(|stop| {
        Stop::cannot(format!(
            "{place} is made, and Cargo.lock could not be brought up to date: {}",
            stop.says
        ))
    })?;
    println!("made {package} in {place}: {} files", files.len());
    println!("next:\n  cargo xtask conformance {name} --fail-fast");
    println!("  then write what the first red rule names; {place}/README.md has the order");
    Ok(())
}

/// Whether cargo would take a crate in that folder for one of this workspace.
fn is_member(root: &Path, folder: &Path) -> bool {
    let parent = folder.parent().and_then(|parent| parent.canonicalize().ok());
    let root = root.canonicalize().ok();
    root.zip(parent).is_some_and(|(root, parent)| {
        ["providers", "examples", "fixtures"].iter().any(|members| parent == root.join(members))
    })
}

/// Writes all files or none, where nothing stands. Until they are whole they stand in a hidden folder in `staging`, where an
/// interruption leaves them: among the members of a workspace cargo would take that folder for one more of them.
fn write(folder: &Path, staging: &Path, files: &[(String, String)]) -> Outcome {
    let shown = folder.display();
    if folder.exists() {
        return Err(Stop::cannot(format!("{shown} is there already; name a folder that does not exist")));
    }
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(cannot_be_made(folder));
    };
    let staging = staging.join(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
    let cannot = |error: std::io::Error| Stop::cannot(format!("{shown} cannot be written: {error}"));
    // What stands there already is somebody else's, and is neither taken along nor taken away.
    fs::create_dir_all(parent).and_then(|()| fs::create_dir(&staging)).map_err(cannot)?;
    let written = write_all(&staging, files).and_then(|_| fs::rename(&staging, folder));
    written.map_err(|error| {
        // What could not be written whole is not left in part.
        let _ = fs::remove_dir_all(&staging);
        cannot(error)
    })
}

fn cannot_be_made(folder: &Path) -> Stop {
    Stop::cannot(format!("{} cannot be made; name a folder inside another one", folder.display()))
}

/// Writes the files, and says whether their code was laid out.
fn write_all(folder: &Path, files: &[(String, String)]) -> std::io::Result<bool> {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    Ok(format(folder))
}

/// Lays the code out anew: with other words, lines have another length. Without rustfmt it is right all the same.
fn format(folder: &Path) -> bool {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--quiet", "--edition", "2024", "src/lib.rs", "tests/conformance.rs", "tests/tls.rs"]);
    rustfmt.current_dir(folder).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    /// A folder that goes away with its test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn every_file_of_the_template_is_written() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/new_provider/template");
        let mut found = BTreeSet::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        let listed: BTreeSet<_> = TEMPLATE.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(found, listed);
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_is_left_in_part() {
        let folder = Folder::new("overwritten");
        let stop = write(&folder.0, &folder.0, &[]).unwrap_err();
        assert!(stop.says.contains("is there already"), "{}", stop.says);
        // A file where a folder is needed: the second write fails.
        let files = [("a".to_owned(), String::new()), ("a/b".to_owned(), String::new())];
        assert!(write(&folder.0.join("new"), &folder.0, &files).is_err());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
        let others = folder.0.join(format!(".new.{}.partial", std::process::id()));
        fs::create_dir(&others).unwrap();
        assert!(write(&folder.0.join("new"), &folder.0, &[]).is_err());
        assert!(others.is_dir());
    }

    #[test]
    fn nothing_half_made_stands_among_the_members() {
        let folder = Folder::new("staging");
        let (members, staging) = (folder.0.join("providers"), folder.0.join("staging"));
        fs::create_dir_all(&members).unwrap();
        // Where nothing can be staged nothing is written: the members' own folder is not tried.
        let files = [("Cargo.toml".to_owned(), String::new())];
        assert!(write(&members.join("new"), &staging, &files).is_err());
        assert_eq!(fs::read_dir(&members).unwrap().count(), 0);
        fs::create_dir(&staging).unwrap();
        write(&members.join("new"), &staging, &files).unwrap();
        assert!(members.join("new/Cargo.toml").is_file());
        assert_eq!(fs::read_dir(&staging).unwrap().count(), 0);
    }

    #[test]
    fn a_workspace_of_its_own_is_no_member_of_this_one() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert!(is_member(root, &root.join("examples/new")));
        assert!(is_member(root, &root.join("docs/../providers/new")));
        assert!(!is_member(root, &root.join("target/new")));
        assert!(!is_member(root, &root.join("providers/kubernetes/new")));
    }
}
