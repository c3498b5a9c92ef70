//! `xtask new-provider`: makes the crate of a new provider, file for file as the others, with a fake to test it on.
//!
//! The template beside this file is a provider over a small REST backend of no vendor's: machines in zones, JSON, a
//! bearer token, listings in pages. It is a crate as it stands; its one name is replaced. What is the same for every
//! provider is written: config, client, seam, errors, marks, ids, check, and the harness. What is not, the four
//! operations and the routes of the fake, is left to be written, a screen each, and says so when it is called. So a fresh
//! crate compiles and runs the whole suite, and its red rules name the file that is to be written next. A skeleton that
//! did the four operations too would be conformant from the start to a backend that nobody has.
//!
//! `new_provider/filled/` is what an author would write for that backend; `proof.rs` shows that it makes the crate
//! conformant.

use crate::flags;
use crate::outcome::{Outcome, Stop};
use crate::run;
use crate::workspace::Workspace;
use std::collections::BTreeSet;
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

mod packages;
pub(crate) mod proof;

const TEMPLATE: Files = files![
    "new_provider/template":
    "Cargo.toml",
    "README.md",
    "samples/providers.yaml",
    "src/backend.rs",
    "src/catalogue.rs",
    "src/check.rs",
    "src/client.rs",
    "src/config.rs",
    "src/create.rs",
    "src/delete.rs",
    "src/error.rs",
    "src/get.rs",
    "src/id.rs",
    "src/lib.rs",
    "src/list.rs",
    "src/mark.rs",
    "src/placement.rs",
    "src/profile.rs",
    "src/provider.rs",
    "src/state.rs",
    "src/view.rs",
    "tests/conformance.rs",
    "tests/harness/fake.rs",
    "tests/harness/mod.rs",
    "tests/tls.rs",
];

/// The workspace's own manifest, from which a workspace elsewhere takes versions, lints and profiles.
const MANIFEST: &str = include_str!("../../Cargo.toml");
const RUSTFMT: &str = include_str!("../../rustfmt.toml");
const CLIPPY: &str = include_str!("../../clippy.toml");
/// Our own crates that a provider depends on.
pub(crate) const KIT: [&str; 2] = ["provider-api", "providertest"];

pub(crate) fn command(flags: &flags::NewProvider) -> Outcome {
    let spelling = Spelling::of(&flags.name)?;
    let workspace = Workspace::read()?;
    let Some(at) = &flags.at else { return make_here(&workspace, &spelling) };
    let folder = std::path::absolute(at)
        .map_err(|error| Stop::cannot(format!("there can be no folder {}: {error}", at.display())))?;
    if is_member(&workspace.root, &folder) {
        // Cargo reads no workspace that has another one for a member.
        let text =
            format!("{} would be a crate of this workspace; leave --at out for that", folder.display());
        return Err(Stop::cannot(text));
    }
    let kit = flags.kit_version.as_deref().map_or(Kit::Checkout, Kit::Version);
    make_at(&workspace, &spelling, &folder, &kit)?;
    println!("made {} in {}: {} files", spelling.package(), folder.display(), TEMPLATE.len());
    println!("next:\n  cd {} && cargo test --test conformance -- --fail-fast", folder.display());
    println!("  then write what the first red rule names; README.md has the order");
    Ok(())
}

