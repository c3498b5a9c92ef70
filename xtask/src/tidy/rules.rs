//! Checks that every rule the code names, in backticks and as `group` dot `name`, is in the published contract.

use super::File;
use std::collections::BTreeSet;

/// The page with the rule table.
const CONTRACT: &str = "docs/contract.md";

/// Every rule named in the code that the contract does not have.
pub(super) fn complaints(files: &[File]) -> Vec<String> {
    let Some(contract) = files.iter().find(|file| file.path == CONTRACT) else { return Vec::new() };
    let known: BTreeSet<&str> = contract.text.lines().flat_map(ids).collect();
    let groups: BTreeSet<&str> = known.iter().filter_map(|id| Some(id.split_once('.')?.0)).collect();
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        for (at, line) in file.text.lines().enumerate() {
            let unknown = ids(line).filter(|id| {
                !known.contains(id) && id.split_once('.').is_some_and(|(group, _)| groups.contains(group))
            });
            complaints
                .extend(unknown.map(|id| format!("{}:{}: {CONTRACT} has no rule `{id}`", file.path, at + 1)));
        }
    }
    complaints
}

/// What stands in backticks and looks like a rule's id. File names do too, and are none.
fn ids(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|word| {
        let Some((group, name)) = word.split_once('.') else { return false };
        let is_name =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        is_name(group) && is_name(name) && !["rs", "md", "toml", "yaml", "json", "await"].contains(&name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_rule_that_the_contract_lacks_is_found() {
        let contract = file(CONTRACT, "| `create.idempotent` | MUST |\n");
        let good = file("a.rs", "// Keeps `create.idempotent`, see `create.rs` and `other.thing`.\n");
        // Spelt apart, so that this file does not name it itself.
        let wrong = format!("`create.{}`", "idempotant");
        let bad = file("b.rs", &format!("\n// Keeps {wrong}.\n"));
        let complaint = format!("b.rs:2: docs/contract.md has no rule {wrong}");
        assert_eq!(complaints(&[contract, good, bad]), [complaint]);
    }
}
