//! How far a crate has come from what `new-provider` made: the lines that its author added or changed, comments and
//! blank ones too. The crate's README has the command that made it.

use super::{Shape, write_all};
use crate::flags::{Command, Flags};
use crate::outcome::{Outcome, Stop};
use crate::workspace::Workspace;
use clap::Parser as _;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// How many lines an author may have to write until a crate is conformant.
pub(super) const MOST: usize = 600;

/// The folders that are counted: the provider, and its fake and harness.
const COUNTED: [&str; 2] = ["src", "tests"];

/// What a README says that its crate was made by.
const MADE_BY: &str = "`cargo xtask new-provider ";

/// Prints the lines of each file that differs, and fails where they are too many.
pub(super) fn command(folder: &Path) -> Outcome {
    count(&Workspace::read()?, folder).map(drop)
}

/// Counts the lines of one crate, printing them by file.
pub(super) fn count(workspace: &Workspace, folder: &Path) -> Outcome<usize> {
    let shown = folder.display();
    let readme = folder.join("README.md");
    let text = fs::read_to_string(&readme)
        .map_err(|error| Stop::cannot(format!("--diff: {} cannot be read: {error}", readme.display())))?;
    let (name, flags) = made_by(&text)
        .ok_or_else(|| Stop::cannot(format!("--diff: {} has no line {MADE_BY}NAME …`", readme.display())))?;
    let shape = Shape::of(&name, &flags)?;
    let made = generated(workspace, &shape)?;
    let own = read(folder)?;
    println!("{shown}, beyond what `{}` makes:", shape.command);
    for (path, text) in &own {
        let lines = added(made.get(path).map_or("", String::as_str), text);
        if lines > 0 {
            println!("{lines:>6}  {path}");
        }
    }
    let all = between(&made, &own);
    println!("{all:>6}  lines added or changed in all");
    if all >= MOST {
        return Err(Stop::failed(format!(
            "{shown} has {all} lines of its author's own; {MOST} are too many"
        )));
    }
    Ok(all)
}

/// The name and the shape that a README tells.
fn made_by(readme: &str) -> Option<(String, crate::flags::Shape)> {
    readme.split(MADE_BY).skip(1).find_map(|after| {
        let (command, _) = after.split_once('`')?;
        let words = ["cargo xtask", "new-provider"].into_iter().chain(command.split_whitespace());
        match Flags::try_parse_from(words).ok()?.command {
            Command::NewProvider(flags) => Some((flags.name?, flags.shape)),
            _ => None,
        }
    })
}

/// The crate as it is made, laid out as rustfmt does.
fn generated(workspace: &Workspace, shape: &Shape) -> Outcome<BTreeMap<String, String>> {
    let folder = workspace.target.join("new-provider").join(format!("diff-{}", std::process::id()));
    let cannot = |error: std::io::Error| {
        Stop::cannot(format!("{} cannot be written or read: {error}", folder.display()))
    };
    let mut files = shape.rendered();
    files.push(("rustfmt.toml".to_owned(), super::standalone::RUSTFMT.to_owned()));
    if !write_all(&folder, &files).map_err(cannot)? {
        return Err(Stop::cannot(
            "the made crate could not be laid out: rustfmt is needed to compare with it",
        ));
    }
    let made = read(&folder);
    fs::remove_dir_all(&folder).map_err(cannot)?;
    made
}

/// The counted files of a crate, by path.
pub(super) fn read(folder: &Path) -> Outcome<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut folders: Vec<_> = COUNTED.map(|counted| folder.join(counted)).into();
    while let Some(at) = folders.pop() {
        let cannot =
            |error: std::io::Error| Stop::cannot(format!("{} cannot be read: {error}", at.display()));
        for entry in fs::read_dir(&at).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(inside) = path.strip_prefix(folder) {
                let text = fs::read_to_string(&path).map_err(cannot)?;
                files.insert(inside.to_string_lossy().into_owned(), text);
            }
        }
    }
    Ok(files)
}

/// How many lines were added or changed between two states of a crate.
pub(super) fn between(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> usize {
    after.iter().map(|(path, text)| added(before.get(path).map_or("", String::as_str), text)).sum()
}

/// How many lines of a text are not in another one, in their order: those that a shortest diff marks as added.
pub(super) fn added(before: &str, after: &str) -> usize {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    // How long the longest common sequence is of what was read of both.
    let mut common = vec![0; before.len() + 1];
    for line in &after {
        let mut diagonal = 0;
        for (at, other) in before.iter().enumerate() {
            let above = common[at + 1];
            common[at + 1] = if line == other { diagonal + 1 } else { above.max(common[at]) };
            diagonal = above;
        }
    }
    after.len() - common.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Tasks;

    #[test]
    fn lines_are_added_where_a_shortest_diff_says_so() {
        for (before, after, lines) in [
            ("", "", 0),
            ("", "a\nb\n", 2),
            ("a\nb\n", "", 0),
            ("a\nb\nc\n", "a\nx\nc\n", 1),
            ("a\nb\nc\n", "c\na\nb\n", 1),
            ("a\n\nb\n", "a\n\n\nb\n", 1),
            ("a\nb\na\n", "a\na\na\n", 1),
        ] {
            assert_eq!(added(before, after), lines, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_readme_says_how_its_crate_was_made() {
        let readme = "# x\n\n`cargo xtask new-provider --diff F` counts for\n`cargo xtask new-provider tiny --target host --tasks`\n";
        let (name, flags) = made_by(readme).unwrap();
        assert_eq!(
            (name.as_str(), flags.target.as_deref(), flags.tasks),
            ("tiny", Some("host"), Some(Tasks::Late))
        );
        for none in ["# x\n", "`cargo xtask new-provider`\n", "`cargo xtask new-provider x --no-such-flag`\n"]
        {
            assert!(made_by(none).is_none(), "{none}");
        }
    }

    /// What the documentation says of the examples holds.
    #[test]
    fn an_author_writes_fewer_lines_than_the_bound() {
        let workspace = Workspace::read().unwrap();
        let examples = workspace.root.join("examples");
        let folders: Vec<_> = fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!folders.is_empty());
        for folder in folders {
            assert!(count(&workspace, &folder).unwrap() > 0);
        }
    }
}
