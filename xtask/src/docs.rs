//! `xtask docs`: the documentation builds without a warning, and what is generated in it is what the programs print.
//!
//! A generated part of a page stands between two comments, of which the first says what prints it:
//! `<!-- generated: conformance memory --print-rule-table -->` and `<!-- end generated -->`, each alone on its line.

use crate::cache::cannot_write;
use crate::conformance::{self, Beside};
use crate::outcome::{Outcome, Stop};
use crate::workspace::Workspace;
use crate::{flags, run};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end generated -->";

pub(crate) fn command(flags: &flags::Docs) -> Outcome {
    let workspace = Workspace::read()?;
    let mut doc = workspace.cargo();
    doc.arg("doc").args(workspace.whole()).args(["--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings");
    run::check(&mut doc)?;
    let mut outdated = Vec::new();
    for page in pages(&workspace)? {
        let path = workspace.root.join(&page);
        let text = fs::read_to_string(&path)
            .map_err(|error| Stop::cannot(format!("cannot read {}: {error}", path.display())))?;
        let name = page.display();
        let fresh = regenerate(&text, |line| print(&workspace, line))
            .map_err(|stop| Stop { says: format!("{name}: {}", stop.says), ..stop })?;
        if fresh == text {
            continue;
        }
        if flags.check {
            outdated.push(name.to_string());
        } else {
            fs::write(&path, fresh).map_err(|error| cannot_write(&path, &error))?;
            println!("wrote {name}");
        }
    }
    if outdated.is_empty() {
        return Ok(());
    }
    Err(Stop::failed(format!("out of date: {}; run `cargo xtask docs`", outdated.join(", "))))
}

/// Every page of the tree, from its root.
fn pages(workspace: &Workspace) -> Outcome<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]);
    let list = run::read(git.current_dir(&workspace.root))?;
    let pages = list.split('\0').filter(|page| !page.is_empty()).map(PathBuf::from);
    Ok(pages.filter(|page| workspace.root.join(page).is_file()).collect())
}

/// The page with every generated part printed anew.
fn regenerate(page: &str, print: impl Fn(&str) -> Outcome<String>) -> Outcome<String> {
    let mut fresh = String::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        let Some(what) = line.strip_prefix(BEGIN) else { continue };
        let what = what.strip_suffix("-->").map(str::trim).unwrap_or(what);
        if !lines.by_ref().any(|(_, line)| line == END) {
            return Err(Stop::failed(format!("line {}: the generated part has no `{END}`", at + 1)));
        }
        // Blank lines, or Markdown would take what follows a comment for part of it.
        fresh.push_str(&format!("\n{}\n\n{END}\n", print(what)?.trim_matches('\n')));
    }
    Ok(fresh)
}

/// What `conformance PROVIDER FLAGS` prints. Nothing else is run from a page.
fn print(workspace: &Workspace, line: &str) -> Outcome<String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let ["conformance", provider, flags @ ..] = words.as_slice() else {
        return Err(Stop::failed(format!("`{line}` cannot be generated; `conformance PROVIDER FLAGS` can")));
    };
    let package = conformance::package_with_suite(workspace, provider)?;
    run::read(conformance::build(workspace, &package, Beside::Everything)?.args(flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_comments_changes() {
        let page = "# A\n\n<!-- generated: conformance memory --x -->\nold\n<!-- end generated -->\nafter\n";
        let fresh = regenerate(page, |line| Ok(format!("new from {line}\n"))).unwrap();
        let wanted = "# A\n\n<!-- generated: conformance memory --x -->\n\nnew from conformance memory --x\n\n\
                      <!-- end generated -->\nafter\n";
        assert_eq!(fresh, wanted);
        assert_eq!(regenerate(&fresh, |line| Ok(format!("new from {line}\n"))).unwrap(), fresh);
    }

    #[test]
    fn a_part_without_an_end_is_an_error() {
        let stop =
            regenerate("<!-- generated: conformance memory -->\nold\n", |_| Ok(String::new())).unwrap_err();
        assert!(stop.says.contains("line 1"), "{}", stop.says);
    }
}
