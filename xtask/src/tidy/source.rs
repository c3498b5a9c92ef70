//! Checks of one file's text: how it opens, how long it is, which words and names it must not hold.

use super::File;

const LONGEST: usize = 500;

/// What is wrong with it.
pub(super) fn complaints(file: &File) -> Vec<String> {
    let mut complaints = machine_paths(file);
    if file.path.ends_with(".rs") {
        complaints.extend(opening(file));
        complaints.extend(length(file));
        complaints.extend(unfinished(file));
        complaints.extend(empty_names(file));
    }
    complaints
}

fn opening(file: &File) -> Option<String> {
    // A crate may say it in its README.
    let opens = ["//!", "#![doc = include_str!(\"../README.md\")]"];
    (!opens.iter().any(|open| file.text.starts_with(open)))
        .then(|| format!("{}:1: open with `//!` and say what lives here and what does not", file.path))
}

fn length(file: &File) -> Option<String> {
    let lines = file.text.lines().count();
    let reason = file.text.lines().any(|line| line.trim_start().starts_with("// long: "));
    (lines > LONGEST && !reason)
        .then(|| format!("{}: {lines} lines; split it, or give a reason in a line `// long: …`", file.path))
}

/// Macros of work that is not done. They are spelt so that this file does not hold them itself.
fn unfinished(file: &File) -> Vec<String> {
    let macros = ["todo", "unimplemented", "dbg"].map(|name| format!("{name}!("));
    each_line(file, |line| {
        macros
            .iter()
            .find(|name| line.contains(name.as_str()))
            .map(|name| format!("`{name}…)` is work not done"))
    })
}

/// Names that say nothing: of files, modules and types. A function may say that it reads a common field.
fn empty_names(file: &File) -> Vec<String> {
    let stem = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    let mut complaints = Vec::new();
    let folders = file.path.split('/').rev().skip(1);
    if let Some(word) = std::iter::once(stem).chain(folders).find_map(empty_word) {
        complaints.push(format!("{}: `{word}` in a path says nothing; name what is inside", file.path));
    }
    complaints.extend(each_line(file, |line| {
        let name = declared(line)?;
        empty_word(name).map(|word| format!("`{word}` in `{name}` says nothing; name what it does"))
    }));
    complaints
}

/// The type or module that a line declares, if it declares one.
fn declared(line: &str) -> Option<&str> {
    // What follows a comment or a quotation mark is prose or data.
    let code = line.split_once("//").map_or(line, |(code, _)| code);
    let code = code.split_once('"').map_or(code, |(code, _)| code);
    let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.find(|word| ["struct", "enum", "trait", "mod", "type", "union"].contains(word))?;
    words.next()
}

/// The word of a name that says nothing, if it has one: `BackendManager` and `http_util` do.
fn empty_word(name: &str) -> Option<&'static str> {
    const WORDS: [&str; 9] =
        ["manager", "helper", "helpers", "util", "utils", "utility", "utilities", "common", "misc"];
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c == '-' || c.is_uppercase() {
            words.push(String::new());
        }
        if c != '_' && c != '-' {
            words.last_mut().expect("starts with one word").extend(c.to_lowercase());
        }
    }
    WORDS.into_iter().find(|empty| words.iter().any(|word| word == empty))
}

/// Paths of one person's machine.
fn machine_paths(file: &File) -> Vec<String> {
    // Spelt apart, so that this file does not hold them itself.
    let paths = ["home", "root", "Users", "work"].map(|folder| format!("/{folder}/"));
    each_line(file, |line| {
        paths
            .iter()
            .find(|path| starts_a_path(line, path))
            .map(|path| format!("`{path}…` is one machine's path"))
    })
}

/// True where `path` stands at the beginning of a path and not in the middle of a longer one.
fn starts_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-}/~*>".contains(c))
    })
}

fn each_line(file: &File, complain: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let lines = file.text.lines().enumerate();
    lines.filter_map(|(at, line)| Some(format!("{}:{}: {}", file.path, at + 1, complain(line)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<String> {
        complaints(&File { path: path.into(), text: text.into() })
    }

    #[test]
    fn a_file_says_what_it_is() {
        assert_eq!(of("a/b.rs", "//! Something.\n"), [""; 0]);
        assert_eq!(of("src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n"), [""; 0]);
        assert!(of("a/b.rs", "use x;\n")[0].starts_with("a/b.rs:1: open with"));
        assert_eq!(of("a/b.txt", "anything\n"), [""; 0]);
    }

    #[test]
    fn a_long_file_has_a_reason() {
        let long = format!("//! Long.\n{}", "\n".repeat(LONGEST));
        assert!(of("a.rs", &long)[0].contains("501 lines"));
        assert_eq!(of("a.rs", &format!("{long}// long: one table\n")), [""; 0]);
    }

    #[test]
    fn work_not_done_is_found() {
        for name in ["todo", "unimplemented", "dbg"] {
            let text = format!("//! A.\nfn f() {{ {name}!(1) }}\n");
            assert!(of("a.rs", &text)[0].starts_with("a.rs:2:"), "{name}");
        }
    }

    #[test]
    fn names_that_say_nothing_are_found() {
        assert_eq!(empty_word("BackendManager"), Some("manager"));
        assert_eq!(empty_word("http_util"), Some("util"));
        assert_eq!(empty_word("commonly_used"), None);
        assert_eq!(of("tests/common/mod.rs", "//! A.\n").len(), 1);
        assert_eq!(of("a.rs", "//! A.\npub(crate) struct FooHelper;\n").len(), 1);
        assert_eq!(of("a.rs", "//! A.\n// the struct Helper of others\n").len(), 0);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let path = ["", "home", "me", "x"].join("/");
        assert_eq!(of("a.md", &format!("see {path}\n")).len(), 1);
        assert_eq!(of("a.md", &format!("see https://example.org{path}\n")).len(), 0);
    }
}