fn make_here(workspace: &Workspace, spelling: &Spelling) -> Outcome {
    let package = spelling.package();
    if workspace.members().contains(package.as_str()) {
        let text = format!("there is a package {package} already; choose another name");
        return Err(Stop::cannot(text));
    }
    let place = format!("providers/{}", spelling.kebab);
    let folder = workspace.root.join(&place);
    write(&folder, &rendered(spelling))?;
    // What a provider links stands in the lock file already; only the new crate is to be entered.
    run::read(workspace.cargo().args(["update", "--workspace", "--offline", "--quiet"])).map_err(|stop| {
        Stop::cannot(format!(
            "{place} is made, and Cargo.lock could not be brought up to date: {}",
            stop.says
        ))
    })?;
    println!("made {package} in {place}: {} files", TEMPLATE.len());
    println!("next:\n  cargo xtask conformance {} --fail-fast", spelling.kebab);
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

/// Where a workspace of its own has our crates from.
enum Kit<'k> {
    /// This checkout.
    Checkout,
    /// The published ones of that version.
    Version(&'k str),
    /// Packages that were unpacked into that folder, each under its name.
    Unpacked(&'k Path),
}

/// A workspace of its own.
fn make_at(workspace: &Workspace, spelling: &Spelling, folder: &Path, from: &Kit<'_>) -> Outcome {
    let mut files = rendered(spelling);
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
    write(folder, &files)
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

/// The template under the new name.
fn rendered(spelling: &Spelling) -> Vec<(String, String)> {
    TEMPLATE.iter().map(|(path, text)| ((*path).to_owned(), spelling.put(text))).collect()
}

/// Writes all files or none, where nothing stands.
fn write(folder: &Path, files: &[(String, String)]) -> Outcome {
    let shown = folder.display();
    if folder.exists() {
        return Err(Stop::cannot(format!("{shown} is there already; name a folder that does not exist")));
    }
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(Stop::cannot(format!("{shown} cannot be made; name a folder inside another one")));
    };
    let staging = parent.join(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
    let cannot = |error: std::io::Error| Stop::cannot(format!("cannot write {shown}: {error}"));
    // What stands there already is somebody else's, and is neither taken along nor taken away.
    fs::create_dir_all(parent).and_then(|()| fs::create_dir(&staging)).map_err(cannot)?;
    let written = write_all(&staging, files).and_then(|()| fs::rename(&staging, folder));
    written.map_err(|error| {
        // What could not be written whole is not left in part.
        let _ = fs::remove_dir_all(&staging);
        cannot(error)
    })
}

fn write_all(folder: &Path, files: &[(String, String)]) -> std::io::Result<()> {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    format(folder);
    Ok(())
}

/// Lays the code out anew: with another name, lines have another length. Without rustfmt it is right all the same.
fn format(folder: &Path) {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--quiet", "--edition", "2024", "src/lib.rs", "tests/conformance.rs", "tests/tls.rs"]);
    let _ = rustfmt.current_dir(folder).stderr(Stdio::null()).status();
}

/// The ways in which a provider's name is spelt.
struct Spelling {
    /// `tiny-cloud`
    kebab: String,
    /// `tiny_cloud`
    snake: String,
    /// `TinyCloud`
    camel: String,
}

impl Spelling {
    /// Takes a name that can be a package, a key of a config and a type.
    fn of(name: &str) -> Outcome<Self> {
        let refuse = |why: String| Err(Stop::cannot(format!("{name:?} cannot be a provider's name: {why}")));
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let starts = name.chars().next().is_some_and(|c| c.is_ascii_lowercase());
        if !starts
            || !name.chars().all(plain)
            || name.ends_with('-')
            || name.contains("--")
            || name.len() > 40
        {
            let why = "use 1 to 40 lower-case letters, digits and single dashes, a letter first";
            return refuse(why.to_owned());
        }
        if KEYWORDS.contains(&name) {
            return refuse("it is a keyword of Rust".to_owned());
        }
        if ["all", "api", "memory"].contains(&name) {
            return refuse("the commands and crates here use it".to_owned());
        }
        let word = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
        let camel: String = name.split('-').map(word).collect();
        if words().contains(camel.as_str()) {
            return refuse(format!(
                "its type would be called {camel}, and the template has one of that name"
            ));
        }
        Ok(Self { kebab: name.to_owned(), snake: name.replace('-', "_"), camel })
    }

    fn package(&self) -> String {
        format!("provider-{}", self.kebab)
    }

    /// The text with this name in the place of the template's own. What is put is not read again: a name may have the
    /// template's in it.
    fn put(&self, text: &str) -> String {
        let mut pieces = text.split("newcloud");
        let mut put = pieces.next().unwrap_or_default().replace("Newcloud", &self.camel);
        for piece in pieces {
            put += if put.ends_with("provider_") { &self.snake } else { &self.kebab };
            put += &piece.replace("Newcloud", &self.camel);
        }
        put
    }
}

/// Every word of the template's code.
fn words() -> BTreeSet<&'static str> {
    let code = TEMPLATE.iter().filter(|(path, _)| path.ends_with(".rs"));
    code.flat_map(|(_, text)| text.split(|c: char| !c.is_alphanumeric() && c != '_')).collect()
}

const KEYWORDS: [&str; 49] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "where",
    "while",
];

#[cfg(test)]
mod tests {
    use super::*;
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
    fn a_name_is_spelt_in_three_ways() {
        let spelling = Spelling::of("tiny-cloud9").unwrap();
        let text = "provider_newcloud::Newcloud, provider-newcloud, newcloud:";
        assert_eq!(
            spelling.put(text),
            "provider_tiny_cloud9::TinyCloud9, provider-tiny-cloud9, tiny-cloud9:"
        );
        let spelling = Spelling::of("my-newcloud2").unwrap();
        assert_eq!(
            spelling.put(text),
            "provider_my_newcloud2::MyNewcloud2, provider-my-newcloud2, my-newcloud2:"
        );
    }

    #[test]
    fn what_cannot_be_a_name_is_refused_with_a_reason() {
        for (name, why) in [
            ("", "1 to 40"),
            ("Tiny", "1 to 40"),
            ("9lives", "1 to 40"),
            ("a_b", "1 to 40"),
            ("a--b", "1 to 40"),
            ("-a", "1 to 40"),
            ("a-", "1 to 40"),
            ("é", "1 to 40"),
            ("type", "keyword"),
            ("api", "use it"),
            ("error", "called Error"),
            ("machine-id", "called MachineId"),
        ] {
            let stop = Spelling::of(name).err().unwrap_or_else(|| panic!("{name:?} passed"));
            assert_eq!(stop.code, 2, "{name:?}");
            assert!(stop.says.contains(why), "{name:?}: {}", stop.says);
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
        let stop = write(&folder.0, &[]).unwrap_err();
        assert!(stop.says.contains("is there already"), "{}", stop.says);
        // A file where a folder is needed: the second write fails.
        let files = [("a".to_owned(), String::new()), ("a/b".to_owned(), String::new())];
        assert!(write(&folder.0.join("new"), &files).is_err());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
        let others = folder.0.join(format!(".new.{}.partial", std::process::id()));
        fs::create_dir(&others).unwrap();
        assert!(write(&folder.0.join("new"), &[]).is_err());
        assert!(others.is_dir());
    }

    #[test]
    fn a_workspace_of_its_own_is_no_member_of_this_one() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert!(is_member(root, &root.join("examples/new")));
        assert!(is_member(root, &root.join("docs/../providers/new")));
        assert!(!is_member(root, &root.join("target/new")));
        assert!(!is_member(root, &root.join("providers/kubernetes/new")));
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
