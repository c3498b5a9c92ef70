//! `xtask tidy`: what a machine can check about the tree itself, without compiling it. Each check is a function from
//! text to complaints, so that its own tests can show it something that is wrong.

mod graph;
mod links;
mod rules;
mod rustdoc;
mod source;

use crate::outcome::{Outcome, Stop};
use crate::run;
use crate::workspace::Workspace;
use std::fs;
use std::process::Command;

/// A file of the tree, as text.
struct File {
    /// From the root, with `/`.
    path: String,
    text: String,
}

pub(crate) fn command() -> Outcome {
    let workspace = Workspace::read()?;
    let files = files(&workspace)?;
    let mut complaints: Vec<String> = files.iter().flat_map(source::complaints).collect();
    complaints.extend(rules::complaints(&files));
    complaints.extend(links::complaints(&files));
    complaints.extend(rustdoc::complaints(&files));
    complaints.extend(graph::complaints(&workspace)?);
    complaints.extend(graph::real_tests_unasked(&workspace));
    if let Some(lock) = files.iter().find(|file| file.path == "Cargo.lock") {
        complaints.extend(graph::second_tls_providers(&lock.text));
    }
    if complaints.is_empty() {
        println!("tidy: {} files, nothing to complain about", files.len());
        return Ok(());
    }
    complaints.iter().for_each(|complaint| println!("tidy: {complaint}"));
    Err(Stop::failed(format!("the tree has {} untidy places", complaints.len())))
}

/// Every text file that git knows or would add.
fn files(workspace: &Workspace) -> Outcome<Vec<File>> {
    let list = run::read(
        Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&workspace.root),
    )?;
    let paths = list.split('\0').filter(|path| !path.is_empty());
    // What is deleted but not yet committed, and what is not text, has nothing to say here.
    let read = |path: &str| fs::read_to_string(workspace.root.join(path)).ok();
    Ok(paths.filter_map(|path| read(path).map(|text| File { path: path.to_owned(), text })).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        if let Err(stop) = super::command() {
            panic!("{}", stop.says);
        }
    }
}
